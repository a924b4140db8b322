"""What has a score: distributions of mercer and SciPy, fitted ones of scikit-learn, functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, is_numpy, to_numpy
from mercer.htest.goodness.kde_score import Smoothed
from mercer.rkhs.charts import Chart, chart_of
from mercer.rkhs.densities import Density
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.logdensity import LogDensity, Scores
from mercer.rkhs.mixture import Mixture
from mercer.rkhs.uniform import Uniform

_NEEDED = (
    "a Gaussian or Mixture, a frozen distribution of SciPy, a fitted GaussianMixture or "
    "KernelDensity, a LogDensity, Scores, an object with a method score, or a function "
    "x -> gradients of log p, (n, d)"
)
_STEP = 1e-3  # of the stencil, in quartile distances: it is right to about 1e-10


@dataclass(frozen=True, eq=False)
class Model:
    """A distribution to a goodness-of-fit test: the gradient of its log-density.

    Where the distribution has borders, `chart` gives coordinates that have none, and `score` is that
    of the distribution of the coordinates, at coordinates. What is known only with the points,
    `binding` makes of them.
    """

    score: Callable[..., Any]
    dimension: int | None = None  # None where the score does not tell
    chart: Chart | None = None
    binding: Callable[[Array], Model] | None = None

    def at(self, points: Array) -> Model:
        """The model for these observations."""
        self.fit_for(int(points.shape[1]))
        return self if self.binding is None else self.binding(points)

    def coordinates(self, points: Array, name: str = "x") -> Array:
        """The points in coordinates without borders; an error where the model has no density."""
        return points if self.chart is None else self.chart.coordinates(points, name)

    def divided(self, units: Sequence[float]) -> Model:
        """The distribution of X / u.

        Its score at z is u s(u z). Coordinates of columns with a border move by the logarithm of u,
        or not at all, instead.
        """
        u = np.array(units, dtype=np.float64)
        binding = self.binding
        if binding is not None:
            bound = lambda points: binding(points * array_like(u, points)).divided(units)  # noqa: E731
            return replace(self, binding=bound)
        factor, shift, chart = u, 0 * u, None
        if self.chart is not None:
            below, above = np.isfinite(self.chart.low), np.isfinite(self.chart.high)
            factor = np.where(below | above, 1.0, u)
            shift = np.log(u) * (below & ~above) - np.log(u) * (above & ~below)
            chart = Chart(self.chart.low / u, self.chart.high / u)

        def score(z: Array) -> Array:
            a, b = array_like(factor, z), array_like(shift, z)
            return a * self.score(a * z + b)

        return replace(self, score=score, chart=chart)

    def fit_for(self, width: int, name: str = "x") -> None:
        """Refuse points of another dimension."""
        if self.dimension is not None and self.dimension != width:
            raise ValueError(
                f"{name} must have {self.dimension} columns, as many as the model has dimensions, "
                f"got {width}"
            )


def model_of(model: Any) -> Model:
    """Whatever has a score, as a `Model`; an error that says why not, where it has none."""
    if callable(getattr(model, "as_model", None)) and not isinstance(model, type):
        return model.as_model()
    if isinstance(model, LogDensity):
        return _of_log_density(model)
    if isinstance(model, Scores):
        return Model(_unknown, model.dimension, binding=lambda points: Model(model.at(points)))
    if isinstance(model, Uniform):
        return _of_box(Chart(model.lower, model.upper), model.dimension)
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
    raise TypeError(f"model must be {_NEEDED}; got {validate.shown(model)}")


# ---- SciPy --------------------------------------------------------------------------------


def _of_scipy(model: Any) -> Model:
    name = type(model).__name__
    if name == "multivariate_normal_frozen":
        return model_of(Gaussian(model.mean, np.asarray(model.cov_object.covariance)))
    if name == "multivariate_t_frozen":
        return _student(model)
    if name == "gaussian_kde":
        root = linalg.inv(linalg.cholesky(model.covariance))
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
    inverse = linalg.inv(np.asarray(model.shape))

    def score(x: np.ndarray) -> np.ndarray:
        u = x - model.loc
        v = u @ inverse
        return -(model.df + model.dim) * v / (model.df + np.sum(u * v, axis=1))[:, None]

    return _on_host(score, int(model.dim))


def _of_coordinates(model: Any) -> Model:
    """A continuous distribution on the line, or a product of such, by differences of its logpdf.

    Where it has borders, those of its coordinates: d log p(x(z)) / dz + d log|dx/dz| / dz.
    """
    kind = getattr(getattr(model, "dist", None), "name", type(model).__name__)
    if kind == "vonmises":
        raise ValueError(
            "model must have a density on the line, and SciPy's vonmises lives on a circle: use "
            "vonmises_line on angles from -pi to pi, or compare with draws by AgainstDraws"
        )
    ends = np.atleast_2d(np.asarray(model.support(), dtype=np.float64).T)  # (d, 2)
    chart = chart_of(ends[:, 0], ends[:, 1], len(ends))
    quantile = model.ppf if hasattr(model, "ppf") else model.icdf
    places = np.stack([np.broadcast_to(quantile(q), (len(ends),)) for q in (0.25, 0.75)])
    quartiles = places if chart is None else chart.coordinates(places, "its quartiles")
    h = _STEP * (quartiles[1] - quartiles[0])

    def logpdf(z: np.ndarray) -> np.ndarray:
        return model.logpdf(z if chart is None else chart.points(z))

    def slope(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (logpdf(b) - logpdf(a)) / (b - a)  # as far apart as they are

    def score(z: np.ndarray) -> np.ndarray:
        found = (4 * slope(z - h, z + h) - slope(z - 2 * h, z + 2 * h)) / 3
        return found if chart is None else found + chart.slopes(z)[1]

    return replace(_on_host(score, len(ends)), chart=chart)


# ---- log-densities and scores -----------------------------------------------------------------


def _of_log_density(model: LogDensity) -> Model:
    if model.borders is None:
        return Model(model.score)

    def binding(points: Array) -> Model:
        chart = model.chart(int(points.shape[1]))
        return (
            Model(model.score) if chart is None else Model(_Moved(model.score, chart), chart=chart)
        )

    return Model(model.score, model.dimension, binding=binding)


def _of_box(chart: Chart, dimension: int) -> Model:
    """Uniform: in coordinates, logistic."""
    return Model(lambda z: chart.slopes(z)[1], dimension, chart)


@dataclass(frozen=True, eq=False)
class _Moved:
    """The score of the coordinates of a distribution, s(x) dx/dz + d log|dx/dz| / dz."""

    score: Callable[..., Any]
    chart: Chart

    def __call__(self, z: Array) -> Array:
        slope, turn = self.chart.slopes(z)
        return self.score(self.chart.points(z)) * slope + turn


def _unknown(x: Array) -> Array:
    raise ValueError("the scores of the model belong to observations, and these are not known here")


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
