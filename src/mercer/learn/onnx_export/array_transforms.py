"""Fourier transforms of symbolic arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.learn.onnx_export.array_shapes import stack
from mercer.learn.onnx_export.symbolic_array import SymbolicArray


class fft:
    """Fourier transforms of rows; both parts of all frequencies are stored."""

    @staticmethod
    def rfft(x: Any, axis: int) -> ComplexRows:
        """ComplexRows of real rows (n, D)."""
        if _is_power_of_two(x.shape[1]):
            return ComplexRows(_fourier(x[:, :, None]))
        cosines, sines = _waves(x.shape[1])
        return ComplexRows(stack([x @ cosines, -(x @ sines)], axis=2))

    @staticmethod
    def irfft(x: ComplexRows, n: int, axis: int) -> Any:
        """Real rows (n, D) of a spectrum."""
        if _is_power_of_two(n):
            return _fourier(x.parts, inverse=1)[:, :, 0]
        cosines, sines = _waves(n)
        return (x.parts[:, :, 0] @ cosines - x.parts[:, :, 1] @ sines) / n


class ComplexRows:
    """Complex numbers (n, D) by their real and imaginary parts, (n, D, 2), and their products."""

    def __init__(self, parts: SymbolicArray) -> None:
        self.parts = parts

    def __mul__(self, other: ComplexRows) -> ComplexRows:
        a, b, c, d = (s.parts[:, :, i] for s in (self, other) for i in (0, 1))
        return ComplexRows(stack([a * c - b * d, a * d + b * c], axis=2))


def _is_power_of_two(length: int) -> Any:
    """Whether runtimes transform this length in full precision; others they convolve with float32 numbers."""
    return length & (length - 1) == 0


def _fourier(x: SymbolicArray, inverse: int = 0) -> SymbolicArray:
    """The discrete Fourier transform along the middle axis of real (n, D, 1) or complex (n, D, 2) numbers."""
    (name,) = x.graph.apply("DFT", (x.name,), axis=1, inverse=inverse)
    return SymbolicArray(x.graph, (*x.shape[:2], 2), x.dtype, name)


def _waves(length: int) -> tuple[np.ndarray, np.ndarray]:
    """The cosines and sines of the angles 2 pi j k / D: (D, D) each."""
    turns = np.outer(np.arange(length), np.arange(length)) % length
    angles = 2 * np.pi * np.arange(length) / length
    return np.cos(angles)[turns], np.sin(angles)[turns]
