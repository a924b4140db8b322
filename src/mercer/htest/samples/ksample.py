"""K-sample test: do several samples come from one distribution?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from mercer import validate
from mercer.config import settings
from mercer.gram import PermutedWeights
from mercer.gram.kernel_family import Family
from mercer.gram.multi_kernel_forms import Labelled, PairSums, labelled
from mercer.gram.resampling_weights import BYTES_PER_DECODED_COLUMN, CodedColumns
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Permutation
from mercer.htest.result import Result
from mercer.htest.sample_notes import attainable_note, log_labellings
from mercer.htest.samples.pooled_sample import within
from mercer.htest.samples.several_samples import pooled_samples
from mercer.htest.ties import coincide, double_noise, few_points, single_noise
from mercer.kernels.base import Kernel, Points
from mercer.rkhs.sample_rows import widened


@dataclass(frozen=True)
class KSampleResult(Result):
    """The result of a test of several samples; `distances` are their unbiased MMD^2, pair by pair."""

    distances: np.ndarray = field(repr=False, compare=False, kw_only=True)
    kernel: Kernel = field(repr=False, kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {**super().to_dict(), "distances": self.distances.tolist()}


@dataclass(frozen=True)
class KSample(HypothesisTest):
    """K-sample test by the squared MMDs of all pairs of samples.

    The statistic is the mean of the unbiased MMD^2 of all pairs of samples, weighted by the
    product of their sizes: up to a factor the variation between the samples in a kernel analysis
    of variance, and for two samples MMD^2 itself. Permutations of all observations give the null,
    whatever the sizes.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample; for data frames `default_kernel`.
    null : Permutation
        `blocks` are the labels of the observations of the first sample, then of the second, ...

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> samples = [rng.normal(mean, 1.0, size=(50, 2)) for mean in (0.0, 0.0, 1.0)]
    >>> result = KSample().test(*samples, rng=0)
    >>> result.rejects(), bool(result.distances[0, 2] > 0.1)
    (True, True)
    """

    kernel: Kernel | None = None
    null: Permutation = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")
        validate.instance("null", self.null, Permutation, "a Permutation, such as Permutation(999)")
        if self.null.paired:
            raise ValueError(
                "KSample does not support paired permutations: use Permutation(blocks=...)"
            )

    def statistic(self, *samples: Any) -> float:
        """The weighted mean of the MMD^2 of all pairs."""
        return KSampleEvidence(*_pooled(self.kernel, samples)).observed

    def test(self, *samples: Any, rng: Any = None) -> KSampleResult:
        """The statistic and its p-value."""
        evidence = KSampleEvidence(*_pooled(self.kernel, samples))
        judgement = self.null.judge(evidence, rng)
        kernel, distances = evidence.family.kernels[0], evidence.distances
        labellings = log_labellings([int(n) for n in evidence.sizes], self.null)
        notes = attainable_note(labellings, len(judgement.draws), "labellings")
        return KSampleResult.judged(
            self, evidence.observed, judgement, notes, distances=distances, kernel=kernel
        )


class KSampleEvidence:
    """The statistic of any labelling, from the sums of k within the samples."""

    def __init__(self, kernel: Kernel, points: Points, sizes: Sequence[int]) -> None:
        self.sizes = np.array(sizes, dtype=np.float64)
        self.family = Family([kernel], points)
        self.precise = False  # whether resampled statistics are in float64
        self._known_sums: PairSums | None = None
        self.groups = np.repeat(np.arange(len(sizes)), sizes)
        self._pairs = list(combinations(range(len(sizes)), 2))
        indicators = np.eye(len(sizes), dtype=np.float64)[self.groups]  # (N, samples)
        pair_indicators = [indicators[:, a] + indicators[:, b] for a, b in self._pairs]
        self._indicators = np.stack([*indicators.T, *pair_indicators], axis=1)

    @property
    def observed(self) -> float:
        """The statistic in full precision."""
        count = len(self.sizes)
        return float(self._values(self._sums.forms[0, :count, None])[0])

    @cached_property
    def distances(self) -> np.ndarray:
        """Unbiased MMD^2 of all pairs of samples: (samples, samples)."""
        forms, n, count = self._sums.forms[0], self.sizes, len(self.sizes)
        means, out = forms[:count] / (n * (n - 1)), np.zeros((count, count), dtype=np.float64)
        for (a, b), form in zip(self._pairs, forms[count:], strict=True):
            between = (form - forms[a] - forms[b]) / 2
            out[a, b] = out[b, a] = means[a] + means[b] - 2 * between / (n[a] * n[b])
        return out

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return float(double_noise(self._sums)[0])

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic of the labellings in some columns; column 0 is the observed one.

        The columns that begin with 0 decide whether all are in float64: ask for them first.
        """
        if columns.start == 0 and not self.precise and few_points(self.family.x):
            self._be_precise()
        values = self._permuted(null, columns, seed)
        if columns.start > 0 or self.precise or not coincide(values[None], self._noise):
            return values
        self._be_precise()
        return self._permuted(null, columns, seed)

    # ---- private ------------------------------------------------------------------------

    @property
    def _noise(self) -> np.ndarray:
        """Rounding errors of the statistic in float32: it weighs means within and between: (1,)."""
        return 2 * single_noise(self._sums, self.family.like)

    def _be_precise(self) -> None:
        """Compute in float64 from now on, the kernel values of float32 points too."""
        self.precise = True
        self.family = Family(self.family.kernels, widened(self.family.x))
        self._known_sums = None

    def _permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        labels = PermutedWeights(
            self.groups, null.resamples + 1, rng=seed, blocks=null.blocks, keep_first=True
        )
        parts = []
        beside = BYTES_PER_DECODED_COLUMN * len(self.sizes)  # a table of labels for every sample
        for chunk in within(columns, labels.chunks(settings().memory // 4, beside)):
            forms = self._pass(labels.columns(chunk, np.empty(0, dtype=np.float32))).forms[0]
            parts.append(self._values(forms))
        return np.concatenate(parts)

    def _pass(self, coded: CodedColumns) -> Labelled:
        forms = labelled(
            self.family,
            self._indicators,
            coded,
            tables=list(np.eye(len(self.sizes), dtype=np.float64)),
            precise=self.precise,
        )
        self._known_sums = self._known_sums or forms.sums
        return forms

    @property
    def _sums(self) -> PairSums:
        """Sums of kernel values over pairs i != j, exactly; a pass over the labellings gives them too."""
        if self._known_sums is None:
            self._known_sums = labelled(self.family, self._indicators).sums
        return self._known_sums

    def _values(self, forms: np.ndarray) -> np.ndarray:
        """From the sums within the samples, (samples, B): (B,)."""
        n = self.sizes[:, None]
        total, between = float(self._sums.rows.sum()), float(n.sum() ** 2 - np.sum(n**2))
        inside = np.sum(forms / (n - 1) * (n.sum() - n), axis=0)
        return 2 * (inside - (total - forms.sum(axis=0))) / between


def _pooled(kernel: Kernel | None, samples: Sequence[Any]) -> tuple[Kernel, Points, list[int]]:
    """The kernel bound to columns, all points, and the sizes of the samples."""
    if len(samples) < 2:
        raise ValueError(f"KSample needs at least two samples, got {len(samples)}")
    names = [f"samples[{i}]" for i in range(len(samples))]
    no_weights = "KSample takes no weighted samples: use MMD() on pairs of them"
    return pooled_samples(kernel, samples, names, no_weights)
