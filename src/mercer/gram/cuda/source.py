"""Triton code around a kernel's formula: what a tile loads, and what is done with its values."""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from mercer.gram.cuda.plan import Operand, Plan

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

_SUMS = '''@triton.jit
def sums(out, v, n, m, stride, per, parameters, {arguments}BM: tl.constexpr, BN: tl.constexpr):
    """out[split, c, i] = sum_j k(x_i, y_j) v[c, j] over the columns of a split; last c: of squares."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    split = tl.program_id(1)
{prologue}
{zeros}
    for start in range(split * per, tl.minimum((split + 1) * per, m), BN):
        columns = start + tl.arange(0, BN)
{tile}
{gather}
    base = out + split.to(tl.int64) * {count} * n
{store}
'''

_FORMS = '''@triton.jit
def forms(out, w, shift, last, parameters, {arguments}WIDTH: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BC: tl.constexpr):
    """out[block, c] = what the rows of a block and the columns from there on add to w'Kw."""
    block = tl.program_id(1)
    rows = block * BM + tl.arange(0, BM)
    chosen = tl.program_id(0) * BC + tl.arange(0, BC)
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
    """out[split, i, c] = sum_j k(x_i, y_j) v[j, c] / unit over the columns of a split, v = high + low."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    chosen = tl.program_id(1) * BC + tl.arange(0, BC)
    split = tl.program_id(2)
    inverse = tl.load(unit)
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
        total = tl.dot(major, first, total)
        total = tl.dot(major, second, total)
        total = tl.dot(minor, first, total)
    base = out + split.to(tl.int64) * n * WIDTH
    tl.store(base + rows[:, None].to(tl.int64) * WIDTH + chosen[None, :], total, mask=rows[:, None] < n)
'''


def product_kernel(plan: Plan) -> Any:
    """The compiled `product` of a plan."""
    code = _PRODUCT.format(arguments=_arguments(plan), prologue=_prologue(plan), tile=_tile(plan))
    return compiled(_head(plan) + code)["product"]


def sums_kernel(plan: Plan, columns: int, squares: bool) -> Any:
    """The compiled `sums` of a plan."""
    names = [f"s{c}" for c in range(columns)] + (["squares"] if squares else [])
    kind = _dtype(plan)
    zeros = "\n".join(f"    {name} = tl.zeros((BM,), {kind})" for name in names)
    gather = "\n".join(
        f"        {name} += tl.sum(value * tl.load(v + {c} * stride + columns)[None, :], 1)"
        for c, name in enumerate(names[:columns])
    )
    if squares:
        gather += "\n        value = tl.where(columns[None, :] < m, value, 0.0)"
        gather += "\n        squares += tl.sum(value * value, 1)"
    store = "\n".join(
        f"    tl.store(base + {c} * n + rows, {name}, mask=rows < n)"
        for c, name in enumerate(names)
    )
    code = _SUMS.format(
        arguments=_arguments(plan),
        prologue=_prologue(plan),
        zeros=zeros,
        tile=_tile(plan),
        gather=gather,
        count=len(names),
        store=store,
    )
    return compiled(_head(plan) + code)["sums"]


def forms_kernel(plan: Plan) -> Any:
    """The compiled `forms` of a plan."""
    code = _FORMS.format(arguments=_arguments(plan), prologue=_prologue(plan), tile=_tile(plan))
    return compiled(_head(plan) + code)["forms"]


def operand_arguments(plan: Plan) -> list[Any]:
    """What is handed to a kernel for its operands."""
    found: list[Any] = []
    for o in plan.operands:
        found += [o.x, o.y] + ([o.norms_x, o.norms_y] if o.halves else [])
    return found


# ---- private ------------------------------------------------------------------------------


def _head(plan: Plan) -> str:
    """There is no such instruction for float64, nor in Triton's interpreter."""
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    return _PLAIN_HEAD if interpreted or _dtype(plan) == "tl.float64" else _HEAD


