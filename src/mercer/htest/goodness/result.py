"""What a goodness-of-fit test found: beside the p-value, where the model does not fit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.htest.base import HypothesisTest, Result
from mercer.htest.goodness.sample import Sample
from mercer.htest.nulls import Judgement
from mercer.rkhs.function import Function
from mercer.rkhs.rows import taken

SCHEMA = "mercer/goodness/1"


@dataclass(frozen=True, eq=False)
class MisfitPoints:
    """The observations that speak most against the model.

    Attributes
    ----------
    indices : array (k,)
        Their positions, the most telling first.
    contributions : array (k,)
        mean_j k_p(x_i, x_j), whose mean over all observations is the discrepancy.
    """

    indices: np.ndarray
    contributions: np.ndarray

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True)
class GoodnessResult(Result):
    """The result of a goodness-of-fit test; it keeps the sample, and looks into it when asked.

    Witness and points are by the Stein kernel of the test and look at all pairs of
    observations; `thinned` gives the same result on fewer.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import KSD
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> x[:30] += 4.0  # some that the model does not know
    >>> result = KSD(Gaussian(0.0, 1.0)).test(x, rng=0)
    >>> result.rejects(), set(result.points(20).indices.tolist()) <= set(range(30))
    (True, True)
    """

    sample: Sample = field(repr=False, compare=False, kw_only=True)

    @property
    def size(self) -> int:
        """How many observations there are."""
        return len(self.sample)

    # ---- where ------------------------------------------------------------------------

    def witness(self) -> Function:
        """w(y) = mean_i k_p(x_i, y): large where observations are that the model does not expect.

        The embedding of the sample by the Stein kernel, by which that of the model is 0; its
        squared norm is the squared discrepancy, and its mean over the sample too.
        """
        n = self.size
        weights = np.full(n, 1 / n, dtype=np.float64)
        return Function(self.sample.kernel, self.sample.points, weights, self.sample.columns)

    def points(self, k: int = 5) -> MisfitPoints:
        """The `k` observations that add most to the discrepancy."""
        validate.whole("k", k)
        contributions = to_numpy(self.sample.gram.row_sums()) / self.size
        indices = np.argsort(-contributions, kind="stable")[:k]
        return MisfitPoints(indices, contributions[indices])

    def thinned(self, most: int) -> GoodnessResult:
        """The same verdict, with at most `most` of the observations, always the same ones."""
        validate.whole("most", most)
        if self.size <= most:
            return self
        chosen = np.random.default_rng(0).choice(self.size, most, replace=False, shuffle=False)
        rows = np.sort(chosen)
        return replace(self, sample=replace(self.sample, points=taken(self.sample.points, rows)))

    # ---- words ------------------------------------------------------------------------

    def summary(self, level: float = 0.05) -> str:
        """What was asked, the verdict, and which observations speak against the model."""
        how = f"{type(self.test).__name__}, {self.null_in_words()}; level {level:g}"
        p = f"p = {self.pvalue:.3g}"
        if self.rejects(level):
            verdict = f"Verdict: the model does not fit, {p} ({how})."
        else:
            verdict = (
                f"Verdict: no misfit was found, {p} ({how}). This does not show that the model "
                "is right."
            )
        return "\n".join(
            [
                f"Asked: do the {self.size:,} observations come from {self._model}?",
                verdict,
                f"Size: squared Stein discrepancy {self.statistic:.4g}.",
                *self.notes,
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        columns = self.sample.columns
        return {
            "schema": SCHEMA,
            **super().to_dict(),
            "size": self.size,
            "model": self._model,
            "kernel": repr(self.sample.kernel.kernel),
            "columns": None if columns is None else list(columns.names),
        }

    @property
    def _model(self) -> str:
        """The model in a word."""
        model = getattr(self.test, "model", None)
        words = repr(model)
        return words if len(words) <= 80 and " at 0x" not in words else type(model).__name__


def goodness_result(
    test: HypothesisTest, sample: Sample, statistic: float, judgement: Judgement
) -> GoodnessResult:
    """The one way every goodness-of-fit test makes its result."""
    return GoodnessResult(
        float(statistic),
        float(judgement.pvalue),
        test,
        judgement.draws,
        judgement.notes,
        observed=float(judgement.observed),
        law=judgement.law,
        sample=sample,
    )
