"""The quadratic two-sample test: maximum mean discrepancy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from mercer import validate
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Null, Permutation
from mercer.htest.samples.learn_kernel import KernelCandidates, quadratic_ratios
from mercer.htest.samples.mmd_statistic import QuadraticEvidence
from mercer.htest.samples.mmd_to_model import (
    KNOWN_DISTRIBUTIONS,
    KnownDistribution,
    ModelMMDEvidence,
    ModelMMDResult,
    tested_against_model,
)
from mercer.htest.samples.partitioned_mmd import PartitionedEvidence
from mercer.htest.samples.pooled_sample import Pooled, pool
from mercer.htest.samples.streamed_samples import streamed_samples
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.kernels.base import Kernel
from mercer.row_streams import streamed


@dataclass(frozen=True)
class MMD(HypothesisTest):
    """Two-sample test by the squared maximum mean discrepancy.

    MMD^2 = E k(X, X') + E k(Y, Y') - 2 E k(X, Y), the squared distance of the mean embeddings
    (Gretton et al. 2012, lemma 6): zero for a characteristic kernel only where the distributions
    are the same. With permutations the level is exact at any sizes, also unequal ones.

    Samples are arrays, tensors, data frames, lists of objects the kernel takes, or
    `Empirical(points, weights)`: sums over pairs of points then count each by its weight.
    Permutations move a weight with its point, and permuted statistics are rescaled to the variance of
    the observed weighting: a good approximation, not exact, since the weights of the two samples may
    be distributed differently. Dependent observations need a null that respects the dependence:
    `Permutation(blocks=...)` for groups, `Permutation(paired=True)` for pairs.

    Instead of the second sample there may be a known distribution with a closed-form embedding (`Gaussian`,
    `Mixture`, `Uniform`, `Dirac`): MMD^2 is then that of the sample and the distribution itself, without draws.
    In the place of permutations come samples drawn from the distribution, and the level is exact again; they cost
    a Gram matrix each, so take `Gamma()` or `Spectrum()` for many points. The default bandwidth is the median distance
    of the distribution. At level 0.05 `Gamma` and `Spectrum` rejected true models in 3.5% to 6.7% of 1,000 runs
    (10, 50 and 200 points in 1, 5 and 20 dimensions). A model that was fitted to the same data needs `Composite`.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample; for data frames `default_kernel`.
    unbiased : bool
        Leave pairs i = j out. The statistic may then be negative.
    null : Permutation, Gamma, Spectrum, Bound, or WildBootstrap for time series

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> before = 3.0 * rng.normal(size=(50, 1))
    >>> after = before + rng.normal(0.5, 0.3, size=(50, 1))
    >>> MMD().test(before, after, rng=0).rejects()
    False
    >>> MMD(null=Permutation(999, paired=True)).test(before, after, rng=0).rejects()
    True
    >>> from mercer.rkhs import Gaussian
    >>> MMD().test(before, Gaussian(0.0, 9.0), rng=0).rejects()
    False
    """

    kernel: Kernel | None = None
    unbiased: bool = field(default=True, kw_only=True)
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    @classmethod
    def optimized(
        cls, x: Any, y: Any, *, kernels: Sequence[Kernel] | None = None, null: Null | None = None
    ) -> MMD:
        """A test with the kernel that has the most power on these samples.

        It maximises the unbiased MMD^2 divided by its standard deviation under permutations, in one pass for all
        kernels. Use the new test on other samples than these, or its p-values are too small: choose on one half of the
        data and test on the other. `MMDAgg` compares kernels without splitting the data.

        Parameters
        ----------
        x, y : samples
        kernels : sequence of kernels or None
            None: Gaussian and Laplace kernels of ten bandwidths each, which cover the scales of the samples.
        null : Null or None
            Null of the test; None: its default.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x, y = rng.normal(size=(2, 400))
        >>> y = np.round(2 * y) / 2 + 0.1 * rng.normal(size=400)  # a difference far below the median distance
        >>> MMD.optimized(x[:200], y[:200]).test(x[200:], y[200:], rng=0).rejects()
        True
        >>> MMD().test(x[200:], y[200:], rng=0).rejects()
        False
        """
        candidates = KernelCandidates(kernels, x, y)
        kernel = candidates.best(quadratic_ratios(candidates))
        return cls(kernel) if null is None else cls(kernel, null=null)

    @property
    def reads_parts(self) -> bool:
        """Whether the null distribution is that of permutations."""
        return isinstance(self.null, Permutation)

    def statistic(self, x: Any, y: Any) -> float:
        """MMD^2 of two samples, or of a sample and a known distribution."""
        if isinstance(y, KNOWN_DISTRIBUTIONS):
            return ModelMMDEvidence(self.kernel, x, y, self.unbiased).observed
        streams = streamed(x, y)
        if streams is not None:
            samples = streamed_samples(self.kernel, streams)
            return PartitionedEvidence(samples, self.unbiased).observed
        return QuadraticEvidence(self._pool(x, y), self.unbiased).observed

    def _pool(self, x: Any, y: Any) -> Pooled:
        return pool(self.kernel, x, y, paired=self.null.paired)

    @overload
    def test(  # pyright: ignore[reportOverlappingOverload]
        self, x: Any, y: KnownDistribution, *, rng: Any = None
    ) -> ModelMMDResult: ...

    @overload
    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult: ...

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult | ModelMMDResult:
        """The statistic and its p-value."""
        if isinstance(y, KNOWN_DISTRIBUTIONS):
            return tested_against_model(
                self, self.null, ModelMMDEvidence(self.kernel, x, y, self.unbiased), rng
            )
        streams = streamed(x, y) if self.reads_parts else None
        if streams is not None:
            samples = streamed_samples(self.kernel, streams)
            parted = PartitionedEvidence(samples, self.unbiased)
            judgement = self.null.judge(parted, rng)
            statistic, rows = parted.observed, parted.sizes
            return two_sample_result(self, samples.pooled, statistic, judgement, rows=rows)
        evidence = QuadraticEvidence(self._pool(x, y), self.unbiased, null=self.null)
        judgement = self.null.judge(evidence, rng)
        return two_sample_result(self, evidence.pooled, evidence.observed, judgement)
