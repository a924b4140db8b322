"""Two-sample test given a context: has the distribution changed beyond what the context explains?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import to_numpy
from mercer.gram import Gram
from mercer.htest.conditional_memory import need_memory
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Judgement
from mercer.htest.result import Result
from mercer.htest.samples.propensity import propensities
from mercer.htest.samples.several_samples import pooled_samples
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import check_kernels
from mercer.rkhs.sample_rows import widened_for

_RIDGES = np.geomspace(1e-4, 1e1, 8)  # times the mean of k(c, c), of the averaged loss
_MIN_ROWS = 8  # of each sample
_SEED = 0  # makes `statistic`, which has no rng, deterministic
_TRIES = 100  # to draw labels with both samples in them
_MATRIX_COPIES = (
    12  # two Gram matrices, their rows without held-out ones, eigenvectors and products
)
_CLEAR, _SHARE_NOTED = 0.95, 0.25  # probability, and share of rows beyond it, that make a note


@dataclass(frozen=True)
class ContextMMD(HypothesisTest):
    """Two-sample test given a context: is the distribution of x given its context the same in both samples?

    Customers of July differ from those of January because it is summer. The context (the temperature, the share of
    tourists) may change from sample to sample; the test asks whether x changed beyond that. The statistic is the
    squared distance of the conditional mean embeddings of both samples, averaged over contexts of the second
    sample that are held out for it (Cobb and Van Looveren 2022, MMD-ADiTT),

        mean_c | mu_1(c) - mu_0(c) |^2,    mu_d(c) = sum_i w_i(c) k(x_i, .),    w(c) = (L_d + n_d ridge I)^-1 l_d(c),

    with the ridge that predicts best on the pooled sample, which does not know the labels. Under the null hypothesis a
    row belongs to the second sample with a probability that depends on its context only. The probabilities are
    estimated by logistic regression, labels are drawn again from them, and the statistics are compared.

    The test is approximate: it is as good as the estimated probabilities. At 100 + 100 rows and level 0.05 it rejected
    0.02 to 0.06 of 100 samples each of four problems where only the context changes. Contexts of the second sample
    that the first sample lacks cannot be compared; a note says where these are many. Time grows with resamples
    times n^3.

    Parameters
    ----------
    kernel : Kernel or None
        Kernel of the observations. None: RBF at the median distance; for data frames `default_kernel`.
    context_kernel : Kernel or None
        Kernel of the contexts, chosen in the same way.
    held_out : float
        Share of the second sample whose contexts the average is over.
    resamples : int
        Number of label draws.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> winter, summer = rng.normal(0.0, 1.0, 100), rng.normal(1.0, 1.0, 100)
    >>> before, after = winter + rng.normal(size=100), summer + rng.normal(size=100)
    >>> ContextMMD(resamples=99).test(before, after, winter, summer, rng=0).rejects()
    False
    >>> ContextMMD(resamples=99).test(before, after + 3.0, winter, summer, rng=0).rejects()
    True
    """

    kernel: Kernel | None = None
    context_kernel: Kernel | None = None
    held_out: float = field(default=0.25, kw_only=True)
    resamples: int = field(default=199, kw_only=True)

    def __post_init__(self) -> None:
        check_kernels(kernel=self.kernel, context_kernel=self.context_kernel)
        validate.between("held_out", self.held_out, 0.0, 1.0)
        validate.whole("resamples", self.resamples)

    def statistic(self, x: Any, y: Any, context_x: Any, context_y: Any) -> float:
        """Mean squared distance of conditional mean embeddings; contexts are held out with seed 0."""
        evidence = self._evidence(x, y, context_x, context_y, validate.generator(_SEED))
        return evidence.statistic(evidence.labels)

    def test(self, x: Any, y: Any, context_x: Any, context_y: Any, *, rng: Any = None) -> Result:
        """The statistic and its p-value."""
        generator = validate.generator(rng)
        evidence = self._evidence(x, y, context_x, context_y, generator)
        observed = evidence.statistic(evidence.labels)
        chances = propensities(evidence.context_gram, evidence.labels)
        draws = [
            evidence.statistic(drawn_labels(chances, generator)) for _ in range(self.resamples)
        ]
        judgement = Judgement.resampled(observed, np.array(draws, dtype=np.float64))
        return Result.judged(self, observed, judgement, _overlap_notes(chances, evidence.labels))

    def verdict(self, rejected: bool) -> str:
        """The verdict is about distributions given the context."""
        if rejected:
            return "Given the context, the samples have different distributions"
        return "No difference was found beyond what the context explains"

    def _evidence(
        self, x: Any, y: Any, context_x: Any, context_y: Any, rng: np.random.Generator
    ) -> ContextEvidence:
        no_weights = "ContextMMD takes no weighted samples: pass the points without weights"
        observed = pooled_samples(self.kernel, (x, y), ("x", "y"), no_weights)
        names = ("context_x", "context_y")
        contexts = pooled_samples(self.context_kernel, (context_x, context_y), names, no_weights)
        n, m = observed[2]
        _check_sizes((n, m), contexts[2])
        targets = n + np.sort(rng.choice(m, max(int(self.held_out * m), 1), replace=False))
        rows = np.setdiff1d(np.arange(n + m), targets)
        gram, context_gram = _gram(*observed[:2]), _gram(*contexts[:2])
        return ContextEvidence.of(gram, context_gram, rows, targets, rows >= n)


@dataclass(frozen=True, eq=False)
class ContextEvidence:
    """Gram matrices of observations and contexts, and the statistic for any labels."""

    gram: np.ndarray  # (n, n), of the observations
    context_gram: np.ndarray  # (n, n)
    across: np.ndarray  # (n, h), of contexts and held-out contexts
    labels: np.ndarray  # (n,), whether a row is of the second sample
    ridge: float

    @classmethod
    def of(
        cls,
        gram: np.ndarray,
        context_gram: np.ndarray,
        rows: np.ndarray,
        targets: np.ndarray,
        labels: np.ndarray,
    ) -> ContextEvidence:
        """The evidence of these rows, averaged over the contexts of `targets`."""
        inner, contexts = gram[np.ix_(rows, rows)], context_gram[np.ix_(rows, rows)]
        across = context_gram[np.ix_(rows, targets)]
        return cls(inner, contexts, across, labels, best_ridge(inner, contexts))

    def statistic(self, labels: np.ndarray) -> float:
        """Mean over held-out contexts of the squared distance of conditional mean embeddings."""
        weights = np.zeros_like(self.across)
        for sign, rows in ((1.0, np.flatnonzero(labels)), (-1.0, np.flatnonzero(~labels))):
            matrix = self.context_gram[np.ix_(rows, rows)]
            matrix[np.diag_indices(len(rows))] += len(rows) * self.ridge
            weights[rows] = sign * linalg.solve(matrix, self.across[rows])
        return float(np.sum(weights * (self.gram @ weights))) / self.across.shape[1]


def best_ridge(gram: np.ndarray, context_gram: np.ndarray) -> float:
    """The ridge whose conditional mean embedding predicts left-out observations best, labels unknown.

    With the smoother S, the squared error at row i is |k(x_i, .) - sum_j S_ij k(x_j, .)|^2 / (1 - S_ii)^2.
    """
    n = len(gram)
    values, vectors = linalg.eigh(context_gram)
    values, crossed_with = np.maximum(values, 0.0), gram @ vectors
    rotated = vectors.T @ crossed_with
    ridges, errors = _RIDGES * max(float(values.sum()) / n, 1e-300), []
    for ridge in ridges:
        smooth = vectors * (values / (values + n * ridge))
        leverage = np.sum(smooth * vectors, axis=1)
        crossed = np.sum(smooth * crossed_with, axis=1)
        squares = np.sum((smooth @ rotated) * smooth, axis=1)
        residuals = np.diagonal(gram) - 2 * crossed + squares
        errors.append(np.mean(residuals / np.maximum(1 - leverage, 1e-6) ** 2))
    return float(ridges[int(np.argmin(errors))])


def drawn_labels(chances: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels drawn from their probabilities, again if fewer than two rows have one of the labels."""
    for _ in range(_TRIES):
        labels = rng.random(len(chances)) < chances
        if 2 <= labels.sum() <= len(labels) - 2:
            return labels
    raise ValueError(
        "contexts of the two samples do not overlap, so that no row could belong to the other sample: compare "
        "samples whose contexts overlap, or leave the context out with MMD()"
    )


