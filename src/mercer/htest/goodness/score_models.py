"""Scores of models: distributions of mercer and SciPy, estimators of scikit-learn, functions; standardization."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, is_numpy, to_numpy
from mercer.frames import Columns, Table
from mercer.htest.goodness.against_draws import check_fitted_columns, drawn, fitted_columns
from mercer.htest.goodness.kde_score import GaussianKDE
from mercer.htest.goodness.unknown_parameters import is_family, unfitted, without_parameters
from mercer.kernels.default import varying
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
_STEP = 1e-3  # of finite differences, in interquartile ranges: relative errors are about 1e-10


@dataclass(frozen=True, eq=False)
class Model:
    """A model as goodness-of-fit tests see it: the gradient of its log-density.

    If the support is bounded, `chart` transforms points to unbounded coordinates, and `score` is the
    score of the transformed distribution as a function of the coordinates. If the score depends on
    the observations, `binding` returns the model for them.
    """

    score: Callable[..., Any]
    dimension: int | None = None  # None if the model does not know it
    chart: Chart | None = None
    columns: tuple[str, ...] | None = None  # of the data frame that an estimator was fitted to
    binding: Callable[[Array], Model] | None = None

    def at(self, points: Array) -> Model:
        """The model for these observations."""
        self.check_width(int(points.shape[1]))
        return self if self.binding is None else self.binding(points)

    def coordinates(self, points: Array, name: str = "x", columns: Columns | None = None) -> Array:
        """The points in unbounded coordinates; raises for points outside the support."""
        if self.chart is None:
            return points
        return self.chart.coordinates(points, name, None if columns is None else columns.names)

    def divided(self, units: Sequence[float]) -> Model:
        """The distribution of X / u, whose score at z is u s(u z).

        Coordinates of columns with one bound are shifted by log u instead; those with two bounds
        do not change.
        """
        u = np.array(units, dtype=np.float64)
        binding = self.binding
        if binding is not None:

            def rescaled(points: Array) -> Model:
                return binding(points * array_like(u, points)).divided(units)

            return replace(self, binding=rescaled)
        factor, shift, chart = u, 0 * u, None
        if self.chart is not None:
            below, above = np.isfinite(self.chart.low), np.isfinite(self.chart.high)
            factor = np.where(below | above, 1.0, u)
            shift = np.log(u) * (below & ~above) - np.log(u) * (above & ~below)
            chart = Chart(self.chart.low / u, self.chart.high / u, u)

        def score(z: Array) -> Array:
            a, b = array_like(factor, z), array_like(shift, z)
            return a * self.score(a * z + b)

        return replace(self, score=score, chart=chart)

    def check_width(self, width: int, name: str = "x") -> None:
        """Raise if points have another dimension than the model."""
        if self.dimension is not None and self.dimension != width:
            raise ValueError(
                f"{name} must have {self.dimension} columns, the dimension of the model, got {width}"
            )

    def check_columns(self, columns: Columns | None, name: str = "x") -> None:
        """Raise if named columns are not those that the model was fitted to, in their order."""
        check_fitted_columns(self.columns, columns, name)


def model_of(model: Any) -> Model:
    """Anything that has a score as a `Model`; raises with the reason if it has none."""
    if callable(getattr(model, "as_model", None)) and not isinstance(model, type):
        return model.as_model()
    if isinstance(model, LogDensity):
        return _of_log_density(model)
    if isinstance(model, Scores):
        return Model(
            _unbound_score, model.dimension, binding=lambda points: Model(model.at(points))
        )
    if isinstance(model, Uniform):
        return _of_uniform(Chart(model.lower, model.upper), model.dimension)
    if isinstance(model, Density):
        return Model(model.score, model.dimension)
    if isinstance(model, type):
        raise TypeError(
            f"model must be {_NEEDED}; got the class "
            f"{model.__name__}; pass an instance, for example {model.__name__}()"
        )
    if type(model).__module__.startswith("scipy.stats"):
        return _of_scipy(model)
    if hasattr(model, "covariance_type"):
        return _of_mixture(model)
    if hasattr(model, "score_samples"):
        return _of_kernel_density(model)
    if callable(getattr(model, "fit", None)):
        raise TypeError(
            f"model must be {_NEEDED}; the method score of {type(model).__name__} returns a number, "
            "not the gradient of a log-density"
        )
    if callable(getattr(model, "score", None)):
        dimension = getattr(model, "dimension", None)
        return Model(model.score, dimension if isinstance(dimension, int) else None)
    if callable(model):
        return Model(model)
    raise TypeError(f"model must be {_NEEDED}; got {validate.shown(model)}")


# ---- standardized columns -----------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class StandardizedModel:
    """The distribution of Z = X / u for X from `original`; its score at z is u s(u z).

    Stein discrepancies depend on distances between observations. Columns in different units are
    therefore divided by their standard deviations u, and the model with them.
    """

    original: Any
    units: tuple[float, ...]

    def __repr__(self) -> str:
        return repr(self.original)

    @property
    def dimension(self) -> int | None:
        """Dimension of the model."""
        return self._model.dimension

    def score(self, z: Array) -> Array:
        """u s(u z_i): (n, d)."""
        u = array_like(np.array(self.units, dtype=np.float64), z)
        return u * self._model.score(z * u)

    def sample(self, n: int, *, rng: Any = None) -> np.ndarray:
        """Draw n points, if the model can be sampled: (n, d)."""
        return drawn(self.original, n, validate.generator(rng)) / np.array(self.units)

    def as_model(self) -> Model:
        """The score, and unbounded coordinates if the support is bounded."""
        return self._model.divided(self.units)

    @property
    def _model(self) -> Model:
        return model_of(self.original)


@dataclass(frozen=True, eq=False, repr=False)
class StandardizedFit:
    """A fit to standardized observations z = x / u: the `StandardizedModel` of fit(u z)."""

    fit: Callable[[np.ndarray], Any]
    units: tuple[float, ...]

    def __repr__(self) -> str:
        return repr(self.fit)

    def __call__(self, z: np.ndarray) -> StandardizedModel:
        """The fitted model in these units."""
        return StandardizedModel(self.fit(z * np.array(self.units)), self.units)

    def refit(self, z: np.ndarray, model: StandardizedModel) -> StandardizedModel:
        """The model fitted to other observations, starting from `model` where the fit can."""
        return StandardizedModel(
            refitted(self.fit, z * np.array(self.units), model.original), self.units
        )


def refitted(fit: Callable[[np.ndarray], Any], x: np.ndarray, model: Any) -> Any:
    """fit.refit(x, model) where the fit can start from a model, else fit(x)."""
    refit = getattr(fit, "refit", None)
    return fit(x) if refit is None else refit(x, model)


def original_model(model: Any) -> Any:
    """The model before standardization."""
    return model.original if isinstance(model, StandardizedModel) else model


def units_of(table: Table) -> tuple[float, ...]:
    """Standard deviations of the columns of a table; 1 for constant columns."""
    scaling = varying(table)
    factors = {} if scaling is None else dict(zip(scaling.names, scaling.factors, strict=True))
    return tuple(1 / factors.get(name, 1.0) for name in table.columns.names)


def divided(table: Table, units: tuple[float, ...]) -> Table:
    """The table with its columns divided by their units."""
    return replace(table, values=table.values / np.array(units, dtype=np.float64))


# ---- SciPy --------------------------------------------------------------------------------


def _of_scipy(model: Any) -> Model:
    """A frozen distribution or `gaussian_kde` of SciPy."""
    name = type(model).__name__
    if name == "multivariate_normal_frozen":
        return model_of(Gaussian(model.mean, np.asarray(model.cov_object.covariance)))
    if name == "multivariate_t_frozen":
        return _student(model)
    if name == "gaussian_kde":
        whitening = linalg.inv(linalg.cholesky(model.covariance))
        density = GaussianKDE(model.dataset.T, model.weights, whitening)
        return _on_host(density.score, model.d)
    if hasattr(model, "support") and hasattr(model, "logpdf") and not hasattr(model, "freeze"):
        return _of_continuous(model)
    if is_family(model):
        raise without_parameters(model)
    kind = getattr(getattr(model, "dist", None), "name", name)
    if hasattr(model, "pmf"):
        raise TypeError(
            f"model must have a score, but SciPy's {kind} is discrete and has no density; "
            "mercer.htest.AgainstDraws(model).test(x) compares the observations with draws from it"
        )
    raise TypeError(
        f"model must have a score, but SciPy's {kind} is not supported; pass a function x -> gradients of log p"
    )


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


def _of_continuous(model: Any) -> Model:
    """A univariate continuous distribution, or a product of such, by finite differences of its logpdf.

    With a bounded support the score is that of the unbounded coordinates z,
    d log p(x(z)) / dz + d log|dx/dz| / dz.
    """
    kind = getattr(getattr(model, "dist", None), "name", type(model).__name__)
    if kind == "vonmises":
        raise ValueError(
            "model must have a density on the real line, but SciPy's vonmises is on the circle: use "
            "vonmises_line for angles from -pi to pi, or AgainstDraws"
        )
    bounds = np.atleast_2d(np.asarray(model.support(), dtype=np.float64).T)  # (d, 2)
    chart = chart_of(bounds[:, 0], bounds[:, 1], len(bounds))
    quantile = model.ppf if hasattr(model, "ppf") else model.icdf
    quartiles = np.stack([np.broadcast_to(quantile(q), (len(bounds),)) for q in (0.25, 0.75)])
    quartiles = quartiles if chart is None else chart.coordinates(quartiles, "its quartiles")
    h = _STEP * (quartiles[1] - quartiles[0])

    def logpdf(z: np.ndarray) -> np.ndarray:
        return model.logpdf(z if chart is None else chart.points(z))

    def slope(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (logpdf(b) - logpdf(a)) / (b - a)  # the distance after rounding

    def score(z: np.ndarray) -> np.ndarray:
        gradient = (4 * slope(z - h, z + h) - slope(z - 2 * h, z + 2 * h)) / 3
        return gradient if chart is None else gradient + chart.slopes(z)[1]

    return replace(_on_host(score, len(bounds)), chart=chart)


# ---- log-densities and scores -----------------------------------------------------------------


def _of_log_density(model: LogDensity) -> Model:
    """A log-density; with bounds, the transformed one."""
    if model.borders is None:
        return Model(model.score)

    def binding(points: Array) -> Model:
        chart = model.chart(int(points.shape[1]))
        if chart is None:
            return Model(model.score)
        return Model(_TransformedScore(model.score, chart), chart=chart)

    return Model(model.score, model.dimension, binding=binding)


def _of_uniform(chart: Chart, dimension: int) -> Model:
    """A uniform distribution, which is logistic in unbounded coordinates."""
    return Model(lambda z: chart.slopes(z)[1], dimension, chart)


@dataclass(frozen=True, eq=False)
class _TransformedScore:
    """Score of a distribution in unbounded coordinates, s(x) dx/dz + d log|dx/dz| / dz."""

    score: Callable[..., Any]
    chart: Chart

    def __call__(self, z: Array) -> Array:
        slope, log_slope_gradient = self.chart.slopes(z)
        return self.score(self.chart.points(z)) * slope + log_slope_gradient


def _unbound_score(x: Array) -> Array:
    """Raise: `Scores` are known at the observations only."""
    raise ValueError(
        "the model is given by Scores at the observations; its score is not known elsewhere"
    )


# ---- scikit-learn -------------------------------------------------------------------------


def _of_mixture(model: Any) -> Model:
    """A fitted GaussianMixture: full, tied, diag or spherical covariances."""
    if not hasattr(model, "covariances_"):
        raise unfitted(model)
    means, weights = np.asarray(model.means_), np.asarray(model.weights_)
    covariances = np.asarray(model.covariances_)
    if model.covariance_type == "tied":
        covariances = np.broadcast_to(covariances, (len(means), *covariances.shape))
    if model.covariance_type == "spherical":
        covariances = covariances[:, None] * np.ones((1, means.shape[1]), dtype=np.float64)
    components = [Gaussian(mean, cov) for mean, cov in zip(means, covariances, strict=True)]
    mixture = model_of(Mixture(components, weights / weights.sum()))
    return replace(mixture, columns=fitted_columns(model))


def _of_kernel_density(model: Any) -> Model:
    """A fitted KernelDensity with Gaussian kernels."""
    name = type(model).__name__
    if not (hasattr(model, "bandwidth") and hasattr(model, "kernel")):
        raise TypeError(
            f"model must be {_NEEDED}; {name} is not supported, and its method score returns a "
            "number, not the gradient of a log-density"
        )
    if model.kernel != "gaussian" or model.metric != "euclidean":
        raise ValueError(
            "model must have a density that is smooth and positive everywhere, which "
            f"{name}(kernel={model.kernel!r}, metric={model.metric!r}) does not: use "
            "kernel='gaussian' and metric='euclidean'"
        )
    if not hasattr(model, "tree_"):
        raise unfitted(model)
    points = np.asarray(model.tree_.data, dtype=np.float64)
    weights = np.ones(len(points), np.float64)
    if model.tree_.sample_weight is not None:
        weights = np.asarray(model.tree_.sample_weight, np.float64)
    whitening = np.eye(points.shape[1], dtype=np.float64) / model.bandwidth_
    density = GaussianKDE(points, weights / weights.sum(), whitening)
    return replace(_on_host(density.score, points.shape[1]), columns=fitted_columns(model))


def _on_host(score: Callable[[np.ndarray], np.ndarray], dimension: int) -> Model:
    """Wrap a score for NumPy arrays to accept arrays of any library."""

    def any_array_score(x: Array) -> Array:
        gradients = score(to_numpy(x).astype(np.float64, copy=False))
        return gradients if is_numpy(x) else array_like(gradients, x)

    return Model(any_array_score, dimension)
