"""Export of a fitted learner as an ONNX model."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import mercer
from mercer import validate
from mercer.kernels.base import Kernel
from mercer.learn.onnx_export.kernel_sums import refuse_unsuited
from mercer.learn.onnx_export.learner_graphs import outputs
from mercer.learn.onnx_export.learner_input import opened
from mercer.learn.onnx_export.onnx_document import document, require_onnx
from mercer.learn.onnx_export.scikit_graphs import reader


def to_onnx(
    model: Any, *, dtype: Any = None, std: bool = False, interval: float | None = None
) -> Any:
    """A fitted learner as an ONNX model, which runs without mercer and without Python; see `save` for files of mercer.

    The formulas of kernel and learner are called once with symbolic arrays, which write down what is done to them; so
    kernels of your own are exported too, if they use functions of the array API standard. Learners whose predictions
    are no formulas of kernel values and weights are refused with `NoRule`, which says why.

    Parameters
    ----------
    model : estimator
        A fitted learner of `mercer.learn` or feature map of `mercer.features`, or a pipeline of scikit-learn with
        scalers, PCA, these and a linear model.
    dtype : "float32", "float64" or None
        Dtype of input and outputs. None: that of the points of `fit`.
    std : bool
        Whether a `KernelRidge` gets an output `std`, the standard deviations of ``predict(X, return_std=True)``.
    interval : float or None
        Level of an output `interval` of a `KernelRidge`, the ends of ``predict_interval(X, level=...)``. Like `std`
        it stores the inverse of the kernel matrix, n^2 numbers.

    Returns
    -------
    onnx.ModelProto
        ``onnx.save(model, path)`` writes it to a file.

    Notes
    -----
    The input is `X`, (rows, `n_features_in_`); the columns of a data frame are in the order of `fit`. Where the frame had
    categories there is an input (rows, 1) for each column, by its name: of text for categories, which are
    compared as in mercer. Outputs have the names that skl2onnx gives them:

    ============================  ==================================================================
    `label`                       ``predict`` of classifiers, clusters and novelty detectors, (rows,)
    `probabilities`               ``predict_proba``, (rows, classes)
    `scores`                      ``decision_function``, (rows, 1) for two classes; distances to centres
    `variable`                    ``predict`` of regressors, ``transform``: (rows, columns)
    ============================  ==================================================================

    Nothing is computed as an array (rows, learnt points, columns); memory is a few arrays (rows, learnt points), so
    that large inputs are better handed over in batches. Squared distances are expanded around the mean of the learnt points,
    and computed in float64, or by differences of columns, where the kernel is sensitive to their rounding. In a graph of
    float32 kernel expansions are summed in float64 where rounding would show in the fourth digit of predictions.

    The operations are those of opset 18; onnxruntime 1.20 and later run them.

    Examples
    --------
    >>> from mercer.learn import KernelRidge, to_onnx
    >>> model = KernelRidge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> graph = to_onnx(model, dtype="float32")
    >>> [end.name for end in (*graph.graph.input, *graph.graph.output)]
    ['X', 'variable']
    """
    if isinstance(model, type) or not isinstance(model, BaseEstimator):
        raise TypeError(
            f"model must be a fitted estimator, such as KernelRidge().fit(X, y), got {validate.shown(model)}"
        )
    check_is_fitted(model)
    validate.truth("std", std)
    if interval is not None:
        validate.between("interval", interval, 0.0, 1.0)
    require_onnx()
    first = reader(model)
    if isinstance(getattr(first, "kernel_", None), Kernel):
        refuse_unsuited(first.kernel_)
    graph, at, inputs = opened(first, _dtype(dtype, first))
    results = outputs.apply(model, replace(at, std=std, level=interval))
    for name, wanted in (("std", std), ("interval", interval is not None)):
        if wanted and name not in results:
            raise ValueError(f"{name} is an output of KernelRidge, got {type(model).__name__}")
    ends = {
        name: value.astype(graph.dtype) if value.dtype.kind == "f" and name != "label" else value
        for name, value in results.items()
    }
    return document(graph, inputs, ends, type(model).__name__, _metadata(model, first))


def _dtype(dtype: Any, model: Any) -> np.dtype:
    """The dtype that was asked for, or that of the points of `fit`."""
    if dtype is None:
        learnt = getattr(getattr(model, "function_", None), "points", None)
        learnt = getattr(model, "landmarks_", learnt)
        return np.dtype(
            "float32" if str(getattr(learnt, "dtype", "")).endswith("float32") else "float64"
        )
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found not in (np.float32, np.float64):
        raise ValueError(f"dtype must be 'float32', 'float64' or None, got {dtype!r}")
    return found


def _metadata(model: Any, first: Any) -> dict[str, str]:
    """What is stored beside the graph: versions, the learner, its kernel and the names of columns."""
    metadata = {"mercer": mercer.__version__, "learner": " ".join(repr(model).split())}
    kernel = getattr(first, "kernel_", None)
    if kernel is not None:
        metadata["kernel"] = repr(kernel)
    names = getattr(first, "feature_names_in_", None)
    if names is not None:
        metadata["columns"] = json.dumps([str(name) for name in names])
    return metadata
