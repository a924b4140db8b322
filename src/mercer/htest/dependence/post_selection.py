"""Inference after selection: p-values of the features that depend most on a target, valid though they were selected."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from mercer import validate
from mercer.backend import count, to_numpy
from mercer.frames import Table
from mercer.htest.dependence.all_pairs import varying_columns
from mercer.htest.dependence.pairwise_result import single_columns
from mercer.htest.result_rows import ResultRows
from mercer.kernels.base import Kernel
from mercer.rkhs.measures import unbiased_hsic
from mercer.rkhs.paired_samples import Variable, check_kernels, variables
from mercer.rkhs.sample_rows import taken

_MIN_BLOCK = 4  # observations: the unbiased HSIC divides by b (b - 3)
_MIN_BLOCKS = 20  # fewer make a poor estimate of the covariance
_NEGLIGIBLE_VARIANCE = 1e-300


class SelectedFeature(NamedTuple):
    """A selected feature: its HSIC with the target, and p-values that allow for the selection and that do not."""

    name: str
    statistic: float
    pvalue: float
    naive: float


@dataclass(frozen=True)
class PostSelection(ResultRows):
    """Features selected by HSIC, the strongest first, with selective p-values.

    Attributes
    ----------
    features : tuple of SelectedFeature
    number : int
        Features to select from.
    size, block : int
        Observations, and observations in a block.
    """

    features: tuple[SelectedFeature, ...]
    number: int
    size: int
    block: int
    level: float = field(default=0.05, kw_only=True)

    def __iter__(self) -> Iterator[SelectedFeature]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)

    def dependent(self, level: float | None = None) -> tuple[str, ...]:
        """Names of the selected features whose selective p-value is at most `level`."""
        level = self.level if level is None else level
        validate.between("level", level, 0.0, 1.0)
        return tuple(feature.name for feature in self if feature.pvalue <= level)

    def summary(self) -> str:
        """The selected features in plain words."""
        dependent = self.dependent()
        lines = [
            f"{len(dependent)} of {len(self)} selected features depend on the target at level {self.level:g} "
            f"({self.number} features, {self.size:,} observations in blocks of {self.block}).",
            *(
                f"{f.name}: HSIC {f.statistic:.3g}, p = {f.pvalue:.3g} (ignoring the selection: {f.naive:.3g})"
                for f in self
            ),
            "p-values hold for each selected feature by itself; correct them if you report several.",
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "features": [f._asdict() for f in self],
            "number": self.number,
            "size": self.size,
            "block": self.block,
        }


def post_selection(
    frame: Any,
    y: Any,
    *,
    k: int = 3,
    block: int = 10,
    kernel: Kernel | None = None,
    target_kernel: Kernel | None = None,
    rng: Any = None,
) -> PostSelection:
    """Select the k features with the largest HSIC with a target, and test whether each depends on it.

    Whoever selects the features that look most dependent and then tests them on the same observations gets p-values that
    are too small. Here p-values are conditional on the selection (hsicInf, Yamada et al. 2018). HSIC of
    every feature is a mean over blocks of observations, so all of them together are approximately normal, their covariance
    is estimated from the blocks, and the selection says that every selected mean is at least every other one. Given
    that, and what is not along its own direction, the HSIC of a selected feature is a truncated normal variable
    (polyhedral lemma, Lee et al. 2016).

    Larger blocks have more power, and leave fewer of them for the covariance. With three of ten features selected, 0.025 to
    0.048 of the selective p-values were at most 0.05 under independence, and 0.085 to 0.138 of those that ignore the
    selection (`benchmarks/results/post_selection.md`).

    Parameters
    ----------
    frame : data frame, or array with a column for each feature
    y : target
        Numbers or categories; the same number of rows.
    k : int
        Features to select.
    block : int
        Observations in a block, at least 4; there must be at least 20 blocks.
    kernel, target_kernel : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    rng : int, Generator or None
        Seed of the order in which observations are divided into blocks.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(600, 10))
    >>> y = x[:, 4] ** 2 + rng.normal(size=600)
    >>> result = post_selection(x, y, k=3, rng=0)
    >>> result.features[0].name, result.dependent()
    ('4', ('4',))
    """
    check_kernels(kernel=kernel, target_kernel=target_kernel)
    table, generator = varying_columns(frame), validate.generator(rng)
    width = len(table.columns.names)
    validate.whole("k", k)
    if k > width:
        raise ValueError(f"k must be at most the number of features, {width}, got {k}")
    validate.whole("block", block, least=_MIN_BLOCK)
    (target,) = variables((target_kernel,), (y,), ("y",))
    terms = _block_hsic(table, kernel, target, block, generator)
    means = terms.mean(axis=1)
    covariance = np.atleast_2d(np.cov(terms)) / terms.shape[1]
    order = np.argsort(-means, kind="stable")[:k]
    selected = tuple(
        SelectedFeature(
            table.columns.names[j],
            float(means[j]),
            selective_pvalue(means, covariance, order, int(j)),
            _tail(means[j] / np.sqrt(covariance[j, j] + _NEGLIGIBLE_VARIANCE)),
        )
        for j in order
    )
    return PostSelection(selected, width, len(table), block)


def selective_pvalue(
    means: np.ndarray, covariance: np.ndarray, selected: np.ndarray, j: int
) -> float:
    """P(T >= means[j]) of a normal T of mean 0, given that the `selected` are the largest of all means.

    With c = cov(means, means[j]) / var(means[j]), every mean is c_i T plus something independent of T. Each pair of a
    selected s and another m demands (c_s - c_m) T >= r_m - r_s, which bounds T from below or above.
    """
    variance = float(covariance[j, j]) + _NEGLIGIBLE_VARIANCE
    slopes = covariance[:, j] / variance
    rest = means - slopes * means[j]
    others = np.setdiff1d(np.arange(len(means)), selected)
    slope = (slopes[selected][:, None] - slopes[others]).ravel()
    bound = (rest[others] - rest[selected][:, None]).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = bound / slope
    low = np.max(ends[slope > 0], initial=-np.inf)
    high = np.min(ends[slope < 0], initial=np.inf)
    scale = np.sqrt(variance)
    low, high = min(low, means[j]) / scale, max(high, means[j]) / scale  # up to rounding
    return _truncated_tail(float(means[j]) / scale, low, high)


def _truncated_tail(z: float, low: float, high: float) -> float:
    """P(N >= z) of a standard normal N between `low` and `high`, by logarithms of tails."""
    from scipy.special import log_ndtr

    log_z, log_low, log_high = (float(log_ndtr(-v)) for v in (z, low, high))
    whole = log_low + np.log1p(-np.exp(log_high - log_low)) if log_high < log_low else -np.inf
    upper = log_z + np.log1p(-np.exp(log_high - log_z)) if log_high < log_z else -np.inf
    if not np.isfinite(whole):
        return 1.0
    return float(np.clip(np.exp(upper - whole), np.finfo(np.float64).tiny, 1.0))


def _tail(z: float) -> float:
    return _truncated_tail(float(z), -np.inf, np.inf)


def _block_hsic(
    table: Table, kernel: Kernel | None, target: Variable, block: int, rng: np.random.Generator
) -> np.ndarray:
    """Unbiased HSIC of every feature with the target in every block: (features, blocks)."""
    n = len(table)
    size = count(target.points)
    if size != n:
        raise ValueError(
            f"frame and y must have the same number of observations, got {n} and {size}"
        )
    number = n // block
    if number < _MIN_BLOCKS:
        raise ValueError(
            f"block must leave at least {_MIN_BLOCKS} blocks of {n} observations, got {block}: use block="
            f"{max(n // _MIN_BLOCKS, _MIN_BLOCK)}, or more observations"
        )
    blocks = rng.permutation(n)[: number * block].reshape(number, block)
    second = _centred_blocks(target, blocks)
    terms = np.empty((len(table.columns.names), number))
    for j, column in enumerate(single_columns(table)):
        (feature,) = variables((kernel,), (column,), (table.columns.names[j],))
        first = _centred_blocks(feature, blocks)
        a, b = (np.diagonal(m, axis1=1, axis2=2) for m in (first, second))
        traces = a.sum(axis=1) * b.sum(axis=1)
        products = np.sum(first * second, axis=(1, 2))
        terms[j] = unbiased_hsic(products, np.sum(a * b, axis=1), traces, block)
    return terms


def _centred_blocks(variable: Variable, blocks: np.ndarray) -> np.ndarray:
    """Centred Gram matrices of the blocks: (blocks, b, b)."""
    number, size = blocks.shape
    rows, columns = np.repeat(blocks, size, axis=1).ravel(), np.tile(blocks, (1, size)).ravel()
    points = variable.widened().points
    values = variable.kernel.paired(taken(points, rows), taken(points, columns))
    grams = to_numpy(values).astype(np.float64).reshape(number, size, size)
    grams = grams - grams.mean(axis=1, keepdims=True)
    return grams - grams.mean(axis=2, keepdims=True)
