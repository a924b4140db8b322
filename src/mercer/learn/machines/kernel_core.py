"""The innermost kernel whose values determine a kernel, and matrices that reuse its values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.backend import count, to_numpy
from mercer.gram import Gram
from mercer.kernels.algebra import Constant, Exp, Multiple, Power, Product, Sum
from mercer.kernels.base import Kernel, Points
from mercer.kernels.compose import Composed
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.wrappers import Normalized


def core(kernel: Kernel) -> Kernel:
    """The innermost kernel whose values determine those of this one, such as that below a level-2 kernel.

    Both read the same points. It is the kernel itself where its values depend on more.
    """
    name = _inner_name(kernel)
    return kernel if name is None else core(kernel.parts()[name])


def on_core(kernel: Kernel, values: Precomputed) -> Kernel:
    """The kernel with its core replaced by precomputed values: a kernel of positions."""
    name = _inner_name(kernel)
    if name is None:
        return values
    return kernel.with_params(**{name: on_core(kernel.parts()[name], values)})


def matrices(kernels: list[Kernel], points: list[Points]) -> Iterator[np.ndarray]:
    """Gram matrix of each kernel; the matrix of an expensive core is reused by the kernels that follow."""
    last: tuple[Kernel, Precomputed] | None = None
    for kernel, x in zip(kernels, points, strict=True):
        inner = core(kernel)
        if not inner.is_expensive():
            yield to_numpy(Gram(kernel, x).dense())
            continue
        if last is None or last[0] != inner:
            last = inner, Precomputed(to_numpy(Gram(inner, x).dense()))
        positions = np.arange(count(x), dtype=np.float64)[:, None]
        yield to_numpy(Gram(on_core(kernel, last[1]), positions).dense())


def kernel_key(kernel: Kernel | None) -> Any:
    """Dictionary key that equal kernels share; the identity of a kernel that cannot be hashed."""
    try:
        hash(kernel)
    except TypeError:
        return id(kernel)
    return kernel


def _inner_name(kernel: Kernel) -> str | None:
    """Name of the only part whose values matter; None where there is none or more than one."""
    if isinstance(kernel, Composed):
        return "inner"
    if isinstance(kernel, Power | Multiple | Exp | Normalized):
        return "kernel"
    if isinstance(kernel, Sum | Product):
        varying = [name for name, k in kernel.parts().items() if not isinstance(k, Constant)]
        return varying[0] if len(varying) == 1 else None
    return None
