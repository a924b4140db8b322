"""Does any member of a family of models fit? A parametric bootstrap that fits anew each time."""

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
from mercer.htest.goodness.fssd import FSSD
from mercer.htest.goodness.goodness_result import GoodnessResult
from mercer.htest.goodness.ksd import KSD
from mercer.htest.goodness.ksdagg import KSDAgg
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_sample import Sample
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import share
from mercer.htest.result import Result
from mercer.kernels.stein import Stein
from mercer.rkhs.sample_rows import one_sample

_SEED = 0  # of what is random in a statistic, which has no rng
_TIE = 100 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class CompositeResult(GoodnessResult):
    """The result of `Composite`: that of the test of the fitted model, with a null that was refitted.

    Attributes
    ----------
    fitted : model
        What `fit` made of the observations.
    """

    fitted: Any = field(repr=False, compare=False, kw_only=True)

    @property
    def measured(self) -> Sample:
        """One half of the observations, with the model that is fitted to the other half.

        A model fits what it was fitted to better than it should: the size of the misfit is
        measured on others, the error of the fit included. All of them where a half is too few.
        """
        return self._held_out or self.sample

    @property
    def independent(self) -> bool:
        """Whether the size of the misfit is that of observations that the model did not see."""
        return self._held_out is not None

    @property
    def tested(self) -> HypothesisTest:
        """The test of the fitted model."""
        return cast(Composite, self.test).by(self.fitted)

    @cached_property
    def _held_out(self) -> Sample | None:
        rng = np.random.default_rng(_SEED)
        order, half = rng.permutation(self.size), self.size // 2
        seen, rest = (self.sample.some(np.sort(rows)) for rows in (order[:half], order[half:]))
        try:
            model = _fitted(cast(Composite, self.test).fit, to_numpy(seen.placed), rng)
            found = model_of(model).at(rest.placed)
            points = found.coordinates(rest.placed)
        except ValueError:  # too few for this model, or some where it has no density
            return None
        kernel = Stein(self.sample.kernel.kernel, found.score)
        return replace(rest, kernel=kernel, points=points, chart=found.chart)


@dataclass(frozen=True)
class Composite(HypothesisTest):
    """Do observations come from a model of a family, whatever its parameters?

    A model fitted to the observations fits them better than the true one does, and the test of a
    given model then rejects too rarely: of Gaussians with a fitted covariance almost never. Here the
    null distribution is that of fitted models: samples are drawn from the fitted model, a model
    is fitted to each of them, and the statistic compares the two (parametric bootstrap; Stute,
    Gonzalez Manteiga & Presedo Quindimil 1993; Key, Gretton, Briol & Fernandez 2025 for the kernel
    Stein discrepancy). p = (1 + #{bootstrapped >= observed}) / (1 + resamples), valid where the estimate of
    the parameters settles as observations grow in number.

    Parameters
    ----------
    fit : function, estimator or distribution
        x (n, d) -> a model that has a score, where `by` needs one, and can be drawn from, as in
        `AgainstDraws`: `Gaussian.fit`, or a function of your own. Or an estimator of scikit-learn,
        `GaussianMixture(3)` or `KernelDensity()`, a copy of which is fitted. Or a family of SciPy,
        such as `scipy.stats.norm`.
    by : function
        model -> goodness-of-fit test: `KSDAgg`, `KSD`, `FSSD`, or one with more to say, such as
        ``lambda model: AgainstDraws(model, MMD())``. Its own null is not used.
    resamples : int
        Samples that are drawn, and models that are fitted.

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
        """The statistic of the test of the fitted model; what is random in it has a fixed seed."""
        points = _numbers(one_sample(x, "x"))
        test = self._test(_fitted(self.fit, points, validate.generator(_SEED)))
        if isinstance(test, KSDAgg):  # whose statistic is made of ranks among the resamples
            return self.test(x, rng=_SEED).statistic
        return test.statistic(x)

    def test(self, x: Any, *, rng: Any = None) -> Result:
        """The statistic and its p-value, with a model that is fitted to x and to every resample."""
        rng, sample = validate.generator(rng), one_sample(x, "x")
        points = _numbers(sample)
        model = _fitted(self.fit, points, rng)
        test = self._test(model)
        first, *seeds = (int(s) for s in rng.integers(2**63, size=1 + self.resamples))
        plain = test.test(sample, rng=first)
        own = _statistics(test, points, validate.generator(first))  # as in `plain`
        work = _Refitted(self, model, len(points))
        values = np.stack([own, *in_order(work, seeds, parallel=False)], axis=1)  # (k, 1 + B)
        scores = _scores(test, values)
        observed = float(scores[0]) if len(values) > 1 else plain.statistic
        note = f"The model was fitted to each of {self.resamples:,} samples drawn from it."
        return self._told(plain, model, observed, scores, note)

    def _test(self, model: Any) -> HypothesisTest:
        test = self.by(model)
        validate.instance("by(model)", test, HypothesisTest, "a goodness-of-fit test")
        return test

    def _told(
        self, plain: Result, model: Any, statistic: float, scores: np.ndarray, note: str
    ) -> Result:
        """The result of the test with another null."""
        held = {
            "statistic": statistic,
            "pvalue": share(scores[1:], float(scores[0])),
            "null": scores[1:],
            "notes": (note,),
            "observed": float(scores[0]),
            "law": None,
        }
        if not isinstance(plain, GoodnessResult):
            return replace(plain, **held | {"notes": (note, *plain.notes)})
        kept = {f.name: getattr(plain, f.name) for f in fields(GoodnessResult)}
        return CompositeResult(**kept | held | {"test": self, "fitted": model})


@dataclass(frozen=True)
class _Refitted:
    """A seed -> the statistics of a sample drawn from the model, and of the model fitted to that."""

    composite: Composite
    model: Any
    n: int

    def __call__(self, seed: int) -> np.ndarray:
        rng = np.random.default_rng(seed)
        sample = drawn(self.model, self.n, rng)
        again = _fitted(self.composite.fit, sample, rng)
        return _statistics(self.composite._test(again), sample, rng)


def _statistics(test: HypothesisTest, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The statistic without its unit where the test knows it, of all kernels of an aggregated test: (k,)."""
    if isinstance(test, KSD | KSDAgg | FSSD):
        return test.unitless(x)
    if isinstance(test, DrawsTest):  # whose draws vary as much as the observations do
        return np.array([test.redrawn(x, rng)], dtype=np.float64)
    return np.array([test.statistic(x)], dtype=np.float64)


