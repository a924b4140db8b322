"""What an independence test found: beside the p-value, how strong the dependence is, and where."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mercer.backend import count
from mercer.htest.base import HypothesisTest, Result
from mercer.htest.dependence.variables import Variable
from mercer.htest.nulls import Judgement

SCHEMA = "mercer/independence/1"


@dataclass(frozen=True)
class IndependenceResult(Result):
    """The result of an independence test; it keeps the variables, and looks into them when asked."""

    variables: tuple[Variable, ...] = field(repr=False, compare=False, kw_only=True)

    @property
    def size(self) -> int:
        """How many observations there are."""
        return count(self.variables[0].points)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "schema": SCHEMA,
            **super().to_dict(),
            "size": self.size,
            "variables": [
                {
                    "name": v.name,
                    "columns": None if v.columns is None else list(v.columns.names),
                    "kernel": repr(v.kernel),
                }
                for v in self.variables
            ],
        }


def independence_result(
    test: HypothesisTest,
    variables: tuple[Variable, ...],
    statistic: float,
    judgement: Judgement,
    notes: tuple[str, ...] = (),
) -> IndependenceResult:
    """The one way every independence test makes its result."""
    return IndependenceResult(
        float(statistic),
        float(judgement.pvalue),
        test,
        judgement.draws,
        notes,
        observed=float(judgement.observed),
        law=judgement.law,
        variables=variables,
    )
