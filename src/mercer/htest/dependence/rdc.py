"""The randomized dependence coefficient: canonical correlation of random sines of ranks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import to_numpy
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.observed_variables import Variable, variables
from mercer.htest.dependence.sums.cyclic_permutations import Turns
from mercer.htest.dependence.sums.permuted_low_rank import permutations, permuted_products
from mercer.htest.feature_tests import SEED, is_real
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Null, Permutation
from mercer.kernels.bandwidth import median_bandwidth

_TIE = 1e-9  # of correlations that differ by rounding only
_RANK = 1e-10  # share of the largest variance below which a direction does not vary


@dataclass(frozen=True)
class RDC(HypothesisTest):
    """Are two variables independent? By the randomized dependence coefficient, in O(n log n).

    Every column is replaced by its ranks, u = rank / n; of these random features sin(w'u / s + b)
    are taken, w standard normal and b uniform, and the statistic is the largest canonical
    correlation of both sets of features (Lopez-Paz et al. 2013), between 0 and 1. It does not
    change when a column is stretched by a growing function. Ranks look at columns one by one: two
    variables of many columns that depend on each other jointly only are for other tests.

    Parameters
    ----------
    features : int
        For each variable, drawn with the rng of `test`, in `statistic` with seed 0.
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
        return self._evidence(_both(x, y), validate.generator(SEED)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        rng, both = validate.generator(rng), _both(x, y)
        evidence = self._evidence(both, rng)
        judgement = self.null.judge(evidence, rng)
        return independence_result(self, both, evidence.observed, judgement)

    def _evidence(self, both: tuple[Variable, ...], rng: np.random.Generator) -> CanonicalEvidence:
        first, second = (self._sines(_ranks(v), rng) for v in both)
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

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return float(self._values(np.arange(len(self.x))[None, :])[0])

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistic of y in some other orders; column 0 is the observed one.

        Within blocks one by one; else in turns, all moves of one order by Fourier transforms.
        """
        if null.blocks is None:
            return self._in_turns(null, seed)[columns]
        orders = permutations(len(self.x), null, columns, seed)
        return np.concatenate([self._values(order) for order in orders])

    def tolerance(self) -> float:
        """Largest difference by rounding between resampled statistics that are equal."""
        return _TIE

    _drawn: tuple[Permutation, int, np.ndarray] | None = None

    def _in_turns(self, null: Permutation, seed: int) -> np.ndarray:
        """The statistics of all permutations of a null without blocks: they come together."""
        if self._drawn is None or self._drawn[:2] != (null, seed):
            turns, y = Turns(len(self.x), null, seed), self.y.T
            rows = [turns.crossed(column[None], y)[0].T for column in self.x.T]  # r of (b, s)
            values = np.zeros(len(turns.places), dtype=np.float64)
            if rows and len(y):
                values = _largest_singular_values(np.stack(rows))
            self._drawn = (null, seed, values)
        return self._drawn[2]

    def _values(self, order: np.ndarray) -> np.ndarray:
        return permuted_products(self.x, self.y, order, _largest_singular_values)


def _both(x: Any, y: Any) -> tuple[Variable, ...]:
    both = variables((None, None), (x, y))
    for v in both:
        if not is_real(v.points) or (v.columns is not None and any(v.columns.categorical)):
            raise TypeError(
                f"{v.name} must be columns of numbers, which have ranks: use NystromHSIC, which "
                "takes categories and other objects too"
            )
    return both


def _ranks(variable: Variable) -> np.ndarray:
    """Ranks of every column between 0 and 1; equal values share theirs."""
    from scipy.stats import rankdata

    points = to_numpy(variable.points)
    return rankdata(points, axis=0) / len(points)


def _orthonormal(z: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the centred columns, without directions that do not vary: (n, r)."""
    z = z - z.mean(axis=0)
    values, vectors = linalg.eigh(z.T @ z)
    kept = values > _RANK * np.max(values, initial=0.0)
    return z @ (vectors[:, kept] / np.sqrt(values[kept]))


def _largest_singular_values(product: np.ndarray) -> np.ndarray:
    """Of the matrices product[:, j, :]: (r, b, s) -> (b,)."""
    m = product.transpose(1, 2, 0)  # (b, s, r)
    m = m if m.shape[1] <= m.shape[2] else m.transpose(0, 2, 1)
    return np.sqrt(np.clip(linalg.eigvalsh(m @ m.transpose(0, 2, 1))[:, -1], 0.0, 1.0))
