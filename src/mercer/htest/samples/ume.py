"""Unnormalised mean embeddings: the squared witness function at a few locations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from mercer.htest.nulls import Null
from mercer.htest.samples.learn_locations import best_locations
from mercer.htest.samples.location_tests import LocationTest
from mercer.htest.samples.mean_difference import SquaredEvidence
from mercer.htest.samples.power_proxy import squared_power
from mercer.htest.weighted_chi2 import WeightedChi2
from mercer.kernels.base import Kernel


@dataclass(frozen=True, eq=False, repr=False)
class UME(LocationTest):
    """Two-sample test by the mean squared witness function at a few locations.

    The unbiased estimate of 1/J sum_j (mu_P(v_j) - mu_Q(v_j))^2, which is
    (|delta|^2 - tr(S_x/n + S_y/m)) / J; it may be negative. No covariance is inverted, so that it
    stays what it is with many locations; its null is a sum of chi-squares whose weights are the
    eigenvalues of S_x/n + S_y/m. (Chwialkowski et al. 2015; Jitkrittum et al. 2018.)

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample; for data frames `default_kernel`.
    locations : int or points (J, d)
        A number: so many points of the pooled sample, drawn with the rng of `test`, and in
        `statistic` always with seed 0. The result's `test.locations` are those that were used.
    null : WeightedChi2, Spectrum, Permutation or None
        The asymptotic ones hold from 500 observations in each sample on (more than 10 locations:
        50 for each). None: `WeightedChi2` there, 999 permutations below.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(600, 2)), rng.normal(0.3, 1.0, size=(500, 2))
    >>> UME().test(x, y, rng=0).rejects()
    True
    """

    kernel: Kernel | None = None
    locations: Any = field(default=5, kw_only=True)
    null: Null | None = field(default=None, kw_only=True)

    asymptotic: ClassVar[Null] = WeightedChi2()
    kind = SquaredEvidence

    @classmethod
    def optimized(
        cls, x: Any, y: Any, *, kernel: Kernel | None = None, locations: int = 5, rng: Any = None
    ) -> UME:
        """A test whose locations and bandwidth give these samples the most power.

        What is made largest is by how many standard deviations the statistic passes its threshold.
        Where the difference is spread over many columns learnt locations may be no better than
        random ones; what the learning finds is used only if it helps on a part of these samples
        that it did not see. Hand the new test other samples than these: half of the data for
        this, half for the test.

        Parameters
        ----------
        x, y : samples
            Arrays, tensors or data frames of numbers.
        kernel : Kernel or None
            A smooth radial kernel, whose width is learnt too. None: RBF.
        locations : int
        rng : int, Generator or None
            Draws where the search begins.
        """
        learnt, optimum = best_locations(squared_power, kernel, x, y, locations, rng, cautious=True)
        return cls(learnt, locations=optimum)
