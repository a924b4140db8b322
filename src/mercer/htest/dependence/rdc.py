"""Randomized dependence coefficient (RDC): canonical correlation of random sines of ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import to_numpy
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations, permutations
from mercer.htest.dependence.sums.permuted_low_rank import permuted_products
from mercer.htest.feature_tests import SEED, is_real
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Null, Permutation
from mercer.kernels.bandwidth import median_bandwidth
from mercer.rkhs.paired_samples import Variable, variables

_CORRELATION_TOLERANCE = 1e-9  # between equal correlations, which are roots of rounded eigenvalues
# With fewer observations for each direction of both variables the correlation is regularised: the power of
# regularised and plain correlations is about equal at five (1 to 100 columns; variances of 0.01 and 0.1, and
# a reduction to n / 4, n / 8 and n / 16 directions were compared at n = 30, 60, 100).
_OBSERVATIONS_PER_DIRECTION, _REGULARISING_VARIANCE = 5, 0.1
_EIGENVALUE_TOLERANCE = 1e-10  # share of the largest variance below which a direction is constant


@dataclass(frozen=True)
class RDC(HypothesisTest):
    """Independence test by the randomized dependence coefficient (RDC), in O(n log n).

    Every column is replaced by its ranks, u = rank / n. The features are sin(w'u / s + b) with w
    standard normal and b uniform, and the statistic is the largest canonical correlation of both
    sets of features (Lopez-Paz et al. 2013), between 0 and 1. It is invariant under increasing
    transformations of a column. Ranks are those of single columns: use other tests for variables of
    many columns whose dependence is joint only.

    With few observations, fewer than five for each direction of both sets of features, canonical
    correlations are close to 1 for every permutation, and equal to 1 where there are as many directions
    as observations. The correlation is then regularised: 0.1 is added to the variance of every direction
    of the features, which are at most 1. With 100 columns the power at n = 30, 60 and 100 is 0.20,
    0.35 and 0.62 instead of 0.00, 0.15 and 0.30 (y = x + noise), and with one column, n = 30, 0.88 instead
    of 0.35 (40 runs).

    Parameters
    ----------
    features : int
        Number of features for each variable, drawn with the rng of `test`, in `statistic` with seed 0.
    bandwidth : float or None
        s. None: the median distance of the ranks, for each variable; 2.45 is the paper's choice.
    null : Permutation

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=500)
    >>> y = np.cos(2 * x) + 0.3 * rng.normal(size=500)
    >>> result = RDC().test(x, y, rng=0)
    >>> result.statistic, result.rejects(0.01)
    (0.9..., True)
    """

    features: int = field(default=20, kw_only=True)
    bandwidth: float | None = field(default=None, kw_only=True)
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        validate.whole("features", self.features)
        if self.bandwidth is not None:
            validate.positive("bandwidth", self.bandwidth)
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    def statistic(self, x: Any, y: Any) -> float:
        """The largest canonical correlation; features are drawn with seed 0."""
        return self._evidence(_numeric_variables(x, y), validate.generator(SEED)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        rng, pair = validate.generator(rng), _numeric_variables(x, y)
        evidence = self._evidence(pair, rng)
        judgement = self.null.judge(evidence, rng)
        return independence_result(self, pair, evidence.observed, judgement)

    def _evidence(self, pair: tuple[Variable, ...], rng: np.random.Generator) -> CanonicalEvidence:
        first, second = (self._sines(_ranks(v), rng) for v in pair)
        return CanonicalEvidence(first, second)

    def _sines(self, ranks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """sin(w'u / s + b): (n, features)."""
        number = int(self.features)
        width = median_bandwidth(ranks) if self.bandwidth is None else float(self.bandwidth)
        omega = rng.standard_normal((ranks.shape[1], number)) / width
        return np.sin(ranks @ omega + rng.uniform(0, 2 * np.pi, number))


class CanonicalEvidence:
    """The largest canonical correlation of two sets of features (n, p) and (n, q)."""

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        self.x, self.y = _orthonormal(x), _orthonormal(y)
        directions = self.x.shape[1] + self.y.shape[1]
        if len(x) < _OBSERVATIONS_PER_DIRECTION * directions:
            self.x, self.y = (_orthonormal(z, _REGULARISING_VARIANCE) for z in (x, y))

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return float(self._values(np.arange(len(self.x))[None, :])[0])

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistics of the permutations of y from `columns` on; column 0 is the observed one.

        Within blocks, those in `columns`, one by one; otherwise all from `columns.start` on, because
        circular shifts are computed together.
        """
        if null.blocks is None:
            return self._cyclic(null, seed)[columns.start :]
        orders = permutations(len(self.x), null, columns, seed)
        return np.concatenate([self._values(order) for order in orders])

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return _CORRELATION_TOLERANCE

    def _cyclic(self, null: Permutation, seed: int) -> np.ndarray:
        """The statistics of all permutations of a null without blocks, by Fourier transforms."""
        cyclic, y = CyclicPermutations(len(self.x), null, seed), self.y.T
        rows = [cyclic.cross_correlations(column[None], y)[0].T for column in self.x.T]  # (b, s)
        if not (rows and len(y)):
            return np.zeros(len(cyclic.positions), dtype=np.float64)
        return _largest_singular_values(np.stack(rows))

    def _values(self, order: np.ndarray) -> np.ndarray:
        return permuted_products(self.x, self.y, order, _largest_singular_values)


def _numeric_variables(x: Any, y: Any) -> tuple[Variable, ...]:
    """Both variables; TypeError unless they are columns of numbers."""
    pair = variables((None, None), (x, y))
    for v in pair:
        if not is_real(v.points) or (v.columns is not None and any(v.columns.categorical)):
            raise TypeError(
                f"{v.name} must be columns of numbers, which have ranks: use NystromHSIC, which "
                "also accepts categories and other objects"
            )
    return pair


def _ranks(variable: Variable) -> np.ndarray:
    """Ranks of every column between 0 and 1; tied values share their mean rank."""
    from scipy.stats import rankdata

    points = to_numpy(variable.points)
    return rankdata(points, axis=0) / len(points)


def _orthonormal(z: np.ndarray, added: float = 0.0) -> np.ndarray:
    """An orthonormal basis of the centred columns, without constant directions: (n, r).

    `added` variance makes directions of small variance shorter.
    """
    z = z - z.mean(axis=0)
    values, vectors = linalg.eigh(z.T @ z)
    significant = values > _EIGENVALUE_TOLERANCE * np.max(values, initial=0.0)
    return z @ (vectors[:, significant] / np.sqrt(values[significant] + added * len(z)))


def _largest_singular_values(product: np.ndarray) -> np.ndarray:
    """Largest singular values of the matrices product[:, j, :]: (r, b, s) -> (b,)."""
    m = product.transpose(1, 2, 0)  # (b, s, r)
    m = m if m.shape[1] <= m.shape[2] else m.transpose(0, 2, 1)
    return np.sqrt(np.clip(linalg.eigvalsh(m @ m.transpose(0, 2, 1))[:, -1], 0.0, 1.0))
