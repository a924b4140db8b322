"""Tensors of other devices than NVIDIA's: AMD takes torch's tiles, Apple is refused with a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mercer.backend import is_torch, on_accelerator, on_gpu
from mercer.htest import MMD, BlockHSIC, BlockMMD
from mercer.learn import KernelRidge

torch = pytest.importorskip("torch")


def _on(kind: str, shape: tuple[int, ...] = (20, 2)) -> Any:
    """A tensor that says it is on another device."""

    class Elsewhere(torch.Tensor):
        device = property(lambda self: torch.device(kind))
        is_cuda = property(lambda self: kind == "cuda")

    Elsewhere.__module__ = "torch"
    rng = np.random.default_rng(0)
    return torch.as_tensor(rng.normal(size=shape)).as_subclass(Elsewhere)


def test_fused_kernels_are_for_nvidia_only(monkeypatch: pytest.MonkeyPatch) -> None:
    x = _on("cuda")
    monkeypatch.setattr(torch.version, "hip", None)
    assert on_gpu(x)
    monkeypatch.setattr(torch.version, "hip", "6.4")
    assert not on_gpu(x)
    assert on_accelerator(x)
    assert not on_accelerator(torch.zeros(3))


def test_tensors_on_apple_gpus_are_refused_with_what_to_do() -> None:
    x = _on("mps")
    with pytest.raises(TypeError, match=r"a device with float64, got mps: pass \.cpu\(\)"):
        MMD().test(x, x)
    with pytest.raises(TypeError, match=r"a device with float64, got mps: pass \.cpu\(\)"):
        KernelRidge().fit(x, np.zeros(20))


@pytest.mark.parametrize("test", [BlockMMD(), BlockHSIC()], ids=lambda t: type(t).__name__)
def test_small_blocks_of_gpu_points_are_computed_on_the_host(
    test: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y = np.random.default_rng(0).normal(size=(2, 200, 2))
    expected = test.test(x, y, rng=0)
    monkeypatch.setattr("mercer.backend.on_accelerator", is_torch)
    result = test.test(torch.as_tensor(x), torch.as_tensor(y), rng=0)
    assert result.statistic == pytest.approx(expected.statistic, rel=1e-10)
    assert result.pvalue == pytest.approx(expected.pvalue, rel=1e-8)
