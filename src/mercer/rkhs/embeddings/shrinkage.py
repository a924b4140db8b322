"""Shrinkage estimators of mean embeddings, for small bags."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, to_numpy
from mercer.kernels.base import Kernel, Points
from mercer.rkhs.embeddings.as_batch import batch_of
from mercer.rkhs.embeddings.atoms import is_points
from mercer.rkhs.embeddings.batch import DistributionBatch
from mercer.rkhs.embeddings.meanmap import MeanMap


@dataclass(frozen=True)
class ShrunkMeanMap(Kernel):
    """Expected kernel c_P c_Q E k(X, Y) of embeddings shrunk towards zero, each by a factor c <= 1.

    The embedding of a bag of n points has the expected squared error r = (E k(X, X) - |mu|^2) / n, and
    c mu has the smallest one for c = |mu|^2 / (|mu|^2 + r) (Muandet et al. 2016), where both terms are
    estimated without bias from the bag. For large bags c is close to 1, and it is 1 for distributions
    that are known exactly.

    References
    ----------
    K. Muandet, B. Sriperumbudur, K. Fukumizu, A. Gretton, B. Schölkopf (2016). Kernel mean
    shrinkage estimators. Journal of Machine Learning Research 17(48), 1-41.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.rkhs import MeanMap, ShrunkMeanMap
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.normal(size=(n, 2)) for n in (3, 300)]
    >>> (ShrunkMeanMap(RBF(1.0))(bags) / MeanMap(RBF(1.0))(bags)).round(2)
    array([[0.75, 0.86],
           [0.86, 0.99]])
    """

    kernel: Kernel
    expensive = True

    def __post_init__(self) -> None:
        validate.instance("kernel", self.kernel, Kernel, "a kernel, such as RBF(1.0)")

    def accept(self, x: Any, name: str = "x") -> Points:
        return batch_of(self.kernel, x, name)

    def pairwise(self, x: Any, y: Any, /) -> Array:
        values = MeanMap(self.kernel).pairwise(x, y)
        factors_x = array_like(self._factors(x), values)
        factors_y = factors_x if y is x else array_like(self._factors(y), values)
        return factors_x[:, None] * values * factors_y[None, :]

    def paired(self, x: Any, y: Any, /) -> Array:
        values = MeanMap(self.kernel).paired(x, y)
        factors_x = array_like(self._factors(x), values)
        factors_y = factors_x if y is x else array_like(self._factors(y), values)
        return factors_x * values * factors_y

    def _factors(self, x: DistributionBatch) -> np.ndarray:
        """Shrinkage factor c of every distribution: (n,)."""
        biased = to_numpy(MeanMap(self.kernel).diag(x)).astype(np.float64)
        factors = np.ones(len(x), dtype=np.float64)
        for block in x.parts:
            if not is_points(block.atoms):
                continue
            shares, starts = block.segments.shares, block.segments.offsets[:-1]
            diagonal = to_numpy(self.kernel.diag(block.atoms)).astype(np.float64)
            mean_diagonal = np.add.reduceat(shares * diagonal, starts)
            share2 = np.add.reduceat(shares**2, starts)  # 1 / n, or 1 / Kish's effective size
            with np.errstate(divide="ignore", invalid="ignore"):
                norm2 = (biased[block.owners] - np.add.reduceat(shares**2 * diagonal, starts)) / (
                    1 - share2
                )
            norm2 = np.where(share2 < 1, norm2, 0.0)  # one point does not determine |mu|
            error = np.maximum(mean_diagonal - norm2, 0.0) * share2
            total = np.maximum(norm2, 0.0) + error
            factors[block.owners] = np.where(
                (total > 0) & (share2 < 1),
                np.maximum(norm2, 0.0) / np.where(total > 0, total, 1.0),
                1.0,
            )
        return factors
