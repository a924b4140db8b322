"""Distribution regression: ridge on mean embeddings."""

from __future__ import annotations

from mercer.kernels.base import Kernel
from mercer.learn.distributions.distribution_kernel import DistributionLearner
from mercer.learn.regression.kernel_ridge import KernelRidge
from mercer.learn.regression.ridge_path import RidgePath


class DistributionRegressor(DistributionLearner, KernelRidge):
    """Kernel ridge regression on mean embeddings of distributions (MERR).

    Every x_i is a distribution: observed through a bag of points, or known (`Gaussian`, `Mixture`). Its
    kernel is a level-2 kernel of the mean embeddings (Szabo et al. 2016), or the linear one, `MeanMap`.
    With vectors in place of distributions this is `KernelRidge`.

    Parameters
    ----------
    kernel : Kernel or None
        A kernel of distributions, such as ``RBF(0.5).on(MeanMap(RBF(1.0)))``, `MeanMap`, or
        ``ShrunkMeanMap`` for small bags. None: RBF on the mean embeddings of an RBF, with median
        distances as both bandwidths.
    ridge : float, RidgePath or None
        As in `KernelRidge`; None: ``RidgePath()``, chosen by leave-one-out.
    intercept : bool
        As in `KernelRidge`.

    Attributes
    ----------
    function_, intercept_, kernel_, ridge_, path_
        As in `KernelRidge`.

    Notes
    -----
    y may have several columns. For outputs that are distributions themselves, or elements of another
    RKHS, see `mercer.rkhs.ConditionalEmbedding` with such a kernel of x.

    References
    ----------
    Z. Szabo, B. K. Sriperumbudur, B. Poczos, A. Gretton (2016). Learning theory for distribution
    regression. Journal of Machine Learning Research 17(152), 1-40.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> spread = rng.uniform(0.5, 2.0, size=150)
    >>> bags = [rng.normal(0.0, s, size=(60, 1)) for s in spread]  # all have mean 0
    >>> model = DistributionRegressor().fit(bags[:100], spread[:100])
    >>> error = model.predict(bags[100:]) - spread[100:]
    >>> float(np.sqrt(np.mean(error**2))) < 0.15
    True
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        ridge: float | RidgePath | None = None,
        *,
        intercept: bool = True,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.intercept = intercept

    def _asked(self) -> float | RidgePath:
        return RidgePath() if self.ridge is None else self.ridge
