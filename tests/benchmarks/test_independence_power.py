"""The published study of independence tests: in parts, and with the procedures it claims to have."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAME = "independence_power"
PART = ("--problem", "turn10", "--tests", "NFSIC-rand", "NyHSIC")


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
    assert {key.split("/")[3]: cell["runs"] for key, cell in more.items()} == {
        "mercer": 2,
        "published": 1,
    }
    text = (tmp_path / f"{NAME}.md").read_text(encoding="utf-8")
    assert "| turn10 | 4,000 | NFSIC-rand | 1.00 | 2 | 1.00 | 1 | yes |" in text
    assert str(ROOT) not in text


def test_the_published_statistic_is_ours_and_its_gradient_is_right():
    """With the biased covariances of their program: (1 - 1/n)^2 of ours."""
    code = """
import numpy as np
from benchmarks.reproductions import independence_procedures as p
from mercer.htest import NFSIC
from mercer.kernels import RBF
rng = np.random.default_rng(0)
x, y = rng.normal(size=(300, 2)), rng.normal(size=(300, 3))
y[:, 0] += x[:, 0] ** 2
v, w = rng.normal(size=(p.J, 2)), rng.normal(size=(p.J, 3))
theirs = p._statistic((x, y), (v, w), (1.5, 2.5))
ours = NFSIC(RBF(1.5**0.5), RBF(2.5**0.5), locations=(v, w)).statistic(x, y)
print(np.isclose(theirs, ours * (299 / 300) ** 2, rtol=1e-6))
def value(t):
    k, l = p.Gauss(x, t[:20].reshape(10, 2), t[-1]), p.Gauss(y, w, 2.5)
    return p._value(k, l, 1e-3)[0]
k, l = p.Gauss(x, v, 1.5), p.Gauss(y, w, 2.5)
slope, turn = k.pull(p._value(k, l, 1e-3)[1] * l.centred)
t = np.append(v.ravel(), 1.5)
steps = 1e-6 * np.eye(21)
numeric = [(value(t + s) - value(t - s)) / 2e-6 for s in steps]
print(np.allclose(np.append(slope.ravel(), turn), numeric, rtol=1e-4, atol=1e-4))
"""
    assert python("-c", code).split() == ["True", "True"]


def test_times_are_told():
    code = "import json; from benchmarks.reproductions.independence_power import times; "
    found = json.loads(python("-c", code + "print(json.dumps(times((600,))))"))
    assert [row["n"] for row in found] == [600] * 3
    assert all(row["seconds"] >= 0 for row in found)
