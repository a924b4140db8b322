"""Kernels whose values, or those of a kernel inside, were computed before: points are positions in a matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.gram import Gram
from mercer.kernels.algebra import Constant, Exp, Multiple, Power, Product, Sum
from mercer.kernels.base import Kernel, Points
from mercer.kernels.compose import Composed
from mercer.kernels.wrappers import Normalized


@dataclass(frozen=True, eq=False)
class Looked(Kernel):
    """k(i, j) = matrix[i, j] for positions i and j, (n, 1): nothing is computed."""

    matrix: np.ndarray

    def accept(self, x: Any, name: str = "x") -> Points:
        return validate.points(x, name)

    def pairwise(self, x: Points, y: Points, /) -> np.ndarray:
        return self.matrix.take(_positions(x), axis=0).take(_positions(y), axis=1)

    def paired(self, x: Points, y: Points, /) -> np.ndarray:
        return self.matrix[_positions(x), _positions(y)]

    def __deepcopy__(self, memo: Any) -> Looked:
        return self  # never written into

    def __repr__(self) -> str:
        return f"Looked({self.matrix.shape[0]} points)"


def _positions(x: Points) -> np.ndarray:
    return x[:, 0].astype(np.int64)


def core(kernel: Kernel) -> Kernel:
    """The kernel of whose values alone this one is made, such as that below a level-2 kernel.

    Both read the same points. It is the kernel itself where its values depend on more.
    """
    part = _inside(kernel)
    return kernel if part is None else core(kernel.parts()[part])


def on_core(kernel: Kernel, values: Looked) -> Kernel:
    """The kernel of positions that takes the values of its core from a matrix."""
    part = _inside(kernel)
    if part is None:
        return values
    return kernel.with_params(**{part: on_core(kernel.parts()[part], values)})


def matrices(kernels: list[Kernel], points: list[Points]) -> Iterator[np.ndarray]:
    """Of each kernel; that of a core that costs much is held for the kernels made of it that follow."""
    last: tuple[Kernel, Looked] | None = None
    for kernel, x in zip(kernels, points, strict=True):
        inside = core(kernel)
        if not inside.is_expensive():
            yield to_numpy(Gram(kernel, x).dense())
            continue
        if last is None or last[0] != inside:
            last = inside, Looked(to_numpy(Gram(inside, x).dense()))
        places = np.arange(count(x), dtype=np.float64)[:, None]
        yield to_numpy(Gram(on_core(kernel, last[1]), places).dense())


def naming(kernel: Kernel | None) -> Any:
    """What equal kernels have in common; its own for one with parameters that have no hash."""
    try:
        hash(kernel)
    except TypeError:
        return id(kernel)
    return kernel


def _inside(kernel: Kernel) -> str | None:
    """The name of the part whose values decide; None where there is none or more than one."""
    if isinstance(kernel, Composed):
        return "inner"
    if isinstance(kernel, Power | Multiple | Exp | Normalized):
        return "kernel"
    if isinstance(kernel, Sum | Product):
        sides = [n for n, part in kernel.parts().items() if not isinstance(part, Constant)]
        return sides[0] if len(sides) == 1 else None
    return None
