"""What fused tiles load for an input of a formula.

Dot products come from tensor cores. A float32 number is the sum of two halves, hi + lo, to 22 bits,
and <x, y> = <[hi, hi, lo], [hi', lo', hi']> to about 2^-22 |x| |y|: one product of half precision,
three times as wide, with float32 sums. Where a profile would show that error (a square root near 0),
where sums of the matrix cancel (tensor cores round towards zero), and in float64, distances are
sums over differences instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mercer.backend import eps, is_single, namespace, scalar
from mercer.gram.cuda.trace import Input
from mercer.kernels.metric import sensitive
from mercer.kernels.stein import halves as points_and_scores

ROWS = 128  # of a tile
_NARROW = 256  # columns of points up to which sums over differences are fused
_FEW, _CAREFUL = 64, 1e-4  # columns, and a tolerance, up to which careful inputs are such sums
_SIZE = 16.0  # of the largest coordinate in half precision: small parts of it are still normal


@dataclass(frozen=True)
class Operand:
    """What a tile loads for one input: numbers of rows and columns, and terms to add to each."""

    kind: (
        str  # "r2", "dot", "l1", "steps", "sum"; "stein": "steps" that gives the two before it too
    )
    halves: bool  # dot products of halves, or sums over columns
    x: Any  # (n, k) of half precision, or (n, d) as the points are
    y: Any
    norms_x: Any  # (n,): |x_i|^2 of "r2", -a_i's_i of "steps", the numbers themselves of "sum"
    norms_y: Any
    scale: float  # what a product of the operands is multiplied by

    @property
    def width(self) -> int:
        """Columns of x."""
        return 0 if self.x is None else int(self.x.shape[1])


def operand_of(each: Input, like: Any, tolerance: float) -> Operand | None:
    """The operand of an input, for entries this exact; None where points have too many columns."""
    x, y = each.x, each.y
    if each.kind == "sum":
        rows, columns = (_tall(v.to(like.dtype)) for v in (x, y))
        return Operand("sum", False, None, None, rows, columns, 1.0)
    careful = each.careful and tolerance <= _CAREFUL and x.shape[1] <= _FEW
    if not is_single(x) or careful or each.kind == "l1" or x.shape[1] == 1:
        return _plain(each, x, y)
    if each.kind == "dot":
        return _split(each, x, y, None)
    if each.kind == "steps":
        return _steps(each, x, y)
    middle = x.double().mean(dim=0)
    moved = (x.double() - middle).float()
    others = moved if y is x else (y.double() - middle).float()
    if any(sensitive(profile, moved, others, eps(moved), tolerance) for profile in each.profiles):
        return _plain(each, moved, others)
    norms = [(v.double() ** 2).sum(dim=1) for v in ((moved,) if y is x else (moved, others))]
    return _split(each, moved, others, (norms[0], norms[-1]))


def together(inputs: list[Input], operands: list[Operand]) -> list[Operand]:
    """Distances, products of scores and steps of a Stein kernel, from one sum over the columns."""
    found = list(operands)
    for j in range(2, len(found)):
        r2, dot, steps = inputs[j - 2 : j + 1]
        ways = (steps.way, "points"), (steps.way, "scores")
        plain = not any(o.halves for o in found[j - 2 : j + 1])
        if steps.kind == "steps" and (r2.way, dot.way) == ways and plain:
            found[j - 2] = replace(found[j - 2], x=None, y=None)
            found[j - 1] = replace(found[j - 1], x=None, y=None)
            found[j] = replace(found[j], kind="stein")
    return found


def halves(x: Any) -> tuple[Any, Any]:
    """x = high + low, to 22 bits."""
    high = x.half()
    return high, (x - high.float()).half()


# ---- private ------------------------------------------------------------------------------


def _plain(each: Input, x: Any, y: Any) -> Operand | None:
    if x.shape[1] > _NARROW:
        return None
    left = _tall(x)
    return Operand(each.kind, False, left, left if y is x else _tall(y), None, None, 1.0)


def _steps(each: Input, x: Any, y: Any) -> Operand:
    """(t - s)'(a - b) = <[a, s], [t, b]> - a's - b't, points and scores brought to one size."""
    (a, s), (b, t) = points_and_scores(x.double()), points_and_scores(y.double())
    middle = a.mean(dim=0)
    a, b = a - middle, b - middle
    xp = namespace(a)
    sizes = [max(scalar(xp.max(xp.abs(v))), 1e-30) for v in (a, s)]
    even = (sizes[1] / sizes[0]) ** 0.5
    left = xp.concat([a * even, s / even], axis=1)
    right = xp.concat([t / even, b * even], axis=1)
    own = -(a * s).sum(dim=1), -(b * t).sum(dim=1)
    return _split(each, left.float(), right.float(), own)


def _split(each: Input, x: Any, y: Any, terms: tuple[Any, Any] | None) -> Operand:
    """Halves of both, in a unit in which the largest coordinate is 16."""
    xp = namespace(x)
    top = max(scalar(xp.max(xp.abs(x))), scalar(xp.max(xp.abs(y))), 1e-30)
    unit = _SIZE / top
    left, right = halves(x * unit), halves(y * unit)
    wide_x = _padded([left[0], left[0], left[1]])
    wide_y = _padded([right[0], right[1], right[0]])
    scale = (-2.0 if each.kind == "r2" else 1.0) / unit**2
    rows = columns = None
    if terms is not None:
        rows = _tall(terms[0].float())
        columns = rows if terms[1] is terms[0] else _tall(terms[1].float())
    return Operand(each.kind, True, _tall(wide_x), _tall(wide_y), rows, columns, scale)


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
