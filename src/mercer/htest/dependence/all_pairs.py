"""Independence of the columns of a table, all pairs or one column and each of the others, with corrected p-values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from inspect import signature
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.frames import Columns, Table
from mercer.htest.corrections import (
    Correction,
    Holm,
    StepCorrection,
    WestfallYoung,
    resampled_pvalues,
)
from mercer.htest.dependence.dependence_result import IndependenceResult
from mercer.htest.dependence.hsic import HSIC
from mercer.htest.dependence.hsic_statistic import hsic_tolerance
from mercer.htest.dependence.pairwise_result import PairwiseResult, pairs_of, single_columns
from mercer.htest.dependence.series_pairs import SeriesPairs
from mercer.htest.dependence.sums.centered_gram import CenteredGram, LowRankGram, centered_gram
from mercer.htest.dependence.sums.many_pairs import (
    kernel_correlations,
    pair_pvalue,
    permuted_pairs,
)
from mercer.htest.dependence.sums.permuted_trace import permuted_trace
from mercer.htest.foreign_keywords import in_our_words
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Permutation, WildBootstrap
from mercer.htest.slow_contrasts import untested
from mercer.kernels.prepare import as_table
from mercer.rkhs.paired_samples import Variable, variables

_DEFAULT_PERMUTATIONS = 999  # of every pair, where no test is given
_REFINED_PVALUE = 0.02  # p-values up to that are computed again with more permutations
_PERMUTATIONS_PER_PAIR = 100  # in that second round: the smallest corrected p-value is then 1 / 100
_NAMES_SHOWN = 8  # of columns, in an error
_VALUE_SHARE = (
    2  # the values of all pairs, which are corrected together, may take half of the budget
)


@in_our_words
def pairwise_independence(
    frame: Any,
    *,
    against: Any = None,
    test: HypothesisTest | None = None,
    correction: Correction | None = None,
    rng: Any = None,
) -> PairwiseResult:
    """Test every pair of columns of a table for independence, and measure how strongly they depend.

    Columns may be numbers or categories; each has its default kernel, and all pairs share the same
    permutations. With `against` only the pairs of one column and each of the others are tested: which columns
    depend on it? The correction is for these pairs alone.

    Parameters
    ----------
    frame : data frame or array (n, d)
        One observation in each row, without missing values.
    against : str, int or None
        A column, by its name, or by its number in an array; None: test all pairs.
    test : test of two variables, or None
        None: `HSIC` with 999 permutations. For series, rows in the order of time: `HSIC(null=WildBootstrap(block=None))`,
        all pairs at the same slow cosines.
    correction : Correction or None
        None: `WestfallYoung()`, which compares all pairs with their largest statistic under the same
        permutations and finds what it can with 999 of them; `Holm()` for tests that it does not take.
        With `Holm()` or `BenjaminiHochberg()` and no test, p-values of at most 0.02 are computed again
        with 100 permutations times the number of pairs, so that the correction can leave them at 0.01.
    rng : int, Generator or None

    Returns
    -------
    PairwiseResult

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> height = rng.normal(size=200)
    >>> frame = pd.DataFrame({"height": height, "luck": rng.normal(size=200)})
    >>> frame["size"] = np.where(height > 0.5, "tall", "small")
    >>> result = pairwise_independence(frame, rng=0)
    >>> [(pair.first, pair.second) for pair in result.dependent()]
    [('height', 'size')]
    >>> [pair.first for pair in pairwise_independence(frame, against="size", rng=0).dependent()]
    ['height']
    """
    if test is not None:
        validate.instance("test", test, HypothesisTest, "a test, such as HSIC(), or None")
    together = test is None or _by_permutations(test) or _by_slow_cosines(test)
    if correction is None:
        correction = WestfallYoung() if together else Holm()
    validate.instance("correction", correction, Correction, "a correction, such as Holm()")
    data, rng = varying_columns(frame), validate.generator(rng)
    columns, names = single_columns(data), data.columns.names
    asked = None if against is None else _named_column(against, names)
    observed_columns = variables([None] * len(columns), columns, ["frame"] * len(columns))
    pairs = pairs_of(len(names), None if asked is None else names.index(asked))
    study = _PairStudy(columns, _centered_grams(observed_columns), pairs)
    if together or test is None:
        estimates = study.together(test, correction, rng)
    else:
        estimates = study.one_by_one(test, correction, rng)
    effects = kernel_correlations(study.grams, study.pairs, estimates.observed)
    return PairwiseResult(
        names,
        _symmetric(estimates.adjusted, pairs, len(names), np.nan),
        _symmetric(effects, pairs, len(names), 1.0),
        _symmetric(estimates.raw, pairs, len(names), np.nan),
        len(data),
        HSIC(null=Permutation(_DEFAULT_PERMUTATIONS)) if test is None else test,
        correction,
        estimates.resamples,
        data,
        asked,
        untested([f"{names[i]} and {names[j]}" for i, j in estimates.untested]),
    )


def _named_column(column: Any, names: Sequence[str]) -> str:
    """The name of the column that was asked about; columns of arrays have their numbers for names."""
    if str(column) not in names:
        shown = ", ".join(map(repr, names[:_NAMES_SHOWN])) + ", ..." * (len(names) > _NAMES_SHOWN)
        raise ValueError(
            f"against must be the name of one column of frame ({shown}), got {column!r}"
        )
    return str(column)


def _centered_grams(columns: Sequence[Variable]) -> list[CenteredGram]:
    """The centred Gram matrix of every column; low-rank factors may take half of the memory budget."""
    n, factor_bytes, grams = count(columns[0].points), 0, []
    for variable in columns:
        gram = centered_gram(variable.widened(), max(isqrt(n), 2))
        grams.append(gram)
        factor_bytes += gram.columns.nbytes if isinstance(gram, LowRankGram) else 0
        if factor_bytes > settings().memory // 2:
            raise MemoryBudgetError(
                f"the features of {len(grams)} of {len(columns)} columns of {n:,} observations take "
                f"{factor_bytes / 2**20:,.0f} MiB, more than half of the budget of "
                f"{settings().memory / 2**20:,.0f} MiB: use fewer columns or rows at a time, or raise "
                "mercer.config(memory=...)"
            )
    return grams


class _PairEstimates(NamedTuple):
    """P-values of all pairs before and after the correction, tr(K~L~) / n^2, and permutations."""

    raw: np.ndarray  # (pairs,)
    adjusted: np.ndarray
    observed: np.ndarray
    resamples: int = 0
    untested: Sequence[tuple[int, int]] = ()  # pairs of random walks


class _PairStudy:
    """Tests of pairs of columns."""

    def __init__(
        self, columns: list[Table], grams: list[CenteredGram], pairs: list[tuple[int, int]]
    ) -> None:
        self.columns, self.grams, self.pairs = columns, grams, pairs

    def together(
        self, test: HypothesisTest | None, correction: Correction, rng: np.random.Generator
    ) -> _PairEstimates:
        """HSIC tests, all pairs under the same permutations, or at the same mixtures of slow cosines."""
        if isinstance(test, HSIC) and isinstance(test.null, WildBootstrap):
            return self.rotated(test.null, correction, rng)
        return self.permuted(test, correction, rng)

    def permuted(
        self, test: HypothesisTest | None, correction: Correction, rng: np.random.Generator
    ) -> _PairEstimates:
        """HSIC tests, all pairs under the same permutations."""
        null = Permutation(_DEFAULT_PERMUTATIONS)
        if isinstance(test, HSIC) and isinstance(test.null, Permutation):
            null = test.null
        seed = int(rng.integers(2**63))
        if not isinstance(correction, StepCorrection):
            values = self._values(null, correction, seed)
            raw, observed = self._pvalues(self.pairs, enumerate(values))
            tolerance = [hsic_tolerance(self.grams[i], self.grams[j]) for i, j in self.pairs]
            adjusted = correction.of_resampled(observed, values[:, 1:], tolerance)
            return _PairEstimates(raw, adjusted, observed, null.resamples)
        permuted = permuted_pairs(self.grams, self.pairs, null, seed)
        raw, observed = self._pvalues(self.pairs, permuted)
        resamples = null.resamples
        if test is None:
            raw = self._refined(raw, int(rng.integers(2**63)))
            resamples = max(resamples, _PERMUTATIONS_PER_PAIR * len(self.pairs) - 1)
        return _PairEstimates(raw, correction.adjusted(raw), observed, resamples)

    def rotated(
        self, null: WildBootstrap, correction: Correction, rng: np.random.Generator
    ) -> _PairEstimates:
        """HSIC tests of series, all pairs at the same mixtures of slow cosines."""
        series = SeriesPairs([gram.matrix() for gram in self.grams])
        self._check_values(null.resamples, correction)
        values, tolerance = series.statistics(self.pairs, null.resamples, int(rng.integers(2**63)))
        raw = resampled_pvalues(values[:, 0], values[:, 1:], tolerance)
        adjusted = correction.of_resampled(values[:, 0], values[:, 1:], tolerance)
        traces = [permuted_trace(self.grams[i], self.grams[j]).observed for i, j in self.pairs]
        observed = np.array(traces, dtype=np.float64) / len(self.columns[0]) ** 2
        walks = [self.pairs[row] for row in series.wandering(self.pairs)]
        return _PairEstimates(raw, adjusted, observed, null.resamples, walks)

    def _pvalues(
        self, pairs: list[tuple[int, int]], permuted: Iterable[tuple[int, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The p-value and the observed statistic of every pair, from an iterator over their values."""
        raw, observed = np.empty((2, len(pairs)), dtype=np.float64)
        for row, values in permuted:
            i, j = pairs[row]
            raw[row] = pair_pvalue(self.grams[i], self.grams[j], values)
            observed[row] = values[0]
        return raw, observed

    def _values(self, null: Permutation, correction: Correction, seed: int) -> np.ndarray:
        """The statistics of all pairs for all permutations, for a correction that needs them together."""
        self._check_values(null.resamples, correction)
        values = np.empty((len(self.pairs), null.resamples + 1), dtype=np.float64)
        for row, permuted in permuted_pairs(self.grams, self.pairs, null, seed):
            values[row] = permuted
        return values

    def _check_values(self, resamples: int, correction: Correction) -> None:
        """Raise where the statistics of all pairs exceed the memory budget."""
        shape = len(self.pairs), resamples + 1
        needed, budget = _VALUE_SHARE * 8 * shape[0] * shape[1], settings().memory
        if needed > budget:
            raise MemoryBudgetError(
                f"{correction!r} needs {shape[1]:,} values of each of {shape[0]:,} pairs together and a memory "
                f"budget of {needed / 2**20:,.0f} MiB, and the budget is {budget / 2**20:,.0f} MiB: use Holm(), "
                "fewer permutations, or raise mercer.config(memory=...)"
            )

    def one_by_one(
        self, test: HypothesisTest, correction: Correction, rng: np.random.Generator
    ) -> _PairEstimates:
        """Any test of two variables, one pair after the other."""
        if not isinstance(correction, StepCorrection):
            raise ValueError(
                f"{correction!r} needs all pairs under the same permutations: use test=None, "
                "HSIC(null=Permutation(999)) or HSIC(null=WildBootstrap(block=None)), or another correction, such as Holm()"
            )
        seed, raw, observed = int(rng.integers(2**63)), [], []
        for i, j in self.pairs:
            raw.append(_pair_result(test, self.columns[i], self.columns[j], seed).pvalue)
            observed.append(permuted_trace(self.grams[i], self.grams[j]).observed)
        pvalues, n = np.array(raw, dtype=np.float64), len(self.columns[0])
        return _PairEstimates(pvalues, correction.adjusted(pvalues), np.array(observed) / n**2)

    def _refined(self, raw: np.ndarray, seed: int) -> np.ndarray:
        """Small p-values, computed again with enough permutations to survive the correction.

        p = p_1 if p_1 > c, else p_2 is a p-value: for a level a < c it is at most a only if p_2 is,
        and for a >= c only if p_1 is.
        """
        number = _PERMUTATIONS_PER_PAIR * len(self.pairs)
        rows = np.flatnonzero(raw <= _REFINED_PVALUE)
        if number <= _DEFAULT_PERMUTATIONS + 1 or not len(rows):
            return raw
        pairs = [self.pairs[row] for row in rows]
        permuted = permuted_pairs(self.grams, pairs, Permutation(number - 1), seed)
        refined = raw.copy()
        refined[rows] = self._pvalues(pairs, permuted)[0]
        return refined


