"""`series=True` of the doors, and what they say about rows that depend on those before them."""

import numpy as np
import pytest

import mercer


def autoregressive(rng, n, phi, width=1):
    """Series x_t = phi x_(t-1) + e_t in the columns: (n, width)."""
    x = rng.normal(size=(n, width))
    for t in range(1, n):
        x[t] += phi * x[t - 1]
    return x


def test_series_of_the_same_law_are_told_from_others():
    rng = np.random.default_rng(0)
    x, y = (autoregressive(rng, 400, 0.8) for _ in range(2))
    assert not mercer.two_sample(x, y, series=True, rng=0).rejects()
    assert mercer.two_sample(x, y + 3, series=True, rng=0).rejects()
    assert not mercer.independence(x, y, series=True, rng=0).rejects()
    assert mercer.independence(x, y + 2 * np.abs(x), series=True, rng=0).rejects()


@pytest.mark.parametrize("door", [mercer.two_sample, mercer.independence])
def test_series_names_its_test_and_refuses_random_walks(door):
    rng = np.random.default_rng(1)
    walks = np.cumsum(rng.normal(size=(2, 300)), axis=1)
    result = door(*np.diff(walks), series=True, rng=0)
    assert "with WildBootstrap(block=None) was chosen" in result.summary()
    with pytest.raises(ValueError, match="must be a stationary series.*np.diff"):
        door(*walks, series=True)
    with pytest.raises(TypeError, match="series must be True or False"):
        door(*walks, series="yes")


def test_series_given_others_say_how_to_add_lags():
    x, y, z = np.random.default_rng(2).normal(size=(3, 50))
    with pytest.raises(ValueError, match="add earlier rows to what is given"):
        mercer.independence(x, y, given=z, series=True)
