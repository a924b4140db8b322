"""What a case of the memory promise is, and the data of most of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import RBF
from mercer.rkhs import Bags, Gaussian

D = 5  # columns of a sample
K = RBF(2.0)
NORMAL = Gaussian(np.zeros(D), 1.0)


@dataclass(frozen=True)
class Case:
    """A call on n points: `prepare(n)` makes the data, which are not counted, and returns it."""

    prepare: Callable[[int], Callable[[], Any]]
    n: int = 3_500
    budget: str = "16MiB"
    small: int = 200  # points of a first run, which loads libraries
    slow: bool = False

    @property
    def bytes(self) -> int:
        """The budget as a number."""
        return int(self.budget.removesuffix("MiB")) * 2**20


def points(n: int, seed: int = 0, d: int = D) -> np.ndarray:
    """A normal sample."""
    return np.random.default_rng(seed).standard_normal((n, d))


def on_samples(call: Callable[..., Any], samples: int = 1, d: int = D, **more: Any) -> Case:
    """The call with so many samples of d columns."""

    def prepare(n: int) -> Callable[[], Any]:
        data = [points(n, seed, d) for seed in range(samples)]
        return lambda: call(*data)

    return Case(prepare, **more)


def on_objects(call: Callable[[Any], Any], make: Callable[[int], Any], **more: Any) -> Case:
    """The call with n objects."""

    def prepare(n: int) -> Callable[[], Any]:
        objects = make(n)
        return lambda: call(objects)

    return Case(prepare, **more)


def on_square(call: Callable[[np.ndarray], Any], **more: Any) -> Case:
    """The call with a matrix of n rows and columns."""

    def prepare(n: int) -> Callable[[], Any]:
        matrix = points(n, 0, n)
        return lambda: call(matrix)

    return Case(prepare, **more)


def on_bags(call: Callable[[Bags], Any], **more: Any) -> Case:
    """The call with n bags of ten points."""

    def prepare(n: int) -> Callable[[], Any]:
        bags = Bags(points(10 * n, 0, 3), np.arange(0, 10 * n + 1, 10))
        return lambda: call(bags)

    return Case(prepare, **more)
