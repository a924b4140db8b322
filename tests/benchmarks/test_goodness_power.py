"""The published study of goodness-of-fit tests: in parts, and with the procedures it claims to have."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "goodness_power"
PART = ("--problem", "variance1", "--tests", "FSSD-rand", "LKS")


def python(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def study(folder: Path, *arguments: str) -> dict:
    python("-m", f"benchmarks.reproductions.{NAME}", "--results", str(folder), *arguments)
    return json.loads((folder / f"{NAME}.json").read_text(encoding="utf-8"))


def test_runs_go_on_where_they_stopped(tmp_path):
    first = study(tmp_path, *PART, "--runs", "1")["cells"]
    assert [cell["runs"] for cell in first.values()] == [1] * 4  # two tests, ours and theirs
    assert study(tmp_path, *PART, "--runs", "1")["cells"] == first
    more = study(tmp_path, *PART, "--runs", "2", "--only-mercer")["cells"]
    assert {key.split("/")[2]: cell["runs"] for key, cell in more.items()} == {
        "mercer": 2,
        "published": 1,
    }
    text = (tmp_path / f"{NAME}.md").read_text(encoding="utf-8")
    assert "| variance1 | FSSD-rand | 1.00 | 2 | 1.00 | 1 | yes |" in text
    assert str(ROOT) not in text


def test_the_published_statistics_are_ours_and_the_gradient_is_right():
    code = """
import numpy as np
from scipy.optimize import check_grad
from benchmarks.reproductions import goodness_procedures as p
from mercer.htest import FSSD, KSD, LinearKSD
from mercer.kernels import RBF, Stein
rng = np.random.default_rng(0)
x = rng.normal(size=(60, 3))
score = lambda x: -x**3
s, v = score(x), rng.normal(size=(5, 3))
h = p.stein_matrix(x, s, 1.7)
print(np.allclose(h, Stein(RBF(1.7**0.5), score)(x), rtol=1e-10))
t = p._features(x, s, v, 1.7)[0].reshape(60, -1)
theirs = (np.sum(t.sum(axis=0) ** 2) - np.sum(t * t)) / (60 * 59)
print(np.isclose(theirs, FSSD(score, RBF(1.7**0.5), locations=v).statistic(x), rtol=1e-9))
theta = np.append(v.ravel(), 1.2)
value, slope = (lambda t: p.criterion(t, x, s)[0]), (lambda t: p.criterion(t, x, s)[1])
print(check_grad(value, slope, theta) < 1e-6)
"""
    assert python("-c", code).split() == ["True"] * 3


def test_times_are_told():
    code = f"import json; from benchmarks.reproductions.{NAME} import times; "
    found = json.loads(python("-c", code + "print(json.dumps(times((600,))))"))
    assert [row["n"] for row in found] == [600] * 2
    assert all(row["seconds"] >= 0 for row in found)
