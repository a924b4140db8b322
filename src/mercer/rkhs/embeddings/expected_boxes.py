"""Expected RBF kernels of uniform distributions on boxes: products of error functions."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np

from mercer.errors import NoRule
from mercer.kernels.radial import RBF
from mercer.rkhs.embeddings.atoms import Boxes, Gaussians
from mercer.rkhs.embeddings.expected import expected_kernel


@expected_kernel(RBF, np.ndarray, Boxes)
def _(kernel: RBF, x: np.ndarray, y: Boxes) -> np.ndarray:
    """prod_k (1 / (b_k - a_k)) int exp(-(x_k - t)^2 / 2 s^2) dt from a_k to b_k."""
    return _smoothed(np.asarray(x, np.float64), np.full(x.shape, kernel.bandwidth), y)


@expected_kernel(RBF, Gaussians, Boxes)
def _(kernel: RBF, x: Gaussians, y: Boxes) -> np.ndarray:
    """RBF convolved with the Gaussian: variance s^2 + v and height s / sqrt(s^2 + v) per coordinate."""
    if x.covs.ndim == 3:
        raise NoRule(
            "no expected kernel of RBF for boxes and Gaussians with correlated coordinates: "
            f"{expected_kernel.instead}"
        )
    wide = np.sqrt(kernel.bandwidth**2 + x.covs)
    return _smoothed(x.means, wide, y) * np.prod(kernel.bandwidth / wide, axis=1)[:, None]


def _smoothed(at: np.ndarray, bandwidths: np.ndarray, boxes: Boxes) -> np.ndarray:
    """Product over k of the mean of exp(-(x_k - t)^2 / 2 s_k^2) over t in [a_k, b_k]: (n, m)."""
    from scipy.special import erf

    out = np.ones((len(at), len(boxes)), dtype=np.float64)
    for x, s, a, b in zip(at.T, bandwidths.T, boxes.lower.T, boxes.upper.T, strict=True):
        scale = sqrt(2) * s[:, None]
        area = erf((b - x[:, None]) / scale) - erf((a - x[:, None]) / scale)
        out *= sqrt(pi) / 2 * scale * area / (b - a)
    return out


@expected_kernel(RBF, Boxes, Boxes)
def _(kernel: RBF, x: Boxes, y: Boxes) -> np.ndarray:
    """G(b - a') - G(b - b') - G(a - a') + G(a - b') over both lengths, with G'' the kernel."""
    out = np.ones((len(x), len(y)), dtype=np.float64)
    for a, b, c, d in zip(x.lower.T, x.upper.T, y.lower.T, y.upper.T, strict=True):
        a, b = a[:, None], b[:, None]
        corners = (
            _second_integral(kernel, b - c)
            - _second_integral(kernel, b - d)
            - _second_integral(kernel, a - c)
            + _second_integral(kernel, a - d)
        )
        out *= corners / ((b - a) * (d - c))
    return out


def _second_integral(kernel: RBF, t: np.ndarray) -> np.ndarray:
    """G(t) = s sqrt(pi / 2) t erf(t / sqrt(2) s) + s^2 exp(-t^2 / 2 s^2)."""
    from scipy.special import erf

    s = kernel.bandwidth
    return s * sqrt(pi / 2) * t * erf(t / (sqrt(2) * s)) + s**2 * kernel.profile(t**2)
