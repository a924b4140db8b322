"""Triton kernels compiled from templates and the formula of a plan."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import cache
from typing import Any

from mercer.gram.cuda.plan import Plan
from mercer.gram.cuda.templates import BAGS, DIAGONALS, PIVOTED, PRODUCT, SHIFTED, SUMS, VALUES
from mercer.gram.cuda.tile import arguments, dtype, filled, head, inputs, prologue, tile

_MAX_TILE_SUMS = 4  # accumulators of the size of a tile that fit into registers


def bags_kernel(plan: Plan) -> Any:
    """The compiled `bags` of a plan."""
    parts = {"prologue": prologue(plan, 12), "tile": tile(plan, 16), "dtype": dtype(plan)}
    return compiled(head(plan) + BAGS.format(arguments=arguments(plan), **parts))["bags"]


def product_kernel(plan: Plan) -> Any:
    """The compiled `product` of a plan."""
    code = PRODUCT.format(arguments=arguments(plan), prologue=prologue(plan), tile=tile(plan))
    return compiled(head(plan) + code)["product"]


def sums_kernel(plan: Plan, columns: int, squares: bool) -> Any:
    """The compiled `sums` of a plan."""
    lines, names, gather = plan.formula.lines, [], inputs(plan, len(plan.operands) == 1)
    count = len(plan.formula.values) * (columns + squares)
    wide = (
        plan.needs in ("double", "plain") and count <= _MAX_TILE_SUMS
    )  # sums are reduced after the loop
    added = "{0} += {1}" if wide else "{0} += tl.sum({1}, 1)"
    for k, value in enumerate(plan.formula.values):
        known = int(value[1:]) + 1 if value.startswith("t") else 0
        gather += lines[:known]  # not before they are needed, so that few tiles are live at a time
        lines = [*[""] * known, *lines[known:]]
        gather.append(f"value = {filled(plan, value)}")
        for c in range(columns):
            names.append(f"s{k}_{c}")
            row = f"value * tl.load(v + {c} * stride + columns)[None, :]"
            gather.append(added.format(names[-1], row))
        if squares:
            names.append(f"squares{k}")
            gather.append("value = tl.where(columns[None, :] < m, value, 0.0)")
            gather.append(added.format(names[-1], "value * value"))
    shape, total = ("(BM, BN)", "tl.sum({0}, 1)") if wide else ("(BM,)", "{0}")
    zeros = [f"    {name} = tl.zeros({shape}, {dtype(plan)})" for name in names]
    store = [
        f"    tl.store(base + {c} * n + rows, {total.format(name)}, mask=rows < n)"
        for c, name in enumerate(names)
    ]
    code = SUMS.format(
        arguments=arguments(plan),
        prologue=prologue(plan),
        zeros="\n".join(zeros),
        gather="\n".join(f"        {line}" for line in gather if line),
        count=count,
        store="\n".join(store),
    )
    return compiled(head(plan) + code)["sums"]


def values_kernel(plan: Plan) -> Any:
    """The compiled `values` of a plan."""
    lines, store, scales = plan.formula.lines, inputs(plan, len(plan.operands) == 1), []
    for k, value in enumerate(plan.formula.values):
        known = int(value[1:]) + 1 if value.startswith("t") else 0
        store += [line for line in lines[:known] if line]
        lines = [*[""] * known, *lines[known:]]
        scales.append(f"    unit{k} = tl.load(scaling + {2 * k})")
        scales.append(f"    moved{k} = tl.load(scaling + {2 * k + 1})")
        store.append(f"value = ({filled(plan, value)}) * unit{k} + moved{k}")
        store.append("if DIAGONAL:")
        store.append("    value = tl.where(columns[None, :] == rows[:, None], 0.0, value)")
        store.append(f"tl.store(places + {k} * size, value.to(tl.float16))")
    code = VALUES.format(
        arguments=arguments(plan),
        prologue="\n".join([prologue(plan), *scales]),
        store="\n".join(f"        {line}" for line in store),
    )
    return compiled(head(plan) + code)["values"]


def diagonals_kernel(plan: Plan) -> Any:
    """The compiled `diagonals` of a plan without dot products of halves."""
    parts = {"prologue": prologue(plan), "tile": tile(plan, 4, across="")}
    code = DIAGONALS.format(arguments=arguments(plan), **parts)
    return compiled(head(plan) + code)["diagonals"]


def shifted_kernel() -> Any:
    """The compiled `shifted`, which needs no plan."""
    return compiled(SHIFTED)["shifted"]


def pivoted_kernels() -> tuple[Any, Any]:
    """The compiled `search` and `row` of a pivoted Cholesky factor, which need no plan."""
    module = compiled(PIVOTED)
    return module["search"], module["row"]


@cache
def compiled(code: str) -> dict[str, Callable[..., Any]]:
    """The functions that the code defines; Triton reads their source from `linecache`."""
    name = f"<mercer fused kernel {hash(code):x}>"
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    module: dict[str, Any] = {"__name__": "mercer.gram.cuda.generated"}
    exec(compile(code, name, "exec"), module)
    return module
