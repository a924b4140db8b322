"""Which columns of a table depend on each other: every pair tested, with p-values for all of them."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from inspect import signature
from itertools import combinations
from math import isqrt
from typing import Any, NamedTuple

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.frames import Columns, Table
from mercer.htest.corrections import Correction, Holm, StepCorrection
from mercer.htest.dependence.dependence_result import IndependenceResult
from mercer.htest.dependence.hsic import HSIC
from mercer.htest.dependence.observed_variables import Variable, variables
from mercer.htest.dependence.sums.centered_gram import Side, Spanned, side
from mercer.htest.dependence.sums.many_pairs import correlations_of, pair_pvalue, permuted_pairs
from mercer.htest.dependence.sums.permuted_trace import product
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Permutation
from mercer.kernels.prepare import as_table

SCHEMA = "mercer/pairwise/1"
_FIRST = 999  # permutations of every pair, when they are left to us
_SMALL = 0.02  # p-values up to which there are more of them, for the correction
_EACH = 100  # permutations for each pair then: the smallest corrected p-value is 1 / 100
_LEVEL = 0.05  # at which something should be found
_COPIES = 3  # of the values of all pairs, while they are corrected together
_TOLD = 10  # pairs that a summary names


class Pair(NamedTuple):
    """Two columns, the corrected p-value of their independence, and how strongly they depend."""

    first: str
    second: str
    pvalue: float
    effect: float


@dataclass(frozen=True)
class PairwiseResult:
    """What is known about the dependence of every two columns.

    Attributes
    ----------
    names : tuple of str
    pvalues : array (d, d)
        Corrected for the number of pairs; the diagonal, which is not tested, is NaN.
    effects : array (d, d)
        sqrt(HSIC(x, y) / sqrt(HSIC(x, x) HSIC(y, y))) of the unbiased estimates, between 0 and 1:
        the kernel correlation of `IndependenceResult.effect`.
    uncorrected : array (d, d)
        The p-value of every pair by itself.
    """

    names: tuple[str, ...]
    pvalues: np.ndarray = field(repr=False, compare=False)
    effects: np.ndarray = field(repr=False, compare=False)
    uncorrected: np.ndarray = field(repr=False, compare=False)
    size: int
    test: HypothesisTest
    correction: Correction
    notes: tuple[str, ...] = ()

    def dependent(self, level: float = 0.05) -> tuple[Pair, ...]:
        """The pairs whose corrected p-value is at most `level`, the strongest dependence first."""
        validate.between("level", level, 0.0, 1.0)
        found = [pair for pair in self.pairs if pair.pvalue <= level]
        return tuple(sorted(found, key=lambda pair: -pair.effect))

    def summary(self, level: float = 0.05) -> str:
        """The pairs that depend on each other, in plain words."""
        found, number = self.dependent(level), len(self.names) * (len(self.names) - 1) // 2
        lines = [
            f"{len(found)} of {number} pairs of columns depend on each other at level {level:g} "
            f"({type(self.test).__name__}, {self.size:,} observations, {self.correction!r}).",
            *(
                f"{pair.first} and {pair.second}: kernel correlation {pair.effect:.3g}, "
                f"p = {pair.pvalue:.3g}"
                for pair in found[:_TOLD]
            ),
            *([f"and {len(found) - _TOLD} more"] if len(found) > _TOLD else []),
            *self.notes,
        ]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "schema": SCHEMA,
            "names": list(self.names),
            "size": self.size,
            "test": repr(self.test),
            "correction": repr(self.correction),
            "pairs": [pair._asdict() for pair in self.pairs],
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None, *, level: float = 0.05) -> Any:
        """The effects as a map, pairs that were found marked; returns the Axes."""
        return importlib.import_module("mercer.plot").plot_pairwise(self, ax=ax, level=level)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every two columns, in the order of the table."""
        return tuple(
            Pair(self.names[i], self.names[j], float(self.pvalues[i, j]), float(self.effects[i, j]))
            for i, j in combinations(range(len(self.names)), 2)
        )


