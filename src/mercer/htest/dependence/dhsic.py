"""Are several variables jointly independent? By dHSIC."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer import validate
from mercer.htest.dependence.blind_kernels import blindness
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.dhsic_statistic import JointEvidence
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.observed_variables import Variable, variables
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Bootstrap, Null, Permutation
from mercer.kernels.base import Kernel
from mercer.rkhs.dependence_measures import matched, several


@dataclass(frozen=True)
class DHSIC(HypothesisTest):
    """Are several variables, of any widths, jointly independent? By dHSIC (Pfister et al. 2018).

    |mu_joint - mu_1 x ... x mu_M|^2 in the space of the product kernel, see `rkhs.dhsic`; of two
    variables it is `HSIC`. It sees variables that are independent in pairs and not together.

    Parameters
    ----------
    kernels : sequence of kernels or None, one for each variable; or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`. For three
        and more variables, kernels that are only characteristic may miss dependences: the result
        says so where they might.
    null : Permutation, Bootstrap, Gamma, Spectrum or WildBootstrap
        Permutation: every variable but the first is permuted by itself, which is exact. Bootstrap:
        every variable is drawn with replacement. Gamma: the exact mean and variance over all
        permutations. WildBootstrap is for time series.

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
        found = self._variables(samples)
        evidence = self._evidence(found)
        judgement = self.null.judge(evidence, rng)
        notes = blindness([v.kernel for v in found], [v.name for v in found])
        return independence_result(self, found, evidence.observed, judgement, notes)

    def _variables(self, samples: tuple[Any, ...]) -> tuple[Variable, ...]:
        kernels, names = matched(self.kernels, samples)
        return variables(kernels, samples, names)

    def _evidence(self, found: tuple[Variable, ...]) -> HSICEvidence | JointEvidence:
        if len(found) == 2 and not isinstance(self.null, Bootstrap):
            return HSICEvidence.of(*found)
        return JointEvidence(found)
