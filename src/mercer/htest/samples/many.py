"""A two-sample test that looks through several kernels and takes the largest statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.base import HypothesisTest
from mercer.htest.nulls import Permutation
from mercer.htest.samples.collection import checked_kernels, pool_for
from mercer.htest.samples.pool import Pooled
from mercer.htest.samples.quadratic import Discrepancies
from mercer.htest.samples.result import TwoSampleResult, two_sample_result
from mercer.kernels.base import Kernel


@dataclass(frozen=True)
class MaxMMD(HypothesisTest):
    """The largest of several squared maximum mean discrepancies, each in its own unit.

    The statistic is max_k MMD_k^2 / s_k, with the unbiased estimates and s_k their standard
    deviations over all permutations, which are known exactly; one set of permutations gives the
    null of the maximum, so that the level holds whatever the kernels are. (Sriperumbudur et al.
    2009 take the supremum over kernels; standardised, no kernel drowns the others.)

    Parameters
    ----------
    kernels : sequence of kernels or None
        None: Gaussian and Laplace kernels, ten bandwidths each, that cover the scales of the
        pooled sample.
    null : Permutation

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

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", checked_kernels(self.kernels))
        validate.instance("null", self.null, Permutation, "a Permutation, such as Permutation(999)")

    def statistic(self, x: Any, y: Any) -> float:  # type: ignore[override]
        """The largest standardised MMD^2."""
        return _Evidence(*pool_for(self.kernels, x, y)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:  # type: ignore[override]
        """The statistic and its p-value."""
        evidence = _Evidence(*pool_for(self.kernels, x, y))
        judgement = self.null.judge(evidence, rng)
        best = int(np.argmax(evidence.standardized))
        pooled = replace(evidence.pooled, kernel=evidence.kernels[best])
        notes = (told(evidence.kernels, best),)
        return two_sample_result(self, pooled, evidence.observed, judgement, notes)


class _Evidence:
    """max_k MMD_k^2 / s_k for any labels."""

    def __init__(self, pooled: Pooled, kernels: Sequence[Kernel]) -> None:
        self.pooled, self.kernels = pooled, kernels
        self.discrepancies = Discrepancies(pooled, kernels)

    @cached_property
    def standardized(self) -> np.ndarray:
        """Of every kernel, in full precision: (kernels,)."""
        return _over(self.discrepancies.observed, self.discrepancies.deviations)

    @property
    def observed(self) -> float:
        return float(np.max(self.standardized))

    @property
    def tie(self) -> float:
        return float(np.max(_over(self.discrepancies.ties, self.discrepancies.deviations)))

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        values = self.discrepancies.resampled(null, columns, seed)
        return np.max(_over(values, self.discrepancies.deviations[:, None]), axis=0)


def told(kernels: Sequence[Kernel], best: int) -> str:
    """Which kernel saw most, for the notes of a result."""
    if len(kernels) == 1:
        return f"Kernel: {kernels[0]!r}."
    return f"Of {len(kernels)} kernels {kernels[best]!r} sees the difference best."


def _over(values: np.ndarray, units: np.ndarray) -> np.ndarray:
    """values / units, 0 where a kernel sees nothing."""
    return np.divide(
        values, units, out=np.zeros_like(values), where=np.broadcast_to(units > 0, values.shape)
    )
