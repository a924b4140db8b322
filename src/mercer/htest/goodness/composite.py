"""Goodness-of-fit test of a parametric family by a parametric bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.frames import Table
from mercer.gram.threads import in_order
from mercer.htest.aggregation import aggregated, shares
from mercer.htest.goodness.against_draws import DrawsTest, drawn
from mercer.htest.goodness.fitted_support import interior, strictly_inside
from mercer.htest.goodness.fssd import FSSD
from mercer.htest.goodness.goodness_result import GoodnessResult
from mercer.htest.goodness.ksd import KSD
from mercer.htest.goodness.ksdagg import KSDAgg
from mercer.htest.goodness.score_models import model_of, refitted
from mercer.htest.goodness.stein_sample import SteinSample
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import share
from mercer.htest.result import Result
from mercer.kernels.stein import Stein
from mercer.rkhs.sample_rows import one_sample, taken

_SEED = 0  # makes `statistic`, which has no rng, deterministic
_RELATIVE_TOLERANCE = 100 * float(np.finfo(np.float64).eps)  # of sums in different orders


@dataclass(frozen=True)
class CompositeResult(GoodnessResult):
    """Result of `Composite`: that of the fitted model, with the null distribution of refitted models.

    Attributes
    ----------
    fitted : model
        The model fitted to the observations.
    """

    fitted: Any = field(repr=False, compare=False, kw_only=True)

    @property
    def measured(self) -> SteinSample:
        """One half of the observations, with the model fitted to the other half.

        On the observations it was fitted to, a model fits too well. So the size of the misfit, which
        includes the error of the fit, is estimated on other observations. All observations are used
        if half of them are too few.
        """
        return self._held_out or self.sample

    @property
    def independent(self) -> bool:
        """Whether the size of the misfit is estimated on observations that the model was not fitted to."""
        return self._held_out is not None

    @property
    def tested(self) -> HypothesisTest:
        """The test of the fitted model."""
        return cast(Composite, self.test).by(self.fitted)

    @cached_property
    def _held_out(self) -> SteinSample | None:
        rng = np.random.default_rng(_SEED)
        order, half = rng.permutation(self.size), self.size // 2
        training, held_out = (
            self.sample.subset(np.sort(rows)) for rows in (order[:half], order[half:])
        )
        try:
            fitted = _fitted(cast(Composite, self.test).fit, to_numpy(training.uncharted), rng)
            model = model_of(fitted).at(held_out.uncharted)
            points = model.coordinates(held_out.uncharted)
        except ValueError:  # too few for this model, or some outside its support
            return None
        kernel = Stein(self.sample.kernel.kernel, model.score)
        return replace(held_out, kernel=kernel, points=points, chart=model.chart)


@dataclass(frozen=True)
class Composite(HypothesisTest):
    """Goodness-of-fit test of a family of models with unknown parameters.

    A fitted model fits the observations better than the true one does, so a test of the fitted model
    that ignores the fit rejects too rarely: for Gaussians with a fitted covariance almost never. Here
    the null distribution accounts for the fit: samples are drawn from the fitted model, a model is
    fitted to each of them, and the statistic compares the two (parametric bootstrap; Stute, Gonzalez
    Manteiga & Presedo Quindimil 1993; Key, Gretton, Briol & Fernandez 2025 for the kernel Stein
    discrepancy). p = (1 + #{bootstrapped >= observed}) / (1 + resamples), which is valid if the
    estimate of the parameters is consistent.

    Where a bound of the support is fitted (the location of an exponential distribution, the ends of a
    uniform one, the scale of a Pareto), the observations that determine it lie on it. A test with a
    score leaves them out, in every sample: given them, the others are draws from the model between the
    bounds.

    Parameters
    ----------
    fit : function, estimator or distribution
        A function x (n, d) -> model, such as `Gaussian.fit`; an estimator of scikit-learn, such as
        `GaussianMixture(3)` or `KernelDensity()`, a copy of which is fitted; or a family of SciPy, such
        as `scipy.stats.norm`, all parameters of which are fitted; to hold some, use a function such as
        ``lambda x: beta(*beta.fit(x, floc=0, fscale=1))``. A function with a method refit(x, model) is asked for fits to resamples
        that start from the model they were drawn from. The model must be one that can be sampled, as in `AgainstDraws`, and
        have a score if `by` needs one.
    by : function
        A function model -> goodness-of-fit test: `KSDAgg`, `KSD`, `FSSD`, or for example
        ``lambda model: AgainstDraws(model, MMD())``. The null of this test is not used.
    resamples : int
        Number of samples drawn and models fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import KSD
    >>> from mercer.rkhs import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> Composite(Gaussian.fit, KSD).test(rng.normal(3.0, 2.0, size=200), rng=0).rejects()
    False
    >>> Composite(Gaussian.fit, KSD).test(rng.exponential(size=200), rng=0).rejects()
    True
    """

    fit: Any
    by: Callable[[Any], HypothesisTest] = KSDAgg
    resamples: int = field(default=199, kw_only=True)

    def __post_init__(self) -> None:
        _fitter(self.fit)
        if isinstance(self.by, HypothesisTest) or not callable(self.by):
            raise TypeError(
                "by must be a function model -> test, such as KSD or lambda m: KSD(m, RBF(1.0)); "
                f"got {self.by!r}"
            )
        validate.whole("resamples", self.resamples)

    def statistic(self, x: Any) -> float:
        """The statistic of the test of the fitted model, with a fixed seed."""
        sample = one_sample(x, "x")
        points = _numbers(sample)
        test = self._test(_fitted(self.fit, points, validate.generator(_SEED)))
        if isinstance(test, KSDAgg):  # its statistic depends on ranks among the resamples
            return self.test(x, rng=_SEED).statistic
        rows = self._interior(test, points)
        return test.statistic(x if len(rows) == len(points) else taken(sample, rows))

    def test(self, x: Any, *, rng: Any = None) -> Result:
        """The statistic and its p-value, with models fitted to x and to every resample."""
        rng, sample = validate.generator(rng), one_sample(x, "x")
        points = _numbers(sample)
        model = _fitted(self.fit, points, rng)
        test = self._test(model)
        first, *seeds = (int(s) for s in rng.integers(2**63, size=1 + self.resamples))
        refit = _Refit(self, test, model, len(points))
        rows = self._interior(test, points)
        sample = sample if len(rows) == len(points) else taken(sample, rows)
        plain = _at_rows(test.test(sample, rng=first), rows, len(points))
        statistics = _statistics(test, points[rows], validate.generator(first))  # as in `plain`
        values = np.stack(
            [statistics, *in_order(refit, seeds, parallel=False, what="refitting the model")],
            axis=1,
        )  # (k, 1 + B)
        scores = _scores(test, values)
        observed = float(scores[0]) if len(values) > 1 else plain.statistic
        notes = _notes(self.resamples, len(points) - len(rows))
        return self._with_null(plain, model, observed, scores, notes)

    def _test(self, model: Any) -> HypothesisTest:
        test = self.by(model)
        validate.instance("by(model)", test, HypothesisTest, "a goodness-of-fit test")
        return test

    def _interior(self, test: HypothesisTest, points: np.ndarray) -> np.ndarray:
        """Positions of the observations that are not on bounds of the support that were fitted to them."""
        everything = np.arange(len(points))
        if not _needs_interior(test, points):
            return everything
        rng = np.random.default_rng(_SEED)
        model = cast(Any, test).model
        other = self._test(_fitted(self.fit, drawn(model, len(points), rng), rng))
        return interior(model, cast(Any, other).model, points)

    def _with_null(
        self,
        plain: Result,
        model: Any,
        statistic: float,
        scores: np.ndarray,
        notes: tuple[str, ...],
    ) -> Result:
        """The result of the test of the fitted model with the bootstrapped null distribution."""
        changes = {
            "statistic": statistic,
            "pvalue": share(scores[1:], float(scores[0])),
            "null": scores[1:],
            "notes": notes,
            "observed": float(scores[0]),
            "law": None,
        }
        if not isinstance(plain, GoodnessResult):
            return replace(plain, **changes | {"notes": (*notes, *plain.notes)})
        unchanged = {f.name: getattr(plain, f.name) for f in fields(GoodnessResult)}
        return CompositeResult(**unchanged | changes | {"test": self, "fitted": model})


@dataclass(frozen=True)
class _Refit:
    """Statistics of a sample drawn from the model with a seed, and of the model fitted to that sample."""

    composite: Composite
    test: HypothesisTest  # of the model
    model: Any
    n: int

    def __call__(self, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        sample = drawn(self.model, self.n, rng)
        test = self.composite._test(self._fitted(sample, rng))
        if _needs_interior(test, sample):
            sample = sample[interior(cast(Any, test).model, cast(Any, self.test).model, sample)]
        return _statistics(test, sample, rng)

    def _fitted(self, sample: np.ndarray, rng: np.random.Generator) -> Any:
        """The model fitted to the sample, from the one it was drawn from if the fit can start there."""
        fit = self.composite.fit
        if callable(getattr(fit, "refit", None)):
            return refitted(fit, sample, self.model)
        return _fitted(fit, sample, rng)


def _needs_interior(test: HypothesisTest, points: np.ndarray) -> bool:
    """Whether the test has a score on a bounded support, and observations on its bounds or beyond."""
    if isinstance(test, DrawsTest) or not hasattr(test, "model"):
        return False
    return not strictly_inside(cast(Any, test).model, points)


def _at_rows(result: Result, rows: np.ndarray, n: int) -> Result:
    """The result of the observations in `rows`, which remembers their positions among n."""
    if len(rows) == n or not isinstance(result, GoodnessResult):
        return result
    return replace(result, sample=replace(result.sample, places=rows))


def _notes(resamples: int, on_bounds: int) -> tuple[str, ...]:
    """What was refitted, and how many observations were left out."""
    note = f"Parametric bootstrap: the model was refitted to {resamples:,} samples drawn from it."
    if on_bounds == 0:
        return (note,)
    observations = "observation lies" if on_bounds == 1 else "observations lie"
    return (
        note,
        f"{on_bounds:,} {observations} on the bounds of the support that were fitted to the sample; "
        "the statistic is that of the others, here and in the refitted samples.",
    )


def _statistics(test: HypothesisTest, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The statistics of all kernels of a test, without units if possible: (k,)."""
    if isinstance(test, KSD | KSDAgg | FSSD):
        return test.unitless(x)
    if isinstance(test, DrawsTest):  # new draws, which vary as much as the observations do
        return np.array([test.redrawn(x, rng)], dtype=np.float64)
    return np.array([test.statistic(x)], dtype=np.float64)


def _scores(test: HypothesisTest, values: np.ndarray) -> np.ndarray:
    """One statistic of each sample, the observed one first: (1 + B,)."""
    if len(values) == 1:
        return values[0]
    weights = shares(getattr(test, "weights", None), len(values))
    return aggregated(values, _RELATIVE_TOLERANCE * np.max(np.abs(values), axis=1), weights).scores


def _numbers(sample: Any) -> np.ndarray:
    """Observations as an array (n, d)."""
    if isinstance(sample, Table):
        if any(sample.columns.categorical):
            raise TypeError("x must have numeric columns only, but some are categorical: drop them")
        sample = sample.values
    return to_numpy(validate.points(sample, "x")).astype(np.float64)


# ---- fitting --------------------------------------------------------------------------------


def _fitted(fit: Any, x: np.ndarray, rng: np.random.Generator) -> Any:
    """The model fitted to x; random estimators use `rng`."""
    return _fitter(fit)(x, rng)


def _fitter(fit: Any) -> Callable[[np.ndarray, np.random.Generator], Any]:
    """`fit` as a function of the observations and a generator; raises if it cannot fit."""
    needed = "a function x -> model, an estimator of scikit-learn, or a family of SciPy"
    if isinstance(fit, type):
        raise TypeError(
            f"fit must be {needed}; got the class {fit.__name__}; pass an instance, for example "
            f"{fit.__name__}()"
        )
    if hasattr(fit, "get_params") and callable(getattr(fit, "fit", None)):
        return lambda x, rng: _copied(fit, rng).fit(x)
    if type(fit).__module__.startswith("scipy.stats") and callable(getattr(fit, "fit", None)):
        return lambda x, rng: fit(*fit.fit(x))
    if callable(fit):
        return lambda x, rng: fit(x)
    raise TypeError(f"fit must be {needed}; got {validate.shown(fit)}")


def _copied(estimator: Any, rng: np.random.Generator) -> Any:
    """An unfitted copy of an estimator; if it has no random state, it gets one from `rng`."""
    parameters = {k: deepcopy(v) for k, v in estimator.get_params(deep=False).items()}
    if "random_state" in parameters and parameters["random_state"] is None:
        parameters["random_state"] = int(rng.integers(2**32))
    return type(estimator)(**parameters)
