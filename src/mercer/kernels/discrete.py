"""Kernels on categories and on histograms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, astype, namespace, ones
from mercer.frames import category_codes
from mercer.kernels.base import Coordinatewise, Kernel, Points
from mercer.kernels.metric import total


@dataclass(frozen=True)
class Delta(Coordinatewise):
    """1 where x = y, else 0: unordered categories.

    Rows of several columns are equal when all of their columns are; for a kernel per column use
    `.select` or `Tensor`. Points are numbers, or labels (text) that are compared as text.
    Characteristic on discrete spaces: the embedding is the vector of probabilities.

    Examples
    --------
    >>> Delta()(["yes", "no", "yes"])
    array([[1., 0., 1.],
           [0., 1., 0.],
           [1., 0., 1.]])
    """

    takes_categories = True

    def accept(self, x: Any, name: str = "x") -> Points:
        labels = _labels(x)
        if labels is None:
            return validate.points(x, name)
        return validate.matrix(np.reshape(category_codes(labels.ravel()), labels.shape), name)

    def value(self, a: Array, b: Array, /) -> Array:
        equal: Any = a == b
        return astype(equal, a.dtype)


@dataclass(frozen=True)
class Intersection(Kernel):
    """sum_k min(x_k, y_k) on histograms (non-negative columns): the mass that two histograms share."""

    def accept(self, x: Any, name: str = "x") -> Points:
        return _histograms(x, name)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return total(namespace(x, y).minimum, x, y)

    def paired(self, x: Points, y: Points, /) -> Array:
        xp = namespace(x, y)
        return xp.sum(xp.minimum(x, y), axis=1)


@dataclass(frozen=True)
class Chi2(Kernel):
    """exp(-a sum_k (x_k - y_k)^2 / (x_k + y_k)) on histograms (non-negative columns), a = `scale`.

    0/0 counts as 0: bins that are empty in both histograms are ignored. Characteristic.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        validate.positive("scale", self.scale)

    def accept(self, x: Any, name: str = "x") -> Points:
        return _histograms(x, name)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return namespace(x, y).exp(-self.scale * total(_chi2, x, y))

    def paired(self, x: Points, y: Points, /) -> Array:
        xp = namespace(x, y)
        return xp.exp(-self.scale * xp.sum(_chi2(x, y), axis=1))


def _chi2(a: Array, b: Array) -> Array:
    total_mass = a + b
    return (a - b) ** 2 / namespace(a, b).where(total_mass > 0, total_mass, ones((), total_mass))


def _histograms(x: object, name: str) -> Array:
    remedy = "histograms hold counts or frequencies, which are not negative"
    return validate.within(validate.points(x, name), 0, inf, name, remedy)


def _labels(x: object) -> np.ndarray | None:
    """`x` as an array of text, or None if it is not text."""
    if isinstance(x, list | tuple) and x and _texts(x[0] if isinstance(x[0], list | tuple) else x):
        x = np.asarray(x, dtype=object)
    if isinstance(x, np.ndarray) and (
        x.dtype.kind in "UT" or (x.dtype.kind == "O" and _texts(x.flat))
    ):
        return x.astype(object).astype(str)
    return None


def _texts(values: Iterable[object]) -> bool:
    return all(isinstance(v, str) for v in values)