def pairwise_independence(
    frame: Any,
    *,
    test: HypothesisTest | None = None,
    correction: Correction = Holm(),  # noqa: B008
    rng: Any = None,
) -> PairwiseResult:
    """Test every two columns of a table for independence, and say how strongly they depend.

    Columns of numbers and of categories, each by its default kernel, which is made once; every pair
    meets the same permutations.

    Parameters
    ----------
    frame : data frame or array (n, d)
        One observation in each row, without missing values.
    test : test of two variables, or None
        None: `HSIC` with 999 permutations and, where its p-value is at most 0.02 and the correction
        needs more, 100 new ones for each pair: whatever the number of columns, the smallest
        corrected p-value is 0.01 or less.
    correction : Correction
        `Holm()`, `BenjaminiHochberg()`, or `WestfallYoung()`, which is for permutation tests.
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
    """
    if test is not None:
        validate.instance("test", test, HypothesisTest, "a test, such as HSIC(), or None")
    validate.instance("correction", correction, Correction, "a correction, such as Holm()")
    data, rng = _table(frame), validate.generator(rng)
    columns = [
        Table(data.values[:, [i]], data.columns.take([i])) for i in range(len(data.columns.names))
    ]
    found = variables([None] * len(columns), columns, ["frame"] * len(columns))
    study = _Study(columns, _sides(found))
    if test is None or _by_permutations(test):
        raw, adjusted, observed, notes = study.permuted(test, correction, rng)
    else:
        raw, adjusted, observed, notes = study.one_by_one(test, correction, rng)
    effects = correlations_of(study.sides, study.pairs, observed)
    chosen = HSIC(null=Permutation(_FIRST)) if test is None else test
    return PairwiseResult(
        data.columns.names,
        _square(adjusted, study.pairs, np.nan),
        _square(effects, study.pairs, 1.0),
        _square(raw, study.pairs, np.nan),
        len(data),
        chosen,
        correction,
        notes,
    )


def _sides(columns: Sequence[Variable]) -> list[Side]:
    """Every column made ready, if the factors of all of them fit into half of the memory budget."""
    n, held, sides = count(columns[0].points), 0, []
    for variable in columns:
        sides.append(side(variable.widened(), max(isqrt(n), 2)))
        held += sides[-1].columns.nbytes if isinstance(sides[-1], Spanned) else 0
        if held > settings().memory // 2:
            raise MemoryBudgetError(
                f"the features of {len(sides)} of {len(columns)} columns of {n:,} observations take "
                f"{held / 2**20:,.0f} MiB, more than half of the budget of "
                f"{settings().memory / 2**20:,.0f} MiB: use fewer columns or rows at a time, or raise "
                "mercer.config(memory=...)"
            )
    return sides


Found = tuple[np.ndarray, np.ndarray, np.ndarray, tuple[str, ...]]


