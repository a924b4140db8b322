"""Kernels of the elements that two sets have in common."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from numbers import Real
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array
from mercer.kernels.base import Points
from mercer.kernels.feature_counts import FeatureCounts, FeatureTable, feature_table, label_codes
from mercer.kernels.objects import listed


class SetFeatures(FeatureCounts):
    """A kernel on sets from the number of common elements, or their total weight."""

    domain = "finite sets"

    def items(self, x: Any, name: str, /) -> list[frozenset[Any]]:
        return [_as_set(item, i, name) for i, item in enumerate(listed(x, name, "sets"))]

    def view(self, items: list[frozenset[Any]], /) -> FeatureTable:
        rows = np.repeat(np.arange(len(items)), [len(s) for s in items])
        elements = list(chain.from_iterable(items))
        weights = self.element_weights(elements)
        values = None if weights is None else np.sqrt(weights)
        return feature_table(rows, label_codes(elements), values, len(items))

    def element_weights(self, elements: list[Any], /) -> np.ndarray | None:
        """Weight of each element; None: all weigh 1."""
        return None

    def describe(self, items: Any, codes: np.ndarray, /) -> list[str]:
        elements = list(set(chain.from_iterable(items)))
        names = dict(zip(label_codes(elements).tolist(), map(str, elements), strict=True))
        return [names[int(code)] for code in codes]


@dataclass(frozen=True)
class SetIntersection(SetFeatures):
    """Number of common elements, |A n B|.

    Points are sets, or lists and tuples whose repeated elements count once. Elements are numbers, text,
    or tuples of them; numbers that are equal are one element, whatever their type.

    Examples
    --------
    >>> SetIntersection()([{1, 2}, {2, 3, 4}])
    array([[2., 1.],
           [1., 3.]])
    """


class _Ratio(SetFeatures):
    """A ratio of what two sets have in common to what they have: `ratio` is its formula."""

    def ratio(self, common: np.ndarray, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        """The kernel, from the sizes of the intersection and of both sets."""
        raise NotImplementedError

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.viewed(x)
        right = left if y is x else self.viewed(y)
        sizes, others = left.squared_norms(), right.squared_norms()
        return self.ratio(left.products(right), sizes[:, None], others[None, :])

    def paired(self, x: Points, y: Points, /) -> Array:
        left, right = self.viewed(x), self.viewed(y)
        return self.ratio(left.paired_products(right), left.squared_norms(), right.squared_norms())

    def diag(self, x: Points, /) -> Array:
        return np.ones(len(x), dtype=np.float64)


@dataclass(frozen=True)
class Jaccard(_Ratio):
    """Jaccard index |A n B| / |A u B|, and 1 for two empty sets.

    References
    ----------
    M. Bouchard, A.-L. Jousselme, P.-E. Doré (2013). A proof for the positive definiteness of the Jaccard
    index matrix. International Journal of Approximate Reasoning 54, 615-626.

    Examples
    --------
    >>> Jaccard()([{1, 2}, {2, 3, 4}, set()])
    array([[1.  , 0.25, 0.  ],
           [0.25, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """

    def ratio(self, common: np.ndarray, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        return _ratio(common, a + b - common)


@dataclass(frozen=True)
class Dice(_Ratio):
    """Dice coefficient 2 |A n B| / (|A| + |B|), and 1 for two empty sets.

    Examples
    --------
    >>> Dice()([{1, 2}, {2, 3, 4}])
    array([[1. , 0.4],
           [0.4, 1. ]])
    """

    def ratio(self, common: np.ndarray, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        return _ratio(2 * common, a + b)


@dataclass(frozen=True)
class WeightedJaccard(_Ratio):
    """Jaccard index of weighted elements: w(A n B) / w(A u B), where w adds up the weights; 1 for two empty sets.

    Parameters
    ----------
    weights : mapping from elements to positive numbers
        Or a tuple of pairs (element, weight). Elements without a weight have the weight 1.

    Examples
    --------
    >>> WeightedJaccard({"the": 0.5, "cat": 2.0})([{"the", "cat"}, {"the", "dog"}]).round(3)
    array([[1.   , 0.143],
           [0.143, 1.   ]])
    """

    weights: Any

    def __post_init__(self) -> None:
        pairs = self.weights.items() if isinstance(self.weights, Mapping) else self.weights
        try:
            pairs = tuple((element, weight) for element, weight in pairs)
        except (TypeError, ValueError):
            raise TypeError(
                "weights must be a mapping from elements to positive numbers, got "
                f"{validate.shown(self.weights)}"
            ) from None
        for element, weight in pairs:
            validate.positive(f"weights[{element!r}]", weight)
        ordered = sorted(((e, float(w)) for e, w in pairs), key=lambda pair: repr(pair[0]))
        object.__setattr__(self, "weights", tuple(ordered))

    def element_weights(self, elements: list[Any], /) -> np.ndarray:
        known = dict(self.weights)
        return np.array([known.get(e, 1.0) for e in elements], dtype=np.float64)

    def ratio(self, common: np.ndarray, a: np.ndarray, b: np.ndarray, /) -> np.ndarray:
        return _ratio(common, a + b - common)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """above / below, and 1 for two empty sets."""
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), 1.0)


def _as_set(item: Any, i: int, name: str) -> frozenset[Any]:
    """One set, of elements that have codes."""
    if not isinstance(item, set | frozenset | list | tuple):
        raise TypeError(
            f"{name} must hold sets, got {validate.shown(item)} at position {i}: use set(...) of its "
            "elements"
        )
    try:
        elements = frozenset(item)
    except TypeError:
        raise TypeError(
            f"the set at position {i} of {name} has elements that are not hashable: use numbers, text "
            "or tuples"
        ) from None
    for element in elements:
        check_element(element, i, name)
    return elements


def check_element(element: Any, i: int, name: str) -> None:
    """Require an element that has a code: a number, text, or a tuple of them."""
    if isinstance(element, tuple):
        for part in element:
            check_element(part, i, name)
    elif isinstance(element, Real):
        number: Any = element
        if number != number or number in (float("inf"), float("-inf")):
            raise ValueError(
                f"the set at position {i} of {name} has a NaN or infinite element: drop it"
            )
    elif not isinstance(element, str | bytes):
        raise TypeError(
            f"the set at position {i} of {name} must have numbers, text or tuples as elements, got "
            f"{validate.shown(element)}"
        )
