"""A graph as a document of ONNX. The only file that imports onnx."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.learn.onnx_export.learner_input import GraphInput
from mercer.learn.onnx_export.operation_graph import BATCH, OperationGraph
from mercer.learn.onnx_export.symbolic_array import SymbolicArray

OPSET = 18  # of the operations, of 2022: old enough for most runtimes
_OPSET_ML = 3  # of the labels of categories
_IR_VERSION = 8  # of the document, that of the same runtimes
_MAX_BYTES = 2**31 - 2**20  # a document of Protocol Buffers holds 2 GiB


def require_onnx() -> None:
    """Refuse to go on where onnx is missing."""
    try:
        import onnx  # noqa: F401
    except ImportError as problem:
        raise ImportError("to_onnx needs onnx: pip install 'mercer[onnx]'") from problem


def document(
    graph: OperationGraph,
    inputs: list[GraphInput],
    outputs: dict[str, SymbolicArray],
    name: str,
    metadata: dict[str, str],
) -> Any:
    """The checked `onnx.ModelProto` of a graph."""
    import onnx
    from onnx import helper, numpy_helper

    _check_names(inputs, outputs)
    ends = [helper.make_node("Identity", [array.name], [o], o) for o, array in outputs.items()]
    _refuse_large(graph)
    nodes = [
        helper.make_node(
            n.op, n.inputs, n.outputs, n.outputs[0], domain=n.domain, **_attributes(n.attributes)
        )  # the names keep onnxruntime 1.20 from giving two nodes one name
        for n in graph.nodes
    ]
    proto = helper.make_graph(
        [*nodes, *ends],
        name,
        [_value(i.name, i.dtype, (BATCH, i.width)) for i in inputs],
        [_value(output, array.dtype, array.shape) for output, array in outputs.items()],
        [numpy_helper.from_array(_plain(value), n) for n, value in graph.constants.items()],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", _OPSET_ML)]
    model = helper.make_model(proto, opset_imports=opsets, ir_version=_IR_VERSION)
    model.producer_name, model.producer_version = "mercer", metadata["mercer"]
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model)
    return model


def _value(name: str, dtype: np.dtype, shape: tuple[int, ...]) -> Any:
    """The declaration of an input or output; the number of rows is free."""
    from onnx import TensorProto, helper

    text = dtype.kind in "UO"
    element = TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(dtype)
    lengths = ["rows" if length == BATCH else length for length in shape]
    return helper.make_tensor_value_info(name, element, lengths)


def _attributes(attributes: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    """Attributes as ONNX has them: the dtype of a cast by its number."""
    from onnx import helper

    return {
        name: helper.np_dtype_to_tensor_dtype(np.dtype(value)) if name == "to" else value
        for name, value in attributes
    }


def _plain(value: np.ndarray) -> np.ndarray:
    return value.astype(object) if value.dtype.kind == "U" else value


def _check_names(inputs: list[GraphInput], outputs: dict[str, SymbolicArray]) -> None:
    """Refuse columns without a name, and those with the name of an output."""
    for i in inputs:
        if not i.name:
            raise ValueError("a column has no name, which an input needs: name it and fit again")
        if i.name in outputs:
            raise ValueError(
                f"column {i.name!r} has the name of an output of the graph: rename the column and fit again"
            )


def _refuse_large(graph: OperationGraph) -> None:
    size = graph.bytes_of_constants()
    if size > _MAX_BYTES:
        raise ValueError(
            f"the learnt points and weights take {size / 2**30:.1f} GiB, and an ONNX file holds 2 GiB: use "
            "dtype='float32', or a learner on landmarks, such as NystromRidge"
        )
