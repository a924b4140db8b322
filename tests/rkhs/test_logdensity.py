"""Log-densities up to a constant: gradients of autograd and given ones, supports, scores that are looked up."""

import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.rkhs import Gaussian, LogDensity, Mixture, Scores, ksd2
from mercer.rkhs.charts import Chart
from mercer.rkhs.logdensity import _POINTS_PER_GRADIENT
from tests.support.arrays import LIBRARIES, needs_torch, to_numpy, torch

P = Mixture([Gaussian([0.0, 1.0], [1.0, 2.0]), Gaussian([3.0, 0.0], 0.5)], [0.3, 0.7])
X = np.random.default_rng(0).normal(size=(40, 2))
ENDS = Chart(np.array([-np.inf, 2.0, -np.inf, -1.0]), np.array([np.inf, np.inf, 3.0, 5.0]))


@needs_torch
def test_autograd_gives_the_score():
    traced = LogDensity(lambda x: P.log_density(x) + 5.0)
    assert_allclose(traced.score(X), P.score(X), rtol=1e-11)
    assert_allclose(traced.log_density(X), P.log_density(X) + 5, rtol=1e-12)
    found = traced.score(torch.tensor(X, requires_grad=True))
    assert isinstance(found, torch.Tensor)
    assert not found.requires_grad
    assert_allclose(to_numpy(found), P.score(X), rtol=1e-11)


@needs_torch
def test_many_points_are_differentiated_in_parts():
    x = np.random.default_rng(1).normal(size=(_POINTS_PER_GRADIENT + 5, 1))
    assert_allclose(LogDensity(lambda t: -(t**4).sum(axis=1)).score(x), -4 * x**3, rtol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_gradient_of_ones_own(library):
    x = LIBRARIES[library](X)
    own = LogDensity(P.log_density, gradient=P.score)
    assert type(own.score(x)) is type(x)
    assert_allclose(to_numpy(own.score(x)), P.score(X), rtol=1e-12)
    assert_allclose(to_numpy(own.log_density(x)), P.log_density(X), rtol=1e-12)


@needs_torch
def test_torch_is_imported_when_it_is_needed():
    code = """
import sys
import numpy as np
from mercer.htest import KSD
from mercer.rkhs import LogDensity
p = LogDensity(lambda x: -(x**2).sum(axis=1) / 2)
x = np.random.default_rng(0).normal(size=(30, 1))
KSD(LogDensity(p.log_p, gradient=lambda x: -x)).test(x, rng=0)
print("torch" in sys.modules)
p.score(x)
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


@needs_torch
@pytest.mark.parametrize(
    ("log_p", "error", "message"),
    [
        (lambda x: np.zeros(len(x)), TypeError, "torch operations.*returned ndarray"),
        (lambda x: torch.zeros(len(x)), TypeError, "values are detached from x"),
        (lambda x: -(x**2), ValueError, r"one number for each point, shape \(40,\), got \(40, 2\)"),
        (lambda x: x.sum(), ValueError, r"got \(\)"),
    ],
    ids=["numpy", "constant", "not summed", "one number"],
)
def test_what_cannot_be_differentiated(log_p, error, message):
    with pytest.raises(error, match=message):
        LogDensity(log_p).score(X)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="log_p must be a function"):
        LogDensity(3.0)
    with pytest.raises(TypeError, match="gradient must be a function"):
        LogDensity(P.log_density, gradient=X)
    for support in ((1.0, 0.0), (0.0,), 3.0, ([0.0, 1.0], [1.0, 2.0, 3.0]), ("a", "b")):
        with pytest.raises(ValueError, match="support must be a pair"):
            LogDensity(P.log_density, support=support)
    with pytest.raises(ValueError, match="values has NaN"):
        Scores([[np.nan]])
    assert repr(LogDensity(P.log_density)) == "LogDensity(log_density)"
    assert repr(Scores(X)) == "Scores(40 points, 2 dimensions)"


def test_charts_are_bijections_with_their_derivatives():
    z = 4 * np.random.default_rng(0).normal(size=(50, 4))
    x = ENDS.points(z)
    assert np.all((x > ENDS.low) & (x < ENDS.high))
    assert_allclose(ENDS.coordinates(x), z, rtol=1e-9, atol=1e-9)
    slope, turn = ENDS.slopes(z)
    h = 1e-5
    assert_allclose((ENDS.points(z + h) - ENDS.points(z - h)) / (2 * h), slope, rtol=1e-6)
    logs = [np.log(ENDS.slopes(z + s)[0]) for s in (h, -h)]
    assert_allclose((logs[0] - logs[1]) / (2 * h), turn, rtol=1e-6, atol=1e-9)
    assert np.all(np.diff(ENDS.points(np.sort(z, axis=0)), axis=0) >= 0)
    far = ENDS.points(np.array([[1e3] * 4, [-1e3] * 4]) / 2)
    assert np.all((far > ENDS.low) & (far < ENDS.high))


def test_scores_are_looked_up():
    s = P.score(X)
    known = Scores(s).at(X)
    assert_array_equal(known(X), s)
    assert_array_equal(known(X[[7, 3, 3]]), s[[7, 3, 3]])
    assert_array_equal(to_numpy(known(torch.tensor(X[5:9]))), s[5:9])
    with pytest.raises(ValueError, match="point 1 is not one of them"):
        known(X[:3] + np.array([[0.0], [1.0], [0.0]]))
    with pytest.raises(ValueError, match=r"shape of the scores, \(40, 2\)"):
        Scores(s).at(X[:5])


def test_ksd2_takes_scores_that_were_written_down():
    x = np.random.default_rng(0).normal(size=(700, 2))  # more than a tile
    for unbiased in (True, False):
        assert_allclose(
            ksd2(None, P.score(x), x, unbiased=unbiased), ksd2(None, P.score, x, unbiased=unbiased)
        )
    with pytest.raises(ValueError, match="x must have the shape of the scores"):
        ksd2(None, P.score(x), x[1:])
