"""Closed forms of expected kernels E k(X, Y), registered as rules, and their lazy matrix."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from mercer.backend import Array, count, is_array, take_rows, to_numpy
from mercer.errors import NoRule
from mercer.gram import Gram, LazyMatrix
from mercer.gram.combine import OfPairs
from mercer.kernels.algebra import Constant, Multiple, Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.compose import Tensor
from mercer.kernels.rules import Rule
from mercer.kernels.wrappers import InputWrapper, Scaled, Select
from mercer.rkhs.embeddings.atoms import Boxes, grouped, is_points, transformed_atoms, width

expected_kernel = Rule(
    "expected kernel",
    "take draws instead, such as Empirical(p.sample(1000, rng=0)), or a kernel that has one (RBF and "
    "Linear; Polynomial for Gaussians)",
    arguments=3,
)
"""Rule for E k(X_i, Y_j) of a kernel and two kinds of atoms: an array (n, m)."""


class Expected(OfPairs):
    """Lazy matrix of E k(X_i, Y_j) for atoms that are not all points."""

    def __init__(self, kernel: Kernel, x: Any, y: Any = None) -> None:
        self.kernel, self.x = kernel, _as_double(x)
        self.y = self.x if y is None else _as_double(y)
        self._transposed = _only_transposed(kernel, self.x, self.y)
        self._like = np.empty(0, dtype=np.float64)  # closed forms are in float64

    def block(self, rows: slice, columns: slice, /) -> Array:
        """Expectations for two slices of atoms."""
        return _apply(
            self.kernel, take_rows(self.x, rows), take_rows(self.y, columns), self._transposed
        )


def expectations(kernel: Kernel, x: Any, y: Any = None) -> LazyMatrix:
    """Lazy matrix of E k(X_i, Y_j) for atoms of any two kinds; for points it is the Gram matrix."""
    if is_points(x) and (y is None or is_points(y)):
        return Gram(kernel, x, y)
    return Expected(kernel, x, y)


def _value(kernel: Kernel, x: Any, y: Any) -> np.ndarray:
    """Dense matrix of E k(X_i, Y_j), for rules of kernels that contain other kernels: (n, m)."""
    if is_points(x) and is_points(y):
        return np.asarray(kernel.pairwise(x, y))
    return _apply(kernel, x, y, _only_transposed(kernel, x, y))


def _apply(kernel: Kernel, x: Any, y: Any, transposed: bool) -> np.ndarray:
    if transposed:
        return expected_kernel.apply(kernel, y, x).T
    return expected_kernel.apply(kernel, x, y)


def _only_transposed(kernel: Kernel, x: Any, y: Any) -> bool:
    """Whether a rule exists only for (y, x); raises NoRule where there is none for either order."""
    try:
        expected_kernel.find(kernel, x, y)
    except NoRule:
        try:
            expected_kernel.find(kernel, y, x)
        except NoRule:
            kinds = " and ".join(sorted({_kind_name(x), _kind_name(y)}))
            raise NoRule(
                f"no expected kernel of {type(kernel).__name__} for {kinds}: "
                f"{expected_kernel.instead}"
            ) from None
        return True
    return False


def _kind_name(atoms: Any) -> str:
    if is_points(atoms):
        return "points"
    return "boxes" if isinstance(atoms, Boxes) else "Gaussians"


def _as_double(atoms: Any) -> Any:
    """Points as NumPy arrays of float64, for which the closed forms are written."""
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
    return _value(kernel.kernel, transformed_atoms(kernel, x), transformed_atoms(kernel, y))


@expected_kernel(Product, object, object)
def _(kernel: Product, x: Any, y: Any) -> np.ndarray:
    """Product of the factors' expectations, if these use different, independent columns."""
    factors = _factors(kernel)
    total = width(x) or 0
    columns = [
        [int(c) % total for c in k.columns] if isinstance(k, Select) else None for k in factors
    ]
    used = [c for group in columns if group is not None for c in group]
    if None in columns or len(set(used)) < len(used):
        raise NoRule(
            "no expected kernel of a Product whose factors use the same columns: "
            f"{expected_kernel.instead}, or factors that .select different columns"
        )
    ends = np.cumsum([len(group or ()) for group in columns]).tolist()
    groups = [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)]
    _independent("a Product", groups, *(s if is_points(s) else s.marginal(used) for s in (x, y)))
    return reduce(mul, (_value(k, x, y) for k in factors))


def _factors(kernel: Kernel) -> list[Kernel]:
    if isinstance(kernel, Product):
        return [*_factors(kernel.left), *_factors(kernel.right)]
    return [kernel]


def _independent(what: str, groups: Sequence[slice], *sides: Any) -> None:
    """Raise NoRule if groups of coordinates of a distribution depend on each other."""
    for side in sides:
        if not is_points(side) and not side.independent(groups):
            raise NoRule(
                f"no expected kernel of {what} for Gaussians whose groups of coordinates are "
                f"correlated: {expected_kernel.instead}"
            )


@expected_kernel(Tensor, object, object)
def _(kernel: Tensor, x: Any, y: Any) -> np.ndarray:
    """Product of the expectations, if the groups of coordinates are independent."""
    groups = kernel.spans(width(x) or 0, "x")
    _independent("Tensor", groups, x, y)
    sides = zip(kernel.kernels, grouped(x, groups), grouped(y, groups), strict=True)
    return reduce(mul, (_value(k, a, b) for k, a, b in sides))
