"""The kernel Stein discrepancy of a sample by one kernel or several, and what nulls ask about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from mercer.backend import on_gpu, to_numpy
from mercer.config import settings
from mercer.gram import Gram, SignWeights
from mercer.gram.kernel_family import Family
from mercer.gram.multi_kernel_forms import Sums, labelled
from mercer.gram.resampling_weights import CodedColumns
from mercer.htest.goodness.stein_sample import Sample
from mercer.htest.nulls import WildBootstrap
from mercer.htest.serial_dependence import across_blocks, block_length, first_lag_means, lag_means
from mercer.htest.ties import coincide, double_noise, few_points, single_noise
from mercer.kernels.base import Kernel
from mercer.kernels.stein import Stein

_SIGNS = np.array([-1.0, 1.0])


class SteinForms:
    """mean_ij w_i w_j H_ij for signs w, with the Gram matrices H of Stein kernels of one score.

    All kernels and all signs in one pass over tiles. The observed ones, w = 1, are in full precision;
    those of signs are made of kernel values rounded to float32, and so is the one that they are
    compared with, which is the first of them. Where many of them coincide, so that rounding would
    break ties, they are computed in float64.
    """

    def __init__(self, sample: Sample, kernels: Sequence[Kernel]) -> None:
        self.sample, self.n = sample, len(sample)
        made = [Stein(kernel, sample.kernel.score) for kernel in kernels]
        self.family = Family(made, sample.points)
        self.precise = False  # whether statistics of signs are in float64

    @cached_property
    def traces(self) -> np.ndarray:
        """sum_i H_ii of every kernel: (k,)."""
        own = (kernel.diag(self.sample.points) for kernel in self.family.kernels)
        return np.array([to_numpy(d).astype(np.float64).sum() for d in own])

    @cached_property
    def observed(self) -> np.ndarray:
        """mean_ij H_ij of every kernel in full precision: (k,)."""
        return self._means(self.sums.rows.sum(axis=1), self.n * (self.n - 1.0))

    @property
    def unitless(self) -> np.ndarray:
        """mean_ij H_ij over mean_i H_ii, from 0 to 1, of every kernel: (k,)."""
        own = self.traces / self.n
        return self.observed / np.where(own > 0, own, 1.0)

    @property
    def sums(self) -> Sums:
        """Sums of kernel values over pairs i != j, exactly."""
        if self._sums is None:
            self._sums = labelled(self.family, np.empty((self.n, 0), dtype=np.float64)).sums
        return self._sums

    def signed(self, null: WildBootstrap, seed: int) -> np.ndarray:
        """What was observed, and the same with random signs of blocks: (k, 1 + B).

        Under the null hypothesis H is degenerate, E k_p(X, y) = 0 for every y, and signs give
        the distribution of the statistic (Chwialkowski, Strathmann & Gretton 2016, section 4;
        Leucht & Neumann 2013). Of blocks, what neighbours on both sides of a border have in common
        is subtracted from what was observed: signs lose it (`mercer.htest.serial_dependence.signed_forms`).
        """
        if not self.precise and few_points(self.family.x):
            self._be_precise()
        values = self._signed(null, seed)
        noise = single_noise(self.sums, self.family.like)
        if not self.precise and coincide(values, noise):
            self._be_precise()
            values = self._signed(null, seed)
        values[:, 0] -= self._across(null.block or 1)
        return values

    @cached_property
    def ties(self) -> np.ndarray:
        """How far equal statistics may be apart by rounding: (k,)."""
        return double_noise(self.sums)

    # ---- private ------------------------------------------------------------------------

    _sums: Sums | None = None

    def _be_precise(self) -> None:
        """Sum in float64 from now on, on a GPU too: points and scores keep the model's dtype."""
        self.precise, self._sums = True, None

    def _signed(self, null: WildBootstrap, seed: int) -> np.ndarray:
        """mean_ij w_i w_j H_ij of w = 1 and of random signs w: (k, 1 + B)."""
        parts, none = [], np.empty((self.n, 0), dtype=np.float64)
        for coded in self._columns(null, seed):
            found = labelled(
                self.family,
                none,
                coded,
                tables=[_SIGNS],
                known=self._sums,
                precise=self.precise,
            )
            self._sums = self._sums or found.sums
            total = replace(coded, table=_SIGNS).project(np.ones(self.n, dtype=np.float64))
            parts.append(self._means(found.forms[:, 0].T, (total**2 - self.n)[:, None]).T)
        return np.concatenate(parts, axis=1)

    def _across(self, block: int) -> np.ndarray:
        """What pairs in different blocks add to mean_ij H_ij by being near each other: (k,).

        By lag means up to the length of a block. Of a model that does not fit, a share of about
        block / n of the discrepancy goes with it.
        """
        means = np.zeros(self.n, dtype=np.float64)
        lost, lags = np.zeros(len(self.family), dtype=np.float64), min(block, self.n // 2)
        for k, kernel in enumerate(self.family.kernels if block > 1 else ()):
            means[1:lags] = first_lag_means(Gram(kernel, self.sample.points), lags)[1:]
            lost[k] = across_blocks(means, block)
        return lost

    def _columns(self, null: WildBootstrap, seed: int) -> Iterator[CodedColumns]:
        """Signs in chunks that fit into the budget; the very first are all +1."""
        like = self.family.like
        on_device = on_gpu(like) and not self.precise
        like = like if on_device else np.empty(0, dtype=np.float32)
        signs = SignWeights(self.n, null.resamples, block=null.block or 1, rng=seed)
        for chunk in signs.chunks(settings().memory // 4):
            coded = signs.columns(chunk, like)
            yield coded.after_ones() if chunk.start == 0 else coded

    def _means(self, forms: np.ndarray, pairs: np.ndarray | float) -> np.ndarray:
        """Means over i, j from sums of w_i w_j (H_ij - shift) over i != j, `pairs` of them with signs."""
        return (forms + self.sums.shift * pairs + self.traces) / self.n**2


class SteinEvidence:
    """mean_ij H_ij, with the Gram matrix H of a Stein kernel, or the mean over i != j."""

    def __init__(self, sample: Sample, unbiased: bool = False) -> None:
        self.sample, self.unbiased = sample, unbiased
        self.forms = SteinForms(sample, [sample.kernel.kernel])

    @property
    def observed(self) -> float:
        """The statistic."""
        return float(self._values(self.forms.observed)[0])

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """The statistic, and the same with random signs of blocks.

        Without the terms i = j, which signs do not change, for the unbiased one.
        """
        values = self._values(self.forms.signed(null, seed)[0])
        return float(values[0]), values[1:]

    def block_length(self) -> int:
        """How many observations should share a sign, by the autocorrelations of the Stein features."""
        return shared_block(self.sample)

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return float(self.forms.ties[0])

    def _values(self, means: np.ndarray) -> np.ndarray:
        """The statistics from w'Hw / n^2."""
        if not self.unbiased:
            return np.maximum(means, 0.0)
        n = len(self.sample)
        return (n**2 * means - self.forms.traces[0]) / (n * (n - 1))


def shared_block(sample: Sample) -> int:
    """How many observations should share a sign.

    By the autocorrelations of the Stein features less their mean: a model that does not fit moves
    all of them together, which is not memory.
    """
    return block_length(lag_means(sample.gram.centered()), len(sample))
