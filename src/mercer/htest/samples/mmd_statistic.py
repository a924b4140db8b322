"""Quadratic two-sample statistic MMD^2, for any labelling of the pooled sample and several kernels.

With labels t = +1 on one sample and -1 on the other, the sums of kernel values within and between
the samples follow from t'Kt, r't and the total, r being the row sums of K: one quadratic form per
labelling, and one pass over the tiles for all labellings and kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from math import sqrt

import numpy as np

from mercer.backend import Array, array_like, on_gpu, scalar, to_numpy
from mercer.gram import Centered, LazyMatrix, Reweighted, top_eigenpairs
from mercer.gram.device_engine import codes_at_once
from mercer.gram.eigen import ask_for_eigenpairs
from mercer.gram.multi_kernel_forms import PairSums
from mercer.gram.pair_forms import PairForms, PairsInMemory
from mercer.gram.resampling_weights import CodedColumns
from mercer.htest.deviation import deviation_tail, largest_value
from mercer.htest.nulls import Gamma, Null, Permutation, WildBootstrap
from mercer.htest.samples.mmd_series import block_forms, slow_forms_of
from mercer.htest.samples.pooled_sample import Pooled, labellings, loss, within
from mercer.htest.slow_contrasts import SlowForms
from mercer.htest.ties import coincide, double_noise, few_points, single_noise
from mercer.kernels.base import Kernel
from mercer.rkhs.centred_grams import CentredArray, CentredGram, centred_in_memory
from mercer.rkhs.distance_covariance_1d import CentredDistances

SIGNS = np.array([-1.0, 1.0])
_RELATIVE_ROUNDING = 1e-12  # a variance below this share of its largest term is rounding

Plus = Callable[[np.ndarray], np.ndarray]  # sums over the points with label +1: (r, N) -> (r, B)


class Discrepancies:
    """MMD^2 of a pooled sample by several kernels, for the observed labelling and for others.

    Unbiased: pairs i = j are left out. `observed` is in full precision. Resampled statistics are
    made of kernel values rounded to float32, and so is the one they are compared with; where many
    of them coincide, so that rounding would break ties, they are computed in float64. For weighted
    samples, each labelling is rescaled by the variance of its weights (see `loss`).
    """

    def __init__(
        self,
        pairs: PairForms,
        sizes: tuple[int, int],
        unbiased: bool = True,
        weights: np.ndarray | None = None,
    ) -> None:
        self.pairs, self.sizes, self.unbiased = pairs, sizes, unbiased
        self.labels = np.repeat([1.0, -1.0], sizes)
        self.precise = False  # whether resampled statistics are in float64
        self.weights = None
        if weights is not None:  # scaled so that their mean is one in each sample
            self.weights = weights * np.repeat(sizes, sizes)
            self._lost = float(weights @ weights)

    @classmethod
    def of(cls, pooled: Pooled, kernels: Sequence[Kernel], unbiased: bool = True) -> Discrepancies:
        """The statistics of a pooled sample in memory."""
        pairs = PairsInMemory(kernels, pooled.points)
        return cls(pairs, (pooled.n, pooled.m), unbiased, pooled.weights)

    @property
    def sums(self) -> PairSums:
        """Sums of kernel values over pairs i != j, in float64."""
        if self._sums is None:
            self._sums = self.pairs.forms(self.labels[:, None], weights=self.weights).sums
        return self._sums

    @cached_property
    def observed(self) -> np.ndarray:
        """MMD^2 by every kernel in full precision: (kernels,)."""
        n = self.sizes[0]
        return self._values(self.sums.forms, lambda v: v[:, :n].sum(axis=1, keepdims=True))[:, 0]

    def resampled(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """MMD^2 of the labellings in some columns, (kernels, B); column 0 is the observed one.

        Call it first with columns that start at 0: that call decides whether all later ones use
        float64.
        """
        if columns.start == 0 and not self.precise and few_points(self.pairs.some_points):
            self._be_precise()
        values = self._resampled(null, columns, seed)
        noise = single_noise(self.sums, self.pairs.like)
        if columns.start > 0 or self.precise or not coincide(values, noise):
            return values
        self._be_precise()
        return self._resampled(null, columns, seed)

    @cached_property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the unbiased MMD^2 over all permutations: (kernels,).

        0 where the kernel gives every labelling the same statistic.

        By the formula of Mantel (1967), simplified because the weights of the pairs add up to zero
        in every row; for weighted samples it is an approximation.
        """
        (n, m), rows = self.sizes, self.sums.rows
        total = n + m
        a2 = 1 / (n * (n - 1)) + 1 / (m * (m - 1)) + 2 / (n * m)
        b1, b2, b3 = rows.sum(axis=1) ** 2, self.sums.squares, np.sum(rows**2, axis=1)
        pairs = total * (total - 1)
        variance = 2 * a2 * b2 / pairs - 4 * a2 * (b3 - b2) / (pairs * (total - 2))
        variance += 2 * a2 * (b1 + 2 * b2 - 4 * b3) / (pairs * (total - 2) * (total - 3))
        varies = variance > np.maximum(
            _RELATIVE_ROUNDING * 2 * a2 * b2 / pairs, self.tie_tolerances**2
        )
        return np.sqrt(np.where(varies, variance, 0.0))

    @cached_property
    def rms_values(self) -> np.ndarray:
        """sqrt(mean of k(z_i, z_j)^2 over the pairs i != j of the pooled sample): (kernels,)."""
        sums, total = self.sums, sum(self.sizes)
        pairs = total * (total - 1)
        mean = sums.rows.sum(axis=1) / pairs
        squares = sums.squares / pairs + 2 * sums.shift * mean + sums.shift**2
        return np.sqrt(np.maximum(squares, 0.0))  # rounding may leave less than 0

    @cached_property
    def tie_tolerances(self) -> np.ndarray:
        """Largest difference by rounding between float64 statistics that are equal: (kernels,)."""
        return double_noise(self.sums)

    # ---- private ------------------------------------------------------------------------

    _sums: PairSums | None = None

    def _be_precise(self) -> None:
        """Compute in float64 from now on, the kernel values of float32 points too."""
        self.precise, self._sums, self.pairs = True, None, self.pairs.widened()

    def _resampled(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        labels = labellings(*self.sizes, null, seed)
        parts = []
        for chunk in within(columns, labels.chunks(codes_at_once(self._codes_like))):
            coded = labels.columns(chunk, self._codes_like)
            parts.append(self._values(self._forms(coded), sums_over_first(coded)))
        return np.concatenate(parts, axis=1)

    @property
    def _codes_like(self) -> Array:
        """Array on the device of the labels: the GPU where half precision suffices, else the host."""
        like = self.pairs.like
        on_device = on_gpu(like) and self.weights is None and not self.precise
        return like if on_device else np.empty(0, dtype=np.float32)

    def _forms(self, coded: CodedColumns) -> np.ndarray:
        """t'Kt without its diagonal; the same pass gives `sums` if they are not known: (k, B)."""
        result = self.pairs.forms(
            self.labels[:, None],
            coded,
            tables=[SIGNS],
            weights=self.weights,
            known=self._sums,
            precise=self.precise,
        )
        self._sums = self._sums or result.sums
        return result.forms[:, 0]

    @cached_property
    def _own(self) -> np.ndarray:
        """Diagonals of the kernel matrices: (kernels, N)."""
        diagonals = self.pairs.diagonals() - self.sums.shift[:, None]
        return diagonals if self.weights is None else diagonals * self.weights**2

    def _values(self, forms: np.ndarray, plus: Plus) -> np.ndarray:
        """The statistic from t'Kt without its diagonal, and sums over the first sample: (k, B)."""
        if self.weights is None:
            own = None if self.unbiased else self._own
            return mmd_of_labellings(forms, self.sums.rows, plus, self.sizes, own)
        total = self.sums.rows.sum(axis=1, keepdims=True)
        first = plus(self.sums.rows)
        between = (total - forms) / 4
        within_x, within_y = first - between, total - first - between
        size_x, size_y, own_x, own_y = self._masses(plus)
        pairs_x, pairs_y = size_x**2, size_y**2
        if self.unbiased:
            pairs_x, pairs_y = pairs_x - own_x, pairs_y - own_y
        else:
            trace_x = plus(self._own)
            within_x = within_x + trace_x
            within_y = within_y + self._own.sum(axis=1, keepdims=True) - trace_x
        # A labelling can spread large weights of one sample over both, which changes the variance of
        # the statistic: rescale it to the variance of the observed labelling.
        sums = np.concatenate([size_x, own_x])
        lost = loss(sums, sums + np.concatenate([size_y, own_y]))
        with np.errstate(divide="ignore", invalid="ignore"):
            values = within_x / pairs_x + within_y / pairs_y - 2 * between / (size_x * size_y)
            values = values * self._lost / lost
        known = (pairs_x > 1e-9 * size_x) & (pairs_y > 1e-9 * size_y)
        # A sample whose weights are all nearly zero has no MMD: count it as extreme. The same holds
        # for an unbiased MMD with nearly all weight on one observation.
        return np.where(known, values, np.inf)

    def _masses(self, plus: Plus) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Sums of the weights and of their squares, in the first and in the second sample."""
        w = self.weights
        assert w is not None  # others have `mmd_of_labellings`
        sums = plus(np.stack([w, w**2]))
        x, x2 = sums[:1], sums[1:]
        return x, float(w.sum()) - x, x2, float(w @ w) - x2


def mmd_of_labellings(
    forms: np.ndarray,
    rows: np.ndarray,
    plus: Plus,
    sizes: tuple[int, int],
    own: np.ndarray | None = None,
) -> np.ndarray:
    """MMD^2 of unweighted samples from t'Kt without its diagonal and the row sums of K: (k, B).

    `own` are the diagonals of K, if pairs i = j count.
    """
    (n, m), total, first = sizes, rows.sum(axis=1, keepdims=True), plus(rows)
    between = (total - forms) / 4
    within_x, within_y, pairs_x, pairs_y = first - between, total - first - between, n**2, m**2
    if own is None:
        pairs_x, pairs_y = n * (n - 1), m * (m - 1)
    else:
        trace_x = plus(own)
        within_x = within_x + trace_x
        within_y = within_y + own.sum(axis=1, keepdims=True) - trace_x
    return within_x / pairs_x + within_y / pairs_y - 2 * between / (float(n) * m)


def deviation_variance(pooled: Pooled) -> float:
    """K (1/n + 1/m), by which deviation bounds are expressed; K is the largest value of the kernel."""
    contrast = pooled.contrast
    return largest_value(pooled.kernel, pooled.points) * float(contrast @ contrast)


class QuadraticEvidence:
    """MMD^2 by one kernel, as evidence for every null of `MMD` and `Energy`."""

    def __init__(
        self, pooled: Pooled, unbiased: bool, scale: float = 1.0, null: Null | None = None
    ) -> None:
        self.pooled, self._scale, self._unbiased = pooled, scale, unbiased
        # nulls that resample need sums of many labellings, the others moments of one matrix
        self._once = pooled.weights is None and (null is None or isinstance(null, Gamma))

    @cached_property
    def discrepancies(self) -> Discrepancies:
        """MMD^2 of any labelling."""
        return Discrepancies.of(self.pooled, [self.pooled.kernel], self._unbiased)

    @property
    def observed(self) -> float:
        """The statistic in full precision."""
        if self._in_memory is None:
            return self._scale * float(self.discrepancies.observed[0])
        if not self._unbiased:
            return self._scale * max(self._form, 0.0)
        return self._scale * self._without_diagonal(self._in_memory)

    # ---- protocols of nulls -------------------------------------------------------------

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic of the labellings in some columns; column 0 is the observed one."""
        return self._scale * self.discrepancies.resampled(null, columns, seed)[0]

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return self._scale * float(self.discrepancies.tie_tolerances[0])

    def moments(self) -> tuple[float, float, float]:
        """w'Kw (i = j included), and its mean and variance over all permutations of w.

        For weighted observations, which are not exchangeable: over random signs of w.
        """
        if self.pooled.weights is not None:
            return self._form, *self._signed_moments()
        w = self.pooled.contrast
        total, s2, s4 = len(w), float(w @ w), float(np.sum(w**4))
        diagonal, f = _diagonal_and_squares(self._in_memory or self._centred)
        trace, a = diagonal.sum(), diagonal @ diagonal
        m4, m22 = s4 / total, (s2**2 - s4) / (total * (total - 1))
        m31, three = -s4 / (total * (total - 1)), total * (total - 1) * (total - 2)
        m211, m1111 = (2 * s4 - s2**2) / three, (3 * s2**2 - 6 * s4) / (three * (total - 3))
        mean = s2 * trace / (total - 1)
        square = (
            m4 * a
            + m22 * (trace**2 - a + 2 * (f - a))
            - 4 * m31 * a
            + m211 * (2 * (2 * a - trace**2) + 4 * (2 * a - f))
            + m1111 * (trace**2 + 2 * f - 6 * a)
        )
        return self._form, float(mean), float(square - mean**2)

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """w'Kw, the `rank` largest weights of its limit under the null, and the sum of the others.

        The eigenvalues of few points in many dimensions vary more than those of the population.
        They are rescaled, so that the limit has the mean and the variance of `moments`.
        """
        rank = min(rank, self.pooled.gram.shape[0])
        ask_for_eigenpairs(self.pooled.gram, rank)  # before a pass over its tiles
        eigenvalues = top_eigenpairs(self._centred, rank)[0]
        values = np.maximum(to_numpy(eigenvalues).astype(np.float64), 0.0)
        form, mean, variance = self.moments()
        size = float(values @ values)
        values = values * sqrt(max(variance, 0.0) / (2 * size)) if size > 0 else values
        return form, values, mean - float(values.sum())

    def signed(self, null: WildBootstrap, seed: int) -> tuple[float, np.ndarray]:
        """w'Kw, and the same with blocks of observations that change their samples."""
        return self._form, block_forms(self.pooled, null, seed)

    def slow_forms(self) -> SlowForms:
        """w'Kw, and the same at the slowest cosines of both series."""
        return slow_forms_of(self.pooled)

    def bound(self) -> tuple[float, float]:
        """w'Kw, and a bound on its p-value for any distribution."""
        return self._form, deviation_tail(self._form, deviation_variance(self.pooled))

    # ---- private ------------------------------------------------------------------------

    @cached_property
    def _centred(self) -> LazyMatrix:
        """<k(z_i, .) - mu, k(z_j, .) - mu>, with the mean mu; times |w_i w_j| for weighted samples."""
        gram = self.pooled.gram
        if self.pooled.weights is None:
            return gram.centered()
        shares = self.pooled.weights / 2
        means = gram @ array_like(shares, gram.like)
        middle = Centered(gram, means, means, float(shares @ to_numpy(means)))
        return Reweighted(middle, array_like(self.pooled.weights, gram.like))

    def _signed_moments(self) -> tuple[float, float]:
        """The mean and the variance of s'Ks over random signs s, K the centred matrix.

        Because mu is estimated, the diagonal entry of observation i is too small by a factor
        1 - 2 v_i + sum_j v_j^2, with v = |w| / 2.
        """
        w, diagonal = (
            np.abs(self.pooled.contrast),
            to_numpy(self._centred.diagonal()).astype(np.float64),
        )
        correction = 1 - float(np.sum(w**3) / (w @ w)) + float(w @ w) / 4
        pairs = self._centred.inner(self._centred) - float(diagonal @ diagonal)
        return float(diagonal.sum()) / correction, 2 * pairs / correction**2

    @cached_property
    def _in_memory(self) -> CentredDistances | CentredArray | None:
        """The centred matrix, where it is needed once and small enough."""
        return centred_in_memory(self.pooled.kernel, self.pooled.points) if self._once else None

    def _without_diagonal(self, centred: CentredDistances | CentredArray) -> float:
        """MMD^2 over pairs i != j, which centring does not change."""
        n, m = self.pooled.n, self.pooled.m
        first, second = np.repeat([1.0, 0.0], [n, m]), np.repeat([0.0, 1.0], [n, m])
        diagonal = centred.diagonal()
        within = [
            (centred.form(v) - float(diagonal @ v)) / (size * (size - 1))
            for v, size in ((first, n), (second, m))
        ]
        # centred rows add up to 0: the sum between the samples is minus that within one
        return sum(within) + 2 * centred.form(first) / (n * m)

    @cached_property
    def _form(self) -> float:
        if self._in_memory is not None:
            return self._in_memory.form(self.pooled.contrast)
        return scalar(self.pooled.gram.quad(self.pooled.contrast))


def _diagonal_and_squares(centred: CentredGram) -> tuple[np.ndarray, float]:
    """The diagonal, float64, and the squared Frobenius norm."""
    return to_numpy(centred.diagonal()).astype(np.float64), centred.inner(centred)


def sums_over_first(coded: CodedColumns) -> Plus:
    """Sums over the points whose code is 1."""
    return replace(coded, table=np.array([0.0, 1.0])).project
