"""The array libraries every test of formulas runs on, and the ways in and out of them."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import array_api_strict
import numpy as np
import pytest

from mercer.backend import to_numpy

__all__ = ["INSTALLED", "LIBRARIES", "needs_torch", "to_numpy", "torch"]


class _Torch:
    """torch where it is installed; elsewhere the test that asks for it is skipped, and says so."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_", "pytest")):  # pytest looks at every name of a module it collects
            raise AttributeError(name)
        return getattr(pytest.importorskip("torch"), name)  # in a test: elsewhere a module is lost


torch: Any = _Torch()


def _strict(device: str) -> Callable[[np.ndarray], Any]:
    def convert(x: np.ndarray) -> Any:
        return array_api_strict.asarray(x.copy(), device=array_api_strict.Device(device))

    return convert


LIBRARIES: dict[str, Callable[[np.ndarray], Any]] = {
    "numpy": lambda x: x,
    "torch": lambda x: torch.tensor(x),
    "strict": _strict("CPU_DEVICE"),
    "strict-device1": _strict("device1"),
}
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="needs torch")
INSTALLED = [name for name in LIBRARIES if name != "torch" or find_spec("torch")]
