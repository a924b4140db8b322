"""Mutual information, transfer entropy and interaction information."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mercer import validate
from mercer.errors import NoRule
from mercer.info.closed_forms import is_distribution
from mercer.info.corrected_ksg import CorrectedKSG, has_ties
from mercer.info.estimator import Estimator
from mercer.info.information_measures import KL, Measure, Shannon
from mercer.info.knn import KNN
from mercer.info.ksg import MixedKSG
from mercer.info.plug_in import Grassberger, PlugIn, product_sample
from mercer.info.random_ties import RandomTies, columns_with_ties
from mercer.info.sample import (
    Sample,
    fixed_generator,
    joined_columns,
    read_variables,
    require_instance,
    shuffled,
)

_SHANNON = Shannon()


def mutual_information(
    *variables: Any,
    measure: Measure = _SHANNON,
    given: Any = None,
    estimator: Estimator | None = None,
) -> float:
    """Mutual information in nats of two or more variables observed together, perhaps given another one.

    The divergence of their joint distribution from the product of their distributions: zero if and only if they
    are independent. For more than two variables this is the total correlation. It does not change when a variable is
    transformed one-to-one.

    Parameters
    ----------
    *variables : samples
        Arrays, tensors or data frames with as many rows each; columns of one sample are one variable.
    measure : Measure
        `Shannon()`, or another divergence, which is then estimated from the sample and a shuffled one.
    given : sample or None
        The variable z of I(x; y | z).
    estimator : Estimator or None
        None: `CorrectedKSG()` for continuous numbers, `PlugIn(Grassberger())` for categories, `MixedKSG()` for
        categories with numbers and for numbers of few values; in `RandomTies` where other numbers repeat.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import mutual_information
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 2))
    >>> y = x + rng.normal(size=(1000, 2))
    >>> round(mutual_information(x, y), 1)  # log 2
    0.7
    >>> abs(mutual_information(x[:, 0], y[:, 1], given=x[:, 1])) < 0.1
    True
    """
    require_instance("measure", measure, Measure, "Shannon()")
    samples, condition = _read(variables, given)
    if not isinstance(measure, Shannon | KL):
        return _by_divergence(samples, condition, measure, estimator)
    return default_or(estimator, samples, condition).information(samples, condition)


def interaction_information(x: Any, y: Any, z: Any, *, estimator: Estimator | None = None) -> float:
    """Interaction information I(x; y | z) - I(x; y) in nats; symmetric in the three variables.

    Positive: synergy, two variables tell together what none tells alone. Negative: redundancy.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import PlugIn, interaction_information
    >>> x, y = np.random.default_rng(0).integers(0, 2, (2, 4000))
    >>> round(interaction_information(x, y, x ^ y, estimator=PlugIn()), 2)  # log 2
    0.69
    """
    samples = read_variables((x, y, z), ("x", "y", "z"))
    rule = default_or(estimator, samples[:2], samples[2])
    return rule.information(samples[:2], samples[2]) - rule.information(samples[:2])


def transfer_entropy(
    source: Any,
    target: Any,
    *,
    lags: int | list[int] | tuple[int, ...],
    given: Any = None,
    estimator: Estimator | None = None,
) -> float:
    """Transfer entropy I(target_t; source past | target past) in nats of two series (Schreiber 2000).

    Parameters
    ----------
    source, target : series
        Observations in the order of time, as many of each.
    lags : int, or list or tuple of int
        The steps back that make up the past: 1, ..., lags, or the lags named.
    given : series or None
        Another series, whose past is conditioned on, too.
    estimator : Estimator or None
        As in `mutual_information`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import transfer_entropy
    >>> x = np.random.default_rng(0).normal(size=2001)
    >>> y = np.concatenate([[0.0], x[:-1]]) + np.random.default_rng(1).normal(size=2001)
    >>> round(transfer_entropy(x, y, lags=1), 1), abs(round(transfer_entropy(y, x, lags=1), 1))
    (0.3, 0.0)
    """
    variables, condition = transfer_variables(source, target, lags, given)
    return default_or(estimator, variables, condition).information(variables, condition)


def transfer_variables(
    source: Any, target: Any, lags: int | list[int] | tuple[int, ...], given: Any = None
) -> tuple[list[Sample], Sample]:
    """The present of the target and the past of the source, and the past that both are given."""
    steps = _steps(lags)
    names = ("source", "target", *(["given"] if given is not None else []))
    series = (source, target, *([given] if given is not None else []))
    samples = read_variables(series, names)
    n, first = len(samples[0]), max(steps)
    if n <= first + 1:
        raise ValueError(
            f"source must have more observations than the largest lag, {first}, plus one, got {n}"
        )
    pasts = [
        joined_columns([s.take(slice(first - lag, n - lag)) for lag in steps]) for s in samples
    ]
    return [samples[1].take(slice(first, n)), pasts[0]], joined_columns(pasts[1:])


def _steps(lags: int | list[int] | tuple[int, ...]) -> tuple[int, ...]:
    if not isinstance(lags, list | tuple):
        validate.whole("lags", lags)
        return tuple(range(1, int(lags) + 1))
    for lag in lags:
        validate.whole("lags", lag)
    if not lags:
        raise ValueError("lags must be a whole number or a sequence of them, got none")
    return tuple(sorted({int(lag) for lag in lags}))


def _read(variables: Sequence[Any], given: Any) -> tuple[list[Sample], Sample | None]:
    """The variables, and the one that is given."""
    if len(variables) < 2:
        raise ValueError(
            f"mutual_information needs two or more variables, got {len(variables)}: pass the columns of "
            "a table one by one"
        )
    if any(is_distribution(v) for v in variables):
        raise NoRule(
            "no mutual information of distributions, which do not say how they depend on each other: "
            "use the entropies of the joint and of the marginal distributions"
        )
    names = (
        ["x", "y"] if len(variables) == 2 else [f"variables[{i}]" for i in range(len(variables))]
    )
    if given is None:
        return read_variables(variables, names), None
    *samples, condition = read_variables((*variables, given), (*names, "given"))
    return samples, condition


def default_or(
    estimator: Estimator | None, samples: Sequence[Sample], given: Sample | None
) -> Estimator:
    """The estimator, or the default for these kinds of data."""
    if estimator is None:
        return default_estimator(samples, given)
    require_instance("estimator", estimator, Estimator, "KSG(), or None")
    return estimator


def default_estimator(samples: Sequence[Sample], given: Sample | None) -> Estimator:
    """The estimator of mutual information for these kinds of data."""
    everything = [*samples, *([given] if given is not None else [])]
    if all(s.discrete for s in everything):
        return PlugIn(Grassberger())
    if any(s.weights is not None for s in everything):
        return MixedKSG()  # which says what to do
    broken = columns_with_ties(everything)
    counted = (
        has_ties(s.values[:, j : j + 1]) and j not in columns
        for s, columns in zip(everything, broken, strict=True)
        for j, categorical in enumerate(s.categorical)
        if not categorical
    )
    mixed = any(any(s.categorical) for s in everything) or any(counted)
    estimator = MixedKSG() if mixed else CorrectedKSG()
    return RandomTies(estimator) if any(broken) else estimator


def _by_divergence(
    samples: list[Sample], given: Sample | None, measure: Measure, estimator: Estimator | None
) -> float:
    """Divergence of the joint sample from one in which every variable is shuffled."""
    if given is not None:
        raise NoRule(f"no conditional information by {measure!r}: use Shannon()")
    joint = joined_columns(samples)
    discrete = isinstance(estimator, PlugIn) or (estimator is None and joint.discrete)
    if discrete:
        return measure.divergence((estimator or PlugIn()).integrals(joint, product_sample(samples)))
    rng = fixed_generator()
    product = joined_columns([samples[0], *(shuffled(s, rng) for s in samples[1:])])
    rule = KNN() if estimator is None else default_or(estimator, samples, None)
    return measure.divergence(rule.integrals(joint, product))
