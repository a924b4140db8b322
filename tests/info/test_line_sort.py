"""Sorting of rows in two passes, against NumPy's."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.info.line_sort import sort_rows

N = 5000


def _rows(name: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    normal = rng.standard_normal((3, N))
    return {
        "normal": normal,
        "far from zero": 1e9 + normal,
        "in order": np.sort(normal, axis=1),
        "reversed": -np.sort(normal, axis=1),
        "heavy tails": rng.standard_cauchy((3, N)) ** 3,
        "one outlier": np.where(np.arange(N) == 7, 1e30, normal),
        "integers": rng.integers(-4, 5, (3, N)).astype(float),
        "equal": np.full((2, N), 0.1),
        "wider than float64": 1.7e308 * np.sign(normal) * rng.uniform(0.5, 1.0, (3, N)),
        "narrower than float64": 5e-324 * rng.integers(0, 9, (3, N)),
        "neighbouring numbers": 1.0 + np.finfo(float).eps * rng.integers(0, 2**21, (3, N)),
        "few": normal[:, :9],
        "none": normal[:, :0],
    }[name]


@pytest.mark.parametrize(
    "name",
    [
        "normal", "far from zero", "in order", "reversed", "heavy tails", "one outlier", "integers", "equal",
        "wider than float64", "narrower than float64", "neighbouring numbers", "few", "none",
    ],
)  # fmt: skip
def test_rows_are_those_that_numpy_sorts(name):
    values = _rows(name).copy()
    expected = np.sort(values, axis=1)
    sort_rows(values)
    assert_array_equal(values, expected)
