"""MMD^2 of samples that are read part by part, with permutations: tiles of pairs of blocks of rows."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from mercer.backend import to_numpy
from mercer.config import settings
from mercer.gram.multi_kernel_forms import Labelled, PairSums
from mercer.gram.partition_forms import PartitionedPoints, partitioned_forms
from mercer.gram.resampling_weights import CodedColumns
from mercer.htest.nulls import Permutation
from mercer.htest.samples.mmd_statistic import SIGNS, Plus, mmd_of_labellings, sums_over_first
from mercer.htest.samples.pooled_sample import labellings, within
from mercer.htest.samples.streamed_samples import StreamedSamples
from mercer.htest.ties import double_noise
from mercer.kernels.base import Kernel


class PartitionedEvidence:
    """MMD^2 by one kernel, observed and of other labellings, for `Permutation`.

    As `QuadraticEvidence`: the observed statistic is in float64, permuted ones are made of kernel values in float32.
    """

    def __init__(self, samples: StreamedSamples, unbiased: bool) -> None:
        self._samples, self._unbiased = samples, unbiased
        self._points = PartitionedPoints(samples.streams, samples.readers)
        self._sums: PairSums | None = None

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers of observations."""
        return self._samples.sizes

    @property
    def observed(self) -> float:
        """The statistic in full precision."""
        n = self.sizes[0]
        sums = self._sums or self._forms(None).sums
        first = lambda v: v[:, :n].sum(axis=1, keepdims=True)  # noqa: E731
        return float(self._values(sums.forms, first)[0, 0])

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic of the labellings in some columns; column 0 is the observed one."""
        labels, parts = labellings(*self.sizes, null, seed), []
        for chunk in within(columns, labels.chunks(settings().memory // 4)):
            coded = labels.columns(chunk, np.empty(0, dtype=np.float32))
            forms = self._forms(coded).forms[:, 0]
            parts.append(self._values(forms, sums_over_first(coded))[0])
        return np.concatenate(parts)

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return 0.0 if self._sums is None else float(double_noise(self._sums)[0])

    @property
    def _kernel(self) -> Kernel:
        return self._samples.kernel

    @cached_property
    def _shift(self) -> float:
        """A value near the mean of the kernel, from the subsample."""
        points = to_numpy(self._samples.sampled_points)[::20]
        return float(np.mean(to_numpy(self._kernel.pairwise(points, points))))

    @cached_property
    def _diagonal(self) -> np.ndarray:
        """k(x, x) minus the shift of all points: (1, N)."""
        blocks = map(self._points.read, self._points.blocks)
        diagonal = np.concatenate([to_numpy(self._kernel.diag(b)) for b in blocks])
        return diagonal[None] - self._shift

    def _forms(self, coded: CodedColumns | None) -> Labelled:
        n, m = self.sizes
        labels = np.repeat([1.0, -1.0], [n, m])[:, None]
        tables = () if coded is None else (SIGNS,)
        forms = partitioned_forms(self._kernel, self._points, labels, self._shift, coded, tables)
        self._sums = self._sums or forms.sums
        return replace(forms, sums=self._sums)

    def _values(self, forms: np.ndarray, plus: Plus) -> np.ndarray:
        assert self._sums is not None  # of the pass that made the forms
        own = None if self._unbiased else self._diagonal
        return mmd_of_labellings(forms, self._sums.rows, plus, self.sizes, own)
