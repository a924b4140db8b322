"""Column by column comparison of two samples: MMD of each column, with corrected p-values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf, sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, to_numpy
from mercer.config import settings
from mercer.frames import Columns, Table
from mercer.gram.resampling_weights import GROUP, resampling_seed
from mercer.gram.threads import spans
from mercer.htest.corrections import (
    Correction,
    StepCorrection,
    WestfallYoung,
    resampled_pvalues,
    resolution_caution,
)
from mercer.htest.format_number import figure
from mercer.htest.nulls import Permutation
from mercer.htest.result_rows import ResultRows
from mercer.htest.samples.column_descriptions import moments, shares
from mercer.htest.samples.column_features import Embedded, embedded
from mercer.htest.samples.paired_columns import TIE, columns_as_values, joined
from mercer.htest.samples.pooled_sample import labellings, loss, two_samples
from mercer.kernels.prepare import aligned
from mercer.plot import plot_features
from mercer.rkhs.distributions import Empirical

_MIN_RESAMPLES, _MAX_RESAMPLES = 999, 9999  # of the default, 50 for each column
_LABELS_PER_CHUNK = 4096  # points whose labels are decoded to floats at a time
_SUMS_PER_CHUNK = 2**20  # sums over points at a time: 8 MiB, which stay in cache


@dataclass(frozen=True)
class Feature:
    """Difference of one column between the samples.

    `mmd2` and `standardized` are of this column alone, with a kernel of its own; `first` and
    `second` describe it in each sample: its mean and standard deviation ("mean", "sd"), or the
    shares of the categories that changed most.
    """

    name: str
    categorical: bool
    mmd2: float
    standardized: float
    pvalue: float
    adjusted: float
    first: Mapping[str, float] = field(repr=False)
    second: Mapping[str, float] = field(repr=False)

    def describe(self) -> str:
        """Description of the change in words."""
        return in_words(self.categorical, self.first, self.second)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "name": self.name,
            "kind": "categories" if self.categorical else "numbers",
            "mmd2": self.mmd2,
            "standardized": self.standardized,
            "pvalue": self.pvalue,
            "adjusted": self.adjusted,
            "first": dict(self.first),
            "second": dict(self.second),
        }


def in_words(categorical: bool, first: Mapping[str, float], second: Mapping[str, float]) -> str:
    """Means and standard deviations of a column in both samples, or shares of its categories."""
    if not categorical:
        statistics = (f"{k} {figure(first[k])} and {figure(second[k])}" for k in ("mean", "sd"))
        return ", ".join(statistics)
    return ", ".join(f"{k!r} {first[k]:.1%} and {second[k]:.1%}" for k in first)


@dataclass(frozen=True)
class Features(ResultRows):
    """Differences of all columns, the largest first.

    A column is compared by itself. What differs only in how columns go together (a correlation)
    is in none of them: then the test of all columns rejects, and no column does.
    """

    features: tuple[Feature, ...]
    correction: Correction
    resamples: int
    noun: str = "column"  # or "feature", of objects
    sizes: tuple[int, int] | None = None  # of the samples that were compared
    notes: tuple[str, ...] = ()  # cautions about single columns

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __getitem__(self, key: int | str) -> Feature:
        """The column with this rank or name."""
        if not isinstance(key, str):
            return self.features[key]
        feature = next((f for f in self.features if f.name == key), None)
        if feature is None:
            raise KeyError(
                f"no {self.noun} {key!r}: use {', '.join(f.name for f in self.features[:20])}"
            )
        return feature

    def differing(self, level: float = 0.05) -> tuple[Feature, ...]:
        """Columns whose corrected p-value is at most `level`."""
        validate.between("level", level, 0.0, 1.0)
        return tuple(f for f in self.features if f.adjusted <= level)

    def subsample(self, sizes: tuple[int, int]) -> str:
        """Which rows were compared, in words, where they are some of samples of these sizes; else nothing."""
        if self.sizes is None or self.sizes == tuple(sizes):
            return ""
        return f"{self.sizes[0]:,} and {self.sizes[1]:,} random rows"

    def cautions(self, level: float = 0.05) -> tuple[str, ...]:
        """Cautions: so few resamples that nothing can be found at this level; columns that cannot be tested."""
        few = resolution_caution(self.correction, len(self), self.resamples, level, f"{self.noun}s")
        return (*few, *self.notes)

    def plot(self, ax: Any = None, *, level: float = 0.05, most: int = 15) -> Any:
        """Bar chart of the `most` largest distances; returns the Axes."""
        return plot_features(self, ax=ax, level=level, most=most)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "features": [f.to_dict() for f in self.features],
            "correction": repr(self.correction),
            "resamples": self.resamples,
            "sizes": None if self.sizes is None else list(self.sizes),
            "notes": list(self.cautions()),
        }

    def __str__(self) -> str:
        width = max(len(self.noun), *(len(f.name) for f in self.features))
        head = (
            f"{self.noun:{width}}  distance  p        corrected  in the first sample and the second"
        )
        rows = (
            f"{f.name:{width}}  {f.standardized:<8.3f}  {f.pvalue:<7.3g}  {f.adjusted:<9.3g}  "
            f"{f.describe()}"
            for f in self.features
        )
        return "\n".join([*self.cautions(), head, *rows])


def feature_differences(
    x: Any,
    y: Any,
    *,
    correction: Correction = WestfallYoung(),  # noqa: B008
    resamples: int | None = None,
    null: Permutation | None = None,
    rng: Any = None,
) -> Features:
    """Compare two samples column by column.

    Each column of numbers has an RBF kernel at the median distance of its pooled values, each
    column of categories the kernel [x = y]; the statistic is the unbiased MMD^2. One set of
    permutations serves all columns, so that their p-values may be corrected together.

    Parameters
    ----------
    x, y : samples
        Data frames, arrays (n, d), or `Empirical` with these.
    correction : Correction
        `WestfallYoung()`, for which 999 resamples serve any number of columns, `Holm()` or
        `BenjaminiHochberg()`.
    resamples : int or None
        None: 999; of `Holm()` and `BenjaminiHochberg()` 50 for each column, between 999 and 9,999.
    null : Permutation or None
        Blocks or pairs that permutations must respect.
    rng : int, Generator or None

    Examples
    --------
    >>> import pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> x = pd.DataFrame({"age": rng.normal(40, 9, 200), "city": rng.choice(["Rome", "Oslo"], 200)})
    >>> y = pd.DataFrame({"age": rng.normal(45, 9, 150), "city": rng.choice(["Rome", "Oslo"], 150)})
    >>> found = feature_differences(x, y, rng=0)
    >>> found[0].name, found[0].adjusted, [f.name for f in found.differing()]
    ('age', 0.001, ['age'])
    """
    validate.instance("correction", correction, Correction, "a correction, such as Holm()")
    first, second, weights = tables(x, y)
    resamples = number_of_resamples(correction, len(first.columns.names), resamples)
    restricted = null or Permutation()
    validate.instance(
        "null", restricted, Permutation, "a Permutation; series have result.features()"
    )
    permutation = Permutation(resamples, blocks=restricted.blocks, paired=restricted.paired)
    labels = labellings(len(first), len(second), permutation, resampling_seed(rng))
    columns, number = embedded_columns(first, second), resamples + 1
    exact, values = statistics_of_columns(columns, labels, weights, number)
    if not permutation.paired:
        return ranked_columns(first, second, weights, exact, values, correction)
    changes = columns_as_values(first, second)
    _, of_means = statistics_of_columns(changes, labels, weights, number)
    values = joined(values, of_means, first, second, weights)
    return ranked_columns(first, second, weights, exact, values, correction, TIE)


def ranked_columns(
    first: Table,
    second: Table,
    weights: np.ndarray,
    exact: np.ndarray,
    values: np.ndarray,
    correction: Correction,
    tolerance: Any = 0.0,
    notes: tuple[str, ...] = (),
) -> Features:
    """The differences of columns with MMD^2 and variance within `exact` (2, d), by statistics and their draws (d, 1 + B)."""
    observed, draws = values[:, 0], values[:, 1:]
    adjusted = correction.of_resampled(observed, draws, tolerance)
    pvalues = resampled_pvalues(observed, draws, tolerance)
    features = [
        _feature(j, first, second, weights, exact[:, j], p, corrected)
        for j, (p, corrected) in enumerate(zip(pvalues, adjusted, strict=True))
    ]
    features.sort(key=lambda f: (f.adjusted, f.pvalue, -f.standardized))
    sizes = len(first), len(second)
    return Features(tuple(features), correction, draws.shape[1], sizes=sizes, notes=notes)


def number_of_resamples(correction: Correction, columns: int, resamples: int | None) -> int:
    """The number that was asked for, or the default for so many columns."""
    if resamples is None:
        wanted = 50 * columns - 1 if isinstance(correction, StepCorrection) else _MIN_RESAMPLES
        return int(np.clip(wanted, _MIN_RESAMPLES, _MAX_RESAMPLES))
    validate.whole("resamples", resamples)
    return resamples


def embedded_columns(first: Table, second: Table) -> Iterator[Embedded]:
    """Each column of both samples together, with its kernel."""
    pooled = np.concatenate([first.values, second.values])
    for column, categorical in zip(pooled.T, first.columns.categorical, strict=True):
        yield embedded(column, categorical)


# ---- private ------------------------------------------------------------------------------


def tables(x: Any, y: Any) -> tuple[Table, Table, np.ndarray]:
    """Both samples as tables of the same columns, and weights of mean one in each: (n + m,)."""
    given_weights = [s.weights if isinstance(s, Empirical) else None for s in (x, y)]
    x, y = (s.points if isinstance(s, Empirical) else s for s in (x, y))
    x, y = two_samples(x, y)
    if isinstance(x, Table):
        first, second = x, Table(aligned(y, x.columns), x.columns, labels=y.labels)
    else:
        x, y = validate.points(x, "x"), validate.points(y, "y")
        validate.same_library(x, y)
        validate.same_width(x, y)
        first, second = _plain(x), _plain(y)
    for name, sample in (("x", first), ("y", second)):
        if len(sample) < 2:
            raise ValueError(f"{name} must have at least 2 points, got {len(sample)}")
    parts = zip(given_weights, (first, second), strict=True)
    weights = [np.ones(len(t)) if w is None else to_numpy(w) * len(t) for w, t in parts]
    return first, second, np.concatenate(weights)


def _plain(x: Array) -> Table:
    """An array as a table with numbered columns, as in `.select`."""
    values = to_numpy(x).astype(np.float64)
    width = values.shape[1]
    return Table(values, Columns(tuple(f"column {j}" for j in range(width)), (False,) * width))


def statistics_of_columns(
    columns: Iterator[Embedded], labels: Any, weights: np.ndarray, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """MMD^2 and variance within of each column (2, d), MMD^2 of each labelling (d, B + 1)."""
    results = [_grouped(group, labels, weights, number) for group in _groups(columns, len(weights))]
    exact, values = zip(*results, strict=True)
    return np.concatenate(exact, axis=1), np.concatenate(values)


def _groups(columns: Iterator[Embedded], n: int) -> Iterator[list[Embedded]]:
    """Columns whose features take an eighth of the memory budget together, or a single column.

    Their sums need them once more, weighted, and once in float32.
    """
    room, group, width = settings().memory // (8 * 8 * n), [], 0
    for column in columns:
        number = column.features.shape[1]
        if group and width + number > room:
            yield group
            group, width = [], 0
        group.append(column)
        width += number
    yield group


def _grouped(
    columns: list[Embedded], labels: Any, weights: np.ndarray, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """Result of `statistics_of_columns` for a group of columns."""
    starts = np.cumsum([0, *(c.features.shape[1] for c in columns)])[:-1]
    diagonals = [np.einsum("ij,ij->i", c.features, c.features)[:, None] for c in columns]
    terms = np.concatenate([*(c.features for c in columns), *diagonals], axis=1)
    terms[:, : -len(columns)] *= weights[:, None]
    terms[:, -len(columns) :] *= weights[:, None] ** 2
    pooled_sums = terms.sum(axis=0)[:, None]  # of both samples: (R + d, 1)
    totals = np.stack([weights, weights**2])
    pooled_totals = totals.sum(axis=1, keepdims=True)
    coarse, like = terms.astype(np.float32), np.empty(0, dtype=np.float32)
    values = np.empty((len(columns), number), dtype=np.float64)
    room = (
        settings().memory // 16 // (len(weights) + 4 * _LABELS_PER_CHUNK)
    )  # codes, and floats of some rows
    step = max(min(_SUMS_PER_CHUNK // terms.shape[1], room) // GROUP, 1) * GROUP
    for chunk in spans(number, step):
        coded = labels.columns(chunk, like)
        sums = np.zeros((terms.shape[1], chunk.stop - chunk.start), dtype=np.float64)
        for rows in spans(len(weights), _LABELS_PER_CHUNK):
            sums += coarse[rows].T @ coded.rows(rows)
        crossed = coded.project(totals)
        lost = loss((pooled_totals + crossed) / 2, pooled_totals)
        values[:, chunk] = _unbiased(pooled_sums, sums, totals, crossed, starts)[0] / lost
    signs = labels.columns(slice(0, 1), totals).rows(slice(0, len(weights)))
    crossed = totals @ signs
    values *= loss(
        (pooled_totals + crossed) / 2, pooled_totals
    )  # labellings spread large weights over both samples
    exact = _unbiased(pooled_sums, terms.T @ signs, totals, crossed, starts)
    return np.stack([v[:, 0] for v in exact]), values


def _unbiased(
    whole: np.ndarray, sums: np.ndarray, totals: np.ndarray, crossed: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """MMD^2 without pairs i = j, and the variance within, of each column and labelling (d, B).

    `whole` are the sums of features and of k(x, x) over all points, `sums` those times the
    labels; `totals` and `crossed` are the same of the weights and their squares.
    """
    d, total = len(starts), totals.sum(axis=1)[:, None]
    inside, sides = [], []
    for sign in (1, -1):
        side = (whole + sign * sums) / 2
        w, w2 = (total + sign * crossed) / 2
        pairs = np.add.reduceat(side[:-d] ** 2, starts) - side[-d:]
        inside.append(pairs / (w**2 - w2))
        sides.append(side[:-d] / w)
    between = np.add.reduceat(sides[0] * sides[1], starts)
    within = inside[0] + inside[1]
    return within - 2 * between, 1 - within / 2


def _feature(
    j: int,
    first: Table,
    second: Table,
    weights: np.ndarray,
    exact: np.ndarray,
    pvalue: float,
    adjusted: float,
) -> Feature:
    mmd2, within = (float(v) for v in exact)
    categorical = first.columns.categorical[j]
    a, b = first.values[:, j], second.values[:, j]
    p, q = weights[: len(a)] / len(a), weights[len(a) :] / len(b)
    if categorical:
        descriptions = shares(a, b, p, q, {**first.labels, **second.labels})
    else:
        descriptions = moments(a, p), moments(b, q)
    return Feature(
        name=first.columns.names[j],
        categorical=categorical,
        mmd2=mmd2,
        standardized=distance(mmd2, within),
        pvalue=float(pvalue),
        adjusted=float(adjusted),
        first=descriptions[0],
        second=descriptions[1],
    )


def distance(mmd2: float, within: float) -> float:
    """Standardized distance; infinite where the column is constant in each sample, and differs."""
    if mmd2 <= 1e-15:
        return 0.0
    return sqrt(mmd2 / within) if within > 1e-15 else inf
