"""Does a model fit? A test chosen by how many observations there are and whether they depend on each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.frames import Table
from mercer.htest.goodness.composite import Composite
from mercer.htest.goodness.fssd import FSSD
from mercer.htest.goodness.goodness_result import GoodnessResult
from mercer.htest.goodness.ksd import KSD
from mercer.htest.goodness.ksdagg import KSDAgg
from mercer.htest.goodness.linear_ksd import LinearKSD
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.standardized_model import FitInUnits, InUnits, divided, units_of
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import WildBootstrap
from mercer.rkhs.sample_rows import one_sample, taken

_FEW = 5000  # observations up to which all pairs are looked at by several kernels
_ALL_PAIRS = 20_000  # observations up to which all pairs are looked at
_LEARN = 2000  # observations that locations are learnt from, at most
_REFITTED = 1500, 5000  # the first two for models that are fitted again and again
_MOST_REFITTED = 20_000  # observations that such models are fitted to, at most


def goodness_of_fit(model: Any, x: Any, *, chain: bool = False, rng: Any = None) -> GoodnessResult:
    """Do observations come from a model? Chooses the test by itself.

    * Up to 5,000 observations: `KSDAgg`, on all pairs of observations and by ten kernels, so that
      nothing has to be known about the scale on which the model fails.
    * Up to 20,000: `KSD`, on all pairs, by one kernel.
    * Beyond: `FSSD` with locations that are learnt from 2,000 of the observations and tested
      on the others, in time and memory linear in their number.
    * Draws of a Markov chain, or another series (`chain=True`): `KSD` with signs of blocks as
      long as the series remembers; of more than 20,000 every so many-th draw is taken.

    Columns of data frames are divided by their standard deviations. `result.notes` say what was
    chosen and why. The model must not come from these observations: of a fitted one hold out some
    of them, or ask whether any member of its family fits (`Composite`).

    Parameters
    ----------
    model : distribution or function
        Whatever has a score: see `KSD`.
    x : array, tensor or data frame
        The observations, numbers only; row i is one observation.
    chain : bool
        Whether observations depend on those before them.
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
    model_of(model)  # refused as it was handed in
    run = partial(_tested, chain=chain, rng=validate.generator(rng))
    return in_units(one_sample(x, "x"), lambda z, units: run(_divided(model, units), z))


def family_fit(
    fit: Callable[[np.ndarray], Any], x: Any, *, resamples: int = 199, rng: Any = None
) -> GoodnessResult:
    """Do observations come from any model that `fit` could make? `Composite`, with a test chosen.

    By `KSDAgg` up to 1,500 observations, by `KSD` up to 5,000, beyond by `FSSD` with locations
    that are learnt from 2,000 of them; of more than 20,000 so many are drawn, since a model is
    fitted to every resample.
    """
    run = partial(_family_tested, resamples=resamples, rng=validate.generator(rng))
    return in_units(
        one_sample(x, "x"), lambda z, units: run(FitInUnits(fit, units) if units else fit, z)
    )


def in_units(
    sample: Any, run: Callable[[Any, tuple[float, ...] | None], GoodnessResult]
) -> GoodnessResult:
    """What `run` finds about the sample, columns of tables in their standard deviations."""
    if not isinstance(sample, Table):
        return run(sample, None)
    if any(sample.columns.categorical):
        label = sample.columns.names[sample.columns.categorical.index(True)]
        raise TypeError(
            f"column {label!r} of x holds categories, and models are of numbers: leave it out"
        )
    units = units_of(sample)
    result = run(divided(sample, units), units)
    return replace(result, sample=replace(result.sample, units=units))


