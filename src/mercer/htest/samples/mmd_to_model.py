"""Maximum mean discrepancy of a sample and a distribution whose mean embedding is known exactly."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, count, scalar, take_rows, to_numpy
from mercer.gram import Gram
from mercer.htest.deviation import deviation_interval, deviation_tail, largest_value
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.intervals import Estimate, Interval, variance_slope
from mercer.htest.nulls import Null, Permutation
from mercer.htest.result import Result
from mercer.htest.samples.effect import second_order_norms
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import prepare
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs import Dirac, Empirical, Gaussian, Mixture, Uniform, mean_embedding
from mercer.rkhs.embeddings.embedding import Embedding

KNOWN_DISTRIBUTIONS = Gaussian, Mixture, Uniform, Dirac
KnownDistribution = Gaussian | Mixture | Uniform | Dirac
_DRAWS_FOR_MOMENTS = 1000  # of the model, for the spectrum and the moments of the null distribution
_DRAWS_FOR_BANDWIDTH = 1000
_POINTS_AT_ONCE = 100_000  # at which the embedding of the model is computed together
_SEED = 0  # of those draws: they belong to the model, and are the same for every sample


@dataclass(frozen=True)
class ModelMMDResult(Result):
    """Result of a test of a sample against a known distribution, by the exact embedding of that.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import MMD
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).normal(0.5, 1.0, size=(200, 2))
    >>> result = MMD().test(x, Gaussian([0.0, 0.0], 1.0), rng=0)
    >>> result.rejects()
    True
    >>> low, high = result.interval()
    >>> 0 < low < result.statistic < high
    True
    """

    evidence: ModelMMDEvidence = field(repr=False, compare=False, kw_only=True)

    @property
    def kernel(self) -> Kernel:
        """Kernel of the discrepancy."""
        return self.evidence.kernel

    def witness(self) -> Embedding:
        """mean_i k(x_i, .) - E k(Y, .): positive where there are more observations than the model expects."""
        return mean_embedding(self.kernel, self.evidence.points) - self.evidence.embedding

    def interval(self, confidence: float = 0.95) -> Interval:
        """Asymptotic confidence interval of MMD^2, as `Effect.interval` of two samples."""
        validate.between("confidence", confidence, 0.0, 1.0)
        return self.evidence.estimate.interval(confidence)

    def mmd_interval(self, confidence: float = 0.95) -> Interval:
        """Confidence interval of MMD, for every distribution and every sample size (`deviation_interval`)."""
        evidence = self.evidence
        return deviation_interval(evidence.form, evidence.variance_bound(), confidence)


def tested_against_model(
    test: HypothesisTest, null: Null, evidence: ModelMMDEvidence, rng: Any
) -> ModelMMDResult:
    """Result of `MMD` for a sample and a known distribution."""
    notes: tuple[str, ...] = ()
    if isinstance(null, Permutation):
        if null.paired or null.blocks is not None:
            raise ValueError(
                "a known distribution has no observations to permute: leave out paired and blocks"
            )
        notes = (f"The resamples are samples of {evidence.n:,} draws from {evidence.model!r}.",)
    judgement = null.judge(evidence, rng)
    return ModelMMDResult.judged(test, evidence.observed, judgement, notes, evidence=evidence)


class ModelMMDEvidence:
    """Kernel means of a sample, and the closed forms of the model.

    With k~(x, y) = k(x, y) - mu(x) - mu(y) + |mu|^2, mu the embedding of the model, MMD^2 is the mean of
    k~ over pairs of observations; E k~(x, Y) = 0 for every x where the model holds.
    """

    def __init__(self, kernel: Kernel | None, x: Any, model: Any, unbiased: bool) -> None:
        if isinstance(x, Empirical):
            raise TypeError(
                "a weighted sample cannot be tested against a known distribution: use AgainstDraws(model)"
            )
        used, self.points, _ = prepare(kernel or VECTOR_KERNEL, x)
        if count(self.points) < 2:
            raise ValueError(f"x must have at least 2 points, got {count(self.points)}")
        if kernel is None:
            used = median_rbf(model.sample(_DRAWS_FOR_BANDWIDTH, rng=_SEED), name="the model")
        self.kernel, self.model, self.unbiased = used, model, unbiased
        self.n = count(self.points)
        self.embedding = mean_embedding(used, model)
        self.norm2 = self.embedding.norm2()

    @cached_property
    def observed(self) -> float:
        """MMD^2, without pairs i = j if unbiased."""
        return self._statistic(self.points, self._expected, self.unbiased)

    @cached_property
    def form(self) -> float:
        """MMD^2 with pairs i = j: the squared norm of the witness."""
        return max(self._statistic(self.points, self._expected, False), 0.0)

    # ---- protocols of nulls -------------------------------------------------------------

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic of samples drawn from the model; column 0 is the observed one."""
        values = [self.observed] if columns.start == 0 else []
        numbers = range(max(columns.start, 1), columns.stop)
        for draws, expected in self._model_samples(numbers, seed):
            values.append(self._statistic(draws, expected, self.unbiased))
        return np.array(values, dtype=np.float64)

    def tolerance(self) -> float:
        """Draws of a distribution with a density have no ties."""
        return 0.0

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The form, and the eigenvalues of k~ under the model, over n."""
        matrix = self._centred_draws
        eigenvalues = linalg.eigvalsh(matrix)[::-1] / len(matrix)
        weights = np.maximum(eigenvalues[:rank], 0.0) / self.n
        return self.form, weights, max(self._trace / self.n - float(weights.sum()), 0.0)

    def moments(self) -> tuple[float, float, float]:
        """The form, and its mean and variance under the model."""
        matrix, n = self._centred_draws, self.n
        diagonal, size = np.diagonal(matrix), len(matrix)
        pairs = float(np.sum(matrix**2) - diagonal @ diagonal) / (
            size * (size - 1)
        )  # E k~(Y, Y')^2
        variance = (float(np.var(diagonal)) + 2 * (n - 1) * pairs) / n**3
        return self.form, self._trace / n, variance

    def bound(self) -> tuple[float, float]:
        """The form, and a bound on its p-value for any sample size."""
        return self.form, deviation_tail(self.form, self.variance_bound())

    def variance_bound(self) -> float:
        """K / n, K the largest value of the kernel."""
        return largest_value(self.kernel, self.points) / self.n

    # ---- intervals ----------------------------------------------------------------------

    @cached_property
    def estimate(self) -> Estimate:
        """The unbiased MMD^2, and its variance as a function of the true value."""
        n, gram = self.n, Gram(self.kernel, self.points)
        sums, diagonal = (
            to_numpy(v).astype(np.float64) for v in (gram.row_sums(), gram.diagonal())
        )
        witness = (sums - diagonal) / (n - 1) - self._expected
        value = self._statistic(self.points, self._expected, True)
        norm2, top = second_order_norms(self.kernel, self.points)
        floor = 2 * norm2 / (n * (n - 1))
        variance = float(np.var(witness, ddof=1))
        slope = variance_slope(value, variance, norm2 / n, sqrt(max(floor, 0.0)), top)
        return Estimate(value, 4 * slope / n, floor)

    # ---- private ------------------------------------------------------------------------

    @cached_property
    def _expected(self) -> np.ndarray:
        """E k(x_i, Y) at the observations: (n,)."""
        return to_numpy(self.embedding(self.points)).astype(np.float64)

    def _statistic(self, points: Array, expected: np.ndarray, unbiased: bool) -> float:
        gram, n = Gram(self.kernel, points), self.n
        within = gram.sum() / n**2
        if unbiased:
            within = (gram.sum() - gram.trace()) / (n * (n - 1))
        return scalar(within) - 2 * float(expected.mean()) + self.norm2

    def _model_samples(self, numbers: range, seed: int) -> Iterator[tuple[Array, np.ndarray]]:
        """Samples of n draws from the model, each with its own seed, and E k(y_i, Y) at their points."""
        step = max(1, _POINTS_AT_ONCE // self.n)
        for start in range(0, len(numbers), step):
            samples = [
                self.model.sample(self.n, rng=np.random.default_rng([seed, number]))
                for number in numbers[start : start + step]
            ]
            points = array_like(np.concatenate(samples), self.points)
            expected = to_numpy(self.embedding(points)).astype(np.float64)
            for first in range(0, len(expected), self.n):
                rows = slice(first, first + self.n)
                yield take_rows(points, rows), expected[rows]

    @cached_property
    def _centred_draws(self) -> np.ndarray:
        """k~ of draws from the model: (draws, draws)."""
        draws = array_like(self.model.sample(_DRAWS_FOR_MOMENTS, rng=_SEED), self.points)
        expected = to_numpy(self.embedding(draws)).astype(np.float64)
        matrix = to_numpy(Gram(self.kernel, draws).dense()).astype(np.float64)
        matrix += self.norm2 - expected[:, None] - expected
        return matrix

    @property
    def _trace(self) -> float:
        """E k~(Y, Y) under the model."""
        return float(np.mean(np.diagonal(self._centred_draws)))
