"""Goodness of fit by a two-sample test of the observations against draws from the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mercer.htest.goodness.against_draws import DrawsTest
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.samples.mmdagg import MMDAgg


@dataclass(frozen=True)
class AgainstDraws(DrawsTest):
    """Do observations come from a model? By any two-sample test, against draws from the model.

    For models without a score, such as simulators, and as a second opinion on others: draws vary,
    so that it sees less than `KSD` where there is a score. Under the null
    hypothesis draws and observations are samples of one distribution, and the level is that of
    the two-sample test: exact for permutations.

    Parameters
    ----------
    model : distribution, fitted estimator or function
        `Gaussian`, `Mixture`, a frozen distribution or `gaussian_kde` of SciPy, a fitted `GaussianMixture`
        or `KernelDensity` of scikit-learn, any object with a method `sample(n, rng=)`, or a function
        (n, rng) -> draws (n, d), with rng a `numpy.random.Generator`.
    by : two-sample test
        `MMDAgg()`, `MMD()`, `ME()` or another one of `mercer.htest`.
    draws : int or None
        How many; more give more power. None: as many as there are observations.

    Returns
    -------
    The result of the two-sample test, whose second sample are the draws: effect, witness, points
    and columns are those of observations against the model.

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