def _dtype(plan: Plan) -> str:
    return "tl.float32" if str(plan.like.dtype).endswith("float32") else "tl.float64"


def _arguments(plan: Plan) -> str:
    names: list[str] = []
    for j, o in enumerate(plan.operands):
        names += [f"x{j}", f"y{j}"] + ([f"nx{j}", f"ny{j}"] if o.halves else [])
    return "".join(f"{name}, " for name in names)


def _prologue(plan: Plan) -> str:
    """Parameters, and what stays the same for all columns."""
    lines = [f"p{i} = tl.load(parameters + {i})" for i in range(len(plan.formula.parameters))]
    for j, o in enumerate(plan.operands):
        first = len(plan.formula.parameters)
        if not o.halves:
            continue
        lines.append(f"scale{j} = tl.load(parameters + {first + j})")
        lines.append(f"norms{j} = tl.load(nx{j} + rows)")
        if o.width <= 64:
            lines.append(f"depth{j} = tl.arange(0, {o.width})")
            lines.append(f"left{j} = tl.load(x{j} + rows[:, None] * {o.width} + depth{j}[None, :])")
    return "\n".join(f"    {line}" for line in lines)


def _tile(plan: Plan) -> str:
    """The value of the kernel on a tile, `value` (BM, BN)."""
    lines: list[str] = []
    for j, o in enumerate(plan.operands):
        name = f"{o.kind}_{j}"
        lines += _halves(o, j, name) if o.halves else _differences(plan, o, j, name)
        if o.kind == "r2" and o.halves:
            lines.append(f"other{j} = tl.load(ny{j} + columns)")
            lines.append(f"{name} = norms{j}[:, None] + other{j}[None, :] + {name}")
            if any(word in line for line in plan.formula.lines for word in ("sqrt", "log")):
                lines.append(f"{name} = tl.maximum({name}, 0.0)")
    lines += plan.formula.lines
    value = plan.formula.value
    if value.startswith("p"):  # a constant
        value = f"{value} + tl.zeros((BM, BN), {_dtype(plan)})"
    lines.append(f"value = {value}")
    return "\n".join(f"        {line}" for line in lines)


def _halves(o: Operand, j: int, name: str) -> list[str]:
    if o.width <= 64:
        return [
            f"right{j} = tl.load(y{j} + columns[None, :] * {o.width} + depth{j}[:, None])",
            f"{name} = tl.dot(left{j}, right{j}) * scale{j}",
        ]
    return [
        f"{name} = tl.zeros((BM, BN), tl.float32)",
        f"for part{j} in range(0, {o.width}, 64):",
        f"    depth{j} = part{j} + tl.arange(0, 64)",
        f"    left{j} = tl.load(x{j} + rows[:, None] * {o.width} + depth{j}[None, :])",
        f"    right{j} = tl.load(y{j} + columns[None, :] * {o.width} + depth{j}[:, None])",
        f"    {name} = tl.dot(left{j}, right{j}, {name})",
        f"{name} = {name} * scale{j}",
    ]


def _differences(plan: Plan, o: Operand, j: int, name: str) -> list[str]:
    step = {
        "r2": "(a - b) * (a - b)",
        "l1": "tl.abs(a - b)",
        "dot": "a * b",
    }[o.kind]
    return [
        f"{name} = tl.zeros((BM, BN), {_dtype(plan)})",
        f"for part{j} in range({o.width}):",
        f"    a = tl.load(x{j} + rows * {o.width} + part{j})[:, None]",
        f"    b = tl.load(y{j} + columns * {o.width} + part{j})[None, :]",
        f"    {name} += {step}",
    ]


@cache
def compiled(code: str) -> dict[str, Callable[..., Any]]:
    """The functions of some code; Triton reads their source again, which `linecache` keeps."""
    name = f"<mercer fused kernel {hash(code):x}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    found: dict[str, Any] = {"__name__": "mercer.gram.cuda.generated"}
    exec(compile(code, name, "exec"), found)
    return found
