"""Permutation test of zero partial distance correlation."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Permutation
from mercer.kernels.radial import Energy
from mercer.rkhs.paired_samples import Variable, variables
from mercer.rkhs.partial_correlation import partial_correlation

_MIN_ROWS = 4  # observations: unbiased products divide by n (n - 3)
_NOT_CONDITIONAL = (
    "Zero partial distance correlation is not conditional independence: for that question use "
    "independence(x, y, given=z)."
)


@dataclass(frozen=True)
class PartialDistanceCorrelation(HypothesisTest):
    """Permutation test of zero partial distance correlation of x and y given z.

    The statistic is `mercer.rkhs.partial_distance_correlation`, the cosine between the centred distance matrices
    of x and y after projection orthogonal to that of z. The projected matrix of y is permuted against that of x
    (Szekely and Rizzo 2014, section 4.3), and large values count.

    Permutations are approximate, because both projections depend on z. More important, the null hypothesis is
    not conditional independence: x and y that are independent given z may have a partial distance correlation
    other than zero, which the test finds if there are enough observations. For x = z + e and y = z + f with
    standard normal z, e and f it is 0.026. Tests of conditional independence are `KernelGCM`, `KCI` and others.

    Parameters
    ----------
    power : float
        Exponent of the distances, above 0 and at most 2.
    null : Permutation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=200)
    >>> x, y = z + rng.normal(size=200), rng.normal(size=200)
    >>> PartialDistanceCorrelation().test(x, y, z, rng=0).rejects()
    False
    >>> PartialDistanceCorrelation().test(x, x + y, z, rng=0).pvalue
    0.001
    """

    power: float = 1.0
    null: Permutation = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        Energy(self.power)  # checks the power
        if not isinstance(self.null, Permutation):
            raise TypeError(f"null must be Permutation(...), got {validate.shown(self.null)}")

    def statistic(self, x: Any, y: Any, z: Any) -> float:
        """Partial distance correlation of x and y given z."""
        return PartialEvidence(*self._variables(x, y, z)).observed

    def test(self, x: Any, y: Any, z: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        observed = self._variables(x, y, z)
        evidence = PartialEvidence(*observed)
        judgement = self.null.judge(evidence, rng)
        return independence_result(
            self, observed, evidence.observed, judgement, (_NOT_CONDITIONAL,), given=True
        )

    @property
    def question(self) -> str:
        """A template of the question for the summary."""
        return "have the distances of x and y anything in common beyond those of z? Variables: {}"

    def verdict(self, rejected: bool) -> str:
        """The verdict is about partial distance correlation, not about conditional independence."""
        how = "is above zero" if rejected else "was not found to differ from zero"
        return f"the partial distance correlation of x and y given z {how}"

    def _variables(self, x: Any, y: Any, z: Any) -> tuple[Variable, ...]:
        kernels = (Energy(self.power),) * 3
        return tuple(v.widened() for v in variables(kernels, (x, y, z), least=_MIN_ROWS))


class PartialEvidence:
    """Partial distance correlation of three variables, for the observed and for permuted projections of y.

    With P the projection orthogonal to Z, the product <PX, (PY)^p> of a permutation p is a sum of four products
    of plain matrices, <X, Y^p> - a <Z, Y^p> - b <X, Z^p> + a b <Z, Z^p>, which `HSICEvidence` permutes together.
    """

    def __init__(self, x: Variable, y: Variable, z: Variable) -> None:
        self.xy, self.xz = HSICEvidence.of(x, y, True), HSICEvidence.of(x, z, True)
        self.zy, self.zz = HSICEvidence.of(z, y, True), HSICEvidence.of(z, z, True)
        self.xx, self.yy = (HSICEvidence.of(v, v, True).observed for v in (x, y))

    @cached_property
    def observed(self) -> float:
        """The partial distance correlation."""
        pairs = (self.zz, self.xy, self.xz, self.zy)
        return partial_correlation(self.xx, self.yy, *(pair.observed for pair in pairs))

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistics of the permutations in `columns`; column 0 is the observed order."""
        a, b = self._slopes
        terms = (1.0, self.xy), (-a, self.zy), (-b, self.xz), (a * b, self.zz)
        products = sum(weight * pair.permuted(null, columns, seed) for weight, pair in terms)
        return np.asarray(products / self._norms if self._norms > 0 else 0.0 * products)

    def tolerance(self) -> float:
        """Largest difference by rounding between equal statistics."""
        if self._norms <= 0:
            return 0.0
        a, b = (abs(slope) for slope in self._slopes)
        terms = (1.0, self.xy), (a, self.zy), (b, self.xz), (a * b, self.zz)
        return sum(weight * pair.tolerance() for weight, pair in terms) / self._norms

    @cached_property
    def _slopes(self) -> tuple[float, float]:
        """Coefficients of Z in the projections of X and of Y."""
        zz = self.zz.observed
        return (self.xz.observed / zz, self.zy.observed / zz) if zz > 0 else (0.0, 0.0)

    @cached_property
    def _norms(self) -> float:
        """|PX| |PY|, which permutations do not change; 0 where a projection is rounding."""
        if self.observed == 0.0:
            return 0.0
        a, b = self._slopes
        rest_x = self.xx - a * self.xz.observed
        rest_y = self.yy - b * self.zy.observed
        return sqrt(rest_x) * sqrt(rest_y)
