"""Small bags: mean embeddings that are shrunk towards zero, as far as they are uncertain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, to_numpy
from mercer.kernels.base import Kernel, Points
from mercer.rkhs.embeddings.atoms import is_points
from mercer.rkhs.embeddings.batch import Batch, batch_of
from mercer.rkhs.embeddings.meanmap import MeanMap


@dataclass(frozen=True)
class ShrunkMeanMap(Kernel):
    """c_P c_Q E k(X, Y): the expected kernel of embeddings shrunk towards zero, each by its own c <= 1.

    The embedding of a bag of n points errs by r = (E k(X, X) - |mu|^2) / n in squared norm, and
    c mu errs least for c = |mu|^2 / (|mu|^2 + r) (Muandet et al. 2016), which is estimated without
    bias from the bag. Large bags and known distributions keep c = 1 or nearly so.

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

    def pairwise(self, x: Points, y: Points, /) -> Array:
        values = MeanMap(self.kernel).pairwise(x, y)
        left = array_like(self._factors(x), values)
        right = left if y is x else array_like(self._factors(y), values)
        return left[:, None] * values * right[None, :]

    def paired(self, x: Points, y: Points, /) -> Array:
        values = MeanMap(self.kernel).paired(x, y)
        left = array_like(self._factors(x), values)
        return left * values * (left if y is x else array_like(self._factors(y), values))

    def _factors(self, x: Batch) -> np.ndarray:
        """c of every distribution: (n,)."""
        biased = to_numpy(MeanMap(self.kernel).diag(x)).astype(np.float64)
        factors = np.ones(len(x), dtype=np.float64)
        for part in x.parts:
            if not is_points(part.atoms):
                continue
            shares, starts = part.segments.shares, part.segments.offsets[:-1]
            own = to_numpy(self.kernel.diag(part.atoms)).astype(np.float64)
            mean_own = np.add.reduceat(shares * own, starts)
            each = np.add.reduceat(shares**2, starts)  # 1 / n, Kish's with weights
            with np.errstate(divide="ignore", invalid="ignore"):
                norm2 = (biased[part.owners] - np.add.reduceat(shares**2 * own, starts)) / (
                    1 - each
                )
            norm2 = np.where(each < 1, norm2, 0.0)  # one point tells nothing about |mu|
            error = np.maximum(mean_own - norm2, 0.0) * each
            total = np.maximum(norm2, 0.0) + error
            factors[part.owners] = np.where(
                (total > 0) & (each < 1),
                np.maximum(norm2, 0.0) / np.where(total > 0, total, 1.0),
                1.0,
            )
        return factors