def _scores(test: HypothesisTest, values: np.ndarray) -> np.ndarray:
    """One number for each sample, the observed one first: (1 + B,)."""
    if len(values) == 1:
        return values[0]
    weights = shares(getattr(test, "weights", None), len(values))
    return aggregated(values, _TIE * np.max(np.abs(values), axis=1), weights).scores


def _numbers(sample: Any) -> np.ndarray:
    """Observations as an array (n, d)."""
    if isinstance(sample, Table):
        if any(sample.columns.categorical):
            raise TypeError("x must have numbers only, and it has columns of categories")
        sample = sample.values
    return to_numpy(validate.points(sample, "x")).astype(np.float64)


# ---- what fits ------------------------------------------------------------------------------


def _fitted(fit: Any, x: np.ndarray, rng: np.random.Generator) -> Any:
    """A model fitted to x; estimators that draw do so by `rng`."""
    return _fitter(fit)(x, rng)


def _fitter(fit: Any) -> Callable[[np.ndarray, np.random.Generator], Any]:
    needed = "a function x -> model, an estimator of scikit-learn, or a family of SciPy"
    if isinstance(fit, type):
        raise TypeError(f"fit must be {needed}; got the class {fit.__name__}: make one of it")
    if hasattr(fit, "get_params") and callable(getattr(fit, "fit", None)):
        return lambda x, rng: _copied(fit, rng).fit(x)
    if type(fit).__module__.startswith("scipy.stats") and callable(getattr(fit, "fit", None)):
        return lambda x, rng: fit(*fit.fit(x))
    if callable(fit):
        return lambda x, rng: fit(x)
    raise TypeError(f"fit must be {needed}; got {validate.shown(fit)}")


def _copied(estimator: Any, rng: np.random.Generator) -> Any:
    """An estimator with the same parameters, not fitted; without a random state that of `rng`."""
    parameters = {k: deepcopy(v) for k, v in estimator.get_params(deep=False).items()}
    if "random_state" in parameters and parameters["random_state"] is None:
        parameters["random_state"] = int(rng.integers(2**32))
    return type(estimator)(**parameters)
