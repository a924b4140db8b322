"""Entropy, divergence, cross-entropy and conditional entropy of samples and of distributions."""

from __future__ import annotations

from typing import Any

from mercer.info.closed_forms import closed_integrals, is_distribution
from mercer.info.estimator import Estimator
from mercer.info.information_measures import KL, Integrals, Measure, Shannon
from mercer.info.knn import KNN
from mercer.info.mixed_entropy import CategoriesAndNumbers
from mercer.info.plug_in import PlugIn
from mercer.info.sample import (
    Sample,
    joined_columns,
    read_sample,
    read_two,
    read_variables,
    require_instance,
)

_KL, _SHANNON = KL(), Shannon()


def entropy(x: Any, measure: Measure = _SHANNON, *, estimator: Estimator | None = None) -> float:
    """Entropy in nats of a sample, or of a distribution.

    Parameters
    ----------
    x : sample or distribution
        Array, tensor, data frame or `Empirical`: an estimate. `Gaussian`, `Uniform` or another distribution: the
        closed form, and `NoRule` where there is none.
    measure : Shannon, Renyi, Tsallis, SharmaMittal or Phi
        Which entropy.
    estimator : Estimator or None
        None: nearest neighbours, `KNN()`, for numbers (the differential entropy), `PlugIn()` for columns of
        categories, and both, by the chain rule, for data frames with both.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import Renyi, entropy
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).normal(size=2000)
    >>> round(entropy(x), 1), round(entropy(Gaussian(0.0, 1.0)), 3)
    (1.4, 1.419)
    >>> round(entropy(Gaussian(0.0, 1.0), Renyi(2)), 3)  # log(4 pi) / 2
    1.266
    """
    require_instance("measure", measure, Measure, "Shannon()")
    if is_distribution(x):
        return measure.entropy(closed_integrals(x))
    sample = read_sample(x, "x")
    return measure.entropy(default_entropy_estimator(estimator, sample).integrals(sample))


def divergence(
    x: Any, y: Any, measure: Measure = _KL, *, estimator: Estimator | None = None
) -> float:
    """Divergence in nats of the distribution of x from that of y.

    Parameters
    ----------
    x, y : samples or distributions
        Two samples of the same columns, of any sizes, or two distributions, for which the closed form is
        computed.
    measure : Measure
        KL, Renyi, Tsallis, SharmaMittal, L2, Hellinger, Bhattacharyya, Chi2, FDivergence, Bregman,
        SymmetricBregman, JensenShannon, JensenRenyi, JensenTsallis, Jeffreys, K, L or CauchySchwarz.
    estimator : Estimator or None
        None: `KNN()` for numbers, `PlugIn()` for categories.

    Examples
    --------
    >>> from mercer.info import divergence
    >>> from mercer.rkhs import Gaussian
    >>> divergence(Gaussian(0.0, 1.0), Gaussian(1.0, 1.0))
    0.5
    >>> p, q = Gaussian(0.0, 1.0), Gaussian(1.0, 4.0)
    >>> round(divergence(p.sample(5000, rng=1), q.sample(2000, rng=2)), 1), round(divergence(p, q), 3)
    (0.4, 0.443)
    """
    require_instance("measure", measure, Measure, "KL()")
    return measure.divergence(_two(x, y, estimator))


def cross_entropy(x: Any, y: Any, *, estimator: Estimator | None = None) -> float:
    """Cross-entropy -E log q(X) in nats, X distributed as x, q the density of y.

    It is the entropy of x plus the Kullback-Leibler divergence from y, and the expected code length of a
    code for y.

    Examples
    --------
    >>> from mercer.info import cross_entropy
    >>> from mercer.rkhs import Gaussian
    >>> round(cross_entropy(Gaussian(0.0, 1.0), Gaussian(1.0, 1.0)), 3)  # 1.419 + 0.5
    1.919
    """
    return -_two(x, y, estimator).log_q()


def conditional_entropy(x: Any, given: Any, *, estimator: Estimator | None = None) -> float:
    """Conditional entropy H(x, given) - H(given) in nats of samples observed together.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import PlugIn, conditional_entropy
    >>> x = np.repeat([0, 1, 2, 3], 5)
    >>> round(conditional_entropy(x, x // 2, estimator=PlugIn()), 3)  # one of two values is left
    0.693
    """
    variables = read_variables((x, given), ("x", "given"))
    joint, condition = joined_columns(variables), variables[1]
    return sum(
        sign * _SHANNON.entropy(default_entropy_estimator(estimator, sample).integrals(sample))
        for sign, sample in ((1, joint), (-1, condition))
    )


def _two(x: Any, y: Any, estimator: Estimator | None) -> Integrals:
    """Integrals of two samples or of two distributions."""
    if is_distribution(x) or is_distribution(y):
        return closed_integrals(x, y)
    left, right = read_two(x, y)
    return default_entropy_estimator(estimator, left).integrals(left, right)


def default_entropy_estimator(estimator: Estimator | None, sample: Sample) -> Estimator:
    """The estimator, or the default for this kind of data."""
    if estimator is not None:
        require_instance("estimator", estimator, Estimator, "KNN(), or None")
        return estimator
    if sample.discrete:
        return PlugIn()
    return CategoriesAndNumbers() if any(sample.categorical) else KNN()
