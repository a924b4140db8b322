"""Kernels as ONNX graphs: values of runtimes equal those of the kernel, for every kernel on rows of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.errors import NoRule
from mercer.kernels import (
    RBF,
    Exponential,
    FromCallable,
    Kernel,
    Matern,
    Radial,
    Stein,
)
from mercer.learn import KernelRidge, to_onnx
from mercer.learn.onnx_export.kernel_sums import kernel_diagonal, kernel_matrix
from mercer.learn.onnx_export.learner_input import GraphInput, LearnerInput
from mercer.learn.onnx_export.onnx_document import document
from mercer.learn.onnx_export.operation_graph import BATCH, OperationGraph
from mercer.learn.onnx_export.symbolic_array import SymbolicArray
from tests.support.onnx_runs import RUNTIMES, run
from tests.support.zoo import IDS, ZOO

pytest.importorskip("onnx")


def graph_of(kernel: Kernel, points: np.ndarray, dtype: str) -> Any:
    """A model with the outputs k(x, points) and k(x, x)."""
    kind = np.dtype(dtype)
    graph = OperationGraph(kind)
    rows = SymbolicArray(graph, (BATCH, points.shape[1]), kind, "X")
    outputs = {"matrix": kernel_matrix(kernel, rows, LearnerInput(rows).learnt(points))}
    if not isinstance(kernel, FromCallable):
        outputs["diagonal"] = kernel_diagonal(kernel, rows)
    inputs = [GraphInput("X", kind, points.shape[1])]
    ends = {name: value.astype(kind) for name, value in outputs.items()}
    return document(graph, inputs, ends, "kernel", {"mercer": ""})


def is_known(kernel: Kernel) -> bool:
    """Whether the formula consists of operations on arrays, without SciPy and means over the points."""
    if isinstance(kernel, Matern):
        return kernel.nu - 0.5 in range(11)
    return not isinstance(kernel, Stein)


@pytest.mark.parametrize("entry", ZOO, ids=IDS)
def test_values_are_those_of_the_kernel(entry):
    rng = np.random.default_rng(0)
    points = entry.sample(rng, 20)
    new = np.concatenate([entry.sample(rng, 15), points[:4]])  # some at distance 0
    if not is_known(entry.kernel):
        with pytest.raises(
            NoRule, match="its formula is called with symbolic arrays.*another kernel"
        ):
            graph_of(entry.kernel, points, "float64")
        return
    # a distance from kernel values, or at 0, is the root of their rounding
    rooted = 1e-7 if entry.tolerance > 1e-9 else 1e-13
    for dtype, tolerance in (("float64", rooted), ("float32", 2e-6)):
        x, y = (v.astype(dtype).astype(float) for v in (new, points))
        matrix, diagonal = entry.kernel.pairwise(x, y), entry.kernel.diag(x)
        scale = np.abs(matrix).max()
        model = graph_of(entry.kernel, y, dtype)
        for runtime in RUNTIMES:
            outputs = run(model, x.astype(dtype), runtime)
            assert_allclose(outputs["matrix"], matrix, rtol=0, atol=tolerance * scale)
            if "diagonal" in outputs:
                assert_allclose(outputs["diagonal"], diagonal, rtol=0, atol=tolerance * scale)


class Sech(Radial):
    """A kernel of a user, by its profile alone."""

    def profile(self, r2: Any, /) -> Any:
        xp = r2.__array_namespace__()
        return 2 / (xp.exp(xp.sqrt(r2)) + xp.exp(-xp.sqrt(r2)))


def numpy_function(x: Any, y: Any) -> Any:
    """A function of a user, in NumPy."""
    squared = np.sum(x**2, axis=1)[:, None] + np.sum(y**2, axis=1)[None, :] - 2 * x @ y.T
    return np.exp(-np.maximum(squared, 0.0)) + np.tanh(np.abs(x.sum(axis=1)))[:, None] * np.tanh(
        np.abs(y.sum(axis=1))
    )


def hidden_loop(x: Any, y: Any) -> Any:
    return np.array([[float(np.dot(a, b)) for b in y] for a in x])


def test_kernels_of_users():
    x = np.random.default_rng(0).normal(size=(40, 3))
    for kernel in (Sech(), FromCallable(numpy_function)):
        model = KernelRidge(kernel).fit(x, x[:, 0])
        for runtime in RUNTIMES:
            ours = run(to_onnx(model), x + 0.1, runtime)["variable"][:, 0]
            assert_allclose(ours, model.predict(x + 0.1), atol=1e-12)
    with pytest.raises(NoRule, match="rows of a symbolic array cannot be gone through"):
        to_onnx(KernelRidge(FromCallable(hidden_loop)).fit(x, x[:, 0]))


@pytest.mark.parametrize("width", [2, 10, 80])
@pytest.mark.parametrize("kernel", [Exponential(5.0), Matern(1.5, 5.0), RBF(5.0)], ids=str)
def test_near_points_of_rough_kernels(kernel, width):
    """Next to a learnt point the root of the squared distance shows its rounding.

    Up to 64 columns differences are squared; beyond, the error is the root of eps |x|^2 over the bandwidth.
    """
    points = np.random.default_rng(0).normal(size=(30, width))
    new = points + 1e-9
    exact = kernel.profile(((new[:, None] - points[None]) ** 2).sum(axis=2))
    rough = isinstance(kernel, Exponential) and width > 64
    bound = np.sqrt(4 * np.finfo(float).eps * 4 * width) / 5 if rough else 1e-12
    for runtime in RUNTIMES:
        ours = run(graph_of(kernel, points, "float64"), new, runtime)["matrix"]
        assert_allclose(ours, exact, rtol=0, atol=bound)
        single = run(graph_of(kernel, points, "float32"), points.astype("float32"), runtime)
        assert_allclose(single["matrix"], kernel(points), rtol=0, atol=1e-5)