def _gram(kernel: Kernel, points: Any) -> np.ndarray:
    """The Gram matrix in float64."""
    gram = Gram.of_checked(kernel, widened_for(kernel, points))
    return to_numpy(gram.dense()).astype(np.float64, copy=False)


def _check_sizes(sizes: tuple[int, int], contexts: list[int]) -> None:
    """Enough rows, each with a context, and room for the matrices."""
    for sample, name, size, number in zip(
        ("x", "y"), ("context_x", "context_y"), sizes, contexts, strict=True
    ):
        if size < _MIN_ROWS:
            raise ValueError(f"{sample} must have at least {_MIN_ROWS} points, got {size}")
        if number != size:
            raise ValueError(
                f"{sample} and {name} must have the same number of points, got {size} and {number}: "
                "every observation has a context"
            )
    n = sum(sizes)
    needed = _MATRIX_COPIES * 8 * n**2
    need_memory(f"ContextMMD of {n:,} observations", needed, "compare fewer rows")


def _overlap_notes(chances: np.ndarray, labels: np.ndarray) -> tuple[str, ...]:
    """A note where the context nearly tells the samples apart."""
    share = float(np.mean(chances[labels] >= _CLEAR))
    if share < _SHARE_NOTED:
        return ()
    return (
        f"Caution: {share:.0%} of the second sample have contexts that the first sample nearly lacks; there the "
        "samples cannot be compared.",
    )
