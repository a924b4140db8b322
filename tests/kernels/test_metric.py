"""Squared distances against exact arithmetic: near, far, clustered, in both precisions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from mercer.kernels import RBF
from mercer.kernels.metric import l1_distances, squared_distances
from tests.support.arrays import LIBRARIES, to_numpy


def exact(x, y):
    """In 80-bit arithmetic, from differences."""
    return ((x.astype(np.longdouble)[:, None] - y.astype(np.longdouble)) ** 2).sum(axis=2)


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("gap", [0.0, 1e-12, 1e-6, 1.0])
@pytest.mark.parametrize("spread", [0.0, 1.0, 1e4])
def test_near_duplicates_are_exact(library, gap, spread):
    rng = np.random.default_rng(0)
    x = spread * rng.standard_normal((20, 4)) + 1e5
    y = np.concatenate([x[:6] + gap * rng.standard_normal((6, 4)), x[6:9] + 1.0])
    expected = exact(x, y).astype(float)
    r2 = to_numpy(squared_distances(*map(LIBRARIES[library], (x, y))))
    assert_allclose(r2, expected, rtol=1e-8, atol=0)


@pytest.mark.parametrize("library", LIBRARIES)
def test_single_precision_is_as_good_as_its_input(library):
    rng = np.random.default_rng(0)
    x = (100 + rng.standard_normal((20, 4))).astype(np.float32)
    y = (x + 1e-4 * rng.standard_normal((20, 4))).astype(np.float32)
    r2 = squared_distances(*map(LIBRARIES[library], (x, y)))
    assert_allclose(to_numpy(r2), exact(x, y).astype(float), rtol=1e-5)
    assert to_numpy(r2).dtype == np.float32


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 5),
    st.floats(-8, 8),
    st.floats(-8, 8),
    st.floats(-8, 8),
    st.integers(0, 2**32 - 1),
)
def test_any_scale_any_offset(d, spread, gap, offset, seed):
    """Distances to nine digits, relative to themselves, whatever the clusters."""
    rng = np.random.default_rng(seed)
    centres = 10**offset + 10**spread * rng.standard_normal((3, d))
    x = centres[rng.integers(0, 3, 8)] + 10**gap * rng.standard_normal((8, d))
    y = np.concatenate(
        [x[:3], centres[rng.integers(0, 3, 4)] + 10**gap * rng.standard_normal((4, d))]
    )
    expected = exact(x, y).astype(float)
    # moving by the mean rounds each coordinate once
    size = max(np.abs(x).max(), np.abs(y).max())
    slack = 8 * np.finfo(float).eps * size * np.sqrt(expected * d) + d * (4e-16 * size) ** 2
    assert np.all(np.abs(squared_distances(x, y) - expected) <= 1e-8 * expected + slack)
    square = squared_distances(x, x)
    assert np.all(np.diagonal(square) == 0)
    assert np.all(square >= 0)


def test_the_profile_decides_how_much_care_is_needed():
    x = np.random.default_rng(0).standard_normal((300, 5))
    wide, narrow = RBF(100.0), RBF(1e-3)
    y = x + 1e-7
    assert_allclose(wide(x, y), wide.profile(exact(x, y).astype(float)), rtol=1e-12)
    assert_allclose(narrow(x, y), narrow.profile(exact(x, y).astype(float)), rtol=1e-8, atol=1e-12)


def test_city_block():
    x, y = np.random.default_rng(0).standard_normal((2, 6, 3))
    assert_allclose(l1_distances(x, y), np.abs(x[:, None] - y).sum(axis=2), rtol=1e-14)
