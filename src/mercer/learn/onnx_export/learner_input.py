"""The input of a graph: rows of numbers, or a column each where a data frame had categories."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer.backend import is_array, to_numpy
from mercer.errors import NoRule
from mercer.frames import category_codes
from mercer.learn.onnx_export.array_functions import concat
from mercer.learn.onnx_export.operation_graph import BATCH, OperationGraph
from mercer.learn.onnx_export.symbolic_array import SymbolicArray


@dataclass(frozen=True)
class GraphInput:
    """An input: its name, its dtype (that of objects for text) and its number of columns."""

    name: str
    dtype: np.dtype
    width: int


@dataclass(frozen=True, eq=False)
class LearnerInput:
    """What a learner reads: an array (n, d), in which categories are numbered 0, 1, ... in the order of `codes`."""

    array: SymbolicArray
    codes: dict[int, np.ndarray] = field(default_factory=dict)  # of the labels, by column
    std: bool = False  # whether standard deviations are asked for
    level: float | None = None  # of the intervals that are asked for

    @property
    def graph(self) -> OperationGraph:
        """The graph of the array."""
        return self.array.graph

    def followed_by(self, array: SymbolicArray) -> LearnerInput:
        """What the next step of a pipeline reads."""
        return replace(self, array=array, codes={})

    def beside(self, points: Any, *, wide: bool) -> tuple[SymbolicArray, SymbolicArray]:
        """The array and learnt points (m, d), both in float64 if `wide`."""
        dtype = np.dtype(np.float64) if wide else self.graph.dtype
        return self.array.astype(dtype), self.learnt(points).astype(dtype)

    def learnt(self, points: Any) -> SymbolicArray:
        """Learnt points (m, d) as a constant, with their categories numbered alike."""
        if not is_array(points) or points.ndim != 2:
            raise NoRule(
                f"no ONNX graph for points of type {type(points).__name__}: only rows of numbers and columns of "
                "categories can be inputs, so use mercer.learn.save, or a learner on features of the objects"
            )
        values = to_numpy(points).astype(np.float64)
        if self.codes:
            values = values.copy()
        for column, codes in self.codes.items():
            order = np.argsort(codes)
            places = np.searchsorted(codes[order], values[:, column]) % len(codes)
            same = codes[order][places] == values[:, column]
            values[:, column] = np.where(same, order[places], -2.0)
        return SymbolicArray.constant(self.graph, values)


def opened(model: Any, dtype: np.dtype) -> tuple[OperationGraph, LearnerInput, list[GraphInput]]:
    """A new graph, with the input that the model was fitted on."""
    columns, width = getattr(model, "_columns", None), getattr(model, "n_features_in_", None)
    if columns is None or not any(columns.categorical):
        if width is None:
            raise NoRule(
                f"no ONNX graph of {type(model).__name__} on points that are not rows of numbers: use mercer.learn.save"
            )
        graph = OperationGraph(dtype)
        rows = SymbolicArray(graph, (BATCH, int(width)), dtype, "X")
        return graph, LearnerInput(rows), [GraphInput("X", dtype, int(width))]
    graph = OperationGraph(dtype, input=columns.names[0], reserved=frozenset(columns.names))
    inputs, arrays, codes = [], [], {}
    for place, (name, categorical) in enumerate(
        zip(columns.names, columns.categorical, strict=True)
    ):
        inputs.append(GraphInput(name, np.dtype(object) if categorical else dtype, 1))
        if categorical:
            labels = list(model._categories[name])
            codes[place] = category_codes(labels)
            arrays.append(_numbered(graph, name, labels))
        else:
            arrays.append(SymbolicArray(graph, (BATCH, 1), dtype, name))
    return graph, LearnerInput(concat(arrays, axis=1), codes), inputs


def _numbered(graph: OperationGraph, name: str, labels: list[str]) -> SymbolicArray:
    """A column of labels as their numbers; -1 for others, which differ from all of them."""
    (numbers,) = graph.apply(
        "LabelEncoder",
        (name,),
        domain="ai.onnx.ml",
        keys_strings=tuple(labels),
        values_floats=tuple(map(float, range(len(labels)))),
        default_float=-1.0,
    )
    numbered = SymbolicArray(graph, (BATCH, 1), np.float32, numbers)
    return numbered.astype(graph.dtype)
