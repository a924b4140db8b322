"""A matrix on points of one device, ready for fused tiles: its code, its operands, its parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mercer.backend import namespace
from mercer.gram.cuda.operands import Operand, operand_of, together
from mercer.gram.cuda.trace import Formula, finished, traced, value_of
from mercer.kernels.base import Kernel, Points

_LARGE = 2**31  # addresses beyond which 32 bits are not enough
_TOLERANCE = 1e-5  # of an entry in float32
_ROOM = 2.0**-14  # of the largest |k| is the unit: half precision goes up to 2^16, and down as far


@dataclass(frozen=True)
class Plan:
    """A formula of one matrix, or of several of the same shape, and its operands."""

    formula: Formula
    operands: tuple[Operand, ...]
    like: Any
    unit: Any  # a power of two on the device; half precision holds k / unit
    shape: tuple[int, int]

    @cached_property
    def parameters(self) -> Any:
        """The numbers of the formula and the scales of the operands, on the device."""
        values = [*self.formula.parameters, *(o.scale for o in self.operands)]
        xp = namespace(self.like)
        return xp.asarray(values or [0.0], dtype=self.like.dtype, device=self.like.device)

    @property
    def large(self) -> bool:
        """Whether places in the operands need 64 bits."""
        return any(max(self.shape) * o.width >= _LARGE for o in self.operands)

    @property
    def needs(self) -> str:
        """What a tile is made of, which tells how large it may be."""
        if self.like.itemsize > 4:
            return "double"
        if not all(o.halves or o.kind == "sum" for o in self.operands):
            return "plain"
        return "light" if len(self.operands) == len(self.formula.values) == 1 else "heavy"


def plan(kernel: Kernel, x: Points, y: Points, tolerance: float = _TOLERANCE) -> Plan | None:
    """The plan of a Gram matrix whose entries are this exact; None where it has no fused tiles."""
    formula = traced(kernel, x, y)
    if formula is None:
        return None
    shape = int(x.shape[0]), int(y.shape[0])
    return _planned(formula, kernel.diag(x[:1, ...]), _kernel_top(kernel, x, y), shape, tolerance)


def plans(kernels: Sequence[Kernel], x: Points) -> Plan | None:
    """One plan of the Gram matrices of several kernels on the same points."""
    formula = finished(lambda formula: [value_of(k, formula, x, x, ()) for k in kernels])
    if formula is None:
        return None
    n, like = int(x.shape[0]), kernels[0].diag(x[:1, ...])
    return _planned(formula, like, like.abs().amax(), (n, n))


def plan_of(matrix: Any) -> Plan | None:
    """The plan of a Gram matrix, of entrywise products, centred and weighted ones; None: not fused."""
    formula = finished(lambda formula: [_matrix_value(matrix, formula)])
    return None if formula is None else _planned(formula, matrix.like, _top(matrix), matrix.shape)


def _kernel_top(kernel: Kernel, x: Points, y: Points) -> Any:
    """By Cauchy and Schwarz, |k(x, y)| <= sqrt(k(x, x) k(y, y))."""
    tops = [kernel.diag(p).abs().amax() for p in ((x,) if y is x else (x, y))]
    return (tops[0] * tops[-1]).sqrt()


def _top(matrix: Any) -> Any:
    """About how large entries are."""
    from mercer.gram.combine import Hadamard
    from mercer.gram.gram import Gram

    if isinstance(matrix, Gram):
        return _kernel_top(matrix.kernel, matrix.x, matrix.y)
    if isinstance(matrix, Hadamard):
        return _top(matrix.left) * _top(matrix.right)
    return matrix.diagonal().abs().amax()


def _matrix_value(matrix: Any, formula: Formula) -> Any:
    """The symbol of an entry; None where there is no formula."""
    from mercer.gram.combine import Centered, Hadamard, Reweighted
    from mercer.gram.gram import Gram

    if isinstance(matrix, Gram):
        x, y = matrix.x, matrix.y
        return value_of(matrix.kernel, formula, x, y, (id(x), id(y)))
    if isinstance(matrix, Hadamard):
        left, right = (_matrix_value(part, formula) for part in (matrix.left, matrix.right))
        return None if left is None or right is None else left * right
    if not isinstance(matrix, Centered | Reweighted):
        return None
    inner = _matrix_value(matrix.matrix, formula)
    if inner is None:
        return None
    if isinstance(matrix, Centered):
        rows, columns = matrix.row_means - matrix.mean, matrix.column_means
        return inner - formula.input("sum", rows, columns, id(matrix))
    weights = matrix.weights[:, None]
    return inner * formula.input("dot", weights, weights, id(matrix))


def _planned(
    formula: Formula,
    like: Any,
    top: Any,
    shape: tuple[int, int],
    tolerance: float = _TOLERANCE,
) -> Plan | None:
    operands = []
    for each in formula.inputs:
        operand = operand_of(each, like, tolerance)
        if operand is None:
            return None
        operands.append(operand)
    unit = (2.0 ** top.clamp(min=1e-30).log2().ceil() * _ROOM).float()
    operands = together(formula.inputs, operands)
    return Plan(*_folded(formula, operands), like, unit, shape)


def _folded(formula: Formula, operands: list[Operand]) -> tuple[Formula, tuple[Operand, ...]]:
    """A Gaussian's factor of the squared distance, put into the operands."""
    last = formula.lines[-1] if formula.lines else ""
    found = re.fullmatch(r"(t\d+) = exp2\(r2_0 \* p(\d+)\)", last)
    if found is None or [found[1]] != formula.values or not operands[0].halves:
        return formula, tuple(operands)
    if len(operands) > 1:
        return formula, tuple(operands)
    factor, (o,) = formula.parameters[int(found[2])], operands
    norms = o.norms_x * factor
    others = norms if o.norms_y is o.norms_x else o.norms_y * factor
    moved = replace(o, norms_x=norms, norms_y=others, scale=o.scale * factor)
    return Formula(formula.inputs, [], ["t0 = exp2(r2_0)"], ["t0"]), (moved,)
