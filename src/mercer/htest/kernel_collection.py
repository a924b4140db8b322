"""Default collections of kernels, for tests that aggregate over several of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.frames import Table
from mercer.kernels.bandwidth import usable
from mercer.kernels.base import Kernel
from mercer.kernels.default import categories, product, varying
from mercer.kernels.metric import l1_distances, squared_distances
from mercer.kernels.radial import RBF, Laplace

NUMBER = 10  # bandwidths of the Gaussian kernel, and as many of the Laplace kernel
_SOME = 512  # points whose distances tell the scales of the data
_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the kernel on categories, where there are no numbers


def collection(points: Any, number: int = NUMBER, name: str = "x and y") -> tuple[Kernel, ...]:
    """Gaussian and Laplace kernels at bandwidths that cover the scales of the points.

    For each kernel `number` bandwidths in geometric progression, from half the 5% quantile to
    twice the 95% quantile of the positive distances it takes, Euclidean or city-block (Schrab et
    al. 2023; Biggs et al. 2023). Of more than 512 points every k-th is looked at.
    """
    some = to_numpy(points)[:: max(1, -(-points.shape[0] // _SOME))].astype(np.float64)
    upper = np.triu_indices(len(some), 1)
    euclidean = np.sqrt(squared_distances(some, some)[upper])
    gaussian = [RBF(b) for b in _grid(euclidean, points, number, name)]
    city = l1_distances(some, some)[upper] if some.shape[1] > 1 else euclidean
    return (*gaussian, *(Laplace(b) for b in _grid(city, points, number, name)))


def frame_collection(data: Table, number: int = NUMBER) -> tuple[Kernel, ...]:
    """The same for a data frame, whose numbers are divided by their standard deviations.

    Multiplied by the default kernel on categories, if there are any; without numbers that one at
    several bandwidths.
    """
    numbers = varying(data)
    if numbers is None:
        return tuple(product(categories(data, scale)) for scale in _SCALES)
    kernels = collection(numbers.values, number)
    return tuple(product([numbers.kernel(kernel), *categories(data)]) for kernel in kernels)


def checked_kernels(kernels: Any, name: str = "kernels") -> tuple[Kernel, ...] | None:
    """Kernels as a tuple, at least one; None stays None."""
    if kernels is None:
        return None
    if isinstance(kernels, Kernel) or not isinstance(kernels, Sequence | set):
        raise TypeError(f"{name} must be a list of kernels or None, got {validate.shown(kernels)}")
    if not kernels:
        raise ValueError(f"{name} must have at least one kernel, got none: use None for a default")
    for i, kernel in enumerate(kernels):
        validate.instance(f"{name}[{i}]", kernel, Kernel, "a kernel, such as RBF(1.0)")
    return tuple(kernels)


def _grid(distances: np.ndarray, points: Any, number: int, name: str) -> np.ndarray:
    positive = distances[distances > 0]
    if not len(positive):  # of those that were looked at
        whole = to_numpy(points).astype(np.float64)
        distinct = np.unique(whole, axis=0)[:_SOME]
        if len(distinct) == 1:
            raise ValueError(
                f"all points of {name} are equal, so that their distances say nothing about "
                "bandwidths: give kernels, such as [RBF(1.0)]"
            )
        upper = np.triu_indices(len(distinct), 1)
        positive = l1_distances(distinct, distinct)[upper]
    low, high = np.quantile(positive, (0.05, 0.95))
    low, high = (usable(float(b), points, name) for b in (low / 2, high * 2))
    return np.geomspace(low, high, number)


def unfolded(kernel: Kernel, number: int) -> tuple[Kernel, ...]:
    """The kernels of a sum that was made from the left."""
    parts: list[Kernel] = []
    for _ in range(number - 1):
        parts.append(kernel.parts()["right"])
        kernel = kernel.parts()["left"]
    return (kernel, *reversed(parts))
