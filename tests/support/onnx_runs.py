"""Models of ONNX, run by the reference evaluator of onnx and, where it is installed, by onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

RUNTIMES = ["reference", *(["onnxruntime"] if find_spec("onnxruntime") else [])]


def session(model: Any, runtime: str) -> Callable[[Any], dict[str, np.ndarray]]:
    """A function from an array `X`, or a dictionary of inputs, to the outputs by name."""
    names = [output.name for output in model.graph.output]
    if runtime == "reference":
        from onnx.reference import ReferenceEvaluator

        evaluate = ReferenceEvaluator(model).run
    else:
        import onnxruntime

        onnxruntime.set_default_logger_severity(3)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        evaluate = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        ).run

    def outputs(inputs: Any) -> dict[str, np.ndarray]:
        inputs = inputs if isinstance(inputs, dict) else {"X": inputs}
        return dict(zip(names, evaluate(None, inputs), strict=True))

    return outputs


def run(model: Any, inputs: Any, runtime: str) -> dict[str, np.ndarray]:
    """The outputs by name, of an array `X` or of a dictionary of inputs."""
    return session(model, runtime)(inputs)
