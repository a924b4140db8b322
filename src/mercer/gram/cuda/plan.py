"""Plans of fused tiles: the formula of a matrix, its operands and its parameters on one device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mercer.backend import namespace
from mercer.gram.combine import Reweighted
from mercer.gram.cuda.operands import Operand, operand_of, together
from mercer.gram.cuda.trace import Formula, finished, traced, value_of
from mercer.gram.gram import Gram
from mercer.gram.lazy import Centered, Hadamard
from mercer.kernels.base import Kernel, Points

_MAX_INT32_OFFSET = 2**31  # entries of an operand from which offsets need 64 bits
_TOLERANCE = 1e-5  # relative error of an entry in float32
# The unit is the largest |k| times this: half precision reaches 2^16, with as much room for small values.
_UNIT_OVER_LARGEST = 2.0**-14


@dataclass(frozen=True)
class Plan:
    """The formula of one matrix, or of several of the same shape, and its operands."""

    formula: Formula
    operands: tuple[Operand, ...]
    like: Any
    unit: Any  # powers of two on the device, one for each kernel: k / unit fits into half precision
    shape: tuple[int, int]

    @cached_property
    def parameters(self) -> Any:
        """The numbers of the formula and the scales of the operands, on the device."""
        values = [*self.formula.parameters, *(o.scale for o in self.operands)]
        xp = namespace(self.like)
        return xp.asarray(values or [0.0], dtype=self.like.dtype, device=self.like.device)

    @property
    def large(self) -> bool:
        """Whether offsets into the operands need 64 bits."""
        return any(max(self.shape) * o.width >= _MAX_INT32_OFFSET for o in self.operands)

    @property
    def needs(self) -> str:
        """The kind of tile, which determines its shape: "light", "heavy", "plain" or "double"."""
        if self.like.itemsize > 4:
            return "double"
        if not all(o.halves or o.kind == "sum" for o in self.operands):
            return "plain"
        return "light" if len(self.operands) == len(self.formula.values) == 1 else "heavy"


def plan(kernel: Kernel, x: Points, y: Points, tolerance: float = _TOLERANCE) -> Plan | None:
    """The plan of a Gram matrix with entries of this relative accuracy; None where it cannot be fused."""
    formula = traced(kernel, x, y)
    if formula is None:
        return None
    shape = int(x.shape[0]), int(y.shape[0])
    return _planned(formula, kernel.diag(x[:1, ...]), _kernel_top(kernel, x, y), shape, tolerance)


def plans(kernels: Sequence[Kernel], x: Points, tolerance: float = _TOLERANCE) -> Plan | None:
    """One plan for the Gram matrices of several kernels on the same points."""
    formula = finished(lambda formula: [value_of(k, formula, x, x, ()) for k in kernels])
    if formula is None:
        return None
    n = int(x.shape[0])
    like: Any = kernels[0].diag(x[:1, ...])
    tops = namespace(like).stack([_kernel_top(kernel, x, x) for kernel in kernels])
    return _planned(formula, like, tops, (n, n), tolerance)


def sharing(kernels: Sequence[Kernel], x: Points) -> list[slice]:
    """Runs of kernels whose formulas have the same kinds of inputs, so that these are computed once."""
    kinds = []
    for kernel in kernels:
        formula = traced(kernel, x[:1, ...], x[:1, ...])
        kinds.append(None if formula is None else [each.kind for each in formula.inputs])
    starts = [i for i in range(len(kinds)) if i == 0 or kinds[i] != kinds[i - 1]]
    return [slice(*ends) for ends in zip(starts, [*starts[1:], len(kinds)], strict=True)]


def plan_of(matrix: Any) -> Plan | None:
    """The plan of a Gram matrix, or of products, centred or weighted ones; None where it cannot be fused."""
    formula = finished(lambda formula: [_matrix_value(matrix, formula)])
    return None if formula is None else _planned(formula, matrix.like, _top(matrix), matrix.shape)


def _kernel_top(kernel: Kernel, x: Points, y: Points) -> Any:
    """A bound of |k(x, y)|: sqrt(k(x, x) k(y, y)), by Cauchy-Schwarz."""
    diagonals: list[Any] = [kernel.diag(p) for p in ((x,) if y is x else (x, y))]
    tops = [diagonal.abs().amax() for diagonal in diagonals]
    return (tops[0] * tops[-1]).sqrt()


def _top(matrix: Any) -> Any:
    """An estimate of the largest absolute entry."""
    if isinstance(matrix, Gram):
        return _kernel_top(matrix.kernel, matrix.x, matrix.y)
    if isinstance(matrix, Hadamard):
        return _top(matrix.left) * _top(matrix.right)
    return matrix.diagonal().abs().amax()


def _matrix_value(matrix: Any, formula: Formula) -> Any:
    """The symbol of an entry; None where the matrix has no formula."""
    if isinstance(matrix, Gram):
        x, y = matrix.x, matrix.y
        return value_of(matrix.kernel, formula, x, y, (id(x), id(y)))
    if isinstance(matrix, Hadamard):
        first, second = (_matrix_value(factor, formula) for factor in (matrix.left, matrix.right))
        return None if first is None or second is None else first * second
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
    unit = (2.0 ** top.clamp(min=1e-30).log2().ceil() * _UNIT_OVER_LARGEST).float()
    operands = together(formula.inputs, operands)
    return Plan(*_folded(formula, operands), like, unit, shape)


def _folded(formula: Formula, operands: list[Operand]) -> tuple[Formula, tuple[Operand, ...]]:
    """The formula of a Gaussian with its factor of the squared distance folded into the operands."""
    last = formula.lines[-1] if formula.lines else ""
    gaussian = re.fullmatch(r"(t\d+) = exp2\(r2_0 \* p(\d+)\)", last)
    if gaussian is None or [gaussian[1]] != formula.values or not operands[0].halves:
        return formula, tuple(operands)
    if len(operands) > 1:
        return formula, tuple(operands)
    factor, (o,) = formula.parameters[int(gaussian[2])], operands
    norms = o.norms_x * factor
    others = norms if o.norms_y is o.norms_x else o.norms_y * factor
    scaled = replace(o, norms_x=norms, norms_y=others, scale=o.scale * factor)
    return Formula(formula.inputs, [], ["t0 = exp2(r2_0)"], ["t0"]), (scaled,)
