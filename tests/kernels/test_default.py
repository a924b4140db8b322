"""The default kernel: right for numbers, categories and both, whatever the units and the frame."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF, Delta
from mercer.kernels.bandwidth import median_bandwidth
from mercer.kernels.default import default_kernel
from mercer.kernels.facts import facts
from tests.support.arrays import torch

CITIES = np.array(["Rome", "Oslo", "Lima"])


def columns(n=30, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "height": rng.normal(170, 10, n),
        "city": CITIES[rng.integers(0, 3, n)],
        "salary": rng.lognormal(10, 1, n),
        "pet": np.array(["cat", "dog"])[rng.integers(0, 2, n)],
    }


LIBRARIES = [
    pytest.param(pd.DataFrame, id="pandas"),
    pytest.param(pl.DataFrame, id="polars"),
    pytest.param(pa.table, id="arrow"),
]


def by_hand(c):
    """The formula of the docstring, from scratch."""
    z = np.stack([c["height"] / c["height"].std(), c["salary"] / c["salary"].std()], axis=1)
    gaussian = RBF(median_bandwidth(z))(z)
    n = len(z)
    differ = sum((c[name][:, None] != c[name][None, :]).astype(float) for name in ("city", "pet"))
    mean = differ.sum() / (n * (n - 1))
    return gaussian * np.exp(-differ / (2 * mean))


@pytest.mark.parametrize("library", LIBRARIES)
def test_mixed_frames(library):
    frame = library(columns())
    assert_allclose(default_kernel(frame)(frame), by_hand(columns()), rtol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_are_bound_by_name(library):
    kernel = default_kernel(library(columns()))
    other = columns(12, seed=1)
    expected = kernel(pd.DataFrame(columns()), pd.DataFrame(other))
    turned = library({name: other[name] for name in ("pet", "salary", "city", "height")})
    assert_allclose(kernel(library(columns()), turned), expected, rtol=1e-12)
    assert_allclose(kernel(turned), kernel(library(other)), rtol=1e-12)
    wider = library({"extra": other["height"], **other})
    assert_allclose(kernel(wider), kernel(library(other)), rtol=1e-12)


def test_categorical_types_are_the_same_to_it():
    c = columns()
    plain, typed = pd.DataFrame(c), pd.DataFrame(c).astype({"city": "category"})
    enum = pl.DataFrame(c).with_columns(pl.col("city").cast(pl.Categorical))
    assert default_kernel(plain) == default_kernel(typed) == default_kernel(enum)
    assert_allclose(default_kernel(typed)(typed), by_hand(c), rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-100, 1e-3, 1e6, 1e100])
def test_units_do_not_matter(unit):
    c = columns()
    frame, changed = pd.DataFrame(c), pd.DataFrame(c | {"salary": c["salary"] * unit})
    assert_allclose(default_kernel(changed)(changed), default_kernel(frame)(frame), rtol=1e-9)


def test_origins_do_not_matter():
    c = columns()
    frame, changed = pd.DataFrame(c), pd.DataFrame(c | {"height": c["height"] - 170})
    assert_allclose(default_kernel(changed)(changed), default_kernel(frame)(frame), rtol=1e-9)


@pytest.mark.parametrize(
    "chosen",
    [["height"], ["height", "salary"], ["city"], ["city", "pet"], ["city", "height"]],
    ids=str,
)
def test_it_is_characteristic_and_says_so(chosen):
    frame = pd.DataFrame(columns())[chosen]
    kernel = default_kernel(frame)
    found = facts(kernel)
    assert found.characteristic is True
    assert found.integrally_strict is True
    assert found.bounded is True
    distinct = frame.drop_duplicates()[:6]
    assert np.linalg.eigvalsh(kernel(distinct))[0] > 1e-9
    assert_allclose(np.diag(kernel(frame)), 1)


def test_it_sees_interactions_of_numbers_and_categories():
    """Same marginals, different coupling: the sum of the marginal kernels has MMD 0, it has not."""
    x = pd.DataFrame({"a": [0.0, 1.0], "b": ["u", "v"]})
    y = pd.DataFrame({"a": [0.0, 1.0], "b": ["v", "u"]})
    both, w = pd.concat([x, y]), np.array([0.5, 0.5, -0.5, -0.5])
    additive = RBF(1.0).select("a") + Delta().select("b")
    assert_allclose(w @ additive(both) @ w, 0, atol=1e-15)
    assert w @ default_kernel(both)(both) @ w > 0.05


def test_typical_pairs_have_typical_values():
    """Neither all 0 nor all 1, however many columns of categories there are."""
    rng = np.random.default_rng(0)
    for many in (1, 5, 50):
        frame = pd.DataFrame({f"c{i}": rng.integers(0, 4, 100).astype(str) for i in range(many)})
        k = default_kernel(frame)(frame)
        off = k[np.triu_indices(100, 1)]
        assert 0.3 < np.median(off) < 0.8


def test_arrays_get_the_median_bandwidth():
    x = np.random.default_rng(0).normal(size=(50, 3))
    assert default_kernel(x) == RBF(median_bandwidth(x))
    assert default_kernel(torch.tensor(x)) == default_kernel(x.tolist()) == default_kernel(x)
    big = np.random.default_rng(0).normal(size=(3000, 1))
    assert default_kernel(big, rng=3) == RBF(median_bandwidth(big, rng=3))


def test_series():
    values = pd.Series([1.0, 2.0, 4.0], name="a")
    k = default_kernel(values)(values)
    assert_allclose(k, RBF(2.0)(values.to_numpy()), rtol=1e-12)
    labels = pl.Series("b", ["u", "v", "u"])
    assert_allclose(np.diag(default_kernel(labels)(labels)), 1)


def test_constant_columns_are_left_out():
    c = columns()
    frame = pd.DataFrame(c | {"same": 0.1, "rounded": [0.3, 0.1 + 0.2] * 15})
    assert default_kernel(frame) == default_kernel(pd.DataFrame(c))
    only = pd.DataFrame({"same": [1.0, 1.0], "city": ["u", "v"]})
    assert_allclose(default_kernel(only)(only), [[1, np.exp(-0.5)], [np.exp(-0.5), 1]])


def test_a_category_that_does_not_vary_still_sees_new_ones():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": ["u", "u", "u"]})
    kernel = default_kernel(frame)
    assert_allclose(kernel(frame), RBF(1.0)(frame[["a"]].to_numpy()), rtol=1e-12)
    new = pd.DataFrame({"a": [0.0], "b": ["v"]})
    assert_allclose(kernel(frame[:1], new), np.exp(-1))


def test_booleans_are_numbers():
    frame = pd.DataFrame({"a": [True, False, True]})
    k = default_kernel(frame)(frame)
    assert k[0, 2] == 1
    assert k[0, 1] < 1


def test_wrong_arguments():
    with pytest.raises(ValueError, match=r"of x is constant .*give a kernel"):
        default_kernel(pd.DataFrame({"a": [1.0, 1.0]}))
    with pytest.raises(ValueError, match="missing values"):
        default_kernel(pd.DataFrame({"a": [1.0, np.nan]}))
    with pytest.raises(ValueError, match="column 'a' of x has NaN or infinite"):
        default_kernel(pd.DataFrame({"a": [1.0, np.inf]}))
    with pytest.raises(TypeError, match="array of numbers"):
        default_kernel("data")
    with pytest.raises(TypeError, match="column 'a' of x holds dates or times"):
        default_kernel(pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2021-01-01"])}))
