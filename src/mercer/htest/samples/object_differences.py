"""Feature by feature comparison of two samples of objects: which k-mers or substructures differ in number."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.config import settings
from mercer.gram.resampling_weights import GROUP, resampling_seed
from mercer.gram.threads import spans
from mercer.htest.corrections import Correction, resampled_pvalues
from mercer.htest.nulls import Permutation
from mercer.htest.samples.attribution import Feature, Features, distance
from mercer.htest.samples.pooled_sample import Pooled, labellings, loss
from mercer.kernels.base import Kernel
from mercer.kernels.feature_counts import FeatureCounts
from mercer.kernels.objects import Objects

_RESAMPLES = 999
_MAX_FEATURES = (
    2000  # those whose counts vary most; their choice ignores which sample an object is of
)
_TIE = 1e-9  # statistics are standard normal under the null: closer ones are equal up to rounding
_MIN_OBJECTS = 2  # that have a feature: one alone shows no difference


def counting_kernel(kernel: Kernel) -> FeatureCounts | None:
    """The kernel of explicit features of which a kernel is made, the first one; None where there is none."""
    if isinstance(kernel, FeatureCounts):
        return kernel
    inner = (counting_kernel(part) for part in kernel.parts().values())
    return next((k for k in inner if k is not None), None)


def has_explicit_features(pooled: Pooled) -> bool:
    """Whether two samples of objects can be compared feature by feature."""
    return isinstance(pooled.points, Objects) and counting_kernel(pooled.kernel) is not None


def object_feature_differences(
    pooled: Pooled,
    null: Permutation | None,
    correction: Correction,
    resamples: int | None,
    rng: Any,
) -> Features:
    """Compare two samples of objects by the explicit features of their kernel.

    The statistic of a feature is |mean count in x - mean count in y| over its standard deviation in both
    samples together. One set of permutations serves all features, so that their p-values are corrected
    together. If there are more than 2,000 features, those whose counts vary most in the pooled sample are compared,
    which does not depend on the labels, and so leaves p-values exact.
    """
    kernel = counting_kernel(pooled.kernel)
    if kernel is None:
        raise TypeError(
            f"{pooled.kernel!r} has no explicit features to compare: use points(), or a kernel such as "
            "Spectrum(3) or WeisfeilerLehman(3)"
        )
    validate.instance("correction", correction, Correction, "a correction, such as Holm()")
    resamples = _RESAMPLES if resamples is None else resamples
    validate.whole("resamples", resamples)
    points: Any = pooled.points
    table = kernel.viewed(points)
    weights = np.ones(pooled.n + pooled.m) if pooled.weights is None else _of_mean_one(pooled)
    columns = _varying(table.counts)
    if not len(columns):
        raise ValueError(f"all objects have equal features by {kernel!r}: none can differ")
    counts = table.counts[:, columns]
    restricted = null or Permutation()
    permutation = Permutation(resamples, blocks=restricted.blocks, paired=restricted.paired)
    labels = labellings(pooled.n, pooled.m, permutation, resampling_seed(rng))
    values = _standardized_differences(counts, labels, weights, resamples + 1)
    observed, draws = values[:, 0], values[:, 1:]
    adjusted = correction.of_resampled(observed, draws, _TIE)
    pvalues = resampled_pvalues(observed, draws, _TIE)
    names = kernel.describe(points.items, table.vocabulary[columns])
    sides = [_moments(counts[s], weights[s]) for s in (slice(0, pooled.n), slice(pooled.n, None))]
    features = [_feature(j, names, sides, pvalues, adjusted) for j in range(len(columns))]
    order = np.lexsort((-observed, pvalues, adjusted))
    return Features(tuple(features[j] for j in order), correction, resamples, "feature")


def _of_mean_one(pooled: Pooled) -> np.ndarray:
    """Weights of mean one in each sample: (n + m,)."""
    return np.abs(pooled.contrast) * np.repeat([pooled.n, pooled.m], [pooled.n, pooled.m])


def _varying(counts: Any) -> np.ndarray:
    """The columns whose counts vary most in all objects, at most 2,000, in their order."""
    n, width = counts.shape
    present = np.bincount(counts.indices, minlength=width)
    sums = np.bincount(counts.indices, counts.data, width)
    squares = np.bincount(counts.indices, counts.data**2, width)
    variance = squares / n - (sums / n) ** 2
    variance[(present < _MIN_OBJECTS) | (variance <= 1e-12 * squares / n)] = 0.0
    most = np.argsort(-variance, kind="stable")[:_MAX_FEATURES]
    return np.sort(most[variance[most] > 0])


def _standardized_differences(
    counts: Any, labels: Any, weights: np.ndarray, number: int
) -> np.ndarray:
    """|difference of the means| of each feature and labelling, in units of its spread: (V, B + 1)."""
    n, width = counts.shape
    weighted = counts.multiply(weights[:, None]).tocsr()
    whole, transposed = np.asarray(weighted.sum(axis=0))[:, None], weighted.T.tocsr()
    total, totals = np.asarray([weights.sum(), (weights**2).sum()]), np.stack([weights, weights**2])
    deviation = np.sqrt(
        np.asarray(counts.power(2).mean(axis=0)) - np.asarray(counts.mean(axis=0)) ** 2
    )
    values = np.empty((width, number), dtype=np.float64)
    step = max(settings().memory // 16 // (8 * (n + 4 * width)) // GROUP, 1) * GROUP
    for chunk in spans(number, step):
        signs = labels.columns(chunk, totals).rows(slice(0, n))
        sums, crossed = transposed @ signs, totals @ signs
        first, second = (whole + sums) / 2, (whole - sums) / 2
        side = (total[:, None] + crossed) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            means = first / side[0] - second / (total[0] - side[0])
            values[:, chunk] = np.abs(means) / np.sqrt(loss(side, total[:, None]))
    return values / deviation[:, None]


def _moments(counts: Any, weights: np.ndarray) -> np.ndarray:
    """Mean, unbiased variance and squared mean without pairs i = j of each feature: (3, V)."""
    shares = weights / weights.sum()
    mean = counts.T @ shares
    lost = float(shares @ shares)
    variance = np.maximum(counts.power(2).T @ shares - mean**2, 0.0) / max(1 - lost, 1e-300)
    return np.stack([mean, variance, mean**2 - lost * variance])


def _feature(
    j: int, names: list[str], sides: list[np.ndarray], pvalues: np.ndarray, adjusted: np.ndarray
) -> Feature:
    (a, s, a2), (b, t, b2) = ((float(v) for v in side[:, j]) for side in sides)
    mmd2 = a2 + b2 - 2 * a * b
    return Feature(
        name=names[j],
        categorical=False,
        mmd2=mmd2,
        standardized=distance(mmd2, (s + t) / 2),
        pvalue=float(pvalues[j]),
        adjusted=float(adjusted[j]),
        first={"mean": a, "sd": sqrt(s)},
        second={"mean": b, "sd": sqrt(t)},
    )
