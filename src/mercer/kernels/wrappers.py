"""Kernels on transformed inputs or with modified values: columns, scales, maps, normalisation, weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

from mercer import validate
from mercer.backend import (
    Array,
    array_like,
    count,
    is_symbolic,
    is_torch_module,
    namespace,
    to_numpy,
)
from mercer.frames import Columns
from mercer.kernels.base import Kernel, Points, require_kernels
from mercer.kernels.log_valued import LogValued, normalized_paired, normalized_pairwise
from mercer.kernels.network_map import NetworkMap


class InputWrapper(Kernel):
    """A kernel of transformed points, k(g(x), g(y)): `move` is the g, `kernel` the k."""

    kernel: Kernel

    @abstractmethod
    def move(self, x: Points, /) -> Points:
        """The points the inner kernel sees."""

    def pairwise(self, x: Points, y: Points, /) -> Array:
        inner_x = self.move(x)
        return self.kernel.pairwise(inner_x, inner_x if y is x else self.move(y))

    def paired(self, x: Points, y: Points, /) -> Array:
        return self.kernel.paired(self.move(x), self.move(y))

    def diag(self, x: Points, /) -> Array:
        return self.kernel.diag(self.move(x))


@dataclass(frozen=True)
class Select(InputWrapper):
    """The kernel on selected columns of the points, by position or (for data frames) by name."""

    kernel: Kernel
    columns: tuple[int | str, ...]

    def __post_init__(self) -> None:
        require_kernels(kernel=self.kernel)
        kinds = {type(c) for c in self.columns}
        if not self.columns or not kinds <= {int, str}:
            raise TypeError(f"columns must be column numbers or names, got {self.columns!r}")

    def accept(self, x: Any, name: str = "x") -> Points:
        x = validate.points(x, name)
        for column in self.columns:
            if not isinstance(column, str) and not -x.shape[1] <= column < x.shape[1]:
                width = x.shape[1]
                raise ValueError(
                    f"no column {column}: {name} has {width} columns, use 0 to {width - 1}"
                )
        self.kernel.accept(self.move(x), name)
        return x

    def _bound(self, columns: Columns, name: str) -> Select:
        positions = tuple(columns.index(c, name) for c in self.columns)
        return Select(self.kernel._bound(columns.take(positions), name), positions)

    def move(self, x: Points, /) -> Points:
        named = [c for c in self.columns if isinstance(c, str)]
        if named:
            raise TypeError(
                f"column {named[0]!r} is a name: pass a data frame, or select columns by number"
            )
        first, width = int(self.columns[0]), len(self.columns)
        if first >= 0 and self.columns == tuple(range(first, first + width)):
            return x[:, first : first + width]  # a view
        return namespace(x).stack([x[:, int(c)] for c in self.columns], axis=1)


@dataclass(frozen=True)
class Scaled(InputWrapper):
    """k(a x, a y): columns multiplied by `factors`, one for all or one for each."""

    kernel: Kernel
    factors: float | tuple[float, ...]

    def __post_init__(self) -> None:
        require_kernels(kernel=self.kernel)
        if isinstance(self.factors, Real):
            validate.number("factors", self.factors)
        else:
            factors = to_numpy(validate.vector(self.factors, "factors"))
            object.__setattr__(self, "factors", tuple(factors.tolist()))

    def accept(self, x: Any, name: str = "x") -> Points:
        x = validate.points(x, name)
        if isinstance(self.factors, tuple) and len(self.factors) != x.shape[1]:
            raise ValueError(
                f"factors must have one number per column: got {len(self.factors)} for "
                f"{x.shape[1]} columns of {name}"
            )
        self.kernel.accept(self.move(x), name)
        return x

    def move(self, x: Points, /) -> Points:
        common = not isinstance(self.factors, tuple)
        return x * (self.factors if common else array_like(self.factors, x))


@dataclass(frozen=True)
class Transformed(InputWrapper):
    """k(g(x), g(y)) for a map g, such as a learnt one, or one into the domain of the kernel.

    A network of torch becomes a `NetworkMap`.
    """

    kernel: Kernel
    function: Callable[[Points], Points]

    def __post_init__(self) -> None:
        require_kernels(kernel=self.kernel)
        if is_torch_module(self.function):
            object.__setattr__(self, "function", NetworkMap(self.function))
        if not callable(self.function):
            raise TypeError(f"function must be callable, got {self.function!r}")

    def accept(self, x: Any, name: str = "x") -> Points:
        x = validate.points_or_objects(x, name)
        mapped = self.kernel.accept(self.function(x), f"function({name})")
        if count(mapped) != count(x):
            raise ValueError(
                f"function must give one point per point of {name}, got {count(mapped)} for {count(x)}"
            )
        validate.same_library(x, mapped, (name, f"function({name})"))
        return x

    def _bound(self, columns: Columns, name: str) -> Transformed:
        self._refuse_categories(columns, name)
        return self  # its columns are those of g(x)

    def move(self, x: Points, /) -> Points:
        mapped = self.function(x)
        return mapped if is_symbolic(mapped) else self.kernel.accept(mapped, "function(x)")


@dataclass(frozen=True)
class Normalized(Kernel):
    """k(x, y) / sqrt(k(x, x) k(y, y)); 0 where k(x, x) = 0, as the feature has no direction there."""

    kernel: Kernel

    def __post_init__(self) -> None:
        require_kernels(kernel=self.kernel)

    def accept(self, x: Any, name: str = "x") -> Points:
        return self.kernel.accept(x, name)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        if isinstance(self.kernel, LogValued):
            return normalized_pairwise(self.kernel, x, y)
        x_inverse = self._inverse_norms(x)
        y_inverse = x_inverse if y is x else self._inverse_norms(y)
        return self.kernel.pairwise(x, y) * x_inverse[:, None] * y_inverse[None, :]

    def paired(self, x: Points, y: Points, /) -> Array:
        if isinstance(self.kernel, LogValued):
            return normalized_paired(self.kernel, x, y)
        return self.kernel.paired(x, y) * self._inverse_norms(x) * self._inverse_norms(y)

    def _inverse_norms(self, x: Points) -> Array:
        d = self.kernel.diag(x)
        xp = namespace(d)
        return xp.where(d > 0, 1 / xp.sqrt(xp.where(d > 0, d, xp.ones_like(d))), xp.zeros_like(d))


@dataclass(frozen=True)
class Weighted(Kernel):
    """f(x) k(x, y) f(y) for a function f that gives one number per point."""

    kernel: Kernel
    function: Callable[[Points], Array]

    def __post_init__(self) -> None:
        require_kernels(kernel=self.kernel)
        if not callable(self.function):
            raise TypeError(f"function must be callable, got {self.function!r}")

    def accept(self, x: Any, name: str = "x") -> Points:
        x = self.kernel.accept(x, name)
        weights = self._weights(x, name)
        if tuple(weights.shape) != (count(x),):
            shape = tuple(weights.shape)
            raise ValueError(f"function must give one number per point of {name}, got {shape}")
        validate.finite(weights, f"function({name})")
        validate.same_library(x, weights, (name, f"function({name})"))
        return x

    def pairwise(self, x: Points, y: Points, /) -> Array:
        x_weights = self._weights(x)
        y_weights = x_weights if y is x else self._weights(y)
        return x_weights[:, None] * self.kernel.pairwise(x, y) * y_weights[None, :]

    def paired(self, x: Points, y: Points, /) -> Array:
        return self._weights(x) * self.kernel.paired(x, y) * self._weights(y)

    def _weights(self, x: Points, name: str = "x") -> Array:
        return validate.real(self.function(x), f"function({name})")
