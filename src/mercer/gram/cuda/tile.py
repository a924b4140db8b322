"""The code of a tile: what it loads for the operands of a plan, and the formula of its values."""

from __future__ import annotations

import os
from typing import Any

from mercer.gram.cuda.operands import Operand
from mercer.gram.cuda.plan import Plan
from mercer.gram.cuda.templates import HEAD, PLAIN_HEAD

ACROSS = "[None, :]"  # numbers of columns, to be met by numbers of rows


def operand_arguments(plan: Plan) -> list[Any]:
    """What is handed to a kernel for its operands."""
    return [value for j, o in enumerate(plan.operands) for value in _held(o, j).values()]


def head(plan: Plan) -> str:
    """There is no such instruction for float64, nor in Triton's interpreter."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    return PLAIN_HEAD if interpreted or dtype(plan) == "tl.float64" else HEAD


def dtype(plan: Plan) -> str:
    """Of the values, in Triton's words."""
    return "tl.float32" if str(plan.like.dtype).endswith("float32") else "tl.float64"


def arguments(plan: Plan) -> str:
    """The names of what `operand_arguments` gives."""
    names = [name for j, o in enumerate(plan.operands) for name in _held(o, j)]
    return "".join(f"{name}, " for name in names)


def _held(o: Operand, j: int) -> dict[str, Any]:
    """What is handed to a kernel for an operand, by the names that it has there."""
    found = {f"x{j}": o.x, f"y{j}": o.y, f"nx{j}": o.norms_x, f"ny{j}": o.norms_y}
    return {name: value for name, value in found.items() if value is not None}


def prologue(plan: Plan, indent: int = 4) -> str:
    """Parameters, and what stays the same for all columns."""
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
    """The value of the matrix on a tile, `value` (BM, BN)."""
    value = f"value = {filled(plan, plan.formula.values[0])}"
    lines = [*inputs(plan, across=across), *plan.formula.lines, value]
    return "\n".join(" " * indent + line for line in lines)


def inputs(plan: Plan, unrolled: bool = False, across: str = ACROSS) -> list[str]:
    """The inputs of the formula on a tile; sums over few columns unrolled, where registers allow it.

    `across` makes a tile's shape of what is loaded for `columns`, if these are not of that shape.
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
    """A constant as a tile; other values are tiles."""
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


_UNROLLED = 16  # columns up to which there is no loop over them, and those of x are loaded once
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
}  # what a column adds


def _differences(plan: Plan, o: Operand, j: int, unrolled: bool, across: str) -> list[str]:
    """Sums over columns, of differences or products."""
    two = o.kind in ("steps", "stein")  # rows are [points, scores]
    count, wide = o.width // 2 if two else o.width, _wide(plan)
    loop = "tl.static_range" if unrolled and count <= _UNROLLED else "range"

    def column(name: str, side: str, offset: int) -> str:
        where, shape = ("rows", "[:, None]") if side == "x" else ("columns", across)
        at = f"{side}{j} + {where}{wide} * {o.width} + {offset} + part{j}"
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
