"""Estimates of information with standard errors, confidence intervals and what is known of their bias."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from html import escape
from math import log, sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count
from mercer.frames import Table, rows_frame
from mercer.info.association import association
from mercer.info.boundary import at_boundary, exceeds_permutations
from mercer.info.corrected_ksg import CorrectedKSG
from mercer.info.entropies import conditional_entropy, cross_entropy, divergence, entropy
from mercer.info.indicator_metrics import kolmogorov, total_variation
from mercer.info.information_measures import KL, Measure, Shannon
from mercer.info.mutual_information import (
    default_estimator,
    interaction_information,
    mutual_information,
    transfer_entropy,
    transfer_variables,
)
from mercer.info.neighbour_notes import NEIGHBOURS, neighbour_notes
from mercer.info.plug_in import PlugIn
from mercer.info.random_ties import RandomTies, columns_with_ties, ties_broken
from mercer.info.sample import fixed_generator, read_sample
from mercer.info.sliced_transport import sliced_wasserstein
from mercer.info.transport_metrics import dudley, kantorovich, wasserstein
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.kernel_information import kernel_generalized_variance, kernel_mutual_information
from mercer.rkhs.sample_rows import settled, taken

_BLOCKS = 10  # disjoint subsamples; more of them are smaller, and their bias varies more
_FEWEST = 15  # observations of a subsample
_SATURATED = 0.5  # share of log n from which KSG lacks neighbours
_WITH_KERNELS = (kernel_generalized_variance, kernel_mutual_information)
_PAIRED = (
    mutual_information,
    conditional_entropy,
    interaction_information,
    association,
    *_WITH_KERNELS,
)
_METRICS = (wasserstein, sliced_wasserstein, dudley, kantorovich, total_variation, kolmogorov)
_UNPAIRED = (entropy, divergence, cross_entropy, *_METRICS)
_DISTANCES = (
    "Distances of samples are biased upwards: those of two samples of one distribution are positive. The interval "
    "ignores it, and does not tell whether the distributions differ: use a test of mercer.htest."
)
_KERNEL_SUMS = (
    "The value depends on the kernels and on the number of observations; the interval ignores it."
)


@dataclass(frozen=True)
class InformationEstimate:
    """An estimate with its standard error, its interval and notes on its bias.

    Attributes
    ----------
    value : float
        In nats for information, in the units of the data for distances.
    standard_error : float
    interval : tuple (low, high)
        Confidence interval at the level `level`; it allows for chance, not for bias.
    level : float
    correction : float
        What `CorrectedKSG` added to the value of `KSG`; 0 for other estimators.
    saturated : bool
        Whether the value is so close to log n that the information may be larger.
    notes : tuple of str
        What is known of the bias.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    level: float
    correction: float
    saturated: bool
    notes: tuple[str, ...]

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        lines = "<br>".join(escape(line) for line in self.summary().split("\n"))
        return f"<p>{lines}</p>"

    def summary(self) -> str:
        """The value with its interval, and the notes, in plain words."""
        low, high = self.interval
        first = f"{self.value:.4g} ({100 * self.level:g}% interval {low:.4g} to {high:.4g})"
        return "\n".join([first, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        entries = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**entries, "interval": list(self.interval), "notes": list(self.notes)}

    def to_frame(self) -> Any:
        """One row of a pandas data frame."""
        return rows_frame(self.to_dict())


def estimate(
    function: Callable[..., float], *samples: Any, level: float = 0.95, **options: Any
) -> InformationEstimate:
    """The value of an estimator of this package with its standard error and a confidence interval.

    The observations are dealt into ten disjoint subsamples; the variance of an estimate falls like 1/n (Holmes and
    Nemenman 2019), so that the variance of the ten values, divided by ten, is that of the whole sample, and the
    interval has the quantile of Student's t with nine degrees of freedom. Series are cut into ten stretches.
    Where information is a mean over observations, the interval is at least as long as that from their variance.
    Bootstrap samples repeat observations, which breaks distances to neighbours, and are never used. The interval
    allows for chance, not for bias; the notes say what is known of the bias.

    Mutual information and transfer entropy are never negative, and neither are their intervals. That of mutual
    information contains zero unless a permutation test at half of the error, 2.5% at the level 0.95, finds the
    variables dependent: so it covers the zero of independent variables with probability 97.5% whatever the bias of the
    estimate. Given another variable there is no such test here (`htest.ConditionalMutualInformation` is one).

    Parameters
    ----------
    function : function
        `entropy`, `divergence`, `cross_entropy`, `conditional_entropy`, `mutual_information`,
        `interaction_information`, `transfer_entropy`, `association`, a metric such as `wasserstein`,
        `kernel_generalized_variance` or `kernel_mutual_information`.
    *samples : samples
        As for the function; kernels first where it takes kernels.
    level : float
        Confidence level.
    **options
        Options of the function.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import estimate, mutual_information
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 1000))
    >>> result = estimate(mutual_information, x, x + noise)
    >>> low, high = result.interval
    >>> bool(low < np.log(2) / 2 < high)
    True
    """
    result = estimate_with_error(function, *samples, level=level, **options)
    if not _is_information(function, options):
        return result
    positive, low = True, result.interval[0]
    if low > 0 and function is mutual_information and options.get("given") is None:
        variables = [read_sample(s, "x") for s in samples]
        estimator = options.get("estimator") or default_estimator(variables, None)
        positive = exceeds_permutations(estimator, variables, result.value, (1 - level) / 2)
    return replace(result, interval=at_boundary(result.interval, result.value, positive))


def estimate_with_error(
    function: Callable[..., float], *samples: Any, level: float = 0.95, **options: Any
) -> InformationEstimate:
    """As `estimate`, with the interval around the estimate, also where the quantity is near its boundary."""
    validate.between("level", level, 0, 1)
    if function not in (*_PAIRED, *_UNPAIRED, transfer_entropy):
        raise TypeError(
            f"function must be a function of mercer.info such as mutual_information, got {function!r}"
        )
    _refuse_measures(samples)
    value = float(function(*samples, **options))
    kernels = samples[:2] if function in _WITH_KERNELS else ()
    samples = samples[len(kernels) :]
    checked = [_rows(s) for s in samples]
    sizes = [count(s) for s in checked]
    if min(sizes) < _BLOCKS * _FEWEST:
        raise ValueError(
            f"samples must have at least {_BLOCKS * _FEWEST} observations for a standard error, got {min(sizes)}: "
            "call the function itself for the value alone"
        )
    given = options.pop("given", None)
    values = []
    for rows in _blocks(function, sizes):
        more = {} if given is None else {"given": taken(_rows(given), rows[0])}
        pieces = [taken(s, r) for s, r in zip(checked, rows, strict=True)]
        values.append(float(function(*kernels, *pieces, **more, **options)))
    return _with_interval(function, samples, {**options, "given": given}, value, values, level)


def _refuse_measures(samples: tuple[Any, ...]) -> None:
    """Raise where a measure stands among the samples, as the function itself takes it."""
    measure = next((s for s in samples if isinstance(s, Measure)), None)
    if measure is not None:
        raise TypeError(
            f"samples must be observations, got the measure {measure!r}: in estimate write measure={measure!r}"
        )


def _is_information(function: Callable[..., float], options: dict[str, Any]) -> bool:
    """Whether the quantity is Shannon's information of variables, which is never negative."""
    if function is mutual_information:
        return isinstance(options.get("measure", Shannon()), Shannon | KL)
    return function is transfer_entropy


def _rows(x: Any) -> Any:
    """A sample, which was checked before, from which rows can be taken."""
    if isinstance(x, Empirical):
        raise ValueError("samples must not be weighted for a standard error: use their points")
    frame = settled(x)
    return frame if isinstance(frame, Table) else validate.points(frame)


def _blocks(function: Callable[..., float], sizes: list[int]) -> list[list[np.ndarray]]:
    """Rows of each sample in each of the subsamples."""
    rng = fixed_generator()
    if function is transfer_entropy:
        orders = [np.arange(n) for n in sizes]
    elif function in _PAIRED:
        orders = [rng.permutation(sizes[0])] * len(sizes)
    else:
        orders = [rng.permutation(n) for n in sizes]
    pieces = [np.array_split(order, _BLOCKS) for order in orders]
    return [[np.sort(p[i]) for p in pieces] for i in range(_BLOCKS)]


def _with_interval(
    function: Callable[..., float], samples: Any, options: Any, value: float, values: Any, level: float
) -> InformationEstimate:  # fmt: skip
    from scipy.stats import norm, t

    error = float(np.std(values, ddof=1)) / sqrt(_BLOCKS)
    width = float(t.isf((1 - level) / 2, _BLOCKS - 1)) * error
    if _is_information(function, options):
        of_terms = _error_of_terms(function, samples, options)
        error = max(error, of_terms)
        width = max(width, float(norm.isf((1 - level) / 2)) * of_terms)
    correction, saturated, notes = 0.0, False, []
    if function is mutual_information:
        correction, saturated, notes = _reliability(samples, options, value)
    elif function in _METRICS:
        notes = [_DISTANCES]
    elif function in _WITH_KERNELS:
        notes = [_KERNEL_SUMS]
    elif function in (entropy, conditional_entropy, divergence, cross_entropy):
        notes = neighbour_notes(function, samples, options.get("estimator"))
    elif function is not association and not isinstance(options.get("estimator"), PlugIn):
        notes = [NEIGHBOURS]
    interval = (value - width, value + width)
    return InformationEstimate(value, error, interval, level, correction, saturated, tuple(notes))


def _error_of_terms(function: Callable[..., float], samples: Any, options: Any) -> float:
    """Standard error of information that is a mean over observations; zero where it is not.

    In small subsamples neighbours are so far apart that estimates of weak dependence vary too little, and the variance
    of the whole sample is underestimated: with 263 observations, intervals from subsamples alone covered 86%.
    """
    if function is transfer_entropy:
        source, target = samples
        variables, condition = transfer_variables(
            source, target, options["lags"], options.get("given")
        )
    else:
        variables = [read_sample(s, "x") for s in samples]
        given = options.get("given")
        condition = None if given is None else read_sample(given, "given")
    estimator = options.get("estimator") or default_estimator(variables, condition)
    local = getattr(estimator, "local", None)
    if local is None or getattr(estimator, "kind", 1) != 1:
        return 0.0
    terms = local(variables, condition)
    return float(np.std(terms)) / sqrt(len(terms))


def _reliability(samples: Any, options: Any, value: float) -> tuple[float, bool, list[str]]:
    """Correction of the bias of KSG, whether KSG is saturated, and notes on both."""
    variables = [read_sample(s, "x") for s in samples]
    given = options.get("given")
    condition = None if given is None else read_sample(given, "given")
    estimator = options.get("estimator") or default_estimator(variables, condition)
    notes, correction, n = [], 0.0, len(variables[0])
    if isinstance(estimator, PlugIn):
        return correction, False, notes
    if isinstance(estimator, RandomTies):
        samples = [*variables, *([] if condition is None else [condition])]
        samples = ties_broken(samples, columns_with_ties(samples), fixed_generator())
        variables, estimator = samples[: len(variables)], estimator.estimator
        condition = None if condition is None else samples[-1]
    if isinstance(estimator, CorrectedKSG):
        _, correction = estimator.parts(variables, condition)
    saturated = value - correction > _SATURATED * log(n)
    if saturated:
        notes.append(
            f"The value is close to log n = {log(n):.2f}, above which KSG has too few observations: the "
            "information may be larger, even infinite."
        )
    if abs(correction) > 0.1:
        notes.append(
            f"On samples of known information in these dimensions KSG is off by {-correction:+.2f} nats, which was "
            "corrected; for dependence of another kind the error may be as large."
        )
    return correction, saturated, notes
