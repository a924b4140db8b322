"""Distance covariances of few plain points, against the general computation by Gram matrices and dcor's formula."""

import numpy as np
import pytest

from mercer.kernels import Energy
from mercer.rkhs import cka, hsic

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("n", [4, 30, 100, 101, 150])
@pytest.mark.parametrize("widths", [(1, 1), (2, 1), (3, 20)])
@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("measure", [hsic, cka])
def test_arrays_and_lists_have_equal_measures(measure, n, widths, unbiased):
    x, y = (RNG.normal(size=(n, d)) + 1e3 for d in widths)
    y[:, 0] += x[:, 0]
    plain = measure(Energy(), Energy(), x, y, unbiased=unbiased)
    general = measure(Energy(), Energy(), x.tolist(), y.tolist(), unbiased=unbiased)
    assert plain == pytest.approx(general, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_values_that_are_not_usual_are_refused(bad):
    x = RNG.normal(size=(20, 1))
    x[3] = bad
    with pytest.raises(ValueError, match="NaN or infinite|squares overflow"):
        hsic(Energy(), Energy(), x, RNG.normal(size=20))


def test_different_numbers_of_points_are_refused():
    with pytest.raises(ValueError, match="same number of points"):
        hsic(Energy(), Energy(), np.ones(5), np.ones(6))


def test_a_constant_is_independent_of_everything():
    assert cka(Energy(), Energy(), np.ones(20), RNG.normal(size=20)) == 0.0
