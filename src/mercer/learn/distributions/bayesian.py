"""Bayesian distribution regression: predictive uncertainty that accounts for bag sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer import linalg, validate
from mercer.backend import to_numpy
from mercer.features.random_state import generator
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.learn.kernel_learner import KernelPredictor
from mercer.rkhs import Bags, Function
from mercer.rkhs.embeddings.as_bags import are_known, as_bags
from mercer.rkhs.embeddings.as_batch import batch_of, diracs
from mercer.rkhs.embeddings.batch import inner_products

_MIN_RELATIVE_CURVATURE = (
    1e-8  # directions of the posterior with less are left out: rounding would decide there
)
_LBFGS_OPTIONS = {
    "maxiter": 1000,
    "maxfun": 2000,
    "ftol": 1e-15,
    "gtol": 1e-7,
}  # as far as rounding allows
_DRAWS_FOR_LANDMARKS = 50  # points of each known distribution among which landmarks are chosen


class BayesianDistributionRegressor(RegressorMixin, KernelPredictor):
    """Regression on bags of different sizes, whose embeddings are not known but estimated.

    y_i = f-mean of bag i + noise, with f = sum_l a_l k(z_l, .) on landmarks z. The embedding of bag i at
    the landmarks has a Gaussian prior and, given its n_i points, a Gaussian posterior with mean m_i and
    covariance C_i, which shrinks small bags towards the mean of all. Then y_i ~ N(a'm_i + b,
    a'C_i a + s^2): bags that say little weigh little, and predictions have a standard deviation that
    grows for small bags (Law et al. 2018). a, b and s maximise the posterior.

    The embedding of a distribution that is known (`Gaussian`, `Mixture`, `Uniform`) has no such
    uncertainty; a vector is a bag of one point, and a weighted sample counts by its effective size.

    Parameters
    ----------
    kernel : Kernel or None
        Kernel of points. None: RBF with their median distance as its bandwidth.
    ridge : float
        Weight of the penalty ridge a'K a / 2 relative to the log-likelihood.
    landmarks : int
        Number of landmarks, drawn at random from the points of the bags.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    function_ : Function
        f, whose mean over a distribution, plus `intercept_`, is predicted.
    intercept_, noise_ : float
        b, and the standard deviation s.

    Notes
    -----
    f has no part in directions in which data and penalty together curve the posterior less than 1e-8
    of the most: there rounding would decide. So predictions follow the unit of y, and agree between
    processors, to about 1e-6 of the spread of y.

    References
    ----------
    H. C. L. Law, D. J. Sutherland, D. Sejdinovic, S. Flaxman (2018). Bayesian approaches to
    distribution regression. AISTATS. Sections 4.2 and 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> spread = rng.uniform(0.5, 2.0, size=200)
    >>> sizes = rng.choice([5, 100], size=200)
    >>> bags = [rng.normal(0.0, s, size=(n, 1)) for s, n in zip(spread, sizes)]
    >>> model = BayesianDistributionRegressor(random_state=0).fit(bags, spread)
    >>> _, sd = model.predict([bags[0][:5], rng.normal(size=(1000, 1))], return_std=True)
    >>> bool(sd[0] > 1.5 * sd[1])
    True
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        ridge: float = 1e-2,
        landmarks: int = 50,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.landmarks = landmarks
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit to bags and targets y (n,)."""
        validate.positive("ridge", self.ridge)
        validate.whole("landmarks", self.landmarks)
        x, y = self._both(X, y, y_numeric=True)
        y = np.asarray(to_numpy(y), dtype=np.float64)
        rng = generator(self.random_state)
        values = to_numpy(as_bags(x, draws=_DRAWS_FOR_LANDMARKS, rng=rng).values).astype(np.float64)
        at = rng.choice(len(values), min(self.landmarks, len(values)), replace=False)
        self.kernel_ = self._default_kernel(values) if self.kernel is None else self.kernel
        self.landmarks_ = np.unique(values[at], axis=0)
        seen = _ObservedEmbeddings.of(self.kernel_, self.landmarks_, x)
        self._prior = _Prior.of(seen)
        means, covs = self._prior.posterior(seen)
        gram = self.kernel_(self.landmarks_)
        weights, self.intercept_, self.noise_ = _most_likely(means, covs, y, gram, self.ridge)
        self.function_ = Function(self.kernel_, self.landmarks_, weights)
        self.n_features_in_ = values.shape[1]
        return self

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """Predictive means (n,), and with `return_std` the standard deviations, noise included."""
        check_is_fitted(self)
        x = self._numbers(X, reset=False)
        self._check_width(int(as_bags(x, draws=1, rng=0).values.shape[1]), reset=False)
        means, covs = self._prior.posterior(
            _ObservedEmbeddings.of(self.kernel_, self.landmarks_, x)
        )
        a = self.function_.weights
        mean = means @ a + self.intercept_
        if not return_std:
            return mean
        return mean, np.sqrt(np.einsum("nij,i,j->n", covs, a, a) + self.noise_**2)


@dataclass(frozen=True, eq=False)
class _ObservedEmbeddings:
    """Embeddings at landmarks as far as they are seen: means (n, s), from samples of some sizes (n,)."""

    means: np.ndarray
    sizes: np.ndarray  # Kish's, where points have weights; infinite for what is known
    within: np.ndarray  # (s, s), the covariance of the features of one point of a bag

    @classmethod
    def of(cls, kernel: Kernel, landmarks: np.ndarray, x: Any) -> _ObservedEmbeddings:
        """Means over bags, and expectations of distributions that are known."""
        known = are_known(x)
        if not np.any(known):
            return cls._of_bags(kernel, landmarks, as_bags(x, draws=1, rng=0))
        means = np.empty((len(known), len(landmarks)), dtype=np.float64)
        sizes, within = np.full(len(known), np.inf), np.zeros((len(landmarks),) * 2)
        laws = [law for law, is_known in zip(x, known, strict=True) if is_known]
        batches = batch_of(kernel, laws, "X"), diracs(kernel, landmarks, "landmarks")
        means[known] = inner_products(kernel, *batches)
        if not np.all(known):
            samples = [law for law, is_known in zip(x, known, strict=True) if not is_known]
            bags = cls._of_bags(kernel, landmarks, as_bags(samples, draws=1, rng=0))
            means[~known], sizes[~known], within = bags.means, bags.sizes, bags.within
        return cls(means, sizes, within)

    @classmethod
    def _of_bags(cls, kernel: Kernel, landmarks: np.ndarray, bags: Bags) -> _ObservedEmbeddings:
        features = Gram(kernel, to_numpy(bags.values).astype(np.float64), landmarks).dense()
        means, shares = bags.means(features), bags.segments.shares
        centred = features - np.repeat(means, bags.sizes, axis=0)
        counts = shares * np.repeat(bags.sizes, bags.sizes)  # 1 where points count alike
        within = centred.T @ (centred * counts[:, None]) / max(len(features) - len(bags), 1)
        sizes = 1 / np.add.reduceat(shares**2, bags.offsets[:-1])
        return cls(means, sizes, within)


@dataclass(frozen=True, eq=False)
class _Prior:
    """Embeddings at landmarks: N(mean, cov), and the covariance of the features of one point."""

    mean: np.ndarray
    cov: np.ndarray
    within: np.ndarray

    @classmethod
    def of(cls, seen: _ObservedEmbeddings) -> _Prior:
        """From all bags: the spread of their means beyond what few points explain (empirical Bayes)."""
        within = seen.within
        between = np.cov(seen.means.T, bias=True).reshape(within.shape)
        between = between - within * np.mean(1 / seen.sizes)
        values, vectors = linalg.eigh(between)
        least = 1e-6 * max(float(values[-1]), float(np.trace(within)) / len(within), 1e-300)
        cov = (vectors * np.maximum(values, least)) @ vectors.T
        return cls(seen.means.mean(axis=0), cov, within)

    def posterior(self, seen: _ObservedEmbeddings) -> tuple[np.ndarray, np.ndarray]:
        """Means (n, s) and covariances (n, s, s) of the embeddings given what was seen."""
        centred = seen.means - self.mean
        means = np.empty_like(centred)
        covs = np.empty((len(centred), *self.cov.shape), dtype=np.float64)
        for size in np.unique(seen.sizes):  # one factor serves all bags of a size
            same_size = seen.sizes == size
            gain = linalg.solve(self.cov + self.within / size, self.cov)
            means[same_size] = self.mean + centred[same_size] @ gain
            covs[same_size] = self.cov - self.cov @ gain
        return means, covs


def _most_likely(
    means: np.ndarray, covs: np.ndarray, y: np.ndarray, gram: np.ndarray, ridge: float
) -> tuple[np.ndarray, float, float]:
    """a, b and s that minimise sum_i [(y_i - a'm_i - b)^2 / v_i + log v_i] / 2 + ridge a'Ka / 2.

    L-BFGS for y in units of its standard deviation, in coordinates u with a = Tu in which the curvature
    is about the identity.
    """
    from scipy.optimize import minimize

    scale = max(float(y.std()), 1e-12 * max(abs(float(y.mean())), 1.0))
    target, s = (y - y.mean()) / scale, means.shape[1]
    centre = means.mean(axis=0)
    centred = means - centre

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        a, b, log_noise = basis @ theta[:-2], theta[-2], theta[-1]
        spread = covs @ a
        v = np.maximum(spread @ a, 0.0) + np.exp(2 * log_noise)  # a'Ca >= 0 but for rounding
        error = target - centred @ a - b
        value = 0.5 * np.sum(error**2 / v + np.log(v)) + 0.5 * ridge * (a @ gram @ a)
        by_v = 0.5 * (1 / v - error**2 / v**2)
        by_a = -(centred.T @ (error / v)) + 2 * spread.T @ by_v + ridge * (gram @ a)
        by_noise = 2 * np.exp(2 * log_noise) * np.sum(by_v)
        return value, np.concatenate([basis.T @ by_a, [-np.sum(error / v), by_noise]])

    ridge_start = linalg.solve(
        centred.T @ centred + ridge * gram + 1e-9 * np.eye(s), centred.T @ target
    )
    noise2 = max(float(np.mean((target - centred @ ridge_start) ** 2)), 1e-4)
    size, axes = linalg.eigh(centred.T @ centred / noise2 + ridge * gram)
    seen = size > _MIN_RELATIVE_CURVATURE * size[-1]
    basis = axes[:, seen] / np.sqrt(size[seen])
    ahead = np.sqrt(size[seen]) * (axes[:, seen].T @ ridge_start)
    start = np.concatenate([ahead, [0.0, 0.5 * np.log(noise2)]])
    bounds = [(None, None)] * (len(ahead) + 1) + [(np.log(1e-4), np.log(10.0))]
    optimum = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=_LBFGS_OPTIONS
    )
    a, b, noise = basis @ optimum.x[:-2], optimum.x[-2], np.exp(optimum.x[-1])
    intercept = float(y.mean() + scale * (b - centre @ a))
    return scale * a, intercept, float(scale * noise)
