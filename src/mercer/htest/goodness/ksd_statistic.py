"""Kernel Stein discrepancies of a sample for one or several kernels, observed and with random signs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer.backend import on_gpu
from mercer.gram import Gram, SignWeights
from mercer.gram.device_engine import codes_at_once
from mercer.gram.multi_kernel_forms import PairSums
from mercer.gram.pair_forms import PairForms, PairsInMemory
from mercer.gram.resampling_weights import CodedColumns, resampling_seed
from mercer.htest.goodness.stein_chain import chain_forms
from mercer.htest.goodness.stein_sample import SteinSample
from mercer.htest.goodness.streamed_stein import StreamedStein, sums_of_diagonals
from mercer.htest.nulls import WildBootstrap
from mercer.htest.serial_dependence import across_blocks, first_lag_means
from mercer.htest.slow_contrasts import SlowContrasts, contrasted
from mercer.htest.ties import coincide, double_noise, few_points, single_noise
from mercer.kernels.base import Kernel
from mercer.kernels.stein import Stein

_SIGNS = np.array([-1.0, 1.0])


@dataclass(frozen=True, eq=False)
class SignedForms:
    """Quadratic forms mean_ij w_i w_j H_ij with random signs w, for k kernels."""

    values: np.ndarray  # (k, 1 + B); column 0 is the observed form in the arithmetic of the others
    observed: np.ndarray  # (k,), mean_ij H_ij in full precision
    tolerances: np.ndarray  # (k,), largest difference by rounding between equal values


class SteinForms:
    """Quadratic forms mean_ij w_i w_j H_ij with signs w and Gram matrices H of Stein kernels.

    All kernels share one score and are evaluated for all signs in one pass over tiles. The observed
    forms, w = 1, are in full precision. The forms of signs, and the observed one that they are compared
    with, use kernel values rounded to float32; where many of them coincide, so that rounding would
    break ties, they are computed again in float64.
    """

    def __init__(
        self, sample: SteinSample, kernels: Sequence[Kernel], stream: StreamedStein | None = None
    ) -> None:
        self.sample = sample  # of observations in parts, a subsample
        self.stein_kernels = [Stein(kernel, sample.kernel.score) for kernel in kernels]
        self.n = len(sample) if stream is None else len(stream.stream)
        self.rows = None if stream is None else self.n  # where `sample` is a subsample
        self.pairs: PairForms
        if stream is None:
            self.pairs = PairsInMemory(self.stein_kernels, sample.points)
        else:
            self.pairs = stream.pairs(self.stein_kernels)
            self.traces = stream.traces(self.stein_kernels)  # checks the scores

    @cached_property
    def traces(self) -> np.ndarray:
        """sum_i H_ii of every kernel: (k,)."""
        return sums_of_diagonals(self.stein_kernels, self.sample.points)

    @cached_property
    def observed(self) -> np.ndarray:
        """mean_ij H_ij of every kernel in full precision: (k,)."""
        return self._observed(self.pairs.forms(np.empty((self.n, 0), dtype=np.float64)).sums)

    @property
    def unitless(self) -> np.ndarray:
        """mean_ij H_ij / mean_i H_ii, from 0 to 1, of every kernel: (k,)."""
        diagonal_means = self.traces / self.n
        return self.observed / np.where(diagonal_means > 0, diagonal_means, 1.0)

    def signed(self, null: WildBootstrap, seed: int) -> SignedForms:
        """The observed forms, and those with random signs of blocks.

        Under the null hypothesis H is degenerate, E k_p(X, y) = 0 for every y, and random signs give
        the distribution of the statistic (Chwialkowski, Strathmann & Gretton 2016, section 4;
        Leucht & Neumann 2013). Signs of blocks lose the correlation of neighbours in different blocks,
        which is therefore subtracted from the observed form
        (`mercer.htest.serial_dependence.signed_forms`).
        """
        precise = few_points(self.pairs.some_points)
        values, sums = self._signed(null, seed, precise)
        if not precise and coincide(values, single_noise(sums, self.pairs.like)):
            values, sums = self._signed(null, seed, precise=True)
        values[:, 0] -= self._across(null.block or 1)
        return SignedForms(values, self._observed(sums), double_noise(sums))

    def rotated(self, null: WildBootstrap, seed: int) -> tuple[SignedForms, tuple[str, ...]]:
        """The observed forms, and those of random mixtures with the slowest cosines of the series; notes.

        All kernels share the mixtures, of as many cosines as every kernel allows.
        """
        grams = [Gram(kernel, self.sample.points) for kernel in self.stein_kernels]
        contrasts = SlowContrasts.of(np.ones(self.n, dtype=np.float64), (self.n,))
        forms = [chain_forms(contrasted(gram, contrasts)) for gram in grams]
        least = min(forms, key=lambda form: form.cosines)
        forms = [form.slowest(least.cosines).scaled(1 / self.n) for form in forms]
        observed = np.array([form.matrix[0, 0] for form in forms], dtype=np.float64)
        draws = np.stack([form.rotated(null.resamples, seed) for form in forms])
        tolerances = np.array([form.tolerance for form in forms], dtype=np.float64)
        values = np.concatenate([observed[:, None], draws], axis=1)
        return SignedForms(values, observed, tolerances), least.notes()

    def resampled(self, null: WildBootstrap, rng: Any) -> tuple[SignedForms, tuple[str, ...]]:
        """The forms that the null compares the observed one with, and notes."""
        seed = resampling_seed(rng)
        return self.rotated(null, seed) if null.block is None else (self.signed(null, seed), ())

    # ---- private ------------------------------------------------------------------------

    def _observed(self, sums: PairSums) -> np.ndarray:
        """mean_ij H_ij from sums over pairs: (k,)."""
        return self._means(sums, sums.rows.sum(axis=1), self.n * (self.n - 1.0))

    def _signed(self, null: WildBootstrap, seed: int, precise: bool) -> tuple[np.ndarray, PairSums]:
        """Forms with w = 1 and with random signs, (k, 1 + B), and the sums over pairs.

        `precise` asks for float64, on a GPU too; points and scores keep the dtype of the model.
        """
        columns = self._columns(null, seed, precise)
        values, sums = self._pass(next(columns), None, precise)
        chunks = [values, *(self._pass(coded, sums, precise)[0] for coded in columns)]
        return np.concatenate(chunks, axis=1), sums

    def _pass(
        self, coded: CodedColumns, sums: PairSums | None, precise: bool
    ) -> tuple[np.ndarray, PairSums]:
        """Forms of a chunk of signs, and the sums over pairs, which the first pass computes."""
        no_columns = np.empty((self.n, 0), dtype=np.float64)
        forms = self.pairs.forms(no_columns, coded, tables=[_SIGNS], known=sums, precise=precise)
        sums = sums or forms.sums
        totals = replace(coded, table=_SIGNS).project(np.ones(self.n, dtype=np.float64))
        pairs = (totals**2 - self.n)[:, None]
        return self._means(sums, forms.forms[:, 0].T, pairs).T, sums

    def _across(self, block: int) -> np.ndarray:
        """Share of mean_ij H_ij that is due to neighbours in different blocks: (k,).

        It is estimated by lag means up to the block length. If the model does not fit, about
        block / n of the discrepancy is subtracted, too.
        """
        means = np.zeros(self.n, dtype=np.float64)
        share, lags = np.zeros(len(self.stein_kernels), dtype=np.float64), min(block, self.n // 2)
        for k, kernel in enumerate(self.stein_kernels if block > 1 else ()):
            means[1:lags] = first_lag_means(Gram(kernel, self.sample.points), lags)[1:]
            share[k] = across_blocks(means, block)
        return share

    def _columns(self, null: WildBootstrap, seed: int, precise: bool) -> Iterator[CodedColumns]:
        """Columns of signs in chunks that fit the memory budget; the first column is all +1."""
        like = self.pairs.like
        on_device = on_gpu(like) and not precise
        like = like if on_device else np.empty(0, dtype=np.float32)
        signs = SignWeights(self.n, null.resamples, block=null.block or 1, rng=seed)
        for chunk in signs.chunks(codes_at_once(like)):
            coded = signs.columns(chunk, like)
            yield coded.after_ones() if chunk.start == 0 else coded

    def _means(self, sums: PairSums, forms: np.ndarray, pairs: np.ndarray | float) -> np.ndarray:
        """Means over all i, j from sums of w_i w_j (H_ij - shift) over i != j.

        `pairs` is the sum of w_i w_j over i != j.
        """
        return (forms + sums.shift * pairs + self.traces) / self.n**2
