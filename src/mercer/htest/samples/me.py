"""The mean embedding test: two samples compared at a few locations, in linear time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from mercer import validate
from mercer.htest.nulls import Chi2, Null
from mercer.htest.samples.learn_kernel import KernelCandidates
from mercer.htest.samples.learn_locations import best_locations
from mercer.htest.samples.location_tests import LocationTest
from mercer.htest.samples.mean_difference import NormalizedEvidence
from mercer.htest.samples.power_proxy import normalized_power
from mercer.kernels.base import Kernel


@dataclass(frozen=True, eq=False, repr=False)
class ME(LocationTest):
    """Two-sample test by the normalised difference of mean embeddings at a few locations.

    With z_i = (k(x_i, v_1), ..., k(x_i, v_J)) the statistic is delta' (S_x/n + S_y/m)^-1 delta,
    delta being the difference of the mean features and S_x, S_y their covariances. It costs
    O((n + m) J) kernel values. For an analytic and characteristic kernel such as RBF and locations
    drawn from a distribution with a density the test is consistent, with probability one
    (Chwialkowski et al. 2015). Random locations may sit where the samples do not differ:
    `ME.optimized` learns them, and they tell where the difference is.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample; for data frames `default_kernel`.
    locations : int or points (J, d)
        A number: so many points of the pooled sample, drawn with the rng of `test`, and in
        `statistic` always with seed 0. The result's `test.locations` are those that were used.
    null : Chi2, Permutation or None
        The chi-square holds from 500 observations in each sample on (more than 10 features: 50
        for each). None: the chi-square there, 999 permutations below.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(600, 2)), rng.normal(0.3, 1.0, size=(500, 2))
    >>> result = ME(locations=3).test(x, y, rng=0)
    >>> result.rejects(), result.test.locations.shape
    (True, (3, 2))
    """

    kernel: Kernel | None = None
    locations: Any = field(default=5, kw_only=True)
    null: Null | None = field(default=None, kw_only=True)

    asymptotic: ClassVar[Null] = Chi2()
    kind = NormalizedEvidence

    @classmethod
    def optimized(
        cls, x: Any, y: Any, *, kernel: Kernel | None = None, locations: int = 5, rng: Any = None
    ) -> ME:
        """A test whose locations and bandwidth make the statistic of these samples largest.

        The power of the test grows with its statistic (Jitkrittum et al. 2016, prop. 1). Hand the
        new test other samples than these, or its p-values are too small: half of the data for
        this, half for the test. Locations stay within the range of the samples, where they can be
        looked at; with more than 100 columns they may be farther out.

        Parameters
        ----------
        x, y : samples
            Arrays, tensors or data frames of numbers.
        kernel : Kernel or None
            A smooth radial kernel, whose width is learnt too. None: RBF.
        locations : int
        rng : int, Generator or None
            Draws where the search begins.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x, y = rng.normal(size=(800, 5)), rng.normal(size=(800, 5))
        >>> y[:, 0] += 0.4
        >>> test = ME.optimized(x[:400], y[:400], locations=1, rng=0)
        >>> test.test(x[400:], y[400:]).rejects(0.01)
        True
        """
        learnt, optimum = best_locations(normalized_power, kernel, x, y, locations, rng)
        return cls(learnt, locations=optimum)

    @classmethod
    def tuned(
        cls,
        x: Any,
        y: Any,
        *,
        kernels: Sequence[Kernel] | None = None,
        locations: int = 5,
        rng: Any = None,
    ) -> ME:
        """A test at random locations, with the kernel among several that makes its statistic largest there.

        Only the bandwidth is learnt, on a grid: the variant to which `optimized`, which learns locations, too, is
        compared in Jitkrittum et al. (2016). Hand the new test other samples than these.

        Parameters
        ----------
        x, y : samples
        kernels : sequence of kernels or None
            None: Gaussian and Laplace kernels, ten bandwidths each, that cover the scales of the pooled sample.
        locations : int
            Number of points of the pooled sample, drawn once for all kernels.
        rng : int, Generator or None

        Examples
        --------
        >>> import numpy as np
        >>> from mercer.kernels import RBF
        >>> rng = np.random.default_rng(0)
        >>> x, y = rng.normal(size=(1000, 1)), rng.normal(size=(1000, 1)) + 0.3
        >>> test = ME.tuned(x[:500], y[:500], kernels=[RBF(0.01), RBF(1.0)], rng=0)
        >>> test.kernel, test.test(x[500:], y[500:]).rejects()
        (RBF(bandwidth=1.0), True)
        """
        validate.whole("locations", locations)
        candidates = KernelCandidates(kernels, x, y)
        random = cls(candidates.kernels[0], locations=locations)
        used = random._evidence(x, y, validate.generator(rng))[2]
        tests = [replace(used, kernel=kernel) for kernel in candidates.kernels]
        return cls(
            candidates.best([test.statistic(x, y) for test in tests]), locations=used.locations
        )
