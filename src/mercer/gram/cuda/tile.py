"""The Triton code of a tile: loads of the operands of a plan, and the formula of its values."""

from __future__ import annotations

import os
from typing import Any

from mercer.gram.cuda.operands import Operand
from mercer.gram.cuda.plan import Plan
from mercer.gram.cuda.templates import HEAD, PLAIN_HEAD

ACROSS = "[None, :]"  # broadcasts numbers of columns over rows


def operand_arguments(plan: Plan) -> list[Any]:
    """The arguments of a Triton kernel for the operands of a plan."""
    return [value for j, o in enumerate(plan.operands) for value in _named_arrays(o, j).values()]


def head(plan: Plan) -> str:
    """The imports and `exp2`; float64 and Triton's interpreter lack the fast instruction."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    return PLAIN_HEAD if interpreted or dtype(plan) == "tl.float64" else HEAD


def dtype(plan: Plan) -> str:
    """The dtype of the values, as Triton code."""
    return "tl.float32" if str(plan.like.dtype).endswith("float32") else "tl.float64"


def arguments(plan: Plan) -> str:
    """The names of `operand_arguments` in the code."""
    names = [name for j, o in enumerate(plan.operands) for name in _named_arrays(o, j)]
    return "".join(f"{name}, " for name in names)


def _named_arrays(o: Operand, j: int) -> dict[str, Any]:
    """The arrays of an operand, and the strides of columns, by their names in the code."""
    named = {f"x{j}": o.x, f"y{j}": o.y, f"nx{j}": o.norms_x, f"ny{j}": o.norms_y}
    if o.x is not None and not o.halves:
        named |= {f"stride_x{j}": o.x.shape[1], f"stride_y{j}": o.y.shape[1]}
    return {name: value for name, value in named.items() if value is not None}


def prologue(plan: Plan, indent: int = 4) -> str:
    """Code that loads the parameters and everything that is the same for all columns."""
    first, wide = len(plan.formula.parameters), _wide(plan)
    lines = [f"p{i} = tl.load(parameters + {i})" for i in range(first)]
    for j, o in enumerate(plan.operands):
        if o.norms_x is not None:
            lines.append(f"norms{j} = tl.load(nx{j} + rows)")
        if not o.halves:
            continue
        lines.append(f"scale{j} = tl.load(parameters + {first + j})")
        if o.width <= 64:
            lines.append(f"depth{j} = tl.arange(0, {o.width})")
            at = f"rows[:, None]{wide} * {o.width} + depth{j}[None, :]"
            lines.append(f"left{j} = tl.load(x{j} + {at})")
    return "\n".join(" " * indent + line for line in lines)


def _wide(plan: Plan) -> str:
    return ".to(tl.int64)" if plan.large else ""


def tile(plan: Plan, indent: int = 8, across: str = ACROSS) -> str:
    """Code that computes `value` (BM, BN), the matrix on a tile."""
    value = f"value = {filled(plan, plan.formula.values[0])}"
    lines = [*inputs(plan, across=across), *plan.formula.lines, value]
    return "\n".join(" " * indent + line for line in lines)


def inputs(plan: Plan, unrolled: bool = False, across: str = ACROSS) -> list[str]:
    """Code that computes the inputs of the formula on a tile; `unrolled` loops over few columns.

    `across` is the index that broadcasts what is loaded for `columns` to the shape of a tile.
    """
    lines: list[str] = []
    for j, o in enumerate(plan.operands):
        name = f"{o.kind}_{j}"
        if o.x is not None:
            lines += _halves(plan, o, j) if o.halves else _differences(plan, o, j, unrolled, across)
        if o.norms_y is not None:
            lines.append(f"other{j} = tl.load(ny{j} + columns)")
            more = "" if o.kind == "sum" else f" + {name}"
            lines.append(f"{name} = norms{j}[:, None] + other{j}{across}{more}")
        roots = any(word in line for line in plan.formula.lines for word in ("sqrt", "log"))
        if o.kind == "r2" and o.halves and roots:
            lines.append(f"{name} = tl.maximum({name}, 0.0)")
    return lines


def filled(plan: Plan, value: str) -> str:
    """A value as a tile: constants are broadcast."""
    return f"{value} + tl.zeros((BM, BN), {dtype(plan)})" if value.startswith("p") else value


def _halves(plan: Plan, o: Operand, j: int) -> list[str]:
    wide, name = _wide(plan), f"{o.kind}_{j}"
    right = f"right{j} = tl.load(y{j} + columns[None, :]{wide} * {o.width} + depth{j}[:, None])"
    if o.width <= 64:
        return [right, f"{name} = tl.dot(left{j}, right{j}) * scale{j}"]
    return [
        f"{name} = tl.zeros((BM, BN), tl.float32)",
        f"for part{j} in range(0, {o.width}, 64):",
        f"    depth{j} = part{j} + tl.arange(0, 64)",
        f"    left{j} = tl.load(x{j} + rows[:, None]{wide} * {o.width} + depth{j}[None, :])",
        f"    {right}",
        f"    {name} = tl.dot(left{j}, right{j}, {name})",
        f"{name} = {name} * scale{j}",
    ]


_MAX_UNROLLED_COLUMNS = 16  # the coordinates of x then stay in registers
_ADDED = {
    "r2": ["{kind}_{j} += (a{j} - b{j}) * (a{j} - b{j})"],
    "l1": ["{kind}_{j} += tl.abs(a{j} - b{j})"],
    "dot": ["{kind}_{j} += a{j} * b{j}"],
    "steps": ["{kind}_{j} += (t{j} - s{j}) * (a{j} - b{j})"],
    "stein": [
        "a{j} = a{j} - b{j}",
        "r2_{i} += a{j} * a{j}",
        "dot_{k} += s{j} * t{j}",
        "steps_{j} += (t{j} - s{j}) * a{j}",
    ],
}  # the terms of a column


def _differences(plan: Plan, o: Operand, j: int, unrolled: bool, across: str) -> list[str]:
    """Code of sums over columns, of differences or of products."""
    two = o.kind in ("steps", "stein")  # rows are [points, scores]
    count, wide = o.width // 2 if two else o.width, _wide(plan)
    loop = "tl.static_range" if unrolled and count <= _MAX_UNROLLED_COLUMNS else "range"

    def column(name: str, side: str, offset: int) -> str:
        where, shape = ("rows", "[:, None]") if side == "x" else ("columns", across)
        at = f"{side}{j} + stride_{side}{j}{wide} * ({offset} + part{j}) + {where}"
        return f"    {name}{j} = tl.load({at}){shape}"

    lines = [column("a", "x", 0), column("b", "y", 0)]
    if two:
        lines += [column("s", "x", count), column("t", "y", count)]
    names = (
        [f"{o.kind}_{j}"] if o.kind != "stein" else [f"r2_{j - 2}", f"dot_{j - 1}", f"steps_{j}"]
    )
    added = (line.format(kind=o.kind, j=j, i=j - 2, k=j - 1) for line in _ADDED[o.kind])
    return [
        *(f"{name} = tl.zeros((BM, BN), {dtype(plan)})" for name in names),
        f"for part{j} in {loop}({count}):",
        *lines,
        *(f"    {line}" for line in added),
    ]
