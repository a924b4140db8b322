"""Support vector machines on GPU tensors: kernel rows computed on the device equal those of the host."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.backend import is_torch
from mercer.kernels import RBF, Laplace, Linear
from mercer.learn import SVC, SVR, OneClassSVC
from mercer.learn.machines import matrix_access
from mercer.learn.machines.matrix_access import DenseKernelRows, DeviceRows, kernel_rows

torch = pytest.importorskip("torch")


@pytest.fixture
def tensors_as_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let tensors of the host stand for those of a GPU, and let small problems take the road of large ones."""
    monkeypatch.setattr(matrix_access, "on_accelerator", is_torch)
    monkeypatch.setattr(matrix_access, "MAX_DENSE_POINTS", 50)
    monkeypatch.setattr("mercer.learn.machines.svm_base.MAX_DENSE_POINTS", 50)
    monkeypatch.setattr(matrix_access, "_VALUES_PER_DEVICE_TILE", 1000)


def _points(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3))
    return x, x[:, 0] * x[:, 1] + 0.2 * rng.normal(size=n)


@pytest.mark.parametrize("kernel", [RBF(1.5), Laplace(2.0), Linear() + 1.0], ids=repr)
@pytest.mark.usefixtures("tensors_as_devices")
def test_blocks_and_products_are_those_of_the_dense_matrix(kernel: Any) -> None:
    x, _ = _points()
    rng = np.random.default_rng(1)
    index, weights, onto = rng.permutation(300)[:130], rng.normal(size=130), np.arange(5, 40)
    dense, rows = DenseKernelRows(kernel(x)), kernel_rows(kernel, torch.as_tensor(x))
    assert isinstance(rows, DeviceRows)
    assert_allclose(rows.diagonal, dense.diagonal, rtol=1e-14)
    assert_allclose(rows.block(index), dense.block(index), atol=1e-13)
    product = dense.times(index, weights)
    assert_allclose(rows.times(index, weights), product, atol=1e-12)
    assert_allclose(rows.onto(onto).times(index, weights), product[onto], atol=1e-12)


@pytest.mark.parametrize(
    "machine", [SVC(tol=1e-9), SVR(tol=1e-9), OneClassSVC(tol=1e-9)], ids=lambda m: type(m).__name__
)
@pytest.mark.usefixtures("tensors_as_devices")
def test_machines_learn_the_same_function_as_on_the_host(machine: Any) -> None:
    x, y = _points()
    target = (y > 0).astype(np.int64) if isinstance(machine, SVC) else y
    values = machine.fit(x, target)._values(x)
    tensor = torch.as_tensor(x)
    assert_allclose(machine.fit(tensor, target)._values(tensor), values, atol=1e-7)
