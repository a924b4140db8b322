"""Result of testing every pair of columns: p-values, effects, and the columns in a clustered order."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np

from mercer import validate
from mercer.frames import Table
from mercer.htest.corrections import Correction, resolution_caution
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.reportable import Reportable
from mercer.htest.result_rows import ResultRows
from mercer.htest.serial_hsic import serial_cautions

SCHEMA = "mercer/pairwise/1"
_MAX_PAIRS_NAMED = 10  # in a summary
_FEWEST_COLUMNS_CLUSTERED = 3  # two have one order
MAX_COLUMNS_CHECKED = 40  # for dependence on earlier rows, one by one


class Pair(NamedTuple):
    """Two columns, the corrected p-value of their independence, and their kernel correlation."""

    first: str
    second: str
    pvalue: float
    effect: float


@dataclass(frozen=True)
class PairwiseResult(ResultRows, Reportable):
    """P-values and effects of every pair of columns, or of the pairs of one column with all others.

    Attributes
    ----------
    names : tuple of str
    pvalues : array (d, d)
        Corrected for the number of pairs; NaN on the diagonal and for pairs that are not tested.
    effects : array (d, d)
        sqrt(HSIC(x, y) / sqrt(HSIC(x, x) HSIC(y, y))) of the unbiased estimates, between 0 and 1:
        the kernel correlation of `IndependenceResult.effect`; NaN for pairs that are not tested.
    uncorrected : array (d, d)
        The p-value of every pair before the correction.
    against : str or None
        The column of which the dependence of all others was tested; None: all pairs were.
    """

    _report: ClassVar[str] = "pairwise_report"

    names: tuple[str, ...]
    pvalues: np.ndarray = field(repr=False, compare=False)
    effects: np.ndarray = field(repr=False, compare=False)
    uncorrected: np.ndarray = field(repr=False, compare=False)
    size: int
    test: HypothesisTest
    correction: Correction
    resamples: int = 0  # permutations of a pair; 0 where the test draws none, or its own
    table: Table | None = field(default=None, repr=False, compare=False)
    against: str | None = None
    notes: tuple[str, ...] = ()  # cautions about single pairs

    def cautions(self, level: float = 0.05) -> tuple[str, ...]:
        """Cautions: too few permutations for this level; untested pairs; rows that depend on those before them."""
        number = len(self._places)
        resolution = resolution_caution(self.correction, number, self.resamples, level, "pairs")
        return (*resolution, *self.notes, *self._serial_cautions)

    @cached_property
    def _serial_cautions(self) -> tuple[str, ...]:
        """A caution, where two columns depend on earlier rows; single columns are tested if all together do."""
        if self.table is None or self.test.for_series or not serial_cautions([("", self.table)]):
            return ()
        named = dict(zip(self.names, single_columns(self.table), strict=True))
        if self.against is not None:  # where its rows are independent, all tests are valid
            named = {self.against: named[self.against], **named}
            if not serial_cautions([(self.against, named[self.against])]):
                return ()
        remedy = "use test=HSIC(null=WildBootstrap(block=None)), or --series of the command"
        checked = [*named.items()][:MAX_COLUMNS_CHECKED]
        return serial_cautions(checked, least=2, remedy=remedy)

    def dependent(self, level: float = 0.05) -> tuple[Pair, ...]:
        """The pairs whose corrected p-value is at most `level`, the strongest dependence first."""
        validate.between("level", level, 0.0, 1.0)
        rejected = [pair for pair in self.pairs if pair.pvalue <= level]
        return tuple(sorted(rejected, key=lambda pair: -pair.effect))

    def dependent_across(self, names: Collection[str], level: float = 0.05) -> tuple[Pair, ...]:
        """The dependent pairs of one of these columns and one that is not among them, the strongest first."""
        known = {*names}
        dependent = self.dependent(level)
        return tuple(pair for pair in dependent if (pair.first in known) != (pair.second in known))

    def summary(self, level: float = 0.05) -> str:
        """The pairs that depend on each other, in plain words."""
        dependent, number = self.dependent(level), len(self._places)
        hidden = len(dependent) - _MAX_PAIRS_NAMED
        what = "pairs of columns depend on each other"
        if self.against is not None:
            what = f"column{'s' * (number > 1)} {'depends' if 1 in (len(dependent), number) else 'depend'} on {self.against}"
        lines = [
            f"{len(dependent)} of {number} {what} at level {level:g} "
            f"({type(self.test).__name__}, {self.size:,} observations, {self.correction!r}).",
            *(
                f"{self._pair_name(pair)}: kernel correlation {pair.effect:.3g}, p = {pair.pvalue:.3g}"
                for pair in dependent[:_MAX_PAIRS_NAMED]
            ),
            *([f"and {hidden} more"] if hidden > 0 else []),
        ]
        return "\n".join([*self.cautions(level), *lines])

    def _pair_name(self, pair: Pair) -> str:
        """Both columns of a pair, or the one that differs from pair to pair."""
        return f"{pair.first} and {pair.second}" if self.against is None else pair.first

    def __str__(self) -> str:
        return self.summary()

    def __iter__(self) -> Iterator[Pair]:
        return iter(self.pairs)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "schema": SCHEMA,
            "names": list(self.names),
            "size": self.size,
            "test": repr(self.test),
            "correction": repr(self.correction),
            "against": self.against,
            "pairs": [pair._asdict() for pair in self.pairs],
            "resamples": self.resamples,
            "notes": list(self.cautions()),
        }

    def plot(self, ax: Any = None, *, level: float = 0.05) -> Any:
        """A heat map of the effects of dependent pairs, or bars of those with one column; returns the Axes."""
        return importlib.import_module("mercer.plot").plot_pairwise(self, ax=ax, level=level)

    def clustered(self) -> PairwiseResult:
        """The same result with columns in another order: those that depend on each other side by side.

        The order is that of a hierarchical clustering (average linkage, distance 1 - effect), with the
        leaves turned so that neighbours are as similar as can be (Bar-Joseph et al. 2001). Where one column
        was tested against all others, it comes first, and then the others by their effects.
        """
        if len(self.names) < _FEWEST_COLUMNS_CLUSTERED:
            return self
        order = self._leaves() if self.against is None else self._by_effect(self.against)
        square = np.ix_(order, order)
        return replace(
            self,
            names=tuple(self.names[i] for i in order),
            pvalues=self.pvalues[square],
            effects=self.effects[square],
            uncorrected=self.uncorrected[square],
            table=None if self.table is None else _reordered(self.table, order),
        )

    def _leaves(self) -> np.ndarray:
        """Columns in the order of a hierarchical clustering."""
        from scipy.cluster.hierarchy import leaves_list, linkage

        distances = 1 - np.nan_to_num(self.effects)
        condensed = distances[np.triu_indices(len(self.names), 1)]
        return leaves_list(linkage(condensed, "average", optimal_ordering=True))

    def _by_effect(self, against: str) -> np.ndarray:
        """Columns by how much they depend on one, which comes first: its own effect is 1."""
        place = self.names.index(against)
        effects = self.effects[place].copy()
        effects[place] = np.inf
        return np.argsort(-effects, kind="stable")

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every pair that was tested, in the order of the table; `against` is the second of each."""
        return tuple(
            Pair(self.names[i], self.names[j], float(self.pvalues[i, j]), float(self.effects[i, j]))
            for i, j in self._places
        )

    @property
    def _places(self) -> list[tuple[int, int]]:
        """The pairs that were tested, by the places of their columns."""
        if self.against is None:
            return pairs_of(len(self.names))
        return [(j, i) for i, j in pairs_of(len(self.names), self.names.index(self.against))]


def pairs_of(number: int, against: int | None = None) -> list[tuple[int, int]]:
    """All pairs of so many columns, or those of one column, which comes first, with every other."""
    if against is None:
        return list(combinations(range(number), 2))
    return [(against, i) for i in range(number) if i != against]


def _reordered(data: Table, order: np.ndarray) -> Table:
    """A table with its columns in another order."""
    return Table(data.values[:, order], data.columns.take([int(i) for i in order]))


def single_columns(data: Table) -> list[Table]:
    """Each column as a table of its own."""
    return [
        Table(data.values[:, [i]], data.columns.take([i])) for i in range(len(data.columns.names))
    ]
