"""Weights of a sample whose weighted embedding matches that of another: kernel mean matching, and kernel ABC."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import count, to_numpy
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import prepare
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.measures import mmd2
from mercer.rkhs.sample_rows import joined

_MAX_STEPS = (
    3_000  # of the projected gradient: the gradient is then below 1e-6 where it has to vanish
)
_TOLERANCE = 1e-8  # relative change of the weights at which it ends


def kernel_mean_matching(
    x: Any,
    y: Any,
    *,
    kernel: Kernel | None = None,
    largest: float = 1000.0,
    slack: float | None = None,
) -> np.ndarray:
    """Weights b_i of the source points whose weighted mean embedding is nearest to that of the target.

    Minimises |1/n sum_i b_i k(x_i, .) - 1/m sum_j k(y_j, .)|^2 over 0 <= b_i <= `largest` and
    |mean b - 1| <= `slack` (Huang et al. 2007): estimates of the density ratio of target and source, for learning
    under covariate shift, where inputs have another distribution than in the training data but labels
    given inputs have not. Needs the n x n matrix of the source in memory.

    Parameters
    ----------
    x, y : samples
        Source and target.
    kernel : Kernel or None
        None: RBF at the median distance of both samples together.
    largest : float
        Bound on the weights: smaller bounds have less variance and more bias.
    slack : float or None
        None: (sqrt(n) - 1) / sqrt(n), as in the paper.

    Returns
    -------
    array (n,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(0.0, 1.0, size=500), rng.normal(0.7, 0.7, size=500)
    >>> w = kernel_mean_matching(x, y)
    >>> bool(abs(np.average(x, weights=w) - 0.7) < 0.1 < abs(np.mean(x) - 0.7))
    True
    """
    validate.positive("largest", largest)
    used, x, y = prepare(VECTOR_KERNEL if kernel is None else kernel, x, y)
    if kernel is None:
        used = median_rbf(joined(x, y), name="x and y")
    n, m = count(x), count(y)
    slack = (sqrt(n) - 1) / sqrt(n) if slack is None else slack
    validate.non_negative("slack", slack)
    matrix = to_numpy(Gram(used, x).dense()).astype(np.float64) / n
    means = to_numpy(Gram(used, x, y).row_sums()).astype(np.float64) / m
    return matched_weights(matrix, means, largest, slack)


def abc_posterior(
    parameters: Any,
    simulated: Sequence[Any],
    observed: Any,
    *,
    epsilon: float,
    kernel: Kernel | None = None,
) -> Empirical:
    """Posterior of parameters by simulation, weighted with the discrepancy of simulated and observed samples.

    Weights exp(-MMD^2(y_j, y) / epsilon) of the parameters with which the samples y_j were simulated, with the
    unbiased MMD^2 (K2-ABC: Park, Jitkrittum and Sejdinovic 2016). No summary statistics are needed; the smaller `epsilon`,
    the nearer to the posterior and the fewer parameters count (`effective_size`).

    Parameters
    ----------
    parameters : array (k,) or (k, p)
        Draws from the prior.
    simulated : sequence of k samples
        A sample simulated with each of the parameters.
    observed : sample
    epsilon : float
    kernel : Kernel or None
        None: RBF at the median distance of the observed sample.

    Returns
    -------
    Empirical
        The parameters with their weights.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> means = rng.normal(0.0, 2.0, size=400)  # prior
    >>> simulated = [rng.normal(mean, 1.0, size=50) for mean in means]
    >>> posterior = abc_posterior(means, simulated, rng.normal(1.0, 1.0, size=50), epsilon=0.01)
    >>> bool(0.7 < np.sum(posterior.weights * posterior.points[:, 0]) < 1.3)
    True
    """
    validate.positive("epsilon", epsilon)
    points = to_numpy(validate.points(parameters, "parameters"))
    if len(simulated) != len(points):
        raise ValueError(
            f"simulated must have a sample for each of the {len(points)} parameters, got {len(simulated)}"
        )
    used = (
        median_rbf(prepare(VECTOR_KERNEL, observed)[1], name="observed")
        if kernel is None
        else kernel
    )
    distances = np.array([mmd2(used, sample, observed) for sample in simulated])
    weights = np.exp(-(distances - distances.min()) / epsilon)
    return Empirical(points, weights / weights.sum())


# ---- private ------------------------------------------------------------------------------


def matched_weights(a: np.ndarray, b: np.ndarray, largest: float, slack: float) -> np.ndarray:
    """Minimum of w'Aw / 2 - b'w over 0 <= w <= largest, |mean w - 1| <= slack, by accelerated gradients."""
    step = 1 / max(float(linalg.eigvalsh(a)[-1]), np.finfo(np.float64).tiny)
    w = _projected(np.ones(len(b)), largest, slack)
    point, momentum = w, 1.0
    for _ in range(_MAX_STEPS):
        after = _projected(point - step * (a @ point - b), largest, slack)
        change = after - w
        if float((point - after) @ change) > 0:  # restart where the momentum leads uphill
            momentum = 1.0
        faster = (1 + sqrt(1 + 4 * momentum**2)) / 2
        point, w, momentum = after + (momentum - 1) / faster * change, after, faster
        if np.max(np.abs(change)) <= _TOLERANCE * max(np.max(w), 1.0):
            break
    return w


def _projected(w: np.ndarray, largest: float, slack: float) -> np.ndarray:
    """Nearest point of the box with a mean within `slack` of one: a shift of all, found by bisection."""
    inside = np.clip(w, 0.0, largest)
    mean = float(inside.mean())
    goal = min(max(mean, 1 - slack), 1 + slack)
    if mean == goal:
        return inside
    low, high = -largest - float(np.max(np.abs(w))), largest + float(np.max(np.abs(w)))
    for _ in range(60):
        middle = (low + high) / 2
        below = float(np.clip(w + middle, 0.0, largest).mean()) < goal
        low, high = (middle, high) if below else (low, middle)
    return np.clip(w + (low + high) / 2, 0.0, largest)
