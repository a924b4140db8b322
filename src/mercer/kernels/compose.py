"""Kernels of kernels: a radial profile of an RKHS distance, and products over column groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import mul
from typing import Any

from mercer import validate
from mercer.backend import Array, count, namespace, zeros
from mercer.frames import Columns
from mercer.kernels.base import Kernel, Points, Radial, require_kernels
from mercer.kernels.take import Grouped


@dataclass(frozen=True)
class Composed(Kernel):
    """f(|phi(x) - phi(y)|^2) with phi the feature map of `inner`, as `Radial.on` returns it.

    Positive definite whenever `outer` is positive definite on every Hilbert space (RBF,
    Exponential, rational quadratic, ...).
    """

    outer: Radial
    inner: Kernel

    def __post_init__(self) -> None:
        validate.instance("outer", self.outer, Radial, "a radial kernel")
        require_kernels(inner=self.inner)

    def accept(self, x: Any, name: str = "x") -> Points:
        return self.inner.accept(x, name)

    def _bound(self, columns: Columns, name: str) -> Composed:
        return Composed(self.outer, self.inner._bound(columns, name))  # `outer` sees distances

    def pairwise(self, x: Points, y: Points, /) -> Array:
        dx = self.inner.diag(x)
        dy = dx if y is x else self.inner.diag(y)
        xp = namespace(dx)
        r2 = xp.clip((dx[:, None] + dy[None, :]) - 2 * self.inner.pairwise(x, y), 0, None)
        if y is x:
            r2 = r2 * (1 - xp.eye(r2.shape[0], dtype=r2.dtype, device=r2.device))
        return self.outer.profile(r2)

    def paired(self, x: Points, y: Points, /) -> Array:
        r2 = self.inner.diag(x) + self.inner.diag(y) - 2 * self.inner.paired(x, y)
        return self.outer.profile(namespace(r2).clip(r2, 0, None))

    def diag(self, x: Points, /) -> Array:
        d = self.inner.diag(x)
        return self.outer.profile(zeros(d.shape, d))


@dataclass(frozen=True, init=False)
class Tensor(Kernel):
    """k(x, y) = k1(x1, y1) k2(x2, y2) ...: a kernel per group of columns.

    `Tensor(k1, k2)` splits the columns evenly; `Tensor(k1, k2, widths=(3, 1))` gives the number of
    columns of each kernel. Points may also be a tuple of arrays, one per kernel.
    """

    kernels: tuple[Kernel, ...]
    widths: tuple[int, ...] | None

    def __init__(self, *kernels: Kernel, widths: tuple[int, ...] | None = None) -> None:
        require_kernels(**{f"kernels[{i}]": k for i, k in enumerate(kernels)})
        if not kernels:
            raise ValueError("Tensor needs at least one kernel")
        if widths is not None:
            widths = tuple(widths)
            for width in widths:
                validate.whole("widths", width)
            if len(widths) != len(kernels):
                raise ValueError(f"widths must have {len(kernels)} entries, got {len(widths)}")
        object.__setattr__(self, "kernels", kernels)
        object.__setattr__(self, "widths", widths)

    def __repr__(self) -> str:
        inner = ", ".join(repr(k) for k in self.kernels)
        return (
            f"Tensor({inner})" if self.widths is None else f"Tensor({inner}, widths={self.widths})"
        )

    def accept(self, x: Any, name: str = "x") -> Points:
        if isinstance(x, tuple | Grouped):
            groups = x.groups if isinstance(x, Grouped) else x
            if len(groups) != len(self.kernels):
                raise ValueError(
                    f"{name} must be a tuple of {len(self.kernels)} samples, got {len(groups)}"
                )
            pairs = zip(self.kernels, groups, strict=True)
            accepted = tuple(k.accept(g, f"{name}[{i}]") for i, (k, g) in enumerate(pairs))
            if len({count(g) for g in accepted}) > 1:
                raise ValueError(
                    f"the samples of {name} must have the same number of points, "
                    f"got {[count(g) for g in accepted]}"
                )
            return Grouped(accepted)
        x = validate.points(x, name)
        self.spans(x.shape[1], name)
        for kernel, group in zip(self.kernels, self._split(x), strict=True):
            kernel.accept(group, name)
        return x

    def _bound(self, columns: Columns, name: str) -> Tensor:
        spans = self.spans(len(columns.names), name)
        groups = (columns.take(range(span.start, span.stop)) for span in spans)
        kernels = (k._bound(g, name) for k, g in zip(self.kernels, groups, strict=True))
        return Tensor(*kernels, widths=tuple(span.stop - span.start for span in spans))

    def spans(self, total: int, name: str) -> tuple[slice, ...]:
        """The columns of each kernel, of `total` columns."""
        if self.widths is None and total % len(self.kernels):
            raise ValueError(
                f"{total} columns of {name} do not split evenly over {len(self.kernels)} kernels: "
                "give widths=(...) or pass a tuple of arrays"
            )
        widths = self.widths or (total // len(self.kernels),) * len(self.kernels)
        if sum(widths) != total:
            raise ValueError(
                f"widths add up to {sum(widths)}, but {name} has {total} columns: "
                "give a width for every kernel that adds up to it"
            )
        return tuple(slice(end - w, end) for w, end in zip(widths, accumulate(widths), strict=True))

    def pairwise(self, x: Points, y: Points, /) -> Array:
        groups = self._split(x)
        others = groups if y is x else self._split(y)
        parts = zip(self.kernels, groups, others, strict=True)
        return reduce(mul, (k.pairwise(a, b) for k, a, b in parts))

    def paired(self, x: Points, y: Points, /) -> Array:
        parts = zip(self.kernels, self._split(x), self._split(y), strict=True)
        return reduce(mul, (k.paired(a, b) for k, a, b in parts))

    def diag(self, x: Points, /) -> Array:
        return reduce(mul, (k.diag(a) for k, a in zip(self.kernels, self._split(x), strict=True)))

    def _split(self, x: Points) -> tuple[Points, ...]:
        if isinstance(x, Grouped):
            return x.groups
        return tuple(x[:, span] for span in self.spans(x.shape[1], "x"))

    def _rebuilt(self, parts: dict[str, Kernel], values: dict[str, Any]) -> Tensor:
        kernels = list(values.get("kernels", self.kernels))
        for name, kernel in parts.items():
            kernels[int(name.partition("__")[2])] = kernel
        return Tensor(*kernels, widths=values.get("widths", self.widths))
