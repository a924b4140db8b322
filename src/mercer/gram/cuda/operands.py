"""The arrays that fused tiles load for the inputs of a formula.

Dot products are computed by tensor cores. A float32 number is, to 22 bits, the sum hi + lo of two
numbers of half precision, and <x, y> = <[hi, hi, lo], [hi', lo', hi']> to about 2^-22 |x| |y|: one
product in half precision, three times as wide, with float32 sums. Where a profile is sensitive to that
error (a square root near 0), where sums of the matrix cancel (tensor cores round towards zero), and in
float64, distances are sums over differences instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from mercer.backend import eps, is_single, namespace, scalar
from mercer.gram.cuda.trace import Input
from mercer.kernels.metric import sensitive
from mercer.kernels.stein import halves as points_and_scores

ROWS_PER_TILE = 128  # of the tile that one program computes
_MAX_COLUMNS_FUSED = 256  # columns of points; with more of them torch's matrix products are faster
# Careful inputs are sums over differences, unless points are so wide or the tolerance is so loose:
_MAX_COLUMNS_CAREFUL, _MAX_TOLERANCE_CAREFUL = 64, 1e-4
_LARGEST_COORDINATE = 16.0  # after scaling to half precision: small low parts are then still normal


@dataclass(frozen=True)
class Operand:
    """The arrays that a tile loads for one input: of rows and of columns, and terms to add to each."""

    kind: (
        str  # "r2", "dot", "l1", "steps", "sum"; "stein": "steps" that gives the two before it too
    )
    halves: bool  # whether by dot products of halves, or by sums over columns
    x: Any  # (n, k) of half precision, or (d, n): a column of the points after the other
    y: Any
    norms_x: Any  # (n,): |x_i|^2 for "r2", -a_i's_i for "steps", the numbers themselves for "sum"
    norms_y: Any
    scale: float  # factor of a product of the operands

    @property
    def width(self) -> int:
        """The number of columns of the points, or of their halves."""
        return 0 if self.x is None else int(self.x.shape[1 if self.halves else 0])


def operand_of(each: Input, like: Any, tolerance: float) -> Operand | None:
    """The operand of an input, for entries of this relative accuracy; None where points are too wide."""
    x, y = each.x, each.y
    if each.kind == "sum":
        rows, columns = (_tall(v.to(like.dtype)) for v in (x, y))
        return Operand("sum", False, None, None, rows, columns, 1.0)
    careful = (
        each.careful and tolerance <= _MAX_TOLERANCE_CAREFUL and x.shape[1] <= _MAX_COLUMNS_CAREFUL
    )
    if not is_single(x) or careful or each.kind == "l1" or x.shape[1] == 1:
        return _plain(each, x, y)
    if each.kind == "dot":
        return _split(each, x, y, None)
    if each.kind == "steps":
        return _steps(each, x, y)
    middle = x.double().mean(dim=0)
    centred = (x.double() - middle).float()
    centred_y = centred if y is x else (y.double() - middle).float()
    if any(
        sensitive(profile, centred, centred_y, eps(centred), tolerance) for profile in each.profiles
    ):
        return _plain(each, centred, centred_y)
    norms = [(v.double() ** 2).sum(dim=1) for v in ((centred,) if y is x else (centred, centred_y))]
    return _split(each, centred, centred_y, (norms[0], norms[-1]))


def together(inputs: list[Input], operands: list[Operand]) -> list[Operand]:
    """The operands, those of a Stein kernel (r2, dot and steps) merged into one sum over the columns."""
    merged = list(operands)
    for j in range(2, len(merged)):
        r2, dot, steps = inputs[j - 2 : j + 1]
        paths = (steps.path, "points"), (steps.path, "scores")
        plain = not any(o.halves for o in merged[j - 2 : j + 1])
        if steps.kind == "steps" and (r2.path, dot.path) == paths and plain:
            merged[j - 2] = replace(merged[j - 2], x=None, y=None)
            merged[j - 1] = replace(merged[j - 1], x=None, y=None)
            merged[j] = replace(merged[j], kind="stein")
    return merged


def halves(x: Any) -> tuple[Any, Any]:
    """x = high + low, to 22 bits."""
    high = x.half()
    return high, (x - high.float()).half()


# ---- private ------------------------------------------------------------------------------


def _plain(each: Input, x: Any, y: Any) -> Operand | None:
    if x.shape[1] > _MAX_COLUMNS_FUSED:
        return None
    columns_x = _tall(x).T.contiguous()
    columns_y = columns_x if y is x else _tall(y).T.contiguous()
    return Operand(each.kind, False, columns_x, columns_y, None, None, 1.0)


def _steps(each: Input, x: Any, y: Any) -> Operand:
    """(t - s)'(a - b) = <[a, s], [t, b]> - a's - b't, with points and scores scaled to one magnitude."""
    (a, s), (b, t) = points_and_scores(x.double()), points_and_scores(y.double())
    middle = namespace(a).mean(a, axis=0)
    a, b = a - middle, b - middle
    xp = namespace(a)
    sizes = [max(scalar(xp.max(xp.abs(v))), 1e-30) for v in (a, s)]
    even = (sizes[1] / sizes[0]) ** 0.5
    x_rows = xp.concat([a * even, s / even], axis=1)
    y_rows = xp.concat([t / even, b * even], axis=1)
    terms = -(a * s).sum(dim=1), -(b * t).sum(dim=1)
    return _split(each, x_rows.float(), y_rows.float(), terms)


def _split(each: Input, x: Any, y: Any, terms: tuple[Any, Any] | None) -> Operand:
    """Halves of both, scaled so that the largest coordinate is 16."""
    xp = namespace(x)
    top = max(scalar(xp.max(xp.abs(x))), scalar(xp.max(xp.abs(y))), 1e-30)
    unit = _LARGEST_COORDINATE / top
    x_halves, y_halves = halves(x * unit), halves(y * unit)
    wide_x = _padded([x_halves[0], x_halves[0], x_halves[1]])
    wide_y = _padded([y_halves[0], y_halves[1], y_halves[0]])
    scale = (-2.0 if each.kind == "r2" else 1.0) / unit**2
    rows = columns = None
    if terms is not None:
        rows = _tall(terms[0].float())
        columns = rows if terms[1] is terms[0] else _tall(terms[1].float())
    return Operand(each.kind, True, _tall(wide_x), _tall(wide_y), rows, columns, scale)


def _tall(x: Any) -> Any:
    """The array padded with rows of zeros to a multiple of `ROWS_PER_TILE`, so that tiles need no mask."""
    import torch

    missing = -x.shape[0] % ROWS_PER_TILE
    pad = (0, missing) if x.ndim == 1 else (0, 0, 0, missing)
    return torch.nn.functional.pad(x, pad).contiguous()


def _padded(parts: list[Any]) -> Any:
    """The arrays side by side, padded with zeros to 16, 32, or a multiple of 64 columns."""
    import torch

    wide = torch.cat(parts, dim=1)
    k = wide.shape[1]
    full = 16 if k <= 16 else 32 if k <= 32 else -(-k // 64) * 64
    return torch.nn.functional.pad(wide, (0, full - k)).contiguous()
