"""Reports by axe-core in a real browser: no violation in light and dark, and figures readable on a telephone.

Needs a browser, node, and the packages `axe-core` and `puppeteer-core` in the folder that NODE_MODULES names;
`benchmarks/results/accessibility.md` records what was found.
"""

import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.htest import MMD, drift, pairwise_independence, sample_size
from mercer.kernels import Series
from mercer.rkhs import Gaussian
from tests.browser.chromium import browser

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.browser

SCRIPT = Path(__file__).with_name("accessibility.mjs")


def packages() -> str:
    """The folder of node's packages, or a skip that says what is missing."""
    folder = Path(os.environ.get("NODE_MODULES", "node_modules"))
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    for name in ("axe-core", "puppeteer-core"):
        if not (folder / name).is_dir():
            pytest.skip(f"{name} is not in {folder}: npm install axe-core puppeteer-core")
    return str(folder)


def written(folder: Path) -> list[Path]:
    """Reports of all kinds, with and without something found."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(80, 3)), rng.normal(0.8, 1.0, size=(80, 3))
    texts = [
        ["".join(rng.choice(list(letters), 12)) for _ in range(30)] for letters in ("abc", "aabc")
    ]
    series = [[np.cumsum(step * rng.normal(size=15)) for _ in range(20)] for step in (1.0, 2.0)]
    results = {
        "differ": MMD().test(x, y, rng=0),
        "same": MMD().test(x, x + 0.0, rng=0),
        "texts": mercer.two_sample(*texts, rng=0),
        "series": mercer.two_sample(*map(Series.of, series), rng=0),
        "depend": mercer.independence(x[:, 0], x[:, 0] ** 2, resamples=99, rng=0),
        "independent": mercer.independence(x[:, 0], y[:, 0], resamples=99, rng=0),
        "misfit": mercer.goodness_of_fit(Gaussian([0.0, 0.0], 1.0), y[:, :2], rng=0),
        "pairs": pairwise_independence(np.hstack([x, x[:, :1] * y]), rng=0),
        "power": sample_size(MMD(), x, y, asymptotic=True),
        "drift": drift(x, [x[:40], y[:40]], resamples=199, rng=0),
    }
    return [result.report(folder / f"{name}.html") for name, result in results.items()]


def test_no_violation(tmp_path):
    environment = {**os.environ, "NODE_MODULES": packages(), "MERCER_BROWSER": browser()}
    command = ["node", str(SCRIPT), *map(str, written(tmp_path))]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    assert done.stdout, done.stderr
    views = json.loads(done.stdout.splitlines()[-1])["summary"]
    assert len(views) == 4 * 10
    assert [v for v in views if v["violations"] or v["small"] or v["overflow"] > 0] == []
