"""Support measure machines, and the classifiers they are compared with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from mercer import frames, validate
from mercer.backend import to_numpy
from mercer.features.random_state import generator
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import RBF
from mercer.learn.distributions.distribution_kernel import DistributionLearner
from mercer.learn.kernel_learner import KernelPredictor
from mercer.learn.machines.oneclass import OneClassSVC
from mercer.learn.machines.svc import SVC
from mercer.rkhs import Bags, Gaussian, MeanMap
from mercer.rkhs.embeddings.as_bags import as_bags


class SupportMeasureMachine(DistributionLearner, SVC):
    """Support vector classification of distributions: `SVC` on mean embeddings.

    Every x_i is a distribution: a bag of points, a `Gaussian`, a `Mixture`, or a vector, which stands
    for a point mass. On vectors alone it is `SVC` with the kernel of points.

    Parameters
    ----------
    kernel : Kernel or None
        A kernel of distributions: `MeanMap` (linear in the embeddings) or one on top of it, such as
        ``RBF(0.5).on(MeanMap(RBF(1.0)))``. None: RBF on the mean embeddings of an RBF, with median
        distances as both bandwidths.
    C, multiclass, class_weight, probability, tol, max_iter, random_state
        As in `SVC`, which also lists the attributes.

    References
    ----------
    K. Muandet, K. Fukumizu, F. Dinuzzo, B. Schölkopf (2012). Learning from distributions via
    support measure machines. NeurIPS 25.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> spread = rng.choice([1.0, 1.6], size=200)
    >>> bags = [rng.normal(0.0, s, size=(40, 2)) for s in spread]  # the means are equal
    >>> machine = SupportMeasureMachine(C=10.0).fit(bags[:100], spread[:100] > 1)
    >>> machine.score(bags[100:], spread[100:] > 1) > 0.9
    True
    """


class OneClassSMM(DistributionLearner, OneClassSVC):
    """Novelty detection among distributions: `OneClassSVC` on mean embeddings.

    A group of points can be unusual though none of its points is.

    Parameters
    ----------
    kernel : Kernel or None
        A kernel of distributions; None as in `SupportMeasureMachine`.
    nu, tol, max_iter
        As in `OneClassSVC`, which also lists the attributes.

    References
    ----------
    K. Muandet, B. Schölkopf (2013). One-class support measure machines for group anomaly
    detection. UAI.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> usual = [rng.normal(size=(50, 2)) for _ in range(100)]
    >>> circle = rng.normal(size=(50, 2))
    >>> circle /= np.linalg.norm(circle, axis=1, keepdims=True)  # no point of it is unusual
    >>> OneClassSMM(nu=0.1).fit(usual).predict([circle])
    array([-1])
    """


class FlexSVC(ClassifierMixin, KernelPredictor):
    """Support vector classification with a kernel width for every point.

    Point i becomes the Gaussian N(x_i, s_i^2 I), and the kernel is the expected RBF with bandwidth s:
    exp(-|x_i - x_j|^2 / 2 v) (s^2 / v)^(d/2) with v = s^2 + s_i^2 + s_j^2. It is `SupportMeasureMachine`
    with isotropic Gaussians (Muandet et al. 2012, section 4, where v is printed for s_i = s_j). With one width w
    for all points, new ones too, it is `SVC` with a multiple of ``RBF(sqrt(s^2 + 2 w^2))`` (their lemma 4).
    With another `density` g(x, .) around the points the kernel is the expected RBF under it,
    K_g(x, z) = E k(X, Z) with X ~ g(x, .) and Z ~ g(z, .).

    Parameters
    ----------
    bandwidth : float
        Bandwidth s of the RBF.
    C, tol : float
        As in `SVC`.
    density : callable or None
        ``density(point, width)`` returns the distribution g(x, .) around a point (d,): a `Uniform`, a
        `Mixture`, a `Gaussian` with any covariance, or, where the expected RBF has no closed form, nodes of a
        quadrature as `Empirical`. Points with width 0 stand for themselves. None: N(x, width^2 I).

    Attributes
    ----------
    machine_ : SupportMeasureMachine
    width_ : float
        Width of new points that come without one: that of the training points where all are equal, else 0.
    classes_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(100, 2))
    >>> y = x[:, 0] > 0
    >>> machine = FlexSVC(1.0).fit(x, y, widths=np.full(100, 0.5))
    >>> machine.score(x, y) > 0.9
    True
    >>> machine.predict([[1.0, 0.0], [-1.0, 0.0]], widths=[0.1, 0.7])
    array([ True, False])
    >>> from mercer.rkhs import Uniform
    >>> boxes = FlexSVC(1.0, density=lambda point, width: Uniform(point - width, point + width))
    >>> boxes.fit(x, y, widths=np.full(100, 0.5)).score(x, y) > 0.9
    True
    """

    def __init__(
        self,
        bandwidth: float = 1.0,
        C: float = 1.0,
        *,
        tol: float = 1e-3,
        density: Callable[[np.ndarray, float], Any] | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.C = C
        self.tol = tol
        self.density = density

    def fit(self, X: Any, y: Any, widths: Any = None) -> Self:
        """Fit the machine to points X and labels y; `widths` (n,) are the s_i, all 0 by default."""
        validate.positive("bandwidth", self.bandwidth)
        if self.density is not None and not callable(self.density):
            raise TypeError(
                "density must be None or a function of a point and its width that returns a distribution, "
                f"got {validate.shown(self.density)}"
            )
        x, y = self._both(X, y)
        points = _vectors(x)
        s = _checked_widths(0.0 if widths is None else widths, len(points), many=widths is not None)
        machine = SupportMeasureMachine(MeanMap(RBF(self.bandwidth)), self.C, tol=self.tol)
        self.machine_ = machine.fit(self._around(points, s), y)
        self.width_ = float(s[0]) if np.ptp(s) == 0 else 0.0
        self.classes_ = self.machine_.classes_
        return self

    def decision_function(self, X: Any, widths: Any = None) -> np.ndarray:
        """f(x) + b: (n,), or a score for each of k > 2 classes: (n, k); `widths` as in `predict`."""
        check_is_fitted(self)
        return self.machine_.decision_function(self._gaussians(X, widths))

    def predict(self, X: Any, widths: Any = None) -> np.ndarray:
        """Predicted labels: (n,); `widths` (n,) belong to these points, `width_` for all by default."""
        check_is_fitted(self)
        return self.machine_.predict(self._gaussians(X, widths))

    def _gaussians(self, X: Any, widths: Any) -> Any:
        points = _vectors(self._numbers(X, reset=False))
        given = widths is not None
        return self._around(
            points, _checked_widths(widths if given else self.width_, len(points), given)
        )

    def _around(self, points: np.ndarray, widths: np.ndarray) -> Any:
        """Distributions g(x_i, .), point masses where s_i = 0; the points themselves where all are."""
        if not widths.any():
            return points
        density = _isotropic if self.density is None else self.density
        return [
            density(point, float(width)) if width > 0 else point[None, :]
            for point, width in zip(points, widths, strict=True)
        ]


def _checked_widths(widths: Any, n: int, many: bool) -> np.ndarray:
    """One width for each of n points: those given, or the same number for all."""
    s = np.asarray(widths, dtype=np.float64) if many else np.full(n, widths, dtype=np.float64)
    if s.shape != (n,) or not np.all(np.isfinite(s)) or s.min() < 0:
        raise ValueError(
            f"widths must be {n} finite non-negative numbers, one for each point, "
            f"got {'shape ' + str(s.shape) if s.shape != (n,) else s.min()}"
        )
    return s


def _isotropic(point: np.ndarray, width: float) -> Gaussian:
    """The Gaussian N(x, s^2 I)."""
    return Gaussian(point, width**2)


def _vectors(x: Any) -> np.ndarray:
    """Points (n, d) in float64; distributions are refused."""
    points = x if as_table(x, "X") is None else frames.numbers(x, "X")
    if validate.holds_distributions(points) or getattr(points, "ndim", 2) != 2:
        raise ValueError(
            "FlexSVC needs points (n, d) and widths (n,): for bags, Gaussians and other distributions "
            "use SupportMeasureMachine(MeanMap(RBF(bandwidth)))"
        )
    return to_numpy(points).astype(np.float64)


class AugmentedSVC(ClassifierMixin, KernelPredictor):
    """Baseline for bags: a classifier of points, each of which has the label of its bag.

    A bag gets the label that most of its points get; the sum of the decision values breaks ties.
    Weights of points, such as those of a histogram over code words, weight both examples and votes.

    Parameters
    ----------
    machine : classifier of points or None
        None: ``SVC()``.
    draws : int
        Number of points drawn from each known distribution (`Gaussian`, `Mixture`, `Uniform`): its
        virtual examples.
    random_state : int, Generator, RandomState or None
        Seed of these draws.

    Attributes
    ----------
    machine_ : classifier
        The fitted classifier of points.
    classes_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> side = rng.choice([-1, 1], size=60)
    >>> bags = [rng.normal(s, 3.0, size=(20, 2)) for s in side]
    >>> AugmentedSVC().fit(bags[:40], side[:40]).score(bags[40:], side[40:]) > 0.8
    True
    """

    def __init__(self, machine: Any = None, *, draws: int = 30, random_state: Any = None) -> None:
        self.machine = machine
        self.draws = draws
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier to the points of all bags, with the labels y (n,) of the bags."""
        x, y = self._both(X, y)
        check_classification_targets(y)
        validate.whole("draws", self.draws)
        fitted_on, self._seed = generator(self.random_state).integers(2**31, size=2).tolist()
        bags = as_bags(x, draws=self.draws, rng=fitted_on)
        machine: Any = SVC() if self.machine is None else clone(self.machine)
        self.machine_ = machine.fit(
            to_numpy(bags.values), np.repeat(y, bags.sizes), **_weights(machine, bags)
        )
        self.classes_ = self.machine_.classes_
        self.n_features_in_ = int(bags.values.shape[1])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Label that most points of each bag get: (n,)."""
        check_is_fitted(self)
        bags = as_bags(self._numbers(X, reset=False), draws=self.draws, rng=self._seed)
        self._check_width(int(bags.values.shape[1]), reset=False)
        return self.classes_[np.argmax(self._votes(bags), axis=1)]

    def _votes(self, bags: Bags) -> np.ndarray:
        """Fractions of votes (n, k), plus a small multiple of the mean decision values to break ties."""
        points = to_numpy(bags.values)
        labels = self.machine_.predict(points)
        votes = bags.means((labels[:, None] == self.classes_).astype(np.float64))
        if not hasattr(self.machine_, "decision_function"):
            return votes
        values = np.asarray(self.machine_.decision_function(points), dtype=np.float64)
        scores = np.stack([-values, values], axis=1) if values.ndim == 1 else values
        sums = bags.means(scores)
        scale = np.max(np.abs(sums), axis=1, keepdims=True)
        return votes + 1e-6 * sums / np.where(scale > 0, scale, 1.0)


def _weights(machine: Any, bags: Bags) -> dict[str, np.ndarray]:
    """Sample weights of the points, one on average; empty where points have no weights."""
    if bags.weights is None:
        return {}
    if not has_fit_parameter(machine, "sample_weight"):
        raise TypeError(
            f"the samples have weights, but the fit method of {machine!r} takes no sample_weight: use "
            "another machine, such as SVC(), or unweighted draws, p.sample(100, rng=0)"
        )
    return {"sample_weight": bags.weights * np.repeat(bags.sizes, bags.sizes)}
