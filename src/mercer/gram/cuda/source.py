"""Triton code around a kernel's formula: what a tile loads, and what is done with its values."""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from mercer.gram.cuda.operands import Operand
from mercer.gram.cuda.plan import Plan

_HEAD = '''import triton
import triton.language as tl


@triton.jit
def exp2(x):
    """2^x of float32 by the device's own instruction: right to two units in the last place."""
    return tl.inline_asm_elementwise(
        "ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
    )


'''
_PLAIN_HEAD = """import triton
import triton.language as tl


@triton.jit
def exp2(x):
    return tl.exp2(x)


"""

_WIDE = 4  # sums of tiles for which there are registers

_SUMS = '''@triton.jit
def sums(out, v, n, m, stride, per, parameters, {arguments}BM: tl.constexpr, BN: tl.constexpr):
    """out[split, c, i] = sum_j k(x_i, y_j) v[c, j] over the columns of a split; last c: of squares."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    split = tl.program_id(1)
{prologue}
{zeros}
    for start in range(split * per, tl.minimum((split + 1) * per, m), BN):
        columns = start + tl.arange(0, BN)
{gather}
    base = out + split.to(tl.int64) * {count} * n
{store}
'''

_FORMS = '''@triton.jit
def forms(out, w, shift, last, first, parameters, {arguments}WIDTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BC: tl.constexpr):
    """out[block, c] = what the rows of a block and the columns from there on add to w'Kw."""
    block = tl.program_id(1)
    rows = block * BM + tl.arange(0, BM)
    chosen = first + tl.program_id(0) * BC + tl.arange(0, BC)
    unit = tl.load(shift)
    moved = tl.load(shift + 1)
{prologue}
    total = tl.zeros((BM, BC), tl.float32)
    for start in range((block + 1) * BM, last, BN):
        columns = start + tl.arange(0, BN)
{tile}
        right = tl.load(w + columns[:, None].to(tl.int64) * WIDTH + chosen[None, :])
        total = tl.dot((value * unit + moved).to(tl.float16), right, total)
    total = total * 2.0
    for start in range(block * BM, (block + 1) * BM, BN):
        columns = start + tl.arange(0, BN)
{tile}
        value = tl.where(columns[None, :] == rows[:, None], 0.0, value * unit + moved)
        right = tl.load(w + columns[:, None].to(tl.int64) * WIDTH + chosen[None, :])
        total = tl.dot(value.to(tl.float16), right, total)
    left = tl.load(w + rows[:, None].to(tl.int64) * WIDTH + chosen[None, :])
    tl.store(out + block.to(tl.int64) * WIDTH + chosen, tl.sum(total * left.to(tl.float32), 0))
'''


_PRODUCT = '''@triton.jit
def product(out, high, low, unit, n, m, per, parameters, {arguments}WIDTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BC: tl.constexpr):
    """out[split, i, c] = sum_j k(x_i, y_j) v[j, c] / unit over the columns of a split, v = high + low.

    Tensor cores cut the digits of long sums off, always towards zero: those of a tile are added up
    outside of them (by a product with `one`, or the two additions would become one again).
    """
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    chosen = tl.program_id(1) * BC + tl.arange(0, BC)
    split = tl.program_id(2)
    inverse = tl.load(unit)
    one = tl.load(unit + 1)
{prologue}
    total = tl.zeros((BM, BC), tl.float32)
    for start in range(split * per, tl.minimum((split + 1) * per, m), BN):
        columns = start + tl.arange(0, BN)
        at = columns[:, None].to(tl.int64) * WIDTH + chosen[None, :]
        first = tl.load(high + at)
        second = tl.load(low + at)
{tile}
        value = value * inverse
        major = value.to(tl.float16)
        minor = (value - major.to(tl.float32)).to(tl.float16)
        part = tl.dot(major, first)
        part = tl.dot(major, second, part)
        part = tl.dot(minor, first, part)
        total = tl.fma(part, one, total)
    base = out + split.to(tl.int64) * n * WIDTH
    tl.store(base + rows[:, None].to(tl.int64) * WIDTH + chosen[None, :], total, mask=rows[:, None] < n)
'''

