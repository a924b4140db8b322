"""Predictions of rows by a regression that was fitted without them, whatever the kernel of a test.

Columns of numbers enter by the normal scores of their ranks, so that units and outliers do not matter, and
categories by indicators. The regression is that of the conditional tests: effects of single columns, of pairs and
of all columns together, each with a variance that the data choose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import is_array, to_numpy
from mercer.config import settings
from mercer.frames import Columns
from mercer.gram import Gram, cholesky
from mercer.htest.conditional.basis import (
    EffectBasis,
    EffectBlock,
    NumericTable,
    additive_basis,
    block_of,
    wide_basis,
    with_joint_effects,
)
from mercer.htest.conditional.regression import fitted_on_part
from mercer.htest.conditional.variance_components import fitted_components
from mercer.htest.normal_scores import NormalScores
from mercer.kernels.base import Kernel, Points
from mercer.linalg import one_blas_thread
from mercer.rkhs.sample_rows import taken

FOLDS = 5
MOST_ROWS = 2000  # of a sample that are predicted; more hardly shorten the intervals
_MOST_ROWS_WIDE = 500  # where there are so many columns that all pairs of rows are computed
_MOST_COLUMNS = 60  # that get effects of their own
_MOST_TELLING = 8  # of more columns: those that get effects of their own, too
_TELLING_LEVEL = 0.05  # of the tests, corrected for all columns, that choose them
_BYTES_PER_ROW = 2**15  # of features, factors and predictions: 20 to 27 KiB were measured
_ROWS_FOR_ONE_SPLIT = 200  # with fewer, several splits are averaged
_MOST_SPLITS = 5
_MOST_LEVELS = 200  # of a category; rarer ones count as one
_UPDATES = 4, 6  # of variances: predictions change little after them
_KERNEL_FEATURES = 100  # for points that are not rows of an array
_SEED = 0  # of subsamples and folds: the same rows give the same numbers


@dataclass(frozen=True)
class Predictors:
    """Rows to predict from: columns of a table, or features of a kernel for points without columns."""

    table: NumericTable | None
    basis: EffectBasis
    many: NumericTable | None = None  # more columns than get effects of their own

    @classmethod
    def of(cls, points: Points, columns: Columns | None, kernel: Kernel) -> Predictors:
        """The predictors of points; the kernel is used only where they are not rows of an array."""
        if not is_array(points) or points.ndim != 2:
            factor = cholesky(Gram(kernel, points), tolerance=1e-6, most=_KERNEL_FEATURES)
            block = block_of("joint", to_numpy(factor.columns).astype(np.float64))
            return cls(None, EffectBasis(() if block is None else (block,)))
        table = _scored(np.asarray(to_numpy(points), dtype=np.float64), columns)
        if table.values.shape[1] > _MOST_COLUMNS:
            return cls(None, wide_basis(table), table)
        return cls(table, additive_basis(table))

    def beside(self, other: Predictors) -> Predictors:
        """The predictors of both, with effects of columns of both together where both are columns, and not too many."""
        if self.table is not None and other.table is not None:
            table = self.table.beside(other.table)
            if table.values.shape[1] <= _MOST_COLUMNS:
                return Predictors(table, additive_basis(table))
        blocks = [block for p in (self, other) for block in p._with_joint_effects().blocks]
        wide = [p.many for p in (self, other) if p.many is not None]
        many = wide[0].beside(wide[1]) if len(wide) > 1 else next(iter(wide), None)
        return Predictors(None, EffectBasis(tuple(blocks)), many)

    def _with_joint_effects(self) -> EffectBasis:
        return (
            self.basis if self.table is None else with_joint_effects(self.basis, self.table, (), ())
        )

    def predicted(self, target: np.ndarray, train: np.ndarray) -> np.ndarray:
        """Predictions of a target (n,) for all rows, from those with the indices `train`."""
        known = target[train]
        centre, scale = float(np.mean(known)), float(np.std(known))
        if scale == 0 or not self.basis.blocks:
            return np.full(len(target), centre)
        scaled = (target - centre) / scale
        if self.table is not None:
            predicted = fitted_on_part(self.table, scaled, train, self.basis, _UPDATES)
            return centre + scale * predicted
        basis = self.basis
        if self.many is not None:
            basis = EffectBasis((*basis.blocks, *_telling_blocks(self.many, scaled, train)))
        fitted = fitted_components(basis.rows(train), scaled[train], sum(_UPDATES))
        return centre + scale * (basis.features @ fitted.coefficients(scaled[train]))


def _telling_blocks(
    table: NumericTable, target: np.ndarray, train: np.ndarray
) -> tuple[EffectBlock, ...]:
    """Effects of the columns that tell of a target in the rows `train`; of many columns, few or none.

    A column counts if its correlation with the target, or that of its square, is significant after Bonferroni's
    correction for all of them: P(|r| > t) <= 2 exp(-n t^2 / 2) where there is nothing.
    """
    values, known = table.values[train], _unit(target[train])
    linear = np.abs(known @ _unit(values))
    scores = np.maximum(linear, np.abs(known @ _unit((values - values.mean(axis=0)) ** 2)))  # (d,)
    limit = np.sqrt(2 * np.log(4 * len(scores) / _TELLING_LEVEL) / len(train))
    best = np.argsort(-scores, kind="stable")[:_MOST_TELLING]
    telling = np.sort(best[scores[best] > limit])
    if not len(telling):
        return ()
    labels = tuple(table.categorical[j] for j in telling)
    singles = additive_basis(NumericTable(table.values[:, telling], labels)).blocks
    together = []  # one variance for all of a kind: with one each, few rows would overrate them
    for kind in ("line", "smooth", "levels"):
        features = [block.features for block in singles if block.kind == kind]
        together += [block_of(kind, np.hstack(features))] if features else []
    return tuple(block for block in together if block is not None)


def _unit(values: np.ndarray) -> np.ndarray:
    """Columns of mean 0 and norm 1; those that do not vary are 0."""
    centred = values - values.mean(axis=0)
    norms = np.linalg.norm(centred, axis=0)
    return centred / np.where(norms > 0, norms, 1.0)


def out_of_fold(
    predictors: Predictors | None, targets: np.ndarray, series: bool = False
) -> np.ndarray:
    """Predictions of targets (n, k) by fits without the fold of each row, for every split: (s, n, k).

    Without predictors they are the means of the other rows. For a `series` folds are stretches of time.
    """
    with one_blas_thread():  # hundreds of small fits, in which threads wait for each other
        return np.stack(
            [_by_folds(predictors, targets, folds) for folds in splits((len(targets),), series)]
        )


def _by_folds(predictors: Predictors | None, targets: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Predictions of targets by fits without the fold of each row: (n, k)."""
    predicted = np.empty_like(targets)
    for fold in range(int(folds.max()) + 1):
        test, train = folds == fold, np.flatnonzero(folds != fold)
        for j, target in enumerate(targets.T):
            if predictors is None:
                predicted[test, j] = target[train].mean()
            else:
                predicted[test, j] = predictors.predicted(target, train)[test]
    return predicted


