"""dHSIC test: are several variables jointly independent?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer import validate
from mercer.htest.dependence.dependence_result import (
    IndependenceResult,
    independence_result,
    kernel_notes,
)
from mercer.htest.dependence.dhsic_statistic import JointEvidence
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Bootstrap, Null, Permutation
from mercer.kernels.base import Kernel
from mercer.rkhs.dependence_measures import matched, several
from mercer.rkhs.paired_samples import Variable, variables


@dataclass(frozen=True)
class DHSIC(HypothesisTest):
    """dHSIC test of joint independence of several variables, of any widths (Pfister et al. 2018).

    The statistic is |mu_joint - mu_1 x ... x mu_M|^2 in the RKHS of the product kernel, see
    `rkhs.dhsic`; for two variables it is `HSIC`. The test detects variables that are pairwise but not
    jointly independent.

    Parameters
    ----------
    kernels : sequence of kernels or None, one for each variable; or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`. For three
        and more variables, kernels that are only characteristic may miss dependences: a note of the
        result then says so.
    null : Permutation, Bootstrap, Gamma, Spectrum or WildBootstrap
        Permutation: every variable but the first is permuted independently, which is exact. From 1,000
        observations on, they are shifted circularly in one random order, unless their Gram matrices
        have low rank: that is exact as well, and each entry is computed once. Bootstrap:
        every variable is drawn with replacement. Gamma: a gamma distribution with the exact mean and
        variance over all permutations. WildBootstrap is for time series.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(2, 150))
    >>> z = np.abs(rng.normal(size=150)) * np.sign(x * y)  # independent of each of them
    >>> DHSIC().test(x, y, z, rng=0).pvalue
    0.001
    >>> DHSIC().test(x, y, rng.permutation(z), rng=0).rejects()
    False
    """

    kernels: Sequence[Kernel | None] | None = None
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        if self.kernels is not None:
            object.__setattr__(self, "kernels", several(self.kernels))
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    def statistic(self, *samples: Any) -> float:
        """dHSIC of several variables."""
        return self._evidence(self._variables(samples)).observed

    def test(self, *samples: Any, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value; messages call the variables x1, x2, ..."""
        observed = self._variables(samples)
        evidence = self._evidence(observed)
        judgement = self.null.judge(evidence, rng)
        notes = kernel_notes([v.kernel for v in observed], [v.name for v in observed])
        return independence_result(self, observed, evidence.observed, judgement, notes)

    def _variables(self, samples: tuple[Any, ...]) -> tuple[Variable, ...]:
        kernels, names = matched(self.kernels, samples)
        return variables(kernels, samples, names)

    def _evidence(self, observed: tuple[Variable, ...]) -> HSICEvidence | JointEvidence:
        if len(observed) == 2 and not isinstance(self.null, Bootstrap):
            return HSICEvidence.of(*observed)
        return JointEvidence(observed)
