"""The algebra of kernels: sums, products, powers, non-negative multiples, exponentials."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, count, is_array, namespace, ones
from mercer.kernels.base import Kernel, Points, require_kernels
from mercer.kernels.take import Both, Grouped, Rows, sides

_REASON = "k(x, x) is a squared norm and never negative"


def add(left: Any, right: Any) -> Kernel:
    """left + right, where one of them may be a non-negative number."""
    return Sum(_as_kernel(left), _as_kernel(right))


def multiply(kernel: Kernel, other: Any) -> Kernel:
    """A product with a kernel or a non-negative number."""
    if isinstance(other, Kernel):
        return Product(kernel, other)
    return Multiple(kernel, _coefficient("a factor", other))


@dataclass(frozen=True)
class Constant(Kernel):
    """k(x, y) = value on points of any kind. Not characteristic: all distributions look equal."""

    value: float = 1.0
    takes_categories = True

    def __post_init__(self) -> None:
        _coefficient("value", self.value)

    def accept(self, x: Any, name: str = "x") -> Points:
        return x if isinstance(x, Rows | Grouped) else validate.points_or_objects(x, name)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self._filled(x, (count(x), count(y)))

    def paired(self, x: Points, y: Points, /) -> Array:
        return self._filled(x, (count(x),))

    def _filled(self, x: Points, shape: tuple[int, ...]) -> Array:
        floats = is_array(x) and str(x.dtype).endswith(("float32", "float64"))
        return ones(shape, x if floats else np.empty(0, dtype=np.float64)) * self.value


class _OfTwo(Kernel):
    """A kernel that joins the values of two others on the same points."""

    left: Kernel
    right: Kernel

    @abstractmethod
    def _join(self, a: Array, b: Array, /) -> Array:
        """The values of the kernel from those of `left` and `right`."""

    def __post_init__(self) -> None:
        require_kernels(left=self.left, right=self.right)

    def accept(self, x: Any, name: str = "x") -> Points:
        return _for_both(self.left, self.right, x, name)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        (a, b), (c, d) = sides(x), sides(y)
        return self._join(self.left.pairwise(a, c), self.right.pairwise(b, d))

    def paired(self, x: Points, y: Points, /) -> Array:
        (a, b), (c, d) = sides(x), sides(y)
        return self._join(self.left.paired(a, c), self.right.paired(b, d))

    def diag(self, x: Points, /) -> Array:
        a, b = sides(x)
        return self._join(self.left.diag(a), self.right.diag(b))


@dataclass(frozen=True)
class Sum(_OfTwo):
    """k(x, y) = left(x, y) + right(x, y)."""

    left: Kernel
    right: Kernel

    def _join(self, a: Array, b: Array, /) -> Array:
        return a + b


@dataclass(frozen=True)
class Product(_OfTwo):
    """k(x, y) = left(x, y) right(x, y)."""

    left: Kernel
    right: Kernel

    def _join(self, a: Array, b: Array, /) -> Array:
        return a * b


@dataclass(frozen=True)
class Multiple(Kernel):
    """k(x, y) = factor * kernel(x, y), factor >= 0."""

    kernel: Kernel
    factor: float

    def __post_init__(self) -> None:
        require_kernels(kernel=self.kernel)
        _coefficient("factor", self.factor)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self.factor * self.kernel.pairwise(x, y)

    def paired(self, x: Points, y: Points, /) -> Array:
        return self.factor * self.kernel.paired(x, y)

    def diag(self, x: Points, /) -> Array:
        return self.factor * self.kernel.diag(x)


@dataclass(frozen=True)
class Power(Kernel):
    """k(x, y) = kernel(x, y)^exponent for a whole exponent; other powers need not be kernels."""

    kernel: Kernel
    exponent: int

    def __post_init__(self) -> None:
        require_kernels(kernel=self.kernel)
        validate.whole("exponent", self.exponent, 0)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self.kernel.pairwise(x, y) ** self.exponent

    def paired(self, x: Points, y: Points, /) -> Array:
        return self.kernel.paired(x, y) ** self.exponent

    def diag(self, x: Points, /) -> Array:
        return self.kernel.diag(x) ** self.exponent


@dataclass(frozen=True)
class Exp(Kernel):
    """k(x, y) = exp(scale * kernel(x, y)), scale >= 0: a power series with non-negative terms."""

    kernel: Kernel
    scale: float = 1.0

    def __post_init__(self) -> None:
        require_kernels(kernel=self.kernel)
        validate.non_negative("scale", self.scale)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self._exp(self.kernel.pairwise(x, y))

    def paired(self, x: Points, y: Points, /) -> Array:
        return self._exp(self.kernel.paired(x, y))

    def diag(self, x: Points, /) -> Array:
        return self._exp(self.kernel.diag(x))

    def _exp(self, k: Array) -> Array:
        return namespace(k).exp(self.scale * k)


def _as_kernel(value: Any) -> Kernel:
    return value if isinstance(value, Kernel) else Constant(_coefficient("a summand", value))


def _coefficient(name: str, value: Any) -> float:
    number: Any = value if isinstance(value, Real) and not isinstance(value, bool) else None
    if number is None:
        raise TypeError(
            f"{name} must be a kernel or a non-negative number, got {validate.shown(value)}"
        )
    if not number >= 0:
        raise ValueError(f"{name} must be non-negative, got {value!r}: {_REASON}")
    validate.non_negative(name, value)
    return float(value)


def _for_both(left: Kernel, right: Kernel, x: Any, name: str) -> Points:
    """Points for both kernels; a `Both` where each kernel has its own container."""
    if isinstance(x, Both):
        return x
    a = left.accept(x, name)
    if left.takes_objects() and right.takes_objects():
        return right.accept(a, name)  # one container, in which each kernel finds its own numbers
    b = right.accept(x, name)
    unlike = type(a) is not type(b) or isinstance(a, Both)
    if isinstance(a, Rows) and isinstance(b, Rows) and unlike:
        return Both(a, b)
    return b if a is x else a
