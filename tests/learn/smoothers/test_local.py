"""Local averages and lines against loops over weighted least squares; leave-one-out against refits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import mercer
from mercer.kernels import RBF, Delta, Linear, Matern
from mercer.learn import LocalLinear, NadarayaWatson

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, size=(60, 3)) * [1.0, 10.0, 0.1]
Y = np.stack([np.sin(X[:, 0]) + X[:, 1], X[:, 2] ** 2], axis=1) + 0.1 * RNG.normal(size=(60, 2))
NEW = RNG.uniform(-1, 1, size=(9, 3)) * [1.0, 10.0, 0.1]
KERNEL = RBF(1.0).scaled((1.0, 0.2, 10.0))
BOTH = pytest.mark.parametrize("smoother", [NadarayaWatson, LocalLinear])


def fitted_by_hand(smoother, x, y, at, kernel):
    """Weighted least squares at every point, one after the other."""
    found = []
    for place in at:
        w = np.sqrt(kernel(place[None], x)[0])[:, None]
        design = np.ones((len(x), 1))
        if smoother is LocalLinear:
            design = np.concatenate([design, x - place], axis=1)
        found.append(np.linalg.lstsq(w * design, w * y, rcond=None)[0][0])
    return np.asarray(found)


@BOTH
def test_predictions_are_weighted_least_squares(smoother):
    want = fitted_by_hand(smoother, X, Y, NEW, KERNEL)
    fitted = smoother(KERNEL).fit(X, Y)
    assert_allclose(fitted.predict(NEW), want, rtol=1e-6, atol=1e-8)
    assert_allclose(smoother(KERNEL).fit(X, Y[:, 0]).predict(NEW), want[:, 0], rtol=1e-6)


@BOTH
def test_leave_one_out_is_the_loop(smoother):
    bandwidths = (0.3, 1.0, 3.0)
    x = X * [1.0, 0.1, 10.0]
    fitted = smoother(RBF(1.0), bandwidths=bandwidths).fit(x, Y)
    for bandwidth, error in zip(bandwidths, fitted.leave_one_out_, strict=True):
        loop = []
        for i in range(len(x)):
            others = np.arange(len(x)) != i
            one = smoother(RBF(bandwidth)).fit(x[others], Y[others])
            loop.append((one.predict(x[i : i + 1])[0] - Y[i]) ** 2)
        assert_allclose(error, np.mean(loop), rtol=1e-5)
    assert fitted.kernel_ == RBF(bandwidths[int(np.argmin(fitted.leave_one_out_))])


@BOTH
def test_tiles_do_not_matter(smoother):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 6, size=(1500, 1))
    y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=1500)
    fitted = smoother().fit(x, y)
    with mercer.config(memory="16MiB", threads=1):
        again = smoother().fit(x, y)
    assert again.kernel_ == fitted.kernel_
    at = np.linspace(0.5, 5.5, 50)[:, None]
    assert_allclose(again.predict(at), fitted.predict(at), rtol=1e-9)
    assert_allclose(fitted.predict(at), np.sin(at[:, 0]), atol=0.15)
    assert 0.05 < fitted.kernel_.bandwidth < 1.0


def test_lines_are_followed_to_the_edges():
    slope = np.array([2.0, -0.3, 5.0])
    fitted = LocalLinear(KERNEL).fit(X, X @ slope + 1)
    at = np.concatenate([NEW, [[1.5, 12.0, 0.12]]])
    assert_allclose(fitted.predict(at), at @ slope + 1, rtol=1e-5)
    assert np.abs(NadarayaWatson(KERNEL).fit(X, X @ slope).predict(NEW) - NEW @ slope).max() > 0.1


@BOTH
def test_far_from_all_points_it_is_the_mean(smoother):
    fitted = smoother(RBF(0.1)).fit(X, Y)
    assert_allclose(fitted.predict([[1e5, 0.0, 0.0]])[0], Y.mean(axis=0))


@BOTH
def test_isolated_points_are_left_out_without_nan(smoother):
    x = np.array([0.0, 1.0, 2.0, 1000.0])[:, None]
    fitted = smoother(bandwidths=(0.01, 1.0)).fit(x, np.array([0.0, 1.0, 2.0, 5.0]))
    assert np.isfinite(fitted.leave_one_out_).all()
    assert fitted.kernel_ == RBF(1.0)


def test_constant_columns_and_constant_targets():
    x = np.concatenate([X[:, :1], np.full((60, 1), 7.0)], axis=1)
    fitted = LocalLinear(RBF(0.5)).fit(x, 3 * X[:, 0])
    assert_allclose(fitted.predict(x), 3 * X[:, 0], atol=1e-6)
    for smoother in (NadarayaWatson, LocalLinear):
        assert_allclose(smoother().fit(X, np.full(60, 2.0)).predict(NEW), 2.0)
        assert_allclose(smoother().fit(np.ones((5, 2)), np.arange(5.0)).predict([[1.0, 1.0]]), 2.0)


def test_frames_and_objects():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "kind": np.where(X[:, 2] > 0, "p", "q")})
    y = X[:, 0] + (X[:, 2] > 0)
    fitted = NadarayaWatson().fit(frame, y)
    assert len(fitted.candidates_) == 16
    assert fitted.score(frame, y) > 0.7
    numbers = frame[["a", "b"]]
    assert LocalLinear().fit(numbers, X[:, 1]).score(numbers, X[:, 1]) > 0.99
    words = ["a", "b", "a", "b"]
    fitted = NadarayaWatson(Delta()).fit(words, [1.0, 2.0, 3.0, 6.0])
    assert_allclose(fitted.predict(["a", "b"]), [2.0, 4.0])


def test_float32_and_torch():
    for smoother in (NadarayaWatson, LocalLinear):
        want = smoother(KERNEL).fit(X, Y).predict(NEW)
        single = smoother(KERNEL).fit(X.astype(np.float32), Y).predict(NEW.astype(np.float32))
        assert_allclose(single, want, rtol=1e-4, atol=1e-4)
    torch = pytest.importorskip("torch")
    fitted = LocalLinear(KERNEL).fit(torch.tensor(X), torch.tensor(Y))
    assert_allclose(fitted.predict(torch.tensor(NEW)), want, rtol=1e-9)


def test_refusals_say_what_was_needed():
    with pytest.raises(ValueError, match="bandwidths need a kernel with a bandwidth"):
        NadarayaWatson(Linear(), bandwidths=(1.0,)).fit(X, Y)
    with pytest.raises(ValueError, match="bandwidth must be a positive number"):
        NadarayaWatson(bandwidths=(0.0, 1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="weights here and must not be negative, but Linear"):
        NadarayaWatson(Linear()).fit(X, Y)
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        NadarayaWatson("rbf").fit(X, Y)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="LocalLinear needs vectors as points"):
        LocalLinear(_Length()).fit([("a",), ("b", "c")], [1.0, 2.0])
    with pytest.raises(ValueError, match="NaN"):
        LocalLinear().fit(X, np.where(Y > 1, np.nan, Y))


class _Length(Matern):
    """A kernel on sequences."""

    def accept(self, x, name="x"):
        return x

    def diag(self, x):
        return np.ones(len(x))


def test_names_of_categories_do_not_matter():
    """Codes of categories have no order: no line goes along them."""
    kind = RNG.choice(["u", "v", "w"], size=len(X))
    frame = pd.DataFrame({"a": X[:, 0], "kind": kind})
    other = frame.assign(kind=frame["kind"].map({"u": "zebra", "v": "apple", "w": "m"}))
    y = np.where(kind == "u", X[:, 0], 2.0)
    for smoother in (LocalLinear(), NadarayaWatson()):
        want = clone(smoother).fit(frame, y).predict(frame)
        found = clone(smoother).fit(other, y).predict(other)
        assert_allclose(found, want, atol=1e-8)
    apart = LocalLinear(RBF(1.0).select("a") * Delta().select("kind")).fit(frame, y).predict(frame)
    for name in "uvw":
        mine = kind == name
        alone = LocalLinear(RBF(1.0)).fit(X[mine, :1], y[mine]).predict(X[mine, :1])
        assert_allclose(apart[mine], alone, atol=1e-6)
    only = frame[["kind"]]
    means = LocalLinear(Delta()).fit(only, y).predict(only)
    assert_allclose(means[kind == "u"], y[kind == "u"].mean())
