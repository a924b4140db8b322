"""A two-sample test that fuses several kernels by a soft maximum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.base import HypothesisTest
from mercer.htest.nulls import Permutation
from mercer.htest.samples.collection import checked_kernels, pool_for
from mercer.htest.samples.many import told
from mercer.htest.samples.pool import Pooled
from mercer.htest.samples.quadratic import Discrepancies
from mercer.htest.samples.result import TwoSampleResult, two_sample_result
from mercer.kernels.base import Kernel


@dataclass(frozen=True)
class MMDFuse(HypothesisTest):
    """MMD-FUSE: the soft maximum of normalised squared discrepancies over kernels.

    (1/l) log mean_k exp(l MMD_k^2 / sqrt(N_k)), with unbiased estimates, N_k the mean of
    k(z_i, z_j)^2 over pairs of the pooled sample, and l = sqrt(n (n - 1)), n the size of the
    smaller sample (Biggs, Schrab and Gretton 2023, "FUSE-N"). The level is exact: N_k does not
    change when the samples are permuted. Powerful where several kernels see a difference together.

    Parameters
    ----------
    kernels : sequence of kernels or None
        None: Gaussian and Laplace kernels, ten bandwidths each, that cover the scales of the
        pooled sample.
    null : Permutation

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(80, 2)), rng.normal(0.0, 1.8, size=(60, 2))
    >>> MMDFuse().test(x, y, rng=0).rejects()
    True
    """

    kernels: Sequence[Kernel] | None = None
    null: Permutation = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", checked_kernels(self.kernels))
        validate.instance("null", self.null, Permutation, "a Permutation, such as Permutation(999)")

    def statistic(self, x: Any, y: Any) -> float:  # type: ignore[override]
        """The soft maximum of the normalised MMD^2."""
        return _Evidence(*pool_for(self.kernels, x, y)).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:  # type: ignore[override]
        """The statistic and its p-value."""
        evidence = _Evidence(*pool_for(self.kernels, x, y))
        judgement = self.null.judge(evidence, rng)
        best = int(np.argmax(evidence.normalized))
        pooled = replace(evidence.pooled, kernel=evidence.kernels[best])
        notes = (told(evidence.kernels, best),)
        return two_sample_result(self, pooled, evidence.observed, judgement, notes)


class _Evidence:
    """The soft maximum for any labels."""

    def __init__(self, pooled: Pooled, kernels: Sequence[Kernel]) -> None:
        self.pooled, self.kernels = pooled, kernels
        self.discrepancies = Discrepancies(pooled, kernels)
        n = min(pooled.n, pooled.m)
        self.sharpness = sqrt(n * (n - 1))

    @cached_property
    def normalized(self) -> np.ndarray:
        """Of every kernel, in full precision: (kernels,)."""
        return self._over(self.discrepancies.observed)

    @property
    def observed(self) -> float:
        return float(self._fused(self.normalized[:, None])[0])

    @property
    def tie(self) -> float:
        return float(np.max(self._over(self.discrepancies.ties)))

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        return self._fused(self._over(self.discrepancies.resampled(null, columns, seed)))

    def _over(self, values: np.ndarray) -> np.ndarray:
        """values / sqrt(N_k), 0 for a kernel that is 0."""
        units = np.where(self.discrepancies.sizes > 0, self.discrepancies.sizes, np.inf)
        return values / (units if values.ndim == 1 else units[:, None])

    def _fused(self, values: np.ndarray) -> np.ndarray:
        """(1/l) log mean exp(l values), over kernels: (B,)."""
        top = np.max(values, axis=0)
        with np.errstate(invalid="ignore"):
            rest = np.sum(np.exp(self.sharpness * (values - top)), axis=0)
        soft = top + (np.log(rest) - log(len(values))) / self.sharpness
        return np.where(np.isfinite(top), soft, top)