def splits(sizes: tuple[int, ...], series: bool = False) -> Iterator[np.ndarray]:
    """Fold numbers of the rows of groups of these sizes, each group spread evenly: (n,) for every split.

    Folds of a `series` are stretches of consecutive rows: at random, neighbours in time would be on both sides, and a fit
    would know rows that it is to predict.
    """
    rng = np.random.default_rng(_SEED)
    folds = min(FOLDS, *sizes)
    if series:
        yield np.concatenate([np.arange(size) * folds // size for size in sizes])
        return
    repeats = int(np.clip(_ROWS_FOR_ONE_SPLIT // sum(sizes), 1, _MOST_SPLITS))
    for _ in range(repeats):
        yield np.concatenate([rng.permutation(np.arange(size) % folds) for size in sizes])


def subsample(size: int, width: int | None) -> np.ndarray:
    """Sorted positions of at most as many rows as are predicted, always the same."""
    most = most_rows(width)
    if size <= most:
        return np.arange(size)
    rng = np.random.default_rng(_SEED)
    return np.sort(rng.choice(size, most, replace=False, shuffle=False))


def most_rows(width: int | None) -> int:
    """Rows of a sample that are predicted: fewer where there are many columns, or little memory."""
    most = _MOST_ROWS_WIDE if width is not None and width > _MOST_COLUMNS else MOST_ROWS
    return max(min(most, settings().memory // _BYTES_PER_ROW), _ROWS_FOR_ONE_SPLIT)


def rows_of(points: Points, rows: np.ndarray, size: int) -> Any:
    """The points at these positions; all of them as they are."""
    return points if len(rows) == size else taken(points, rows)


def width_of(points: Points) -> int | None:
    """The number of columns; None for points that are not rows of an array."""
    return int(points.shape[1]) if is_array(points) and points.ndim == 2 else None


def _scored(values: np.ndarray, columns: Columns | None) -> NumericTable:
    """Normal scores of columns of numbers, and indicators or codes of categories."""
    labels = (False,) * values.shape[1] if columns is None else tuple(columns.categorical)
    scored = values.copy()
    numeric = ~np.array(labels)
    if numeric.any():
        scored[:, numeric] = NormalScores.of(values[:, numeric])(values[:, numeric])
    for j in np.flatnonzero(~numeric):
        scored[:, j] = _common_levels(values[:, j])
    return NumericTable(scored, labels).expanded()


def _common_levels(codes: np.ndarray) -> np.ndarray:
    """Codes of categories in which all but the most common are one."""
    _, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return np.minimum(rank[inverse], _MOST_LEVELS).astype(np.float64)
