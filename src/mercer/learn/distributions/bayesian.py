"""Bayesian distribution regression: small bags are uncertain, and predictions say by how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from mercer import validate
from mercer.backend import to_numpy
from mercer.features.random import generator
from mercer.gram import Gram
from mercer.kernels.base import Kernel
from mercer.learn.distributions.kernel import as_bags
from mercer.learn.estimator import KernelPredictor
from mercer.rkhs import Bags, Function


class BayesianDistributionRegressor(RegressorMixin, KernelPredictor):
    """Regression on bags of different sizes, whose embeddings are not known but estimated.

    y_i = f-mean of bag i + noise, with f = sum_l a_l k(z_l, .) on landmarks z. The embedding of bag i at
    the landmarks has a Gaussian prior and, given its n_i points, a Gaussian posterior with mean m_i and
    covariance C_i, which shrinks small bags towards the mean of all. Then y_i ~ N(a'm_i + b,
    a'C_i a + s^2): bags that say little weigh little, and predictions have a standard deviation that
    grows for small bags (Law et al. 2018). a, b and s maximise the posterior.

    Parameters
    ----------
    kernel : Kernel or None
        Of points. None: RBF at their median distance.
    ridge : float
        Of the penalty ridge a'K a / 2 against the log-likelihood.
    landmarks : int
        Points of the bags, drawn at random, on which functions rest.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    function_ : Function
        f, whose mean over a distribution, plus `intercept_`, is predicted.
    intercept_, noise_ : float
        b, and the standard deviation s.

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
        """Learn from bags and numbers y (n,)."""
        validate.positive("ridge", self.ridge)
        validate.whole("landmarks", self.landmarks)
        x, y = self._both(X, y, y_numeric=True)
        bags, y = as_bags(x), np.asarray(to_numpy(y), dtype=np.float64)
        values = to_numpy(bags.values)
        rng = generator(self.random_state)
        at = rng.choice(len(values), min(self.landmarks, len(values)), replace=False)
        self.kernel_ = self._default_kernel(values) if self.kernel is None else self.kernel
        self.landmarks_ = np.unique(values[at], axis=0)
        self._prior = _Prior.of(self.kernel_, self.landmarks_, bags)
        means, covs = self._prior.posterior(bags)
        gram = self.kernel_(self.landmarks_)
        weights, self.intercept_, self.noise_ = _most_likely(means, covs, y, gram, self.ridge)
        self.function_ = Function(self.kernel_, self.landmarks_, weights)
        self.n_features_in_ = values.shape[1]
        return self

    def predict(self, X: Any, *, return_std: bool = False) -> Any:
        """What is expected of each bag: (n,); with its standard deviation, noise included, if asked."""
        check_is_fitted(self)
        bags = as_bags(self._numbers(X, reset=False))
        self._check_width(int(bags.values.shape[1]), reset=False)
        means, covs = self._prior.posterior(bags)
        a = self.function_.weights
        mean = means @ a + self.intercept_
        if not return_std:
            return mean
        return mean, np.sqrt(np.einsum("nij,i,j->n", covs, a, a) + self.noise_**2)


@dataclass(frozen=True, eq=False)
class _Prior:
    """Embeddings at landmarks: N(mean, cov), and the covariance of the features of one point."""

    kernel: Kernel
    landmarks: np.ndarray
    mean: np.ndarray
    cov: np.ndarray
    within: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, landmarks: np.ndarray, bags: Bags) -> _Prior:
        """From all bags: the spread of their means beyond what few points explain (empirical Bayes)."""
        features = _features(kernel, bags, landmarks)
        means = bags.means(features)
        owner = np.repeat(np.arange(len(bags)), bags.sizes)
        moved = features - means[owner]
        degrees = max(len(features) - len(bags), 1)
        within = moved.T @ moved / degrees
        overall = means.mean(axis=0)
        between = np.cov(means.T, bias=True).reshape(within.shape)
        between = between - within * np.mean(1 / bags.sizes)
        values, vectors = np.linalg.eigh(between)
        least = 1e-6 * max(float(values[-1]), float(np.trace(within)) / len(within), 1e-300)
        cov = (vectors * np.maximum(values, least)) @ vectors.T
        return cls(kernel, landmarks, overall, cov, within)

    def posterior(self, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Means (n, s) and covariances (n, s, s) of the embeddings given the bags."""
        seen = bags.means(_features(self.kernel, bags, self.landmarks)) - self.mean
        means = np.empty_like(seen)
        covs = np.empty((len(bags), *self.cov.shape), dtype=np.float64)
        for size in np.unique(bags.sizes):  # one factor serves all bags of a size
            some = bags.sizes == size
            gain = np.linalg.solve(self.cov + self.within / size, self.cov)
            means[some] = self.mean + seen[some] @ gain
            covs[some] = self.cov - self.cov @ gain
        return means, covs


def _features(kernel: Kernel, bags: Bags, landmarks: np.ndarray) -> np.ndarray:
    return np.asarray(Gram(kernel, to_numpy(bags.values), landmarks).dense(), dtype=np.float64)


def _most_likely(
    means: np.ndarray, covs: np.ndarray, y: np.ndarray, gram: np.ndarray, ridge: float
) -> tuple[np.ndarray, float, float]:
    """a, b and s that minimise sum_i [(y_i - a'm_i - b)^2 / v_i + log v_i] / 2 + ridge a'Ka / 2."""
    from scipy.optimize import minimize

    scale = max(float(y.std()), 1e-12 * max(abs(float(y.mean())), 1.0))
    target, s = (y - y.mean()) / scale, means.shape[1]
    centre = means.mean(axis=0)
    moved = means - centre

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        a, b, log_noise = theta[:s], theta[s], theta[s + 1]
        spread = covs @ a
        v = spread @ a + np.exp(2 * log_noise)
        error = target - moved @ a - b
        value = 0.5 * np.sum(error**2 / v + np.log(v)) + 0.5 * ridge * (a @ gram @ a)
        by_v = 0.5 * (1 / v - error**2 / v**2)
        by_a = -(moved.T @ (error / v)) + 2 * spread.T @ by_v + ridge * (gram @ a)
        by_noise = 2 * np.exp(2 * log_noise) * np.sum(by_v)
        return value, np.concatenate([by_a, [-np.sum(error / v), by_noise]])

    ridge_start = np.linalg.solve(
        moved.T @ moved + ridge * gram + 1e-9 * np.eye(s), moved.T @ target
    )
    start = np.concatenate([ridge_start, [0.0, np.log(0.5)]])
    bounds = [(None, None)] * (s + 1) + [(np.log(1e-4), np.log(10.0))]
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 500}
    )
    a, b, noise = found.x[:s], found.x[s], np.exp(found.x[s + 1])
    intercept = float(y.mean() + scale * (b - centre @ a))
    return scale * a, intercept, float(scale * noise)
