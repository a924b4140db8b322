"""The published study of goodness-of-fit tests: in parts, and with the procedures it claims to have."""

import json

from tests.support.studies import said


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
    assert said(code).split() == ["True"] * 3


def test_times_are_told():
    code = "import json; from benchmarks.reproductions.goodness_power import times; "
    found = json.loads(said(code + "print(json.dumps(times((600,))))"))
    assert [row["n"] for row in found] == [600] * 2
    assert all(row["seconds"] >= 0 for row in found)
