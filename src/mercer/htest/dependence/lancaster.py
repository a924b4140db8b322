"""Lancaster test: do three variables interact?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer import validate
from mercer.backend import count
from mercer.htest.dependence.dependence_result import IndependenceResult, kernel_notes
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.lancaster_statistic import (
    InteractionEvidence,
    hadamard_gram,
    three_grams,
)
from mercer.htest.dependence.sums.centered_gram import CenteredGram, LowRankGram
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement, Null, Permutation
from mercer.kernels.base import Kernel
from mercer.rkhs.dependence_measures import several
from mercer.rkhs.paired_samples import Variable, variables

_NAMES = ("x", "y", "z")
_OTHERS = {"x": (1, 2), "y": (0, 2), "z": (0, 1)}


@dataclass(frozen=True)
class InteractionResult(IndependenceResult):
    """The result of a test of three-variable interaction.

    `separate` holds the p-values of the hypotheses that x, y or z is independent of the other two
    together; `pvalue` is the largest of them. None for a test of total independence.
    """

    separate: tuple[float, float, float] | None = field(default=None, compare=False, kw_only=True)

    @property
    def question(self) -> str:
        """A template of the question for the summary."""
        return "are {} independent?" if self.separate is None else "do {} interact?"

    def to_dict(self, *, confidence: float = 0.95) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        separate = dict(zip(_NAMES, self.separate or (), strict=False))
        return {**super().to_dict(confidence=confidence), "separate": separate or None}


@dataclass(frozen=True)
class Lancaster(HypothesisTest):
    """Test of the interaction of three variables, beyond their pairwise dependence (Sejdinovic et al. 2013).

    The statistic is (K~ o L~ o M~)_++ / n^2, the squared norm of the embedding of the Lancaster
    interaction P_XYZ - P_XY P_Z - P_YZ P_X - P_XZ P_Y + 2 P_X P_Y P_Z. It vanishes where one of the
    variables is independent of the other two together. Each of these three hypotheses is tested,
    and the p-value is the largest of the three, which is valid without a correction for their
    number (Rubenstein et al. 2016). The test detects weak dependence of one variable on two others
    that leaves all pairs independent, where `DHSIC` needs more data.

    Parameters
    ----------
    kernels : sequence of three kernels or None; or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    total : bool
        True: the null hypothesis is that all three are jointly independent. It is easier to reject: two
        dependent variables may suffice.
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
        return InteractionEvidence(three_grams(self._variables(x, y, z))).observed

    def test(self, x: Any, y: Any, z: Any, *, rng: Any = None) -> InteractionResult:
        """The statistic and its p-value."""
        observed, rng = self._variables(x, y, z), validate.generator(rng)
        evidence = InteractionEvidence(three_grams(observed))
        separate, notes = None, kernel_notes([v.kernel for v in observed], _NAMES)
        if self.total:
            judgement = self.null.judge(evidence, rng)
        else:
            judged = [
                self.null.judge(_one_against_two(evidence.grams, name), rng) for name in _NAMES
            ]
            separate = judged[0].pvalue, judged[1].pvalue, judged[2].pvalue
            judgement = max(judged, key=lambda j: j.pvalue)
            notes = (*notes, _separate_note(judged))
        return InteractionResult.judged(
            self, evidence.observed, judgement, notes, variables=observed, separate=separate
        )

    def verdict(self, rejected: bool) -> str:
        """The conclusion in words."""
        if self.total:
            return "they depend on each other" if rejected else "no dependence was found"
        return (
            "the three variables interact"
            if rejected
            else "one of them may be independent of the other two together"
        )

    def _variables(self, x: Any, y: Any, z: Any) -> tuple[Variable, ...]:
        return variables(self.kernels or (None,) * 3, (x, y, z), _NAMES)


def _one_against_two(grams: tuple[CenteredGram, ...], name: str) -> HSICEvidence:
    """HSIC of one variable and the other two together."""
    gram, (i, j) = grams[_NAMES.index(name)], _OTHERS[name]
    width = gram.columns.shape[1] if isinstance(gram, LowRankGram) else 0
    max_rank = count(gram.variable.points) // width if width else 0
    return HSICEvidence(hadamard_gram(grams[i], grams[j], max_rank), gram)


def _separate_note(judged: Sequence[Judgement]) -> str:
    pvalues = (f"{name} p = {j.pvalue:.3g}" for name, j in zip(_NAMES, judged, strict=True))
    return f"Independent of the other two together: {', '.join(pvalues)}; the largest counts."