def _pair_result(test: HypothesisTest, x: Table, y: Table, seed: int) -> IndependenceResult:
    """The result of the test on two columns; TypeError unless it is a test of independence."""
    result = test.test(x, y, rng=seed) if _accepts(test, x, y) else None
    if not isinstance(result, IndependenceResult):
        raise TypeError(
            f"test must be a test of the independence of two variables, such as HSIC(), got {test!r}"
        )
    return result


def _accepts(test: HypothesisTest, *samples: Table) -> bool:
    try:
        signature(test.test).bind(*samples, rng=None)
    except TypeError:
        return False
    return True


def _by_permutations(test: HypothesisTest) -> bool:
    """Whether the test is HSIC with default kernels and plain permutations."""
    if not isinstance(test, HSIC) or test.unbiased:
        return False
    null, default = test.null, test.kernel_x is None and test.kernel_y is None
    return default and isinstance(null, Permutation) and not (null.stop_early or null.blocks)


def _by_slow_cosines(test: HypothesisTest) -> bool:
    """Whether the test is HSIC of series with default kernels and the slow cosines as its null."""
    null = getattr(test, "null", None)
    if not isinstance(test, HSIC) or not isinstance(null, WildBootstrap):
        return False
    return null.block is None and test.kernel_x is None and test.kernel_y is None


