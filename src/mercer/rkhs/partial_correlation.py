"""Partial distance correlation of two variables given a third."""

from __future__ import annotations

from math import sqrt
from typing import Any

from mercer.kernels.radial import Energy
from mercer.rkhs.centred_grams import CentredGram, centred_grams
from mercer.rkhs.measures import without_diagonals
from mercer.rkhs.paired_samples import paired_points

# Below this share a variable is a multiple of the other up to rounding: its projection has no direction.
_NEGLIGIBLE_SHARE = 1e-12


def partial_distance_correlation(x: Any, y: Any, given: Any, *, power: float = 1.0) -> float:
    """Partial distance correlation of x and y given a third variable z, from -1 to 1.

    Distances |x_i - x_j|^p, centred so that their products are unbiased, are vectors of a Hilbert space. The
    partial distance correlation is the cosine of the angle between those of x and y after projection onto the
    orthogonal complement of that of z (Szekely and Rizzo 2014, definition 4). With R the bias-corrected
    distance correlation, ``cka(Energy(p), Energy(p), x, y, unbiased=True)``,

        R(x, y; z) = (R_xy - R_xz R_yz) / sqrt((1 - R_xz^2) (1 - R_yz^2)),

    and 0 where x or y is a multiple of z in that space, or constant.

    Zero partial distance correlation is not conditional independence: neither implies the other, except in
    special cases. The projection is linear in distance matrices and does not condition on z. Use
    `mercer.independence(x, y, given=z)` to test conditional independence.

    Parameters
    ----------
    x, y, given : points
        Observed together, at least 4 observations.
    power : float
        Exponent p of the distances, above 0 and at most 2. p = 2 sees linear dependence only.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import cka
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=300)
    >>> x, y = z + rng.normal(size=(2, 300))  # independent given z
    >>> cka(Energy(), Energy(), x, y, unbiased=True), partial_distance_correlation(x, y, z)
    (0.2..., 0.0...)
    >>> partial_distance_correlation(x, x + y, z)
    0.6...
    """
    kernels, names = (Energy(power),) * 3, ("x", "y", "given")
    what = "partial_distance_correlation"
    pairs = paired_points(kernels, (x, y, given), names, least=4, what=what)
    return partial_correlation(*unbiased_products(centred_grams(pairs)))


def unbiased_products(
    grams: tuple[CentredGram, ...],
) -> tuple[float, float, float, float, float, float]:
    """Unbiased HSIC of the pairs xx, yy, zz, xy, xz and yz of three variables."""
    x, y, z = grams
    pairs = (x, x), (y, y), (z, z), (x, y), (x, z), (y, z)
    xx, yy, zz, xy, xz, yz = (
        without_diagonals(a.inner(b), a.diagonal(), b.diagonal()) for a, b in pairs
    )
    return xx, yy, zz, xy, xz, yz


def partial_correlation(xx: float, yy: float, zz: float, xy: float, xz: float, yz: float) -> float:
    """Cosine between two vectors, projected orthogonally to a third, from all inner products."""
    slope_x, slope_y = (xz / zz, yz / zz) if zz > 0 else (0.0, 0.0)
    rest_x, rest_y = xx - slope_x * xz, yy - slope_y * yz  # squared norms after projection
    if rest_x <= _NEGLIGIBLE_SHARE * xx or rest_y <= _NEGLIGIBLE_SHARE * yy:
        return 0.0
    cosine = (xy - slope_x * yz) / (sqrt(rest_x) * sqrt(rest_y))
    return min(max(cosine, -1.0), 1.0)
