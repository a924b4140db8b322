"""Functions on symbolic arrays: what a runtime computes equals what NumPy computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.backend import is_array, is_symbolic, namespace
from mercer.learn.onnx_export import array_functions as xp
from mercer.learn.onnx_export.learner_input import GraphInput
from mercer.learn.onnx_export.onnx_document import document
from mercer.learn.onnx_export.operation_graph import BATCH, OperationGraph, broadcast
from mercer.learn.onnx_export.symbolic_array import SymbolicArray
from tests.support.onnx_runs import RUNTIMES, run

pytest.importorskip("onnx")

X = np.random.default_rng(0).normal(size=(7, 4))
OTHER = np.random.default_rng(1).normal(size=(4,))


def symbol(dtype: str = "float64") -> SymbolicArray:
    kind = np.dtype(dtype)
    return SymbolicArray(OperationGraph(kind), (BATCH, 4), kind, "X")


def computed(function: Callable[[Any], Any], runtime: str, dtype: str = "float64") -> np.ndarray:
    """The value of a function of `X`, by a runtime."""
    x = symbol(dtype)
    value = function(x)
    model = document(x.graph, [GraphInput("X", x.dtype, 4)], {"value": value}, "f", {"mercer": ""})
    result = run(model, X.astype(dtype), runtime)["value"]
    declared = tuple(len(X) if n == BATCH else n for n in value.shape)
    assert result.shape == declared
    assert result.dtype == value.dtype
    return result


FUNCTIONS: list[Callable[[Any], Any]] = [
    lambda x: 2 - x + x * 3 - x / 2 + 1 / (1 + x**2) + (-x) + abs(x),
    lambda x: x**2 + x**4 + abs(x) ** 0.5 + (1 + abs(x)) ** -1.5 + abs(x) ** 7 + 2.0**x,
    lambda x: np.exp(x) + np.log(1 + x**2) + np.sqrt(np.abs(x)) + np.tanh(x),
    lambda x: np.sin(x) + np.cos(x) + np.floor(x) + np.ceil(x) + np.sign(x) + np.round(3 * x),
    lambda x: np.log1p(np.abs(x)) + np.expm1(x) + np.logaddexp(x, 2 * x),
    lambda x: np.arctan2(x, OTHER) + np.arctan2(np.abs(x), -np.abs(OTHER)) + np.arctan(x),
    lambda x: np.where(x > 0, x, 0.5) + np.where((x < 1) & (x > -1) | (x == 0), 1.0, x),
    lambda x: np.where(x >= 0, 1.0, x) + np.where(~(x <= 0.3), 1.0, x) + np.where(x != 0, x, 2.0),
    lambda x: np.maximum(x, 0.1) + np.minimum(x, OTHER) + np.clip(x, -0.5, 0.5),
    lambda x: np.sum(x, axis=1, keepdims=True) * x + np.mean(x, axis=1)[:, None],
    lambda x: x.sum(axis=-1) + x.max(axis=1) - x.min(axis=1) + np.prod(x, axis=1),
    lambda x: x @ X.T + (x @ OTHER)[:, None],
    lambda x: x[:, 1:3] * x[:, ::2] + x[:, [3, 0]] - x[:, -2:],
    lambda x: x[:, 2][:, None] + x[:, None, :][:, 0] + x[..., 1][:, None],
    lambda x: np.concatenate([x, x[:, :2], 0 * x[:, :1] + 1], axis=1),
    lambda x: np.stack([x[:, 0], 2 * x[:, 1], x[:, 2]], axis=1),
    lambda x: np.sort(x, axis=1) * np.argmax(x, axis=1)[:, None] + np.argmin(x, axis=1)[:, None],
    lambda x: np.transpose(x[:, :, None] * OTHER, (0, 2, 1)),
    lambda x: np.reshape(x[:, :, None] * OTHER, (x.shape[0], 16)),
    lambda x: np.reshape(x[:, :, None] * OTHER, (x.shape[0], -1, 2)),
    lambda x: np.linalg.norm(x, axis=1) + np.square(x)[:, 0],
    lambda x: np.isfinite(x / (x > 0)) | np.isnan(x),
    lambda x: np.expand_dims(x, 1) * np.ones_like(x)[:, None] + np.full_like(x, 2.0)[:, None],
    lambda x: np.all(x > -1, axis=1) | np.any(x > 1.5, axis=1),
]


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("function", FUNCTIONS, ids=range(len(FUNCTIONS)))
def test_functions_are_those_of_numpy(function, runtime):
    with np.errstate(all="ignore"):
        expected, ours = function(X), computed(function, runtime)
    assert_allclose(ours, expected, rtol=1e-13, atol=1e-14)
    constant: Any = function(SymbolicArray.constant(OperationGraph(np.dtype(float)), X))
    assert_allclose(constant.value, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_small_numbers_lose_no_digits(runtime):
    """log(1 + x) and exp(x) - 1 near 0, in float32: 1 + x has one digit of x left."""
    for function in (np.log1p, np.expm1):
        ours = computed(lambda x, f=function: f(x * 1e-6), runtime, "float32")
        assert_allclose(ours, function(X.astype(np.float32).astype(float) * 1e-6), rtol=1e-6)
    far = computed(lambda x: np.expm1(-200 - np.abs(x)), runtime)
    assert_array_equal(far, -np.ones_like(X))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_products_by_numbers_stay_double_beside_matrix_products(runtime):
    """onnxruntime joins scalars with products of matrices and rounds them to float32, unless they are rows."""
    functions: list[Callable[[Any], Any]] = [
        lambda x: 0.1 * (x @ X.T) / 0.3,
        lambda x: (x * 0.1) @ X.T,
        lambda x: 0.7 * (x @ OTHER),
        lambda x: (0.1 * x[:, :1]) @ X[:, :1].T,
    ]
    for function in functions:
        assert_allclose(computed(function, runtime), function(X), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_dtypes_are_those_of_the_arrays(runtime):
    """Numbers adopt the dtype of arrays; float64 wins over float32; constants are rounded where they are used."""
    assert computed(lambda x: 0.1 * x + np.full(4, 0.1), runtime, "float32").dtype == np.float32
    wide = computed(lambda x: x.astype(np.float64) + np.full(4, 0.1), runtime, "float32")
    assert_array_equal(wide, X.astype(np.float32).astype(float) + 0.1)
    assert computed(lambda x: xp.astype(x > 0, np.int64), runtime).dtype == np.int64
    zeros = computed(lambda x: xp.zeros((x.shape[0], 2), np.float32, x.device), runtime)
    assert_array_equal(zeros, np.zeros((7, 2), dtype=np.float32))
    ones = computed(lambda x: xp.ones_like(x)[:, 0], runtime)
    assert_array_equal(ones, np.ones(7))


def test_equal_operations_are_written_once():
    x = symbol()
    assert np.exp(x * 2.0).name == np.exp(x * 2.0).name
    assert [node.op for node in x.graph.nodes] == ["Mul", "Exp"]
    first, second = (x + np.arange(4.0) for _ in range(2))
    assert first.name == second.name
    assert len(x.graph.constants) == 2


def test_namespace_and_arrays():
    x = symbol()
    assert is_symbolic(x)
    assert is_array(x)
    assert not is_symbolic(X)
    assert namespace(x) is xp
    assert repr(x) == "SymbolicArray(rows x 4, float64)"
    assert broadcast((BATCH, 1), (5,)) == (BATCH, 5)
    with pytest.raises(ValueError, match="cannot be combined"):
        x + np.ones(3)
    with pytest.raises(ValueError, match="do not fit for a matrix product"):
        x @ np.ones((3, 2))


REFUSED: list[Callable[[Any], Any]] = [
    float,
    bool,
    list,
    np.asarray,
    np.cumsum,
    np.add.reduce,
    lambda x: x[0],
    lambda x: x[:3],
    lambda x: np.sum(x, axis=0),
    lambda x: np.argmax(x, axis=0),
    lambda x: np.concatenate([x, np.ones((1, 4))]),
    lambda x: np.reshape(x, (4, -1)),
    lambda x: x.__setitem__(0, 1.0),
    lambda x: xp.zeros((4, BATCH), np.float64, x.device),
]


@pytest.mark.parametrize("function", REFUSED, ids=range(len(REFUSED)))
def test_what_has_no_graph_is_a_type_error(function):
    with pytest.raises(TypeError):
        function(symbol())
