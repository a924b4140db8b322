"""A kernel on points of one device, ready for fused tiles: its code, its operands, its parameters.

Dot products come from tensor cores. A float32 number is the sum of two halves, hi + lo, to 22 bits,
and <x, y> = <[hi, hi, lo], [hi', lo', hi']> to about 2^-22 |x| |y|: one product of half precision,
three times as wide, with float32 sums. Where a profile would show that error (a square root near 0),
and in float64, distances are sums over differences instead.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mercer.backend import eps, is_single, namespace, scalar
from mercer.gram.cuda.trace import Formula, Input, traced
from mercer.kernels.base import Kernel, Points
from mercer.kernels.distance import sensitive

ROWS = 128  # of a tile
_NARROW = 256  # columns of points up to which sums over differences are fused
_SIZE = 16.0  # of the largest coordinate in half precision: small parts of it are still normal


@dataclass(frozen=True)
class Operand:
    """What a tile loads for one input."""

    kind: str  # "r2", "dot", "l1"
    halves: bool  # dot products of halves, or sums over differences (dots: over products)
    x: Any  # (n, k) of half precision, or (n, d) as the points are
    y: Any
    norms_x: Any  # (n,) squared norms of x, in the unit of `scale`
    norms_y: Any
    scale: float  # what a product of the operands is multiplied by

    @property
    def width(self) -> int:
        """Columns of x."""
        return int(self.x.shape[1])


@dataclass(frozen=True)
class Plan:
    """A kernel's formula and operands."""

    formula: Formula
    operands: tuple[Operand, ...]
    like: Any
    unit: Any  # a power of two not below any |k|, on the device, so that half precision holds k / unit
    shape: tuple[int, int]

    @cached_property
    def parameters(self) -> Any:
        """The numbers of the formula and the scales of the operands, on the device."""
        values = [*self.formula.parameters, *(o.scale for o in self.operands)]
        xp = namespace(self.like)
        return xp.asarray(values or [0.0], dtype=self.like.dtype, device=self.like.device)


def plan(kernel: Kernel, x: Points, y: Points) -> Plan | None:
    """The plan; None where the kernel has no fused tiles."""
    formula = traced(kernel, x, y)
    if formula is None:
        return None
    operands = []
    for each in formula.inputs:
        operand = _operand(each, kernel)
        if operand is None:
            return None
        operands.append(operand)
    like = kernel.diag(x[:1, ...])
    shape = int(x.shape[0]), int(y.shape[0])
    return Plan(*_folded(formula, operands), like, _unit(kernel, x, y), shape)


def _unit(kernel: Kernel, x: Points, y: Points) -> Any:
    """By Cauchy and Schwarz, |k(x, y)| <= sqrt(k(x, x) k(y, y))."""
    tops = [kernel.diag(p).abs().amax() for p in ((x,) if y is x else (x, y))]
    top = (tops[0] * tops[-1]).sqrt().clamp(min=1e-30)
    return (2.0 ** top.log2().ceil()).float()


def _folded(formula: Formula, operands: list[Operand]) -> tuple[Formula, tuple[Operand, ...]]:
    """A Gaussian's factor of the squared distance, put into the operands."""
    found = re.fullmatch(
        r"t\d+ = exp2\(r2_0 \* p(\d+)\)", formula.lines[-1] if formula.lines else ""
    )
    if found is None or len(operands) > 1 or not operands[0].halves:
        return formula, tuple(operands)
    factor, (o,) = formula.parameters[int(found[1])], operands
    norms = o.norms_x * factor
    others = norms if o.norms_y is o.norms_x else o.norms_y * factor
    moved = replace(o, norms_x=norms, norms_y=others, scale=o.scale * factor)
    return Formula(formula.inputs, [], ["t0 = exp2(r2_0)"], "t0"), (moved,)


def _operand(each: Input, kernel: Kernel) -> Operand | None:
    x, y = each.x, each.y
    if each.kind == "dot":
        if is_single(x):
            return _split(each, x, y)
        return _plain(each, x, y)
    if each.kind == "l1" or not is_single(x) or x.shape[1] == 1:
        return _plain(each, x, y)
    middle = x.double().mean(dim=0)
    moved = (x.double() - middle).float()
    others = moved if y is x else (y.double() - middle).float()
    if _shows(kernel, moved, others):
        return _plain(each, moved, others)
    return _split(each, moved, others)


def _shows(kernel: Kernel, x: Any, y: Any) -> bool:
    """Whether the error of an expanded squared distance could be seen in k."""
    from mercer.kernels.smooth import radial_form
    from mercer.kernels.wrappers import InputWrapper

    while isinstance(kernel, InputWrapper):
        kernel = kernel.kernel
    form = radial_form(kernel)
    if form is None:
        parts = list(kernel.parts().values())
        return any(_shows(part, x, y) for part in parts)
    return sensitive(form.profile, x, y, eps(x), 1e-5)


def _plain(each: Input, x: Any, y: Any) -> Operand | None:
    if x.shape[1] > _NARROW:
        return None
    return Operand(each.kind, False, _tall(x), _tall(y), None, None, 1.0)


def _split(each: Input, x: Any, y: Any) -> Operand:
    """Halves of both, in a unit in which the largest coordinate is 16."""
    xp = namespace(x)
    top = max(scalar(xp.max(xp.abs(x))), scalar(xp.max(xp.abs(y))), 1e-30)
    unit = _SIZE / top
    left, right = halves(x * unit), halves(y * unit)
    wide_x = _padded([left[0], left[0], left[1]])
    wide_y = _padded([right[0], right[1], right[0]])
    norms = [(v.double() ** 2).sum(dim=1).float() for v in ((x,) if y is x else (x, y))]
    scale = (-2.0 if each.kind == "r2" else 1.0) / unit**2
    left, right = _tall(norms[0]), _tall(norms[-1])
    return Operand(each.kind, True, _tall(wide_x), _tall(wide_y), left, right, scale)


def halves(x: Any) -> tuple[Any, Any]:
    """x = high + low, to 22 bits."""
    high = x.half()
    return high, (x - high.float()).half()


def _tall(x: Any) -> Any:
    """Rows of zeros up to a multiple of `ROWS`, so that tiles need no mask."""
    import torch

    missing = -x.shape[0] % ROWS
    pad = (0, missing) if x.ndim == 1 else (0, 0, 0, missing)
    return torch.nn.functional.pad(x, pad).contiguous()


def _padded(parts: list[Any]) -> Any:
    """Columns side by side, and zeros up to 16, 32, or a multiple of 64."""
    import torch

    wide = torch.cat(parts, dim=1)
    k = wide.shape[1]
    full = 16 if k <= 16 else 32 if k <= 32 else -(-k // 64) * 64
    return torch.nn.functional.pad(wide, (0, full - k)).contiguous()
