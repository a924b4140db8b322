"""Bound on the difference of the risk of points and the risk of distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.errors import NoRule
from mercer.kernels.algebra import Multiple, Sum
from mercer.kernels.base import SmoothRadial
from mercer.kernels.dot import Linear
from mercer.kernels.rules import Rule
from mercer.learn.regression.losses import Hinge, Loss
from mercer.rkhs.embeddings.as_bags import as_bags
from mercer.rkhs.embeddings.bags import Bags
from mercer.rkhs.function import Function

_INSTEAD = "pass a Lipschitz constant of the function, lipschitz=..."
feature_lipschitz = Rule("Lipschitz constant of the feature map", _INSTEAD)


@dataclass(frozen=True, eq=False)
class RiskDeviation:
    """Losses of a function over distributions, and what the variance of the distributions allows.

    Attributes
    ----------
    averaged_loss : array (m,)
        E l(y_i, f(X)) for X ~ P_i: what a machine trained on points of the distributions minimises.
    loss_of_average : array (m,)
        l(y_i, E f(X)): what a support measure machine minimises.
    bound : array (m,)
        2 C_l C_f sigma_i, theorem 3 of Muandet et al. (2012), with the Lipschitz constants C_l of the loss and C_f
        of the function, and the total variance sigma_i^2 = E|X - E X|^2 of P_i.
    variance_bound : array (m,)
        C_l sd f(X), which lies between: at most C_l C_f sigma_i, so that the 2 of the theorem is not needed.
    """

    averaged_loss: np.ndarray
    loss_of_average: np.ndarray
    bound: np.ndarray
    variance_bound: np.ndarray

    @property
    def deviation(self) -> np.ndarray:
        """Absolute differences |E l(y_i, f(X)) - l(y_i, E f(X))|: (m,)."""
        return np.abs(self.averaged_loss - self.loss_of_average)

    @property
    def risk_deviation(self) -> float:
        """Difference of the two empirical risks, |R(f) - R^mu(f)|, at most the mean of `bound`."""
        return float(abs(np.mean(self.averaged_loss - self.loss_of_average)))


def risk_deviation(
    function: Function | Callable[[np.ndarray], Any],
    x: Any,
    y: Any,
    *,
    loss: Loss | None = None,
    lipschitz: float | None = None,
    draws: int = 1000,
    rng: Any = None,
) -> RiskDeviation:
    """Loss averaged over each distribution against the loss of the averaged prediction, with a bound.

    |E l(y, f(X)) - l(y, E f(X))| <= 2 C_l C_f sigma for every distribution with total variance sigma^2 (Muandet et
    al. 2012, theorem 3): a support measure machine minimises nearly the risk of the points where its
    distributions are concentrated and its function is smooth. Samples are taken as they are; for distributions known in
    closed form the theorem is applied to `draws` points of each.

    Parameters
    ----------
    function : Function or callable
        f, such as ``SupportMeasureMachine(MeanMap(k)).fit(...).function_`` at points, or any function of an array
        (n, d) of points.
    x : m distributions or bags
    y : array (m,)
        Targets; labels -1 and 1 for margin losses.
    loss : Loss or None
        None: `Hinge`. Must be Lipschitz: not `Squared`.
    lipschitz : float or None
        C_f. None: |f| in the RKHS times the Lipschitz constant of the feature map, for functions of `Linear` and
        smooth radial kernels, sums and multiples of these.
    draws : int
    rng : seed of the draws

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.rkhs import Function, Gaussian
    >>> f = Function(RBF(1.0), [-1.0, 1.0], [-2.0, 2.0])
    >>> found = risk_deviation(f, [Gaussian(0.0, 0.01), Gaussian(0.0, 1.0)], [1.0, 1.0], rng=0)
    >>> bool(found.deviation[0] < 0.02 < found.deviation[1] < found.bound[1])
    True
    """
    loss = Hinge() if loss is None else loss
    validate.instance("loss", loss, Loss, "a loss, such as Hinge()")
    validate.whole("draws", draws)
    if not isfinite(loss.lipschitz):
        raise ValueError(
            f"loss must be Lipschitz in the prediction, but {loss!r} is not: use Hinge(), Logistic(), Huber() or "
            "Pinball()"
        )
    if not callable(function):
        raise TypeError(
            f"function must be a Function or a callable, got {validate.shown(function)}"
        )
    constant = _lipschitz(function, lipschitz)
    bags = as_bags(x, draws=draws, rng=rng, name="x")
    like = np.zeros(1)
    targets = to_numpy(validate.vectors(y, len(bags), like, "y")).astype(np.float64)
    if targets.ndim != 1:
        raise ValueError(f"y must be a number for each distribution, got shape {targets.shape}")
    return _over_bags(function, bags, targets, loss, constant)


def _over_bags(
    function: Any, bags: Bags, targets: np.ndarray, loss: Loss, constant: float
) -> RiskDeviation:
    """Losses and bounds for bags with targets (m,), and a function with this Lipschitz constant."""
    points = to_numpy(bags.values).astype(np.float64)
    values = np.asarray(to_numpy(function(points)), dtype=np.float64)
    if values.shape != (len(points),):
        raise ValueError(
            f"function must give one value for each of {len(points)} points, got shape {values.shape}"
        )
    losses = to_numpy(loss.value(np.repeat(targets, bags.sizes), values))
    average = bags.means(values[:, None])[:, 0]
    centred = values - np.repeat(average, bags.sizes)
    off = points - np.repeat(bags.means(points), bags.sizes, axis=0)
    sigma = np.sqrt(bags.means(np.sum(off**2, axis=1)[:, None])[:, 0])
    return RiskDeviation(
        bags.means(losses[:, None])[:, 0],
        to_numpy(loss.value(targets, average)),
        2 * loss.lipschitz * constant * sigma,
        loss.lipschitz * np.sqrt(bags.means(centred[:, None] ** 2)[:, 0]),
    )


def _lipschitz(function: Any, lipschitz: float | None) -> float:
    """Lipschitz constant of a function: the one given, or |f| times that of the feature map."""
    if lipschitz is not None:
        validate.non_negative("lipschitz", lipschitz)
        return float(lipschitz)
    if not isinstance(function, Function):
        raise TypeError(
            "lipschitz is needed for a function that is not a Function: pass lipschitz=1.0, say"
        )
    return float(function.norm()) * feature_lipschitz.apply(function.kernel)


@feature_lipschitz(SmoothRadial)
def _(kernel: SmoothRadial) -> float:
    """sqrt(-2 p'(0)): the squared distance 2 (p(0) - p(r^2)) is concave in r^2 for convex profiles p."""
    return sqrt(-2 * float(kernel.slope(np.zeros(1))[0]))


@feature_lipschitz(Linear)
def _(kernel: Linear) -> float:
    if kernel.metric is not None:
        raise NoRule(
            f"no Lipschitz constant of the feature map of Linear with a metric: {_INSTEAD}"
        )
    return 1.0


@feature_lipschitz(Sum)
def _(kernel: Sum) -> float:
    return sqrt(sum(feature_lipschitz.apply(k) ** 2 for k in (kernel.left, kernel.right)))


@feature_lipschitz(Multiple)
def _(kernel: Multiple) -> float:
    return sqrt(kernel.factor) * feature_lipschitz.apply(kernel.kernel)