_BAGS = '''@triton.jit
def bags(out, first, second, u, v, start, width, n, m, parameters, {arguments}HALF: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """out[a, b] = the sum of u_i k(x_i, y_j) v_j over the rows i of bag a and the columns j of bag b."""
    a = start + tl.program_id(1)
    b = tl.program_id(0)
    if (HALF == 0) | (b >= a):
        top = tl.load(first + a)
        bottom = tl.load(first + a + 1)
        left = tl.load(second + b)
        right = tl.load(second + b + 1)
        total = tl.zeros((BM, BN), {dtype})
        for row in range(top, bottom, BM):
            places = row + tl.arange(0, BM)
            rows = tl.minimum(places, n - 1)
            down = tl.load(u + rows, mask=places < bottom, other=0.0)
{prologue}
            for column in range(left, right, BN):
                others = column + tl.arange(0, BN)
                columns = tl.minimum(others, m - 1)
                across = tl.load(v + columns, mask=others < right, other=0.0)
{tile}
                total += value * across[None, :] * down[:, None]
        tl.store(out + a.to(tl.int64) * width + b, tl.sum(total.to(tl.float64)))
'''


def bags_kernel(plan: Plan) -> Any:
    """The compiled `bags` of a plan."""
    parts = {"prologue": _prologue(plan, 12), "tile": _tile(plan, 16), "dtype": _dtype(plan)}
    return compiled(_head(plan) + _BAGS.format(arguments=_arguments(plan), **parts))["bags"]


def product_kernel(plan: Plan) -> Any:
    """The compiled `product` of a plan."""
    code = _PRODUCT.format(arguments=_arguments(plan), prologue=_prologue(plan), tile=_tile(plan))
    return compiled(_head(plan) + code)["product"]


def sums_kernel(plan: Plan, columns: int, squares: bool) -> Any:
    """The compiled `sums` of a plan."""
    lines, names, gather = plan.formula.lines, [], _inputs(plan, len(plan.operands) == 1)
    count = len(plan.formula.values) * (columns + squares)
    wide = plan.needs in ("double", "plain") and count <= _WIDE  # sums of tiles, reduced at the end
    added = "{0} += {1}" if wide else "{0} += tl.sum({1}, 1)"
    for k, value in enumerate(plan.formula.values):
        known = int(value[1:]) + 1 if value.startswith("t") else 0
        gather += lines[:known]  # no sooner than they are needed, so that few tiles live at a time
        lines = [*[""] * known, *lines[known:]]
        gather.append(f"value = {_filled(plan, value)}")
        for c in range(columns):
            names.append(f"s{k}_{c}")
            row = f"value * tl.load(v + {c} * stride + columns)[None, :]"
            gather.append(added.format(names[-1], row))
        if squares:
            names.append(f"squares{k}")
            gather.append("value = tl.where(columns[None, :] < m, value, 0.0)")
            gather.append(added.format(names[-1], "value * value"))
    shape, total = ("(BM, BN)", "tl.sum({0}, 1)") if wide else ("(BM,)", "{0}")
    zeros = [f"    {name} = tl.zeros({shape}, {_dtype(plan)})" for name in names]
    store = [
        f"    tl.store(base + {c} * n + rows, {total.format(name)}, mask=rows < n)"
        for c, name in enumerate(names)
    ]
    code = _SUMS.format(
        arguments=_arguments(plan),
        prologue=_prologue(plan),
        zeros="\n".join(zeros),
        gather="\n".join(f"        {line}" for line in gather if line),
        count=count,
        store="\n".join(store),
    )
    return compiled(_head(plan) + code)["sums"]


def forms_kernel(plan: Plan) -> Any:
    """The compiled `forms` of a plan."""
    code = _FORMS.format(arguments=_arguments(plan), prologue=_prologue(plan), tile=_tile(plan))
    return compiled(_head(plan) + code)["forms"]


def operand_arguments(plan: Plan) -> list[Any]:
    """What is handed to a kernel for its operands."""
    return [value for j, o in enumerate(plan.operands) for value in _held(o, j).values()]