def varying_columns(frame: Any) -> Table:
    """A data frame, or an array whose columns are named by number; every column must vary."""
    data = as_table(frame, "frame")
    if data is None:
        values = to_numpy(validate.points(frame, "frame")).astype(np.float64)
        width = values.shape[1]
        data = Table(values, Columns(tuple(map(str, range(width))), (False,) * width))
    validate.finite(data.values, "frame")
    if len(data.columns.names) < 2:
        raise ValueError(f"frame must have at least two columns, got {len(data.columns.names)}")
    for name, values in zip(data.columns.names, data.values.T, strict=True):
        if np.all(values == values[0]):
            raise ValueError(
                f"column {name!r} of frame is constant; a constant is independent of everything, so drop it (--exclude)"
            )
    return data


def _symmetric(
    values: np.ndarray, pairs: list[tuple[int, int]], width: int, diagonal: float
) -> np.ndarray:
    """Values of pairs as a symmetric matrix with `diagonal` on its diagonal; NaN for other pairs."""
    matrix = np.full((width, width), np.nan, dtype=np.float64)
    np.fill_diagonal(matrix, diagonal)
    for (i, j), value in zip(pairs, values, strict=True):
        matrix[i, j] = matrix[j, i] = value
    matrix.flags.writeable = False
    return matrix
