"""The median distance of points on a GPU is that of the host."""

from __future__ import annotations

import numpy as np
import pytest

from mercer.backend import is_torch
from mercer.kernels import bandwidth

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("n", [2, 3, 50, 2500])
@pytest.mark.parametrize("discrete", [False, True])
def test_median_distance_on_the_device(
    n: int, discrete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)) + 100.0
    x = np.append(x[1:] // 100, [[3.0, 3.0, 3.0]], axis=0) if discrete else x
    expected = bandwidth.median_bandwidth(x)
    monkeypatch.setattr(bandwidth, "on_accelerator", is_torch)
    assert bandwidth.median_bandwidth(torch.as_tensor(x)) == pytest.approx(expected, rel=1e-12)
