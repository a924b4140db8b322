"""Do three variables interact? By the Lancaster interaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer import validate
from mercer.backend import count
from mercer.htest.dependence.blind_kernels import blindness
from mercer.htest.dependence.dependence_result import IndependenceResult
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.lancaster_statistic import InteractionEvidence, joined, three_sides
from mercer.htest.dependence.observed_variables import Variable, variables
from mercer.htest.dependence.sums.centered_gram import Side, Spanned
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement, Null, Permutation
from mercer.kernels.base import Kernel
from mercer.rkhs.dependence_measures import several

_NAMES = ("x", "y", "z")
_OTHERS = {"x": (1, 2), "y": (0, 2), "z": (0, 1)}


@dataclass(frozen=True)
class InteractionResult(IndependenceResult):
    """The result of a test of interaction.

    `separate` are the p-values of the hypotheses that x, that y, and that z is independent of the
    other two together, of which `pvalue` is the largest; None where all three were permuted.
    """

    separate: tuple[float, float, float] | None = field(default=None, compare=False, kw_only=True)

    @property
    def question(self) -> str:
        """What was asked, about these variables."""
        return "are {} independent?" if self.separate is None else "do {} interact?"

    def to_dict(self, *, confidence: float = 0.95) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        found = super().to_dict(confidence=confidence)
        names = dict(zip(_NAMES, self.separate or (), strict=False))
        return {**found, "separate": names or None}


@dataclass(frozen=True)
class Lancaster(HypothesisTest):
    """Do three variables interact, beyond what any two of them share? (Sejdinovic et al. 2013)

    (K~ o L~ o M~)_++ / n^2, the squared norm of the embedding of the Lancaster interaction
    P_XYZ - P_XY P_Z - P_YZ P_X - P_XZ P_Y + 2 P_X P_Y P_Z. It vanishes where one of the variables is
    independent of the other two together. So each of these three hypotheses is tested, and the
    largest of their p-values is the one of the test: under any of them it is valid without a
    correction for their number (Rubenstein et al. 2016). It sees weak dependence of
    one variable on two others that leaves all pairs independent, where `DHSIC` needs more data.

    Parameters
    ----------
    kernels : sequence of three kernels or None; or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    total : bool
        True: the null hypothesis is that all three are independent, which is less, and easier
        to reject: two dependent variables may do.
    null : Permutation, Gamma, Spectrum or WildBootstrap
        Permutations of one variable against the other two (`total`: of two of them) are exact.
        WildBootstrap is for time series.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> x, y = rng.normal(size=(2, 150))
    >>> z = np.abs(rng.normal(size=150)) * np.sign(x * y)  # independent of each of them
    >>> Lancaster().test(x, y, z, rng=0).pvalue
    0.001
    >>> result = Lancaster().test(x, y, x + rng.normal(size=150), rng=0)  # x and z only
    >>> result.rejects()
    False
    """

    kernels: Sequence[Kernel | None] | None = None
    total: bool = field(default=False, kw_only=True)
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        if self.kernels is not None:
            object.__setattr__(self, "kernels", several(self.kernels))
            if len(self.kernels) != 3:
                raise ValueError(
                    f"kernels must be three, one for each variable, got {len(self.kernels)}"
                )
        validate.truth("total", self.total)
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    def statistic(self, x: Any, y: Any, z: Any) -> float:
        """The squared norm of the interaction."""
        return InteractionEvidence(three_sides(self._variables(x, y, z))).observed

    def test(self, x: Any, y: Any, z: Any, *, rng: Any = None) -> InteractionResult:
        """The statistic and its p-value."""
        found, rng = self._variables(x, y, z), validate.generator(rng)
        evidence = InteractionEvidence(three_sides(found))
        separate, notes = None, blindness([v.kernel for v in found], _NAMES)
        if self.total:
            judgement = self.null.judge(evidence, rng)
        else:
            judged = [self.null.judge(_of_one(evidence.sides, name), rng) for name in _NAMES]
            separate = judged[0].pvalue, judged[1].pvalue, judged[2].pvalue
            judgement = max(judged, key=lambda j: j.pvalue)
            notes = (*notes, _told(judged))
        return InteractionResult.judged(
            self, evidence.observed, judgement, notes, variables=found, separate=separate
        )

    def verdict(self, rejected: bool) -> str:
        """What was found, in words."""
        if self.total:
            return "they depend on each other" if rejected else "no dependence was found"
        return (
            "the three variables interact"
            if rejected
            else "one of them may be independent of the other two together"
        )

    def _variables(self, x: Any, y: Any, z: Any) -> tuple[Variable, ...]:
        return variables(self.kernels or (None,) * 3, (x, y, z), _NAMES)


def _of_one(sides: tuple[Side, ...], name: str) -> HSICEvidence:
    """One variable against the other two together."""
    one, (i, j) = sides[_NAMES.index(name)], _OTHERS[name]
    width = one.columns.shape[1] if isinstance(one, Spanned) else 0
    most = count(one.variable.points) // width if width else 0
    return HSICEvidence(joined(sides[i], sides[j], most), one)


def _told(judged: Sequence[Judgement]) -> str:
    parts = (f"{name} p = {j.pvalue:.3g}" for name, j in zip(_NAMES, judged, strict=True))
    return f"Independent of the other two together: {', '.join(parts)}; the largest counts."
