"""Expected kernels E k(X, Y) in closed form, as rules, and the matrix of them on the lazy engine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from mercer.backend import Array, count, is_array, take_rows, to_numpy
from mercer.errors import NoRule
from mercer.gram import Gram, LazyMatrix
from mercer.gram.lazy import OfPairs
from mercer.kernels.algebra import Constant, Multiple, Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.compose import Tensor
from mercer.kernels.rules import Rule
from mercer.kernels.wrappers import InputWrapper, Scaled, Select
from mercer.rkhs.embeddings.atoms import Boxes, grouped, is_points, moved, width

expected_kernel = Rule(
    "expected kernel",
    "take draws instead, such as Empirical(p.sample(1000, rng=0)), or a kernel that has one (RBF and "
    "Linear; Polynomial for Gaussians)",
    arguments=3,
)
"""E k(X_i, Y_j) for kernels and two kinds of atoms: an array (n, m)."""


class Expected(OfPairs):
    """The matrix of E k(X_i, Y_j) for atoms that are not all points, known by its blocks."""

    def __init__(self, kernel: Kernel, x: Any, y: Any = None) -> None:
        self.kernel, self.x = kernel, _held(x)
        self.y = self.x if y is None else _held(y)
        self._turned = _without_rule(kernel, self.x, self.y)
        self._like = np.empty(0, dtype=np.float64)  # as closed forms are

    def block(self, rows: slice, columns: slice, /) -> Array:
        """The expectations for two slices."""
        return _apply(
            self.kernel, take_rows(self.x, rows), take_rows(self.y, columns), self._turned
        )


def expectations(kernel: Kernel, x: Any, y: Any = None) -> LazyMatrix:
    """The matrix of E k(X_i, Y_j) for atoms of any two kinds; with points on both sides of k itself."""
    if is_points(x) and (y is None or is_points(y)):
        return Gram(kernel, x, y)
    return Expected(kernel, x, y)


def _value(kernel: Kernel, x: Any, y: Any) -> np.ndarray:
    if is_points(x) and is_points(y):
        return np.asarray(kernel.pairwise(x, y))
    return _apply(kernel, x, y, _without_rule(kernel, x, y))


def _apply(kernel: Kernel, x: Any, y: Any, turned: bool) -> np.ndarray:
    return expected_kernel.apply(kernel, y, x).T if turned else expected_kernel.apply(kernel, x, y)


def _without_rule(kernel: Kernel, x: Any, y: Any) -> bool:
    """Whether only the case with the sides changed has a rule; an error where neither has one."""
    try:
        expected_kernel.find(kernel, x, y)
    except NoRule:
        try:
            expected_kernel.find(kernel, y, x)
        except NoRule:
            kinds = " and ".join(sorted({_called(x), _called(y)}))
            raise NoRule(
                f"no expected kernel of {type(kernel).__name__} for {kinds}: "
                f"{expected_kernel.instead}"
            ) from None
        return True
    return False


def _called(atoms: Any) -> str:
    if is_points(atoms):
        return "points"
    return "boxes" if isinstance(atoms, Boxes) else "Gaussians"


def _held(atoms: Any) -> Any:
    """Points as float64 of NumPy, in which closed forms are written."""
    return to_numpy(atoms).astype(np.float64, copy=False) if is_array(atoms) else atoms


# ---- kernels of kernels -------------------------------------------------------------------


@expected_kernel(Sum, object, object)
def _(kernel: Sum, x: Any, y: Any) -> np.ndarray:
    return _value(kernel.left, x, y) + _value(kernel.right, x, y)


@expected_kernel(Multiple, object, object)
def _(kernel: Multiple, x: Any, y: Any) -> np.ndarray:
    return kernel.factor * _value(kernel.kernel, x, y)


@expected_kernel(Constant, object, object)
def _(kernel: Constant, x: Any, y: Any) -> np.ndarray:
    return np.full((count(x), count(y)), float(kernel.value), dtype=np.float64)


@expected_kernel(Select, object, object)
@expected_kernel(Scaled, object, object)
def _(kernel: InputWrapper, x: Any, y: Any) -> np.ndarray:
    return _value(kernel.kernel, moved(kernel, x), moved(kernel, y))  # type: ignore[attr-defined]


@expected_kernel(Product, object, object)
def _(kernel: Product, x: Any, y: Any) -> np.ndarray:
    """The same where the factors see different columns, which are independent."""
    factors = _factors(kernel)
    total = width(x) or 0
    columns = [
        [int(c) % total for c in k.columns] if isinstance(k, Select) else None for k in factors
    ]
    seen = [c for some in columns if some is not None for c in some]
    if None in columns or len(set(seen)) < len(seen):
        raise NoRule(
            "no expected kernel of a Product whose factors see the same columns: "
            f"{expected_kernel.instead}, or factors that .select different columns"
        )
    ends = np.cumsum([len(some or ()) for some in columns]).tolist()
    groups = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    _independent("a Product", groups, *(s if is_points(s) else s.marginal(seen) for s in (x, y)))
    return reduce(mul, (_value(k, x, y) for k in factors))


def _factors(kernel: Kernel) -> list[Kernel]:
    if isinstance(kernel, Product):
        return [*_factors(kernel.left), *_factors(kernel.right)]
    return [kernel]


def _independent(what: str, groups: Sequence[slice], *sides: Any) -> None:
    """Refuse distributions whose groups of coordinates depend on each other."""
    for side in sides:
        if not is_points(side) and not side.independent(groups):
            raise NoRule(
                f"no expected kernel of {what} and Gaussians whose groups of coordinates depend on "
                f"each other: {expected_kernel.instead}"
            )


@expected_kernel(Tensor, object, object)
def _(kernel: Tensor, x: Any, y: Any) -> np.ndarray:
    """A product of expectations, where the groups of coordinates are independent."""
    groups = kernel.spans(width(x) or 0, "x")
    _independent("Tensor", groups, x, y)
    sides = zip(kernel.kernels, grouped(x, groups), grouped(y, groups), strict=True)
    return reduce(mul, (_value(k, a, b) for k, a, b in sides))
