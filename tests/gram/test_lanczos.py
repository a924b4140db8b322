"""The largest eigenvalue of an operator by Lanczos, against all eigenvalues of its matrix."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NotConverged
from mercer.gram import lanczos
from mercer.gram.lanczos import largest_eigenvalue


@pytest.mark.parametrize("rank", [1, 2, 40])
def test_is_the_largest_of_all(rank):
    a = np.random.default_rng(rank).normal(size=(40, rank))
    matrix = a @ a.T
    found = largest_eigenvalue(lambda v: matrix @ v, np.empty(0), 40)
    assert_allclose(found, np.linalg.eigvalsh(matrix)[-1], rtol=1e-12)


def test_equal_eigenvalues_and_none():
    assert_allclose(largest_eigenvalue(lambda v: 3.0 * v, np.empty(0), 6), 3.0, rtol=1e-14)
    assert largest_eigenvalue(lambda v: 0.0 * v, np.empty(0), 6) == 0.0


def test_a_crowded_spectrum_is_exhausted():
    """The largest is 1e-6 above the next: all of the space is needed, and then is enough."""
    values = 1 - 1e-6 * np.arange(120.0)[:, None]
    assert_allclose(largest_eigenvalue(lambda v: values * v, np.empty(0), 120), 1.0, rtol=1e-9)


def test_a_bound_on_the_steps_is_told(monkeypatch):
    monkeypatch.setattr(lanczos, "_MAX_STEPS", 10)
    values = 1 - 1e-3 * np.arange(300.0)[:, None]
    with pytest.warns(NotConverged, match="after 10 steps"):
        found = largest_eigenvalue(lambda v: values * v, np.empty(0), 300)
    assert 0.9 <= found <= 1 + 1e-12
