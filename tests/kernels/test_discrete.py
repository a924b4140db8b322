"""Categories and histograms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import chi2_kernel

from mercer.kernels import RBF, Chi2, Constant, Delta, Intersection, Tensor

LABELS = ["ja", "nein", "ja", "weiß nicht"]
EQUAL = np.array([[1.0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]])
RNG = np.random.default_rng(0)
X, Y = RNG.poisson(1.0, (6, 8)).astype(float), RNG.poisson(1.0, (5, 8)).astype(float)


@pytest.mark.parametrize(
    "labels",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS),
        np.array(LABELS, dtype=object),
        np.array(LABELS, dtype=np.dtypes.StringDType()),
        [[v] for v in LABELS],
        pd.Series(LABELS),
        pd.Series(LABELS, dtype="category"),
        pl.DataFrame({"answer": LABELS}),
        [3, 5, 3, 7],
        np.array([0.5, 1.5, 0.5, -1.0]),
    ],
    ids=lambda v: type(v).__name__,
)
def test_delta_is_one_where_labels_are_equal(labels):
    assert_array_equal(Delta()(labels), EQUAL)
    assert_array_equal(Delta()(labels, labels), EQUAL)
    assert_array_equal((2 * Delta() + 1)(labels), 2 * EQUAL + 1)
    assert_array_equal((Delta() * Delta()).normalized()(labels), EQUAL)


def test_labels_are_the_same_in_every_sample():
    assert_array_equal(Delta()(["b", "a"], ["a", "b", "c"]), [[0, 1, 0], [1, 0, 0]])


def test_rows_are_equal_when_all_columns_are():
    rows = [["a", "x"], ["a", "y"], ["a", "x"]]
    assert_array_equal(Delta()(rows), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])
    frame = pd.DataFrame(rows, columns=["first", "second"])
    assert_array_equal(Delta()(frame), Delta()(rows))
    each = Delta().select("first") + Delta().select("second")
    assert_array_equal(each(frame), [[2, 1, 2], [1, 2, 1], [2, 1, 2]])


def test_categories_beside_numbers():
    numbers = RNG.standard_normal((4, 2))
    both = Tensor(RBF(), Delta())((numbers, LABELS))
    assert_allclose(both, RBF()(numbers) * EQUAL)


def test_what_is_not_a_label():
    with pytest.raises(TypeError, match="x must hold real numbers"):
        (Delta() + RBF())(LABELS)
    with pytest.raises(TypeError, match="got dtype object with NoneType, str inside"):
        Delta()([None, "a"])
    with pytest.raises(ValueError, match="x is ragged"):
        Delta()([["a", "b"], ["c"]])
    with pytest.raises(ValueError, match="same number of columns"):
        Delta()([["a", "b"]], [["a"]])


def test_constant_takes_points_of_any_kind():
    assert_array_equal(Constant(2.0)(LABELS), np.full((4, 4), 2.0))
    assert_array_equal(Constant(2.0)([{}, {}], [{}]), np.full((2, 1), 2.0))
    assert_array_equal(Constant(2.0)([[1, 2], [3, 4]]), np.full((2, 2), 2.0))


def test_intersection():
    expected = np.minimum(X[:, None], Y).sum(axis=2)
    assert_array_equal(Intersection()(X, Y), expected)
    # its features: one indicator per unit of every bin
    units = np.arange(int(max(X.max(), Y.max())))
    feature = [(v[:, :, None] > units).reshape(len(v), -1).astype(float) for v in (X, Y)]
    assert_array_equal(feature[0] @ feature[1].T, expected)


def test_chi2_is_scikit_learns():
    assert_allclose(Chi2(0.4)(X, Y), chi2_kernel(X, Y, gamma=0.4), rtol=1e-12)
    assert_allclose(Chi2()([[0.0, 1.0]], [[0.0, 1.0]]), 1.0)


@pytest.mark.parametrize("kernel", [Intersection(), Chi2()])
def test_histograms_are_not_negative(kernel):
    with pytest.raises(
        ValueError, match=r"y must have values in \[0, inf\), got values from -1 to 2: hist"
    ):
        kernel([[1.0, 2.0]], [[-1.0, 2.0]])
    with pytest.raises(ValueError, match="scale must be a positive number"):
        Chi2(0.0)
