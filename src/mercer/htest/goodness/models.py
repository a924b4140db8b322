"""What has a score: distributions of mercer and SciPy, fitted ones of scikit-learn, functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import Array, array_like, is_numpy, to_numpy
from mercer.htest.goodness.smoothed import Smoothed
from mercer.rkhs.densities import Density
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.mixture import Mixture

_NEEDED = (
    "a Gaussian or Mixture, a frozen distribution of SciPy, a fitted GaussianMixture or "
    "KernelDensity, an object with a method score, or a function x -> gradients of log p, (n, d)"
)
_STEP = 1e-3  # of the stencil, in quartile distances: it is right to about 1e-10


@dataclass(frozen=True, eq=False)
class Model:
    """A distribution to a goodness-of-fit test: the gradient of its log-density."""

    score: Callable[[Array], Array]
    dimension: int | None = None  # None where the score does not tell

    def fit_for(self, width: int, name: str = "x") -> None:
        """Refuse points of another dimension."""
        if self.dimension is not None and self.dimension != width:
            raise ValueError(
                f"{name} must have {self.dimension} columns, as many as the model has dimensions, "
                f"got {width}"
            )


def model_of(model: Any) -> Model:
    """Whatever has a score, as a `Model`; an error that says why not, where it has none."""
    if isinstance(model, Density):
        return Model(model.score, model.dimension)
    if isinstance(model, type):
        raise TypeError(f"model must be {_NEEDED}; got the class {model.__name__}: make one of it")
    if type(model).__module__.startswith("scipy.stats"):
        return _of_scipy(model)
    if hasattr(model, "covariance_type"):
        return _of_mixture(model)
    if hasattr(model, "score_samples"):
        return _of_kernel_density(model)
    if callable(getattr(model, "fit", None)):
        raise TypeError(
            f"model must be {_NEEDED}; the score of {type(model).__name__} is a number, not the "
            "gradient of a log-density"
        )
    if callable(getattr(model, "score", None)):
        dimension = getattr(model, "dimension", None)
        return Model(model.score, dimension if isinstance(dimension, int) else None)
    if callable(model):
        return Model(model)
    raise TypeError(f"model must be {_NEEDED}; got {model!r}")


# ---- SciPy --------------------------------------------------------------------------------


def _of_scipy(model: Any) -> Model:
    name = type(model).__name__
    if name == "multivariate_normal_frozen":
        return model_of(Gaussian(model.mean, np.asarray(model.cov_object.covariance)))
    if name == "multivariate_t_frozen":
        return _student(model)
    if name == "gaussian_kde":
        root = np.linalg.inv(np.linalg.cholesky(model.covariance))
        return _on_host(Smoothed(model.dataset.T, model.weights, root).score, model.d)
    if hasattr(model, "support") and hasattr(model, "logpdf") and not hasattr(model, "freeze"):
        return _of_coordinates(model)
    if hasattr(model, "freeze"):
        raise TypeError("model must be a distribution with its parameters, such as norm(0, 1)")
    kind = getattr(getattr(model, "dist", None), "name", name)
    why = "is discrete: it has no density" if hasattr(model, "pmf") else "is not known here"
    raise TypeError(f"model must have a score, and SciPy's {kind} {why}; give a function instead")


def _student(model: Any) -> Model:
    """Multivariate t: -(nu + d) C^-1 u / (nu + u'C^-1 u) with u = x - m."""
    if not np.isfinite(model.df):
        return model_of(Gaussian(model.loc, np.asarray(model.shape)))
    inverse = np.linalg.inv(np.asarray(model.shape))

    def score(x: np.ndarray) -> np.ndarray:
        u = x - model.loc
        v = u @ inverse
        return -(model.df + model.dim) * v / (model.df + np.sum(u * v, axis=1))[:, None]

    return _on_host(score, int(model.dim))


def _of_coordinates(model: Any) -> Model:
    """A continuous distribution on the line, or a product of such, by differences of its logpdf."""
    kind = getattr(getattr(model, "dist", None), "name", type(model).__name__)
    ends = np.asarray(model.support(), dtype=np.float64)
    if np.any(np.isfinite(ends)):
        low, high = float(np.max(ends[0])), float(np.min(ends[1]))
        raise ValueError(
            f"model must have a density on the whole line, and SciPy's {kind} lives on "
            f"[{low:g}, {high:g}]: at the border Stein's identity does not hold and a test would "
            "reject the true model; transform the data and the model, as by a logarithm, or compare "
            "with draws from the model by MMD()"
        )
    quantile = model.ppf if hasattr(model, "ppf") else model.icdf
    h = _STEP * (quantile(0.75) - quantile(0.25))

    def score(x: np.ndarray) -> np.ndarray:
        return (4 * slope(x - h, x + h) - slope(x - 2 * h, x + 2 * h)) / 3

    def slope(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (model.logpdf(b) - model.logpdf(a)) / (b - a)  # as far apart as they are

    return _on_host(score, int(np.size(ends[0])))


# ---- scikit-learn -------------------------------------------------------------------------


def _of_mixture(model: Any) -> Model:
    """A fitted GaussianMixture: full, tied, diag or spherical covariances."""
    if not hasattr(model, "covariances_"):
        raise ValueError(f"model must be fitted, got {type(model).__name__}: call .fit(data) first")
    means, weights = np.asarray(model.means_), np.asarray(model.weights_)
    covariances = np.asarray(model.covariances_)
    if model.covariance_type == "tied":
        covariances = np.broadcast_to(covariances, (len(means), *covariances.shape))
    if model.covariance_type == "spherical":
        covariances = covariances[:, None] * np.ones((1, means.shape[1]), dtype=np.float64)
    parts = [Gaussian(mean, cov) for mean, cov in zip(means, covariances, strict=True)]
    return model_of(Mixture(parts, weights / weights.sum()))


def _of_kernel_density(model: Any) -> Model:
    """A fitted KernelDensity with Gaussian kernels."""
    name = type(model).__name__
    if not (hasattr(model, "bandwidth") and hasattr(model, "kernel")):
        raise TypeError(
            f"model must be {_NEEDED}; {name} is not known here, and its score is a number, not "
            "the gradient of a log-density"
        )
    if model.kernel != "gaussian" or model.metric != "euclidean":
        raise ValueError(
            "model must have a density that is smooth and positive everywhere, and "
            f"{name}(kernel={model.kernel!r}, metric={model.metric!r}) has not: use "
            "kernel='gaussian' and metric='euclidean'"
        )
    if not hasattr(model, "tree_"):
        raise ValueError(f"model must be fitted, got {name}: call .fit(data) first")
    points = np.asarray(model.tree_.data, dtype=np.float64)
    given = model.tree_.sample_weight
    weights = np.ones(len(points), np.float64) if given is None else np.asarray(given, np.float64)
    whitening = np.eye(points.shape[1], dtype=np.float64) / model.bandwidth_
    return _on_host(Smoothed(points, weights / weights.sum(), whitening).score, points.shape[1])


def _on_host(score: Callable[[np.ndarray], np.ndarray], dimension: int) -> Model:
    """A score that knows NumPy only, for points of any library."""

    def of_any(x: Array) -> Array:
        found = score(to_numpy(x).astype(np.float64, copy=False))
        return found if is_numpy(x) else array_like(found, x)

    return Model(of_any, dimension)