# ---- private ------------------------------------------------------------------------------


def _head(plan: Plan) -> str:
    """There is no such instruction for float64, nor in Triton's interpreter."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    return _PLAIN_HEAD if interpreted or _dtype(plan) == "tl.float64" else _HEAD


def _dtype(plan: Plan) -> str:
    return "tl.float32" if str(plan.like.dtype).endswith("float32") else "tl.float64"


def _arguments(plan: Plan) -> str:
    names = [name for j, o in enumerate(plan.operands) for name in _held(o, j)]
    return "".join(f"{name}, " for name in names)


def _held(o: Operand, j: int) -> dict[str, Any]:
    """What is handed to a kernel for an operand, by the names that it has there."""
    found = {f"x{j}": o.x, f"y{j}": o.y, f"nx{j}": o.norms_x, f"ny{j}": o.norms_y}
    return {name: value for name, value in found.items() if value is not None}


def _prologue(plan: Plan, indent: int = 4) -> str:
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


def _tile(plan: Plan, indent: int = 8) -> str:
    """The value of the matrix on a tile, `value` (BM, BN)."""
    value = f"value = {_filled(plan, plan.formula.values[0])}"
    lines = [*_inputs(plan), *plan.formula.lines, value]
    return "\n".join(" " * indent + line for line in lines)


def _inputs(plan: Plan, unrolled: bool = False) -> list[str]:
    """The inputs of the formula on a tile; sums over few columns unrolled, where registers allow it."""
    lines: list[str] = []
    for j, o in enumerate(plan.operands):
        name = f"{o.kind}_{j}"
        if o.x is not None:
            lines += _halves(plan, o, j) if o.halves else _differences(plan, o, j, unrolled)
        if o.norms_y is not None:
            lines.append(f"other{j} = tl.load(ny{j} + columns)")
            more = "" if o.kind == "sum" else f" + {name}"
            lines.append(f"{name} = norms{j}[:, None] + other{j}[None, :]{more}")
        roots = any(word in line for line in plan.formula.lines for word in ("sqrt", "log"))
        if o.kind == "r2" and o.halves and roots:
            lines.append(f"{name} = tl.maximum({name}, 0.0)")
    return lines


def _filled(plan: Plan, value: str) -> str:
    """A constant as a tile; other values are tiles."""
    return f"{value} + tl.zeros((BM, BN), {_dtype(plan)})" if value.startswith("p") else value


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


def _differences(plan: Plan, o: Operand, j: int, unrolled: bool) -> list[str]:
    """Sums over columns, of differences or products."""
    two = o.kind in ("steps", "stein")  # rows are [points, scores]
    count, wide = o.width // 2 if two else o.width, _wide(plan)
    loop = "tl.static_range" if unrolled and count <= _UNROLLED else "range"

    def column(name: str, side: str, offset: int) -> str:
        where, shape = ("rows", "[:, None]") if side == "x" else ("columns", "[None, :]")
        at = f"{side}{j} + {where}{wide} * {o.width} + {offset} + part{j}"
        return f"    {name}{j} = tl.load({at}){shape}"

    lines = [column("a", "x", 0), column("b", "y", 0)]
    if two:
        lines += [column("s", "x", count), column("t", "y", count)]
    names = [f"{o.kind}_{j}"] if o.kind != "stein" else [f"r2_{j - 2}", f"dot_{j - 1}", f"steps_{j}"]
    added = (line.format(kind=o.kind, j=j, i=j - 2, k=j - 1) for line in _ADDED[o.kind])
    return [
        *(f"{name} = tl.zeros((BM, BN), {_dtype(plan)})" for name in names),
        f"for part{j} in {loop}({count}):",
        *lines,
        *(f"    {line}" for line in added),
    ]


@cache
def compiled(code: str) -> dict[str, Callable[..., Any]]:
    """The functions of some code; Triton reads their source again, which `linecache` keeps."""
    name = f"<mercer fused kernel {hash(code):x}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    found: dict[str, Any] = {"__name__": "mercer.gram.cuda.generated"}
    exec(compile(code, name, "exec"), found)
    return found
