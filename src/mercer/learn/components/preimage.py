"""Pre-images: points whose images are close to projections in the RKHS."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer import validate
from mercer.backend import Array
from mercer.config import settings
from mercer.gram import Gram, ridge_solve
from mercer.gram.threads import spans
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear
from mercer.kernels.metric import squared_distances
from mercer.kernels.smooth import radial_form
from mercer.rkhs.function import Function

Back = Callable[[np.ndarray], np.ndarray]  # scores (m, k) -> points (m, d)

_VALUES_PER_BLOCK = 2**20  # kernel values between new and training points: 8 MiB


@dataclass(frozen=True, eq=False)
class KPCAProjection:
    """Training points (n, d), the weights (n, k) of the components on them, and their scores (n, k).

    Columns of `weights` add up to zero; the element of the RKHS with scores z is
    mean_i phi(x_i) + sum_j z_j f_j = sum_i (1/n + (A z)_i) phi(x_i).
    """

    kernel: Kernel
    points: np.ndarray
    weights: np.ndarray
    scores: np.ndarray

    def mixture(self, scores: np.ndarray) -> np.ndarray:
        """Weights of the training points in the elements with these scores: (m, n)."""
        return scores @ self.weights.T + 1 / len(self.points)


class Preimage(ABC):
    """Method that finds points whose images are close to given projections."""

    @abstractmethod
    def back(self, space: KPCAProjection, /) -> Back | None:
        """The map from scores to points; None where the method does not apply to the kernel."""


@dataclass(frozen=True)
class FixedPoint(Preimage):
    """Nearest pre-image by the fixed-point iteration of Mika et al. (1999, eq. 10).

    For k = f(|x - y|^2), the image phi(x) nearest to sum_i g_i phi(x_i) has the largest
    sum_i g_i k(x, x_i), whose gradient is zero where

        x = sum_i w_i x_i / sum_i w_i,    w_i = g_i f'(|x - x_i|^2).

    A step towards the right-hand side is halved until the sum increases, and shortened where the w_i
    nearly cancel, so that the sum never decreases (it can in the plain iteration). The iteration starts at
    the mean of the training points with the nearest scores and finds a local maximum. For `Linear()`,
    x = sum_i g_i x_i is exact.

    Parameters
    ----------
    rounds : int
        Largest number of steps.
    tolerance : float
        Length of the last step, relative to the spread of the training points.
    neighbours : int
        Number of training points whose mean is the start.
    """

    rounds: int = 200
    tolerance: float = 1e-6
    neighbours: int = 10

    def __post_init__(self) -> None:
        validate.whole("rounds", self.rounds)
        validate.positive("tolerance", self.tolerance)
        validate.whole("neighbours", self.neighbours)

    def back(self, space: KPCAProjection, /) -> Back | None:
        if isinstance(space.kernel, Linear):
            return _Combination(space)
        form = radial_form(space.kernel)
        if form is None or form.slope is None:
            return None
        return _FixedPointIteration(self, space, form.profile, form.slope)


@dataclass(frozen=True)
class LearnedMap(Preimage):
    """A map from scores to points, learnt by ridge regression on the training points.

    x = mean + sum_i c_i l(z_i, z), with the kernel l on scores; the coefficients solve
    (L + ridge I) c = x - mean (Bakir, Weston and Schoelkopf 2004). Fast; the image need not be the
    nearest one, but points with similar scores are averaged, which often denoises better.

    Parameters
    ----------
    ridge : float
        Penalty of the summed loss.
    kernel : Kernel or None
        Kernel of scores. None: RBF with the median distance of the training scores.
    """

    ridge: float = 0.1
    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        validate.positive("ridge", self.ridge)
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel, such as RBF(1.0), or None")

    def back(self, space: KPCAProjection, /) -> Back:
        kernel = median_rbf(space.scores) if self.kernel is None else self.kernel
        mean = space.points.mean(axis=0)
        coefficients = ridge_solve(Gram(kernel, space.scores), space.points - mean, self.ridge)
        return _Regression(Function(kernel, space.scores, coefficients), mean)


@dataclass(frozen=True, eq=False)
class _Regression:
    """Map z -> mean + f(z)."""

    function: Function
    mean: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return self.mean + self.function(scores)


@dataclass(frozen=True, eq=False)
class _Combination:
    """Map z -> sum_i g_i x_i, the exact pre-image of the linear kernel."""

    space: KPCAProjection

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        mean = self.space.points.mean(axis=0)
        return mean + scores @ (self.space.weights.T @ (self.space.points - mean))


@dataclass(frozen=True, eq=False)
class _FixedPointIteration:
    """The fixed-point iteration, block by block of scores."""

    how: FixedPoint
    space: KPCAProjection
    profile: Callable[[Array], Array]
    slope: Callable[[Array], Array]

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        n = len(self.space.points)
        rows = max(min(_VALUES_PER_BLOCK, settings().memory // 64) // n, 1)
        blocks = [self._iterate(scores[span]) for span in spans(len(scores), rows)]
        return np.concatenate(blocks)

    def _iterate(self, scores: np.ndarray) -> np.ndarray:
        space = self.space
        spread = float(space.points.std(axis=0).max()) or 1.0
        x = self._start(scores)
        mixture = space.mixture(scores)
        height, step = self._ascent_step(x, mixture)
        short = np.ones(len(scores), dtype=np.float64)
        active = np.arange(len(scores))
        for _ in range(self.how.rounds):
            length = short[active] * np.abs(step[active]).max(axis=1)
            active = active[length > self.how.tolerance * spread]
            if len(active) == 0:
                break
            trial = x[active] + short[active, None] * step[active]
            trial_height, trial_step = self._ascent_step(trial, mixture[active])
            up = trial_height >= height[active]
            higher, lower = active[up], active[~up]
            x[higher], height[higher], step[higher] = trial[up], trial_height[up], trial_step[up]
            short[higher], short[lower] = 1.0, short[lower] / 2
        return x

    def _start(self, scores: np.ndarray) -> np.ndarray:
        """The mean of the training points with the nearest scores: (m, d)."""
        space = self.space
        neighbours = min(self.how.neighbours, len(space.points))
        distances = squared_distances(scores, space.scores)
        nearest = np.argpartition(distances, neighbours - 1, axis=1)[:, :neighbours]
        return space.points[nearest].mean(axis=1)

    def _ascent_step(self, x: np.ndarray, mixture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values sum_i g_i k(x, x_i) and the steps to the fixed point: (m,) and (m, d)."""
        points = self.space.points
        r2 = squared_distances(x, points, self.profile)
        height = np.einsum("ij,ij->i", mixture, self.profile(r2))
        pull = -mixture * self.slope(r2)
        total, size = pull.sum(axis=1), np.abs(pull).sum(axis=1)
        slack = np.maximum(np.maximum(total, 1e-2 * size), np.finfo(np.float64).tiny)
        return height, (pull @ points - total[:, None] * x) / slack[:, None]


def back_of(preimage: Preimage, space: KPCAProjection, *, needed: bool) -> Back | None:
    """The map from scores to pre-images; a kernel without one is refused where it is `needed`."""
    inverse = preimage.back(space)
    if inverse is None and needed:
        raise ValueError(
            f"{preimage!r} finds pre-images for smooth radial kernels and Linear(), "
            f"not for {space.kernel!r}: use preimage=LearnedMap()"
        )
    return inverse
