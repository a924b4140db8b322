"""Sources of the four families for which independent components, grouped, are known to be enough for ISA.

Spherical densities, densities in the plane that are invariant to quarter turns, or to signs and exchange of the
coordinates, and L^p-spherical ones (Szabo, Poczos and Lorincz 2012): ICA finds the components of each source, and only
the grouping remains.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.learn import ISA, amari_index

pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.NotConverged")
N = 4000


def spherical(rng: np.random.Generator) -> np.ndarray:
    """A uniform direction times a radius near 1 or near 2."""
    directions = rng.normal(size=(N, 2))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * (rng.integers(1, 3, size=(N, 1)) + 0.1 * rng.uniform(size=(N, 1)))


def quarter_turns(rng: np.random.Generator) -> np.ndarray:
    """An arm of a pinwheel, turned by 0, 90, 180 or 270 degrees: its mirror image is another one."""
    t = rng.uniform(0.3, 1.5, N)
    arm = np.stack([t, 0.6 * t**2 + 0.05 * rng.uniform(-1, 1, N)], axis=1)
    turns = np.array([[[1, 0], [0, 1]], [[0, -1], [1, 0]], [[-1, 0], [0, -1]], [[0, 1], [-1, 0]]])
    return np.einsum("nij,nj->ni", turns[rng.integers(4, size=N)], arm)


def signs_and_exchange(rng: np.random.Generator) -> np.ndarray:
    """A cross with thin arms: one coordinate is long and the other one short, with any signs."""
    u = np.stack([rng.uniform(0.2, 1, N), rng.uniform(0, 0.1, N)], axis=1)
    u = np.where(rng.integers(2, size=(N, 1)) == 0, u, u[:, ::-1])
    return u * (2 * rng.integers(2, size=(N, 2)) - 1)


def lp_spherical(rng: np.random.Generator) -> np.ndarray:
    """Uniform on the curve |u_1|^4 + |u_2|^4 = 1 by its cone measure, times a radius."""
    u = rng.gamma(1 / 4, size=(N, 2)) ** (1 / 4) * (2 * rng.integers(2, size=(N, 2)) - 1)
    u /= np.sum(u**4, axis=1, keepdims=True) ** (1 / 4)
    return u * rng.uniform(0.8, 1.0, size=(N, 1))


FAMILIES = [spherical, quarter_turns, signs_and_exchange, lp_spherical]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.__name__)
def test_two_sources_of_a_family_are_separated(family: Callable[..., np.ndarray]):
    rng = np.random.default_rng(0)
    s, mixing = np.hstack([family(rng), family(rng)]), rng.normal(size=(4, 4))
    isa = ISA(2, random_state=0).fit(s @ mixing.T)
    assert amari_index(isa.components_ @ mixing, 2) < 0.05


def test_sources_of_all_families_are_separated():
    rng = np.random.default_rng(1)
    s, mixing = np.hstack([f(rng) for f in FAMILIES]), rng.normal(size=(8, 8))
    isa = ISA(2, random_state=0).fit(s @ mixing.T)
    assert amari_index(isa.components_ @ mixing, 2) < 0.05


def test_the_families_are_what_they_say():
    """Moments that an invariance sets to zero or makes equal, to five standard errors; and one that it does not."""
    rng = np.random.default_rng(2)
    error = 5 / np.sqrt(N)

    def moment(values: np.ndarray) -> float:
        return float(np.mean(values) / np.std(values))

    for family in FAMILIES:  # quarter turns: (u_1, u_2) and (-u_2, u_1) are alike
        u, v = family(rng).T
        assert abs(moment(u)) < error
        assert abs(moment(u * v)) < error
        assert abs(moment(u**2 - v**2)) < error
        assert abs(moment(u**3 * v + u * v**3)) < error
        # u^3 v - u v^3 is invariant to quarter turns, and changes sign with the order of coordinates
        chiral = abs(moment(u**3 * v - u * v**3))
        assert chiral > 0.3 if family is quarter_turns else chiral < error
    u, v = spherical(rng).T  # cos 4a = (u^4 - 6 u^2 v^2 + v^4) / r^4
    assert abs(moment((u**4 - 6 * u**2 * v**2 + v**4) / (u**2 + v**2) ** 2)) < error
    u, v = lp_spherical(rng).T
    radius = (u**4 + v**4) ** (1 / 4)
    assert_allclose([radius.min(), radius.max()], [0.8, 1.0], atol=0.001)
    # cone measure: |u_1|^4 / radius^4 is Beta(1/4, 1/4), independent of the radius
    share = (u / radius) ** 4
    assert_allclose(share.var(), 1 / 4 / 1.5, atol=0.01)
    assert abs(np.corrcoef(share, radius)[0, 1]) < error
