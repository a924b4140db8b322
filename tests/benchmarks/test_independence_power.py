"""The published study of independence tests: in parts, and with the procedures it claims to have."""

import json

from tests.support.studies import said


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
    assert said(code).split() == ["True", "True"]


def test_times_are_told():
    code = "import json; from benchmarks.reproductions.independence_power import times; "
    found = json.loads(said(code + "print(json.dumps(times((600,))))"))
    assert [row["n"] for row in found] == [600] * 3
    assert all(row["seconds"] >= 0 for row in found)
