"""Goodness of fit with an automatically chosen test, of a given model or of a fitted family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.frames import Table
from mercer.htest.asked_test import at_level, check_kernel, with_resamples
from mercer.htest.foreign_keywords import in_our_words
from mercer.htest.goodness.composite import Composite
from mercer.htest.goodness.fssd import FSSD
from mercer.htest.goodness.goodness_result import GoodnessResult
from mercer.htest.goodness.ksd import KSD
from mercer.htest.goodness.ksdagg import KSDAgg
from mercer.htest.goodness.linear_ksd import LinearKSD
from mercer.htest.goodness.score_models import (
    StandardizedFit,
    StandardizedModel,
    divided,
    model_of,
    units_of,
)
from mercer.htest.goodness.unknown_parameters import fit_note
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import WildBootstrap
from mercer.kernels.base import Kernel
from mercer.rkhs.sample_rows import one_sample, taken

# Limits of sample sizes: the time of KSDAgg and KSD is quadratic in them, that of FSSD linear.
_MAX_FOR_KSDAGG = 5000  # all pairs, several kernels
_MAX_FOR_KSD = 20_000  # all pairs, one kernel
_MAX_FOR_REFITTED_KSDAGG = 1500  # as above, for every resample of a parametric bootstrap
_MAX_FOR_REFITTED_KSD = 5000
_MAX_REFITTED = 20_000  # observations that models are refitted to
_OBSERVATIONS_FOR_LEARNING = 2000  # used to learn locations; the others are tested


@in_our_words
def goodness_of_fit(
    model: Any,
    x: Any,
    *,
    test: Callable[[Any], HypothesisTest] | None = None,
    kernel: Kernel | None = None,
    resamples: int | None = None,
    level: float = 0.05,
    chain: bool = False,
    rng: Any = None,
) -> GoodnessResult:
    """Goodness-of-fit test of a model; the test is chosen automatically.

    * Up to 5,000 observations: `KSDAgg`, on all pairs of observations with ten kernels, so that the
      scale on which the model fails need not be known.
    * Up to 20,000: `KSD`, on all pairs with one kernel.
    * Beyond: `FSSD` with locations learnt from 2,000 of the observations and tested on the others, in
      linear time and memory.
    * Markov chains and other time series (`chain=True`): `KSD` with random signs of blocks, whose
      length is chosen by autocorrelations. Chains longer than 20,000 draws are thinned.

    Columns of data frames are standardized. `result.notes` say which test was chosen and why. The model
    must not have been fitted to these observations: hold out some of them, or test its family with
    `Composite`.

    Parameters
    ----------
    model : distribution or function
        Anything that has a score: see `KSD`.
    x : array, tensor or data frame
        Numeric observations, one per row.
    test : function model -> test, optional
        Such as `KSD`, `KSDAgg`, or `lambda model: FSSD(model, locations=3)`. None: chosen as above.
    kernel : Kernel, optional
        The test is then `KSD(model, kernel)`; the kernel must be smooth, such as `RBF(1.0)`.
    resamples : int, optional
        Number of resamples of the null distribution; None: as many as the test chooses.
    level : float
        Significance level of `result.rejects()` and `result.summary()`.
    chain : bool
        Whether the observations are autocorrelated, as draws of a Markov chain are.
    rng : int, Generator or None

    Returns
    -------
    GoodnessResult

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> from scipy.stats import norm, t
    >>> x = np.random.default_rng(0).standard_t(4, size=500)
    >>> mercer.goodness_of_fit(t(4), x, rng=0).rejects()
    False
    >>> mercer.goodness_of_fit(norm(0, 2**0.5), x, rng=0).rejects()  # of the same variance
    True
    """
    validate.truth("chain", chain)
    model_of(model)  # raises for the original model if it has no score
    make = _asked(test, kernel, chain)
    run = partial(_tested, chain=chain, make=make, resamples=resamples, rng=validate.generator(rng))
    result = in_units(one_sample(x, "x"), lambda z, units: run(_divided(model, units), z))
    note = fit_note(model)
    if note is not None:
        result = replace(result, notes=(*result.notes, note))
    return at_level(result, level)


def _asked(test: Any, kernel: Any, chain: bool) -> Callable[[Any], HypothesisTest] | None:
    """The function model -> test that was asked for; None: the test is chosen."""
    if test is None and kernel is None:
        return None
    if test is None:
        check_kernel(kernel)
        if chain:
            return lambda model: KSD(model, kernel, null=WildBootstrap(999, block=None))
        return lambda model: KSD(model, kernel)
    if isinstance(test, HypothesisTest) or not callable(test):
        raise TypeError(
            "test must be a class such as KSD, or a function model -> test such as lambda m: KSD(m), "
            f"because it needs the model; got {test!r}"
        )
    if kernel is not None or chain:
        raise ValueError(
            "test cannot be used together with kernel or chain: make the test with them, as in "
            "lambda model: KSD(model, kernel, null=WildBootstrap(block=None))"
        )
    make: Any = test
    return make


def family_fit(
    fit: Callable[[np.ndarray], Any], x: Any, *, resamples: int = 199, rng: Any = None
) -> GoodnessResult:
    """Goodness-of-fit test of the family of models that `fit` returns, by `Composite`.

    The test is `KSDAgg` up to 1,500 observations, `KSD` up to 5,000, and beyond `FSSD` with locations
    learnt from 2,000 of them. At most 20,000 observations are used, drawn at random, because a model is
    fitted to every resample.
    """
    run = partial(_family_tested, resamples=resamples, rng=validate.generator(rng))
    return in_units(
        one_sample(x, "x"), lambda z, units: run(StandardizedFit(fit, units) if units else fit, z)
    )


def in_units(
    sample: Any, run: Callable[[Any, tuple[float, ...] | None], GoodnessResult]
) -> GoodnessResult:
    """The result of `run` for a sample; columns of tables are divided by their standard deviations."""
    if not isinstance(sample, Table):
        return run(sample, None)
    if any(sample.columns.categorical):
        label = sample.columns.names[sample.columns.categorical.index(True)]
        raise TypeError(
            f"column {label!r} of x is categorical, but models need numeric columns: drop it"
        )
    units = units_of(sample)
    result = run(divided(sample, units), units)
    return replace(result, sample=replace(result.sample, units=units))


def chosen(model: Any, n: int, chain: bool = False) -> tuple[HypothesisTest, str]:
    """The test on all pairs for n observations, and the reason for the choice."""
    if chain:
        why = "KSD with WildBootstrap(block=None) was chosen: its p-value allows for autocorrelated observations."
        if n > _MAX_FOR_KSD and model_of(model).binding is None:
            why += f" The chain was thinned: one in {_thinning(n)} of {n:,} draws was used."
        return KSD(model, null=WildBootstrap(999, block=None)), why
    if n <= _MAX_FOR_KSDAGG:
        return KSDAgg(model), (
            f"KSDAgg was chosen because {n:,} observations are few enough to use all pairs with "
            "kernels of several bandwidths."
        )
    return KSD(model), (
        f"KSD was chosen because {n:,} observations are few enough to use all pairs, but too many to "
        "do so with several bandwidths."
    )


def _divided(model: Any, units: tuple[float, ...] | None) -> Any:
    return model if units is None else StandardizedModel(model, units)


def _tested(
    model: Any,
    x: Any,
    *,
    chain: bool,
    make: Callable[[Any], HypothesisTest] | None,
    resamples: int | None,
    rng: np.random.Generator,
) -> GoodnessResult:
    if make is not None:
        return with_resamples(make(model), resamples).test(x, rng=rng)
    n = _size(x)
    bound = model_of(model).binding is not None  # the score is known at all observations together
    if n > _MAX_FOR_KSD and not chain and not bound:
        return _at_learnt(
            lambda _: model, partial(with_resamples, resamples=resamples), x, np.arange(n), rng
        )
    test, why = chosen(model, n, chain)
    if n > _MAX_FOR_KSD and not chain:
        test = LinearKSD(model)
        why = (
            f"LinearKSD was chosen because {n:,} observations are too many to use all pairs, and the "
            "scores are known at the observations only."
        )
    rows = None if n <= _MAX_FOR_KSD or bound else np.arange(0, n, _thinning(n))
    return _on(with_resamples(test, resamples), x, rows, why, rng)


def _family_tested(fit: Any, x: Any, *, resamples: int, rng: np.random.Generator) -> GoodnessResult:
    n, note = _size(x), ""
    rows = np.arange(n)
    if n > _MAX_REFITTED:
        rows = np.sort(rng.choice(n, _MAX_REFITTED, replace=False))
        note = (
            f" A random subsample of {_MAX_REFITTED:,} of {n:,} observations was used, because a model "
            "is fitted to every resample."
        )
    if len(rows) > _MAX_FOR_REFITTED_KSD:

        def composite(test: FSSD) -> Composite:
            return Composite(fit, lambda model: replace(test, model=model), resamples=resamples)

        return _at_learnt(lambda z: fit(_values(z)), composite, x, rows, rng, note)
    by: Any = KSDAgg if len(rows) <= _MAX_FOR_REFITTED_KSDAGG else KSD
    test = Composite(fit, by, resamples=resamples)
    why = (
        f"{by.__name__} with a parametric bootstrap was chosen because the model was fitted to these "
        "observations."
    )
    return _on(test, x, None, why, rng)


def _at_learnt(
    model: Callable[[Any], Any],
    wrap: Callable[[FSSD], HypothesisTest],
    x: Any,
    rows: np.ndarray,
    rng: np.random.Generator,
    note: str = "",
) -> GoodnessResult:
    """The result of `FSSD` with locations learnt from some rows and tested on the others."""
    order, number = rng.permutation(rows), _OBSERVATIONS_FOR_LEARNING
    training, tested = taken(x, np.sort(order[:number])), np.sort(order[number:])
    test = wrap(FSSD.optimized(model(training), training, rng=rng))
    why = (
        f"FSSD was chosen because {len(rows):,} observations are too many to use all pairs; its "
        f"locations were learnt from {number:,} of them, and the others were tested.{note}"
    )
    return _on(test, x, tested, why, rng)


def _on(
    test: Any, x: Any, rows: np.ndarray | None, why: str, rng: np.random.Generator
) -> GoodnessResult:
    """The result of a test on a subset of the rows, or on all of them."""
    result = test.test(x if rows is None else taken(x, rows), rng=rng)
    sample = result.sample if rows is None else replace(result.sample, places=rows)
    return replace(result, notes=(why, *result.notes), sample=sample)


def _thinning(n: int) -> int:
    """Distance between the draws of a thinned chain."""
    return -(-n // _MAX_FOR_KSD)


def _size(x: Any) -> int:
    return len(x) if isinstance(x, Table) else count(x)


def _values(x: Any) -> np.ndarray:
    return np.asarray(x.values) if isinstance(x, Table) else to_numpy(x)
