"""The quadratic two-sample test: maximum mean discrepancy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mercer import validate
from mercer.htest.base import HypothesisTest
from mercer.htest.nulls import Null, Permutation
from mercer.htest.samples.pool import pool
from mercer.htest.samples.quadratic import QuadraticEvidence
from mercer.htest.samples.result import TwoSampleResult, two_sample_result
from mercer.kernels.base import Kernel


@dataclass(frozen=True)
class MMD(HypothesisTest):
    """Do two samples come from the same distribution? By the squared maximum mean discrepancy.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample; for data frames `default_kernel`.
    unbiased : bool
        Leave pairs i = j out. The statistic may then be negative.
    null : Permutation, Gamma, Spectrum or Bound
    """

    kernel: Kernel | None = None
    unbiased: bool = field(default=True, kw_only=True)
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    def statistic(self, x: Any, y: Any) -> float:  # type: ignore[override]
        """MMD^2 of two samples."""
        return QuadraticEvidence(pool(self.kernel, x, y), self.unbiased).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:  # type: ignore[override]
        """The statistic and its p-value."""
        evidence = QuadraticEvidence(pool(self.kernel, x, y), self.unbiased)
        judgement = self.null.judge(evidence, rng)
        return two_sample_result(self, evidence.pooled, evidence.observed, judgement)