class _Study:
    """All pairs of columns -> p-values as they are and corrected, tr(K~L~) / n^2, and notes."""

    def __init__(self, columns: list[Table], sides: list[Side]) -> None:
        self.columns, self.sides = columns, sides
        self.pairs = list(combinations(range(len(sides)), 2))

    def permuted(
        self, test: HypothesisTest | None, correction: Correction, rng: np.random.Generator
    ) -> Found:
        """By HSIC, all pairs under the same permutations."""
        null = Permutation(_FIRST) if test is None else getattr(test, "null")  # noqa: B009
        seed = int(rng.integers(2**63))
        if not isinstance(correction, StepCorrection):
            values = self._values(null, correction, seed)
            raw, observed = self._pvalues(self.pairs, enumerate(values))
            return raw, correction.of_resampled(observed, values[:, 1:]), observed, ()
        found = permuted_pairs(self.sides, self.pairs, null, seed)
        raw, observed = self._pvalues(self.pairs, found)
        if test is None:
            raw = self._refined(raw, int(rng.integers(2**63)))
        notes = () if test is None else _coarse(correction, len(self.pairs), null)
        return raw, correction.adjusted(raw), observed, notes

    def _pvalues(
        self, pairs: list[tuple[int, int]], found: Iterable[tuple[int, np.ndarray]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The p-value of every pair, and its observed statistic, from its values one after another."""
        raw, observed = np.empty((2, len(pairs)), dtype=np.float64)
        for row, values in found:
            i, j = pairs[row]
            raw[row] = pair_pvalue(self.sides[i], self.sides[j], values)
            observed[row] = values[0]
        return raw, observed

    def _values(self, null: Permutation, correction: Correction, seed: int) -> np.ndarray:
        """The statistics of all pairs for all permutations, which the correction looks at together."""
        shape = len(self.pairs), null.resamples + 1
        needed, budget = _COPIES * 8 * shape[0] * shape[1], settings().memory
        if needed > budget:
            raise MemoryBudgetError(
                f"{correction!r} needs {shape[1]:,} values of each of {shape[0]:,} pairs together, "
                f"{needed / 2**20:,.0f} MiB, and the budget is {budget / 2**20:,.0f} MiB: use Holm(), "
                "fewer permutations, or raise mercer.config(memory=...)"
            )
        values = np.empty(shape, dtype=np.float64)
        for row, found in permuted_pairs(self.sides, self.pairs, null, seed):
            values[row] = found
        return values

    def one_by_one(
        self, test: HypothesisTest, correction: Correction, rng: np.random.Generator
    ) -> Found:
        """By any test."""
        if not isinstance(correction, StepCorrection):
            raise ValueError(
                f"{correction!r} needs all pairs under the same permutations: use test=None or "
                "HSIC(null=Permutation(999)), or another correction, such as Holm()"
            )
        seed, raw, observed = int(rng.integers(2**63)), [], []
        for i, j in self.pairs:
            raw.append(_of_two(test, self.columns[i], self.columns[j], seed).pvalue)
            observed.append(product(self.sides[i], self.sides[j]).observed)
        pvalues, n = np.array(raw, dtype=np.float64), len(self.columns[0])
        return pvalues, correction.adjusted(pvalues), np.array(observed) / n**2, ()

    def _refined(self, raw: np.ndarray, seed: int) -> np.ndarray:
        """Small p-values anew from so many permutations that the correction leaves something of them.

        p = p_1 if p_1 > c, else p_2 is a p-value: for a level a < c it is at most a only if p_2 is,
        and for a >= c only if p_1 is.
        """
        number = _EACH * len(self.pairs)
        rows = np.flatnonzero(raw <= _SMALL)
        if number <= _FIRST + 1 or not len(rows):
            return raw
        some = [self.pairs[row] for row in rows]
        found = permuted_pairs(self.sides, some, Permutation(number - 1), seed)
        refined = raw.copy()
        refined[rows] = self._pvalues(some, found)[0]
        return refined


def _of_two(test: HypothesisTest, x: Table, y: Table, seed: int) -> IndependenceResult:
    """The test of two columns, if it is one of independence."""
    takes_two = _takes(test, x, y)
    result = test.test(x, y, rng=seed) if takes_two else None
    if not isinstance(result, IndependenceResult):
        raise TypeError(
            f"test must be a test of the independence of two variables, such as HSIC(), got {test!r}"
        )
    return result


def _takes(test: HypothesisTest, *samples: Table) -> bool:
    try:
        signature(test.test).bind(*samples, rng=None)
    except TypeError:
        return False
    return True


def _by_permutations(test: HypothesisTest) -> bool:
    """Whether it is HSIC by default kernels and plain permutations."""
    if not isinstance(test, HSIC) or test.unbiased:
        return False
    null, plain = test.null, test.kernel_x is None and test.kernel_y is None
    return plain and isinstance(null, Permutation) and not (null.stop_early or null.blocks)


def _coarse(correction: Correction, number: int, null: Permutation) -> tuple[str, ...]:
    if not isinstance(correction, Holm) or number <= _LEVEL * (null.resamples + 1):
        return ()
    return (
        f"With {null.resamples:,} permutations no p-value of {number} pairs is below "
        f"{min(number / (null.resamples + 1), 1.0):.2g} after the correction: use Permutation("
        f"{_EACH * number - 1}), test=None, or WestfallYoung().",
    )


def _table(frame: Any) -> Table:
    """A data frame, or an array whose columns are called by number; columns that vary."""
    data = as_table(frame, "frame")
    if data is None:
        values = to_numpy(validate.points(frame, "frame")).astype(np.float64)
        width = values.shape[1]
        data = Table(values, Columns(tuple(map(str, range(width))), (False,) * width))
    if len(data.columns.names) < 2:
        raise ValueError(f"frame must have at least two columns, got {len(data.columns.names)}")
    for name, values in zip(data.columns.names, data.values.T, strict=True):
        if np.all(values == values[0]):
            raise ValueError(f"column {name!r} of frame does not vary: leave it out")
    return data


def _square(values: np.ndarray, pairs: list[tuple[int, int]], own: float) -> np.ndarray:
    """Numbers of pairs as a symmetric matrix with `own` on the diagonal."""
    width = max(j for _, j in pairs) + 1
    square = np.full((width, width), own, dtype=np.float64)
    for (i, j), value in zip(pairs, values, strict=True):
        square[i, j] = square[j, i] = value
    square.flags.writeable = False
    return square
