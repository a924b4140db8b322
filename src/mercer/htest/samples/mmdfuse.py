"""Two-sample test by a soft maximum over several kernels (MMD-FUSE)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log, sqrt
from typing import ClassVar

import numpy as np

from mercer.htest.nulls import Permutation
from mercer.htest.samples.maxmmd import KernelsEvidence, KernelsTest
from mercer.kernels.base import Kernel


class _Fused(KernelsEvidence):
    """(1/l) log mean_k exp(l MMD_k^2 / sqrt(N_k))."""

    @property
    def units(self) -> np.ndarray:
        return self.discrepancies.rms_values

    def joined(self, values: np.ndarray) -> np.ndarray:
        n = min(self.discrepancies.sizes)
        sharpness, top = sqrt(n * (n - 1)), np.max(values, axis=0)
        with np.errstate(invalid="ignore"):
            total = np.sum(np.exp(sharpness * (values - top)), axis=0)
        soft = top + (np.log(total) - log(len(values))) / sharpness
        return np.where(np.isfinite(top), soft, top)


@dataclass(frozen=True)
class MMDFuse(KernelsTest):
    """MMD-FUSE: the soft maximum of normalised squared discrepancies over kernels.

    (1/l) log mean_k exp(l MMD_k^2 / sqrt(N_k)), with unbiased estimates, N_k the mean of
    k(z_i, z_j)^2 over pairs of the pooled sample, and l = sqrt(n (n - 1)), n the size of the
    smaller sample (Biggs, Schrab and Gretton 2023, "FUSE-N"). The level is exact: N_k does not
    change when the samples are permuted. Powerful where several kernels show a difference together.

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
    _kind: ClassVar[type[KernelsEvidence]] = _Fused
