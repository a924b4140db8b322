"""Ridge regression on random Fourier features, with streamed data."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, astype, count, double, namespace, ones
from mercer.features.feature_kernel import FeatureKernel, FeatureVectors
from mercer.features.feature_map import Mapped
from mercer.features.random_fourier import RandomFourier
from mercer.gram import LazyMatrix
from mercer.kernels.base import Kernel, Points
from mercer.kernels.take import taken
from mercer.learn.kernel_learner import with_intercept
from mercer.learn.landmarks.ridge_solvers import Solver
from mercer.learn.landmarks.streaming import StreamedRidge
from mercer.rkhs.function import Function

_KERNEL_SAMPLE = 2000  # points from which a kernel is chosen where none is given


class FourierRidge(StreamedRidge):
    """Ridge regression on random Fourier features of a stationary kernel, for any number of points.

    f(x) = <c, z(x)> and b minimise sum_i w_i (y_i - f(x_i) - b)^2 + ridge |c|^2, with the features z
    of `RandomFourier`: kernel ridge regression with the kernel <z(x), z(y)> ~ k(x, y). The intercept b
    is not penalised. `ridge` belongs to the **summed** loss. Unlike the landmarks of `NystromRidge` the
    features do not look at the data; they cost a cosine each, and as many of them are mostly worth less.

    Parameters
    ----------
    kernel : Kernel or None
        With a known spectrum. None: RBF at the median distance.
    ridge : float
    n_components : int
        Number of features.
    orthogonal : bool
        As in `RandomFourier`.
    solver : Solver or None
        As in `NystromRidge`.
    intercept : bool
        Whether to fit an intercept b, as in `KernelRidge`.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    function_ : Function
        f, in the RKHS of the kernel <z(x), z(y)>, without the intercept; its norm is that of c.
    intercept_ : float or array (q,)
        b, one for each column of y.
    coef_ : array (D,) or (D, q)
        c, the coefficients of the features.
    map_ : FourierMap
        The features.
    error_bound_ : float
        Bound on the error of the kernel values, as in `RandomFourier`.
    kernel_ : Kernel
    n_passes_ : int
        Number of passes over the data.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(20_000, 1))
    >>> y = np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=20_000)
    >>> ridge = FourierRidge(RBF(0.5), 0.1, n_components=100, random_state=0).fit(x, y)
    >>> ridge.predict([[0.5]]).round(2)  # sin(1)
    array([0.84])
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        ridge: float = 1.0,
        *,
        n_components: int = 1000,
        orthogonal: bool = True,
        solver: Solver | None = None,
        intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.ridge = ridge
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.solver = solver
        self.intercept = intercept
        self.random_state = random_state

    def predict(self, X: Any) -> Array:
        """Predicted values f(x) + b: (n,) or (n, q)."""
        points = self._points(X)
        return with_intercept(Mapped(self.map_, points) @ self.coef_, self.intercept_)

    def _needs_points(self) -> str | None:
        return "it makes features of the points"

    def _pool(self) -> int:
        validate.whole("n_components", self.n_components)
        return max(int(self.n_components), _KERNEL_SAMPLE)

    def _prepare(self, kernel: Kernel, sample: Points, rng: np.random.Generator) -> Array:
        features = RandomFourier(kernel, self.n_components, orthogonal=self.orthogonal)
        self.map_ = features._map(kernel, sample, rng)
        self.error_bound_ = features.error_bound_
        n = count(sample)
        index = np.sort(rng.choice(n, min(n, self.map_.width), replace=False))
        rows = self.map_(taken(sample, index))
        self._like = rows[:1, 0]  # library, device and dtype of the features
        self._mean = namespace(rows).mean(rows, axis=0)
        return rows

    def _design(self, points: Points) -> LazyMatrix:
        return Mapped(self.map_, points)

    def _penalty(self) -> Array:
        return array_like(np.eye(self.map_.width, dtype=np.float64), self._like, double(self._like))

    def _center(self, penalty: Array) -> Array:
        return self._mean

    def _keep(self, coefficients: Array) -> None:
        self.coef_ = astype(coefficients, self._like.dtype)
        xp, single = namespace(self.coef_), self.coef_.ndim == 1
        images = self.coef_[None, :] if single else xp.permute_dims(self.coef_, (1, 0))
        weights = ones((1,), self._like) if single else array_like(np.eye(len(images)), self._like)
        self.function_ = Function(
            FeatureKernel(self.map_), FeatureVectors(images), weights, self._columns
        )
