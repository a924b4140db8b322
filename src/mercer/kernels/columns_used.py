"""The columns of the points that a kernel depends on."""

from __future__ import annotations

from typing import Any

from mercer.kernels.algebra import Constant
from mercer.kernels.base import Kernel
from mercer.kernels.compose import Tensor
from mercer.kernels.wrappers import Select, Transformed

Read = frozenset[Any] | None  # None: all columns


def reads(kernel: Kernel) -> Read:
    """The columns that a kernel depends on; {...} where they are not known."""
    if isinstance(kernel, Constant):
        return frozenset()
    if isinstance(kernel, Select):
        inner = reads(kernel.kernel)
        if inner is None:
            return frozenset(kernel.columns)
        numbers = all(isinstance(i, int) for i in inner)
        return frozenset(kernel.columns[i] for i in inner) if numbers else frozenset({...})
    used = [reads(inner) for inner in kernel.parts().values()]
    if isinstance(kernel, Tensor | Transformed) and any(columns is not None for columns in used):
        return frozenset({...})
    known = [columns for columns in used if columns is not None]
    return frozenset().union(*known) if used and len(known) == len(used) else None


def within(a: Read, b: Read) -> bool:
    """Whether all columns of `a` are among those of `b`."""
    return b is None or (a is not None and a <= b)


def comparable(a: Read, b: Read) -> bool:
    """Whether columns are comparable: all given by name, or all by non-negative position."""
    columns = (a or frozenset()) | (b or frozenset())
    names = all(isinstance(c, str) for c in columns)
    return names or all(isinstance(c, int) and c >= 0 for c in columns)
