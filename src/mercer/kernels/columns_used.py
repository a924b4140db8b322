"""Which columns of the points a kernel looks at."""

from __future__ import annotations

from typing import Any

from mercer.kernels.algebra import Constant
from mercer.kernels.base import Kernel
from mercer.kernels.compose import Tensor
from mercer.kernels.wrappers import Select, Transformed

Read = frozenset[Any] | None  # None: all columns


def reads(kernel: Kernel) -> Read:
    """The columns a kernel looks at; {...} where that is not known."""
    if isinstance(kernel, Constant):
        return frozenset()
    if isinstance(kernel, Select):
        inner = reads(kernel.kernel)
        if inner is None:
            return frozenset(kernel.columns)
        numbers = all(isinstance(i, int) for i in inner)
        return frozenset(kernel.columns[i] for i in inner) if numbers else frozenset({...})
    parts = [reads(part) for part in kernel.parts().values()]
    if isinstance(kernel, Tensor | Transformed) and any(part is not None for part in parts):
        return frozenset({...})
    known = [part for part in parts if part is not None]
    return frozenset().union(*known) if parts and len(known) == len(parts) else None


def within(a: Read, b: Read) -> bool:
    """Whether all columns of `a` are among those of `b`."""
    return b is None or (a is not None and a <= b)


def comparable(a: Read, b: Read) -> bool:
    """Whether equal columns are given in the same way: all by name, or all from the left."""
    columns = (a or frozenset()) | (b or frozenset())
    names = all(isinstance(c, str) for c in columns)
    return names or all(isinstance(c, int) and c >= 0 for c in columns)
