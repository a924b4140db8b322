"""Goodness of fit by a two-sample test of the observations against draws from the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mercer.htest.goodness.against_draws import DrawsTest
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.samples.mmdagg import MMDAgg


@dataclass(frozen=True)
class AgainstDraws(DrawsTest):
    """Goodness-of-fit test by a two-sample test of the observations against draws from the model.

    It suits models without a score, such as simulators. For models with a score `KSD` is more powerful,
    because draws add variance. Under the null hypothesis draws and observations have the same
    distribution, so the level is that of the two-sample test, which is exact for permutations.

    Parameters
    ----------
    model : distribution, fitted estimator or function
        `Gaussian`, `Mixture`, a frozen distribution or `gaussian_kde` of SciPy, a fitted `GaussianMixture`
        or `KernelDensity` of scikit-learn, any object with a method `sample(n, rng=)`, or a function
        (n, rng) -> draws (n, d), with rng a `numpy.random.Generator`.
    by : two-sample test
        `MMDAgg()`, `MMD()`, `ME()` or another two-sample test of `mercer.htest`.
    draws : int or None
        Number of draws; more give more power. None: the number of observations.

    Returns
    -------
    Result of the two-sample test, in which the second sample are the draws: effect, witness, points and
    columns compare the observations with the model.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import gamma
    >>> from mercer.htest import MMD
    >>> x = np.random.default_rng(0).exponential(size=300)
    >>> AgainstDraws(gamma(1.0)).test(x, rng=0).rejects()
    False
    >>> result = AgainstDraws(gamma(2.0, scale=0.5), MMD(), draws=1000).test(x, rng=0)
    >>> result.rejects(), result.sizes
    (True, (300, 1000))
    """

    model: Any
    by: HypothesisTest = field(default=MMDAgg())
    draws: int | None = field(default=None, kw_only=True)
