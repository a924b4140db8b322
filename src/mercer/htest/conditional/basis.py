"""Features of the conditioning variable z in blocks, one block for each kind of effect that z may have.

A regression on z gives every block a variance of its own, so that it finds out which columns matter, how
smooth their effects are, and whether columns act together. Columns are measured in robust standard
deviations (the interquartile range over 1.349), so that heavy tails do not hide the bulk of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

_IQR_OF_NORMAL = 1.349  # interquartile range of the standard normal distribution
_FAR = (
    6.0  # robust standard deviations; rows with a column beyond are left out: nothing is near them
)
_MOST_LEVELS = 8  # a column with at most that many distinct values has one effect for each of them
_FINE_WIDTH = 0.12  # bandwidth of effects with jumps, for few columns
_FINE_COLUMNS = 2  # columns of z, up to which jumps are looked for
_FINE_FEATURES = 40
_ROUGH_WIDTH = 0.4  # bandwidth of wiggly effects: sin(3z) of a standard normal z is learned
_SMOOTH_WIDTH = 1.0  # bandwidth of smooth effects, on the scale of asinh, which bends far values in
_JOINT_WIDTHS = (0.5, 1.0)  # of effects of all columns together, per column on the scale of asinh
_PAIR_WIDTH = 0.6  # of effects of two columns together
_INDEX_FEATURES = 12  # of curves over a linear combination of columns
_PAIRS = 5  # pairs of columns that get a block of their own
_JOINT_COLUMNS = 60  # features of all columns together
_PRODUCTS = 230  # squares and products of two columns, up to 20 columns
_NEIGHBOURS = 4  # an effect is learned only where as many observations lie within a bandwidth
_LEAST_GAIN = 0.005  # of the variance of an effect, below which another centre is not worth it


@dataclass(frozen=True)
class NumericTable:
    """Columns of numbers, some of which are codes of categories."""

    values: np.ndarray  # (n, d)
    categorical: tuple[bool, ...]

    def rows(self, mask: np.ndarray) -> NumericTable:
        """The rows of a mask or of indices."""
        return NumericTable(self.values[mask], self.categorical)

    def beside(self, other: NumericTable) -> NumericTable:
        """The columns of both."""
        values = np.hstack([self.values, other.values])
        return NumericTable(values, (*self.categorical, *other.categorical))

    def indicators_of_columns(self) -> list[int]:
        """How many columns of `indicators()` each column has."""
        return [max(len(np.unique(c)) - 1, 1) if labels else 1 for c, labels in self._labelled()]

    def indicators(self) -> np.ndarray:
        """Columns of numbers, and one indicator for each category but the last: (n, k)."""
        return self.expanded(None).values

    @property
    def expanded_width(self) -> int:
        """The number of columns of `expanded()`."""
        levels = [len(np.unique(c)) if labels else 0 for c, labels in self._labelled()]
        return sum(max(k - 1, 1) if k <= _MOST_LEVELS else 1 for k in levels)

    def _labelled(self) -> Iterator[tuple[np.ndarray, bool]]:
        """Every column, and whether it holds codes of categories."""
        return zip(self.values.T, self.categorical, strict=True)

    def expanded(self, most: int | None = _MOST_LEVELS) -> NumericTable:
        """Indicators in place of columns with at most so many categories; codes 0, 1, ... of more."""
        columns, categorical = [], []
        for column, labels in self._labelled():
            levels, codes = np.unique(column, return_inverse=True)
            if not labels:
                columns.append(column[:, None])
            elif most is None or len(levels) <= most:
                columns.append(codes[:, None] == np.arange(max(len(levels) - 1, 1)))
            else:
                columns.append(codes[:, None])
            coded = labels and most is not None and len(levels) > most
            categorical += [coded] * columns[-1].shape[1]
        return NumericTable(np.hstack(columns).astype(np.float64), tuple(categorical))


@dataclass(frozen=True)
class EffectBlock:
    """Features of one kind of effect, centred, of mean squared norm one.

    `missed` is the share of the variance of the effect at each observation that the features cannot
    express, because few observations are near it: (n,); None where they express all of it.
    """

    kind: str  # "line", "levels", "rough", "smooth", "products", "joint", "pair" or "index"
    features: np.ndarray  # (n, m)
    missed: np.ndarray | None = None


@dataclass(frozen=True)
class EffectBasis:
    """Blocks of features of z for the same observations."""

    blocks: tuple[EffectBlock, ...]

    @cached_property
    def features(self) -> np.ndarray:
        """The features of all blocks: (n, p)."""
        return np.hstack([block.features for block in self.blocks])

    @cached_property
    def gram(self) -> np.ndarray:
        """F'F of the features F: (p, p)."""
        return self.features.T @ self.features

    @cached_property
    def starts(self) -> np.ndarray:
        """The first feature of every block."""
        return np.cumsum([0, *self.sizes[:-1]])

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of features of every block."""
        return np.array([block.features.shape[1] for block in self.blocks])

    @property
    def n(self) -> int:
        """The number of observations."""
        return self.blocks[0].features.shape[0]

    @property
    def wide(self) -> bool:
        """Whether there are more features than observations."""
        return int(np.sum(self.sizes)) > self.n

    def only(self, *kinds: str) -> EffectBasis:
        """The blocks of these kinds; all of them where there are none."""
        chosen = tuple(block for block in self.blocks if block.kind in kinds)
        return EffectBasis(chosen) if chosen else self

    def rows(self, mask: np.ndarray) -> EffectBasis:
        """The same features at fewer observations."""
        return EffectBasis(tuple(EffectBlock(b.kind, b.features[mask]) for b in self.blocks))

    def kept(self, mask: np.ndarray) -> EffectBasis:
        """The blocks of a mask, with the products of their features taken over."""
        basis = EffectBasis(tuple(b for b, kept in zip(self.blocks, mask, strict=True) if kept))
        columns = np.repeat(mask, self.sizes)
        basis.__dict__["features"] = self.features[:, columns]
        if not basis.wide:
            basis.__dict__["gram"] = self.gram[np.ix_(columns, columns)]
        return basis


def robust_columns(z: np.ndarray) -> np.ndarray:
    """Columns minus their medians, over their robust standard deviations: (n, d)."""
    low, middle, high = np.quantile(z, (0.25, 0.5, 0.75), axis=0)
    deviation, robust = z.std(axis=0), (high - low) / _IQR_OF_NORMAL
    scale = np.where(robust > 1e-9 * deviation, robust, deviation)
    return (z - middle) / np.where(scale > 0, scale, 1.0)


def within_reach(table: NumericTable) -> np.ndarray:
    """Mask of the rows without a number that is far from most others: (n,)."""
    far = np.abs(robust_columns(table.values)) > _FAR
    few = [len(np.unique(column)) <= _MOST_LEVELS for column in table.values.T]
    return ~np.any(far & ~(np.array(table.categorical) | np.array(few)), axis=1)


def additive_basis(table: NumericTable) -> EffectBasis:
    """Blocks of single columns of z."""
    z = table.values
    scaled = robust_columns(z)
    bent, d = np.arcsinh(scaled), z.shape[1]
    rough, smooth = _sizes(d)
    blocks: list[EffectBlock | None] = []
    for column, u, s, labels in zip(z.T, scaled.T, bent.T, table.categorical, strict=True):
        levels = np.unique(column)
        if not labels:
            blocks.append(block_of("line", u[:, None]))
        if len(levels) > _MOST_LEVELS and not labels:
            blocks.append(_bumps("rough", u[:, None], _ROUGH_WIDTH, rough, sparse=True))
            blocks.append(_bumps("smooth", s[:, None], _SMOOTH_WIDTH, smooth))
            if d <= _FINE_COLUMNS:
                blocks.append(_bumps("rough", u[:, None], _FINE_WIDTH, _FINE_FEATURES, sparse=True))
        elif len(levels) > 2:
            blocks.append(block_of("levels", (column[:, None] == levels).astype(np.float64)))
    return EffectBasis(tuple(block for block in blocks if block is not None))


def wide_basis(table: NumericTable) -> EffectBasis:
    """Blocks for many columns: a line in all of them, and bumps of all of them together."""
    scaled = robust_columns(table.values)
    most = min(len(scaled) // 4, _JOINT_COLUMNS)
    joint = (_bumps("joint", np.arcsinh(scaled), width, most) for width in _JOINT_WIDTHS)
    blocks = (block_of("line", scaled), *joint)
    return EffectBasis(tuple(block for block in blocks if block is not None))


def _sizes(d: int) -> tuple[int, int]:
    """Features of wiggly and of smooth effects of each of d columns."""
    return int(np.clip(400 / d, 12, 28)), int(np.clip(120 / d, 4, 8))


def most_features(n: int, d: int) -> int:
    """The number of features of n rows of d columns, or a few more."""
    fine = _FINE_FEATURES if d <= _FINE_COLUMNS else 0
    columns = d * (1 + sum(_sizes(d)) + fine)
    if d == 1:
        return columns + 1
    pairs = min(_PAIRS, d * (d - 1) // 2) * _pair_size(n) + 2 * _INDEX_FEATURES
    products = d * (d + 1) // 2
    return columns + pairs + 2 * _JOINT_COLUMNS + (products if products <= _PRODUCTS else 0)


def _pair_size(n: int) -> int:
    return int(np.clip(n / 10, 25, 70))


def with_joint_effects(
    basis: EffectBasis,
    table: NumericTable,
    pairs: Sequence[tuple[int, int]],
    indices: Sequence[np.ndarray],
) -> EffectBasis:
    """The basis followed by blocks of several columns.

    These are products, all columns together, the given pairs of columns, and curves over linear
    combinations `indices` of the columns, (n,) each.
    """
    scaled = robust_columns(table.values)
    n, d = scaled.shape
    blocks: list[EffectBlock | None] = []
    if d * (d + 1) // 2 <= _PRODUCTS:
        blocks.append(_products(scaled))
    if d > 1:
        most = min(n // 4, _JOINT_COLUMNS)
        blocks.extend(_bumps("joint", np.arcsinh(scaled), w, most) for w in _JOINT_WIDTHS)
    for pair in pairs:
        u = scaled[:, list(pair)]
        blocks.append(_bumps("pair", u, _PAIR_WIDTH, _pair_size(n), sparse=True))
    for index in indices:
        u = robust_columns(index[:, None])
        blocks.append(_bumps("index", u, _SMOOTH_WIDTH / 2, _INDEX_FEATURES, sparse=True))
    return EffectBasis((*basis.blocks, *(block for block in blocks if block is not None)))


def block_of(
    kind: str, features: np.ndarray, missed: np.ndarray | None = None
) -> EffectBlock | None:
    """Features centred and scaled; None for constants."""
    centred = features - features.mean(axis=0)
    scale = float(np.sum(centred**2)) / len(centred)
    if scale <= 1e-12:
        return None
    return EffectBlock(kind, centred / np.sqrt(scale), None if missed is None else missed / scale)


def _products(u: np.ndarray) -> EffectBlock | None:
    """Squares and products of two columns, each of variance one."""
    values = np.hstack([u[:, [i]] * u[:, i:] for i in range(u.shape[1])])
    values -= values.mean(axis=0)
    deviation = values.std(axis=0)
    return block_of("products", values / np.where(deviation > 1e-12, deviation, np.inf))


def _bumps(
    kind: str, u: np.ndarray, width: float, most: int, *, sparse: bool = False
) -> EffectBlock | None:
    """A pivoted Cholesky factor of the Gaussian kernel: features of bumps around chosen observations.

    `sparse`: centres are taken where observations are dense, and none where fewer than four are
    near; what is missed there is recorded.
    """
    n = len(u)
    crowd = _crowd(u, width) if sparse else np.ones(n)
    missed, columns, peak = np.ones(n), np.zeros((n, most)), float(np.max(crowd))
    for k in range(most):
        gain = missed * crowd
        centre = int(np.argmax(gain))
        if gain[centre] < _LEAST_GAIN * peak or peak == 0:
            columns = columns[:, :k]
            break
        bump = np.exp(-np.mean((u - u[centre]) ** 2, axis=1) / (2 * width**2))
        bump -= columns[:, :k] @ columns[centre, :k]
        columns[:, k] = bump / np.sqrt(missed[centre])
        missed = np.maximum(missed - columns[:, k] ** 2, 0.0)
    return block_of(kind, columns, missed if sparse else None)


def _crowd(u: np.ndarray, width: float) -> np.ndarray:
    """The number of observations within a bandwidth of each, 0 where there are fewer than four: (n,)."""
    if u.shape[1] == 1:
        values = u[:, 0]
        ordered = np.sort(values)
        crowd = np.searchsorted(ordered, values + width) - np.searchsorted(ordered, values - width)
    else:
        some = u[:: max(1, len(u) // 250)]
        squares = np.mean((u[:, None, :] - some[None, :, :]) ** 2, axis=2)
        crowd = np.exp(-squares / (2 * width**2)).sum(axis=1) * (len(u) / len(some))
    return np.where(crowd >= _NEIGHBOURS, crowd, 0).astype(np.float64)


def telling_pairs(z: np.ndarray, residuals: Sequence[np.ndarray]) -> list[tuple[int, int]]:
    """The pairs of columns whose joint effects explain most of residuals of additive regressions.

    Every pair is scored by the squared correlations of the residuals with products of five functions
    of one column and five of the other: polynomials of degree one to three, a sine and a cosine.
    """
    d = z.shape[1]
    bent = np.arcsinh(robust_columns(z))
    v = _standard(bent)
    functions = np.stack([v, v**2, v**3 - 3 * v, np.sin(2 * v), np.cos(2 * v)], axis=2)
    functions = _standard(functions)
    first, second = np.triu_indices(d, 1)
    scores = np.zeros(len(first))
    for values in residuals:
        a = _standard(values)
        for k, (i, j) in enumerate(zip(first, second, strict=True)):
            products = (functions[:, i].T * a) @ functions[:, j]
            scores[k] = max(scores[k], float(np.mean(products**2)))
    best = np.argsort(-scores, kind="stable")[:_PAIRS]
    return [(int(first[k]), int(second[k])) for k in best]


def _standard(values: np.ndarray) -> np.ndarray:
    """Values of mean 0 and variance 1 along the first axis."""
    centred = values - values.mean(axis=0)
    return centred / np.maximum(centred.std(axis=0), 1e-12)
