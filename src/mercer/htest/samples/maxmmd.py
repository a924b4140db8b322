"""Two-sample test by the largest of several standardized statistics, one for each kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mercer import validate
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.kernel_collection import checked_kernels, sees_most
from mercer.htest.nulls import Permutation
from mercer.htest.samples.mmd_statistic import Discrepancies
from mercer.htest.samples.partitioned_mmd import partitioned_discrepancies
from mercer.htest.samples.pooled_sample import Pooled, pool_for
from mercer.htest.samples.streamed_kernels import SeveralKernels
from mercer.htest.samples.streamed_samples import streamed_samples
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.kernels.base import Kernel
from mercer.row_streams import streamed


class KernelsTest(HypothesisTest):
    """A test over several kernels, with one permutation null for all of them."""

    _kind: ClassVar[type[KernelsEvidence]]
    kernels: Sequence[Kernel] | None
    null: Permutation

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", checked_kernels(self.kernels))
        validate.instance("null", self.null, Permutation, "a Permutation, such as Permutation(999)")

    @property
    def reads_parts(self) -> bool:
        """Samples that are not in memory are read part by part, whatever the null distribution."""
        return True

    def statistic(self, x: Any, y: Any) -> float:
        """The statistic of all kernels together."""
        return self._joint_evidence(x, y).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The statistic and its p-value."""
        evidence = self._joint_evidence(x, y)
        judgement = self.null.judge(evidence, rng)
        best = int(np.argmax(evidence.each))
        pooled = replace(evidence.pooled, given_kernel=evidence.kernels[best])
        notes, rows = sees_most(evidence.kernels, best), evidence.rows
        return two_sample_result(self, pooled, evidence.observed, judgement, notes, rows=rows)

    def _joint_evidence(self, x: Any, y: Any) -> KernelsEvidence:
        streams = streamed(x, y)
        if streams is None:
            pooled, kernels = pool_for(self.kernels, x, y, paired=self.null.paired)
            return self._evidence_kind(pooled, kernels, Discrepancies.of(pooled, kernels))
        samples = streamed_samples(SeveralKernels(self.kernels), streams)
        discrepancies = partitioned_discrepancies(samples, samples.kernels)
        return self._evidence_kind(samples.pooled, samples.kernels, discrepancies)

    @property
    def _evidence_kind(self) -> type[KernelsEvidence]:
        return self._kind


class KernelsEvidence(ABC):
    """MMD_k^2 / u_k of every kernel, joined into one number, for any labels."""

    def __init__(
        self, pooled: Pooled, kernels: Sequence[Kernel], discrepancies: Discrepancies
    ) -> None:
        self.pooled, self.kernels, self.discrepancies = pooled, kernels, discrepancies

    @property
    def rows(self) -> tuple[int, int] | None:
        """Sizes of samples of which `pooled` is a subsample; None where it has all points."""
        pooled, sizes = self.pooled, self.discrepancies.sizes
        return None if sizes == (pooled.n, pooled.m) else sizes

    @property
    @abstractmethod
    def units(self) -> np.ndarray:
        """Units of the discrepancies, the same for all labellings: (kernels,).

        0 for a kernel whose statistic is the same for all labellings; it is left out.
        """

    @abstractmethod
    def joined(self, values: np.ndarray) -> np.ndarray:
        """One number from those of all kernels: (kernels, B) -> (B,)."""

    @cached_property
    def each(self) -> np.ndarray:
        """Scaled MMD^2 of every kernel in full precision: (kernels,)."""
        return self._over(self.discrepancies.observed)

    @property
    def observed(self) -> float:
        """The statistic in full precision."""
        return float(self.joined(self.each[:, None])[0])

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return float(np.max(self._over(self.discrepancies.tie_tolerances)))

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic of the labellings in some columns; column 0 is the observed one."""
        return self.joined(self._over(self.discrepancies.resampled(null, columns, seed)))

    def _over(self, values: np.ndarray) -> np.ndarray:
        """values / units, and 0 where the unit is 0."""
        units = self.units if values.ndim == 1 else self.units[:, None]
        sees = np.broadcast_to(units > 0, values.shape)
        return np.divide(values, units, out=np.zeros_like(values), where=sees)


class _Largest(KernelsEvidence):
    """max_k MMD_k^2 / s_k."""

    @property
    def units(self) -> np.ndarray:
        return self.discrepancies.deviations

    def joined(self, values: np.ndarray) -> np.ndarray:
        sees = self.units > 0
        return np.max(values[sees] if np.any(sees) else values, axis=0)


class _Supremum(_Largest):
    """max_k MMD_k^2, without units."""

    @property
    def units(self) -> np.ndarray:
        return np.asarray(self.discrepancies.deviations > 0, dtype=np.float64)


@dataclass(frozen=True)
class MaxMMD(KernelsTest):
    """Two-sample test by the largest of several squared maximum mean discrepancies, each standardized.

    The statistic is max_k MMD_k^2 / s_k, with the unbiased estimates and s_k their standard
    deviations over all permutations, which are known exactly; one set of permutations gives the
    null of the maximum, so that the level holds for any kernels. ``standardized=False`` is
    the supremum max_k MMD_k^2 of the discrepancies themselves (Sriperumbudur et al. 2009), where the kernels with the
    largest values dominate; standardized, none does.

    Parameters
    ----------
    kernels : sequence of kernels or None
        None: Gaussian and Laplace kernels, ten bandwidths each, that cover the scales of the
        pooled sample.
    null : Permutation
    standardized : bool

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(80, 2)), rng.normal(0.0, 1.8, size=(60, 2))
    >>> MaxMMD([RBF(0.5), RBF(1.0), RBF(2.0)]).test(x, y, rng=0).rejects()
    True
    """

    kernels: Sequence[Kernel] | None = None
    null: Permutation = field(default=Permutation(999), kw_only=True)
    standardized: bool = field(default=True, kw_only=True)
    _kind: ClassVar[type[KernelsEvidence]] = _Largest

    @property
    def _evidence_kind(self) -> type[KernelsEvidence]:
        return _Largest if self.standardized else _Supremum