def chosen(model: Any, n: int, chain: bool = False) -> tuple[HypothesisTest, str]:
    """The test for so many observations that are looked at in pairs, and why."""
    if chain:
        why = "KSD with signs of blocks was chosen: observations depend on those before them."
        if n > _ALL_PAIRS and model_of(model).binding is None:
            why += f" Of {n:,} one of every {_every(n)} was taken."
        return KSD(model, null=WildBootstrap(999, block=None)), why
    if n <= _FEW:
        return KSDAgg(model), (
            f"KSDAgg was chosen: it needs no choice of scale, and {n:,} observations are few "
            "enough to look at all pairs."
        )
    return KSD(model), (
        f"KSD was chosen: {n:,} observations are few enough to look at all pairs, and too many to "
        "do so at several scales."
    )


def _divided(model: Any, units: tuple[float, ...] | None) -> Any:
    return model if units is None else InUnits(model, units)


def _tested(model: Any, x: Any, *, chain: bool, rng: np.random.Generator) -> GoodnessResult:
    n, whole = _size(x), model_of(model).binding is not None  # known with all observations only
    if n > _ALL_PAIRS and not chain and not whole:
        return _at_learnt(lambda learn: model, lambda test: test, x, np.arange(n), rng)
    test, why = chosen(model, n, chain)
    if n > _ALL_PAIRS and not chain:
        test, why = (
            LinearKSD(model),
            (
                f"LinearKSD was chosen: {n:,} observations are too many to look at all pairs, and the "
                "scores are known at these alone."
            ),
        )
    rows = None if n <= _ALL_PAIRS or whole else np.arange(0, n, _every(n))
    return _on(test, x, rows, why, rng)


def _family_tested(fit: Any, x: Any, *, resamples: int, rng: np.random.Generator) -> GoodnessResult:
    n, note = _size(x), ""
    rows = np.arange(n)
    if n > _MOST_REFITTED:
        rows = np.sort(rng.choice(n, _MOST_REFITTED, replace=False))
        note = (
            f" Of {n:,} observations {_MOST_REFITTED:,} were drawn: a model is fitted to every "
            "resample."
        )
    few, many = _REFITTED
    if len(rows) > many:

        def composite(test: FSSD) -> Composite:
            return Composite(fit, lambda model: replace(test, model=model), resamples=resamples)

        return _at_learnt(lambda learn: fit(_values(learn)), composite, x, rows, rng, note)
    by: Any = KSDAgg if len(rows) <= few else KSD
    test = Composite(fit, by, resamples=resamples)
    why = f"Composite by {by.__name__} was chosen: the model was fitted to the same observations."
    return _on(test, x, None, why, rng)


def _at_learnt(
    model: Callable[[Any], Any],
    made: Callable[[FSSD], HypothesisTest],
    x: Any,
    rows: np.ndarray,
    rng: np.random.Generator,
    note: str = "",
) -> GoodnessResult:
    """A test at locations that are learnt on some rows, of the others."""
    order = rng.permutation(rows)
    learn, rest = taken(x, np.sort(order[:_LEARN])), np.sort(order[_LEARN:])
    test = made(FSSD.optimized(model(learn), learn, rng=rng))
    why = (
        f"FSSD was chosen: {len(rows):,} observations are too many to look at all pairs; its "
        f"locations were learnt from {_LEARN:,} of them, and the others were tested.{note}"
    )
    return _on(test, x, rest, why, rng)


def _on(
    test: Any, x: Any, rows: np.ndarray | None, why: str, rng: np.random.Generator
) -> GoodnessResult:
    """The result of a test on some rows, or all of them."""
    result = test.test(x if rows is None else taken(x, rows), rng=rng)
    sample = result.sample if rows is None else replace(result.sample, places=rows)
    return replace(result, notes=(why, *result.notes), sample=sample)


def _every(n: int) -> int:
    return -(-n // _ALL_PAIRS)


def _size(x: Any) -> int:
    return len(x) if isinstance(x, Table) else count(x)


def _values(x: Any) -> np.ndarray:
    return np.asarray(x.values) if isinstance(x, Table) else to_numpy(x)
