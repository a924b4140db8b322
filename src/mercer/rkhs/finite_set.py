"""Finite set independence criterion: covariances of kernel values at a few pairs of locations."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import array_like, is_array, to_numpy
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import bound_to, read


def fsic(
    kernel_x: Kernel, kernel_y: Kernel, x: Any, y: Any, *, locations: tuple[Any, Any]
) -> float:
    """Finite set independence criterion, sqrt(mean_j u(v_j, w_j)^2) with u(v, w) = cov(k(X, v), l(Y, w)).

    The norm of the dependence witness u in L2 of the locations (v_j, w_j), estimated by unbiased covariances in time
    linear in the number of observations. 0 in the population where X and Y are independent; for analytic
    characteristic kernels and locations from a density only there, with probability one. Its normalised square is the
    statistic of the test `NFSIC` (Jitkrittum, Szabo and Gretton 2017).

    Parameters
    ----------
    kernel_x, kernel_y : Kernel
    x, y : observations of two variables, in pairs
    locations : pair of points (J, dx), (J, dy)

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=500)
    >>> at = [-1.0, 1.0], [-1.0, 1.0]
    >>> k = RBF(1.0)
    >>> fsic(k, k, x, x + rng.normal(size=500), locations=at) > 3 * fsic(k, k, x, rng.normal(size=500), locations=at)
    True
    """
    if not isinstance(locations, tuple) or len(locations) != 2:
        raise TypeError("locations must be a pair of points, (v, w), of x and of y")
    features = [
        _features(kernel_x, x, locations[0], "x"),
        _features(kernel_y, y, locations[1], "y"),
    ]
    k, l = features  # noqa: E741  (as in the paper)
    if len(k) != len(l) or k.shape[1] != l.shape[1]:
        raise ValueError(
            "x and y must have the same number of observations, and both parts of locations the same number of "
            f"points, got {len(k)} and {len(l)} observations, {k.shape[1]} and {l.shape[1]} locations"
        )
    n = len(k)
    if n < 2:
        raise ValueError(f"x must have at least two observations, got {n}")
    u = np.sum((k - k.mean(axis=0)) * l, axis=0) / (n - 1)
    return sqrt(float(np.mean(u**2)))


def _features(kernel: Kernel, sample: Any, places: Any, name: str) -> np.ndarray:
    """Kernel values at the locations: (n, J)."""
    points, columns = read(kernel, sample, None, name)
    at, _ = read(kernel, places, columns, "locations")
    if is_array(points) and is_array(at):
        validate.same_width(points, at, (name, "locations"))
        at = array_like(to_numpy(at), points)
    values = Gram(bound_to(kernel, columns), points, at).dense()
    return to_numpy(values).astype(np.float64)
