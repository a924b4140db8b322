"""Pre-images: points for what was projected in the space of a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer import validate
from mercer.config import settings
from mercer.gram import Gram, ridge_solve
from mercer.gram.threads import spans
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.dot import Linear
from mercer.kernels.metric import squared_distances
from mercer.kernels.smooth import RadialForm, radial_form
from mercer.rkhs.function import Function

Back = Callable[[np.ndarray], np.ndarray]  # scores (m, k) -> points (m, d)

_CELLS = 2**20  # of a block of new points and training points: 8 MiB


@dataclass(frozen=True, eq=False)
class Projected:
    """Training points (n, d), the weights (n, k) of the components on them, and their scores (n, k).

    Columns of `weights` add up to zero: what has the scores z is the image
    mean_i phi(x_i) + sum_j z_j f_j = sum_i (1/n + (A z)_i) phi(x_i).
    """

    kernel: Kernel
    points: np.ndarray
    weights: np.ndarray
    scores: np.ndarray

    def mixture(self, scores: np.ndarray) -> np.ndarray:
        """The weights of the training points in what has these scores: (m, n)."""
        return scores @ self.weights.T + 1 / len(self.points)


class Preimage(ABC):
    """How points are found whose images are close to what was projected."""

    @abstractmethod
    def back(self, space: Projected, /) -> Back | None:
        """What takes scores to points; None where this way does not serve the kernel."""


@dataclass(frozen=True)
class FixedPoint(Preimage):
    """The point whose image is nearest, by the fixed-point iteration of Mika et al. (1999, eq. 10).

    For k = f(|x - y|^2), the image phi(x) nearest to sum_i g_i phi(x_i) has the largest
    sum_i g_i k(x, x_i), whose gradient is zero where

        x = sum_i w_i x_i / sum_i w_i,    w_i = g_i f'(|x - x_i|^2).

    The step towards the right-hand side is halved as long as it does not climb, and where the w_i
    nearly cancel it is shortened, so that the sum never falls (the plain iteration may). It begins at
    the mean of the training points with the nearest scores, and finds the maximum next to it. The
    results are near to combinations of the training points. For `Linear()`, x = sum_i g_i x_i is exact.

    Parameters
    ----------
    rounds : int
        At most so many steps.
    tolerance : float
        Of a step, in units of the spread of the training points, below which it is the last.
    neighbours : int
        Training points whose mean is the beginning.
    """

    rounds: int = 200
    tolerance: float = 1e-6
    neighbours: int = 10

    def __post_init__(self) -> None:
        validate.whole("rounds", self.rounds)
        validate.positive("tolerance", self.tolerance)
        validate.whole("neighbours", self.neighbours)

    def back(self, space: Projected, /) -> Back | None:
        if isinstance(space.kernel, Linear):
            return _Combination(space)
        form = radial_form(space.kernel)
        return None if form is None or form.slope is None else _Climb(self, space, form)


@dataclass(frozen=True)
class LearnedMap(Preimage):
    """A map from scores to points, learnt by ridge regression on the training points.

    x = mean + sum_i c_i l(z_i, z), with the kernel l on scores; the coefficients solve
    (L + ridge I) c = x - mean (Bakir, Weston and Schoelkopf 2004). It need not be the nearest image,
    is quick, and averages where scores leave points open: it often is the better denoiser.

    Parameters
    ----------
    ridge : float
        Of the summed loss.
    kernel : Kernel or None
        On scores. None: RBF at the median distance of those of the training points.
    """

    ridge: float = 0.1
    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        validate.positive("ridge", self.ridge)
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel, such as RBF(1.0), or None")

    def back(self, space: Projected, /) -> Back:
        kernel = median_rbf(space.scores) if self.kernel is None else self.kernel
        mean = space.points.mean(axis=0)
        coefficients = ridge_solve(Gram(kernel, space.scores), space.points - mean, self.ridge)
        return _Regression(Function(kernel, space.scores, coefficients), mean)


@dataclass(frozen=True, eq=False)
class _Regression:
    """mean + f(z)."""

    function: Function
    mean: np.ndarray

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        return self.mean + self.function(scores)


@dataclass(frozen=True, eq=False)
class _Combination:
    """sum_i g_i x_i."""

    space: Projected

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        mean = self.space.points.mean(axis=0)
        return mean + scores @ (self.space.weights.T @ (self.space.points - mean))


@dataclass(frozen=True, eq=False)
class _Climb:
    """The fixed-point iteration, block by block of scores."""

    how: FixedPoint
    space: Projected
    form: RadialForm

    def __call__(self, scores: np.ndarray) -> np.ndarray:
        n = len(self.space.points)
        rows = max(min(_CELLS, settings().memory // 64) // n, 1)
        parts = [self._found(scores[some]) for some in spans(len(scores), rows)]
        return np.concatenate(parts)

    def _found(self, scores: np.ndarray) -> np.ndarray:
        space = self.space
        spread = float(space.points.std(axis=0).max()) or 1.0
        found = self._start(scores)
        mixture = space.mixture(scores)
        height, step = self._uphill(found, mixture)
        short = np.ones(len(scores), dtype=np.float64)
        active = np.arange(len(scores))
        for _ in range(self.how.rounds):
            length = short[active] * np.abs(step[active]).max(axis=1)
            active = active[length > self.how.tolerance * spread]
            if len(active) == 0:
                break
            trial = found[active] + short[active, None] * step[active]
            there, onward = self._uphill(trial, mixture[active])
            up = there >= height[active]
            higher, lower = active[up], active[~up]
            found[higher], height[higher], step[higher] = trial[up], there[up], onward[up]
            short[higher], short[lower] = 1.0, short[lower] / 2
        return found

    def _start(self, scores: np.ndarray) -> np.ndarray:
        """The mean of the training points with the nearest scores: (m, d)."""
        space = self.space
        near = min(self.how.neighbours, len(space.points))
        distances = squared_distances(scores, space.scores)
        chosen = np.argpartition(distances, near - 1, axis=1)[:, :near]
        return space.points[chosen].mean(axis=1)

    def _uphill(self, x: np.ndarray, mixture: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """sum_i g_i k(x, x_i), and the step to the fixed point: (m,) and (m, d)."""
        points, form = self.space.points, self.form
        r2 = squared_distances(x, points, form.profile)
        height = np.einsum("ij,ij->i", mixture, form.profile(r2))
        pull = -mixture * form.slope(r2)  # type: ignore[misc]
        total, size = pull.sum(axis=1), np.abs(pull).sum(axis=1)
        slack = np.maximum(np.maximum(total, 1e-2 * size), np.finfo(np.float64).tiny)
        return height, (pull @ points - total[:, None] * x) / slack[:, None]


def back_of(preimage: Preimage, space: Projected, *, needed: bool) -> Back | None:
    """What finds pre-images; where `needed`, a kernel that `preimage` does not serve is refused."""
    found = preimage.back(space)
    if found is None and needed:
        raise ValueError(
            f"{preimage!r} finds pre-images of smooth functions of the distance and of Linear(), "
            f"not of {space.kernel!r}: use preimage=LearnedMap()"
        )
    return found
