"""Graphs of array operations: nodes with shapes and dtypes, constants, and what is computed before they are written."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

# Number of rows of an array that has one row for each row of the input: a prime that no array in memory has, so
# that shapes can be computed as usual.
BATCH = 2_147_483_659


@dataclass(frozen=True)
class Node:
    """An operation of ONNX, with the names of its inputs and outputs."""

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, Any], ...] = ()
    domain: str = ""


@dataclass(eq=False)
class OperationGraph:
    """Operations on arrays in the order in which they are carried out; equal operations are written once.

    `dtype` is that of the input, of outputs, and of numbers whose dtype is not given.
    """

    dtype: np.dtype
    input: str = "X"  # an input whose first axis has the rows
    reserved: frozenset[str] = frozenset()  # names of inputs, which no result may have
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    _names: dict[Any, tuple[str, ...]] = field(default_factory=dict)

    def apply(
        self, op: str, inputs: tuple[str, ...], *, outputs: int = 1, domain: str = "", **how: Any
    ) -> tuple[str, ...]:
        """The names of the results of an operation."""
        attributes = tuple(sorted(how.items()))
        key = (op, inputs, outputs, domain, attributes)
        if key not in self._names:
            number = len(self.nodes)
            name = f"{op.lower()}_{number}"
            names = tuple(self._free(name + f"_{i}" * (i > 0)) for i in range(outputs))
            self._names[key] = names
            self.nodes.append(Node(op, inputs, names, attributes, domain))
        return self._names[key]

    def constant(self, value: np.ndarray) -> str:
        """The name of a constant; equal constants share one."""
        value = np.ascontiguousarray(value).reshape(value.shape)
        key = ("constant", value.dtype.str, value.shape, blake2b(value.tobytes()).digest())
        if key not in self._names:
            name = self._free(f"constant_{len(self.constants)}")
            self._names[key] = (name,)
            self.constants[name] = value
        return self._names[key][0]

    def _free(self, name: str) -> str:
        """The name, longer where an input has it."""
        while name in self.reserved:
            name += "_"
        return name

    def rows(self) -> str:
        """The name of the number of rows of the input, (1,)."""
        first = self.constant(np.array([0], dtype=np.int64))
        (shape,) = self.apply("Shape", (self.input,))
        (rows,) = self.apply("Gather", (shape, first), axis=0)
        return rows

    def bytes_of_constants(self) -> int:
        """The memory that the constants need."""
        return sum(value.nbytes for value in self.constants.values())


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of an elementwise operation on arrays of these shapes."""
    width = max(len(shape) for shape in shapes)
    aligned = [(1,) * (width - len(shape)) + tuple(shape) for shape in shapes]
    result = []
    for lengths in zip(*aligned, strict=True):
        different = {length for length in lengths if length != 1}
        if len(different) > 1:
            raise ValueError(f"arrays of the shapes {shapes} cannot be combined")
        result.append(different.pop() if different else 1)
    return tuple(result)
