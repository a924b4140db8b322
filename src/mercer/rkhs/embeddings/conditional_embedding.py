"""Conditional mean embeddings with the kernel sum, chain and Bayes rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any, Protocol

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, count, take_rows, to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram import Gram, ridge_solve
from mercer.gram.solve import needs_double
from mercer.kernels.base import Kernel, Points
from mercer.kernels.compose import Tensor
from mercer.kernels.prepare import read
from mercer.rkhs.embeddings.embedding import Embedding, mean_embedding
from mercer.rkhs.function import Function
from mercer.rkhs.paired_samples import paired_points
from mercer.rkhs.sample_rows import widened, widened_for

# Candidate ridges per point, for kernels with k(x, x) near 1: from almost interpolating the data to
# shrinking every eigenvalue of K / n, which are at most 1, to less than a tenth.
_RIDGES = 10.0 ** np.arange(-8, 2)
# Points on which leave-one-out selects the ridge: an eigendecomposition of order 1,000 takes under a second.
_MAX_POINTS_FOR_SELECTION = 1000


class LinearMap(Protocol):
    """A matrix M by its products."""

    def __call__(self, k: Array, /) -> Array:
        """M k for (n, m)."""
        ...

    def adjoint(self, v: np.ndarray, /) -> Array:
        """M'v for (n, k)."""
        ...


@dataclass(frozen=True, eq=False, repr=False)
class ConditionalEmbedding:
    """Conditional mean embedding mu(x) = E[l(Y, .) | X = x] ~ sum_i b_i(x) l(y_i, .).

    The weights b(x) = (K + ridge I)^-1 k(x) are those of kernel ridge regression of l(Y, .) on X (Song
    et al. 2009; Grunewalder et al. 2012). They may be negative and add up to about one.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel
    x, y : points
        Paired samples of the condition and the outcome.
    solve : LinearMap
        Map from k(x_i, new x_j) to the weights; created by `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, size=500)
    >>> y = np.sin(2 * x) + 0.3 * rng.normal(size=500)
    >>> law = ConditionalEmbedding.fit(x, y)
    >>> law.expectation(lambda y: y, [0.0, 0.8]).round(1)  # sin 0, sin 1.6
    array([0. , 0.9])
    >>> law.expectation(lambda y: y > 0, [0.0, 0.8]).round(1)  # probabilities
    array([0.5, 1. ])
    """

    kernel_x: Kernel
    kernel_y: Kernel
    x: Points
    y: Points
    solve: LinearMap

    @classmethod
    def fit(
        cls,
        x: Any,
        y: Any,
        *,
        kernel_x: Kernel | None = None,
        kernel_y: Kernel | None = None,
        ridge: float | None = None,
    ) -> ConditionalEmbedding:
        """Fit to paired samples.

        Parameters
        ----------
        x, y : points
            Paired samples of the same size.
        kernel_x, kernel_y : Kernel or None
            None: RBF at the median distance of that variable.
        ridge : float or None
            Added to the diagonal of K. None: the best of ten values by leave-one-out error on at most
            1,000 points, scaled with the number of points.
        """
        (kernel_x, x), (kernel_y, y) = paired_points((kernel_x, kernel_y), (x, y), least=2)
        if ridge is None:
            ridge = _leave_one_out_ridge(kernel_x, kernel_y, x, y)
        validate.positive("ridge", ridge)
        if needs_double(kernel_x.diag(x), ridge):
            x = widened_for(kernel_x, x)
        return cls(kernel_x, kernel_y, x, y, _RidgeSolve(Gram(kernel_x, x), float(ridge)))

    def __repr__(self) -> str:
        return f"ConditionalEmbedding({self.kernel_x!r}, {self.kernel_y!r}, {count(self.x)} points)"

    def weights(self, x: Any) -> Array:
        """Weights b_i(x_j), a column for each new point: (n, m)."""
        return self.solve(Gram(self.kernel_x, self.x, self._conditions(x)).dense())

    def __call__(self, x: Any) -> Function:
        """Embeddings of the distributions of Y given each x, as functions of y."""
        return Function(self.kernel_y, self._outcomes, self.weights(x))

    def expectation(self, function: Callable[[Any], Any], x: Any) -> np.ndarray:
        """Conditional expectations E[g(Y) | x_j] ~ sum_i b_i(x_j) g(y_i): (m,), or (m, k).

        `function` is g: it takes the observed y as an array (n, d), or (n,) if d = 1, and returns an
        array (n,) or (n, k).
        """
        flat = self.y[:, 0] if getattr(self.y, "ndim", 0) == 2 and self.y.shape[1] == 1 else self.y
        values = np.asarray(to_numpy(function(flat)), dtype=np.float64)
        if values.shape[:1] != (count(self.y),):
            raise ValueError(
                f"function must return one value for each of the {count(self.y)} observations, got "
                f"shape {values.shape}"
            )
        # b(x)'g = k(x)'M'g: a column for each function is solved for, not for each new point
        columns = values if values.ndim == 2 else values[:, None]
        gram = Gram(self.kernel_x, self._conditions(x), self.x)
        coefficients = array_like(to_numpy(self.solve.adjoint(columns)), gram.like)
        result = to_numpy(gram @ coefficients).astype(np.float64)
        return result if values.ndim == 2 else result[:, 0]

    # ---- rules of probability ---------------------------------------------------------

    def sum_rule(self, prior: Any) -> Function:
        """Embedding of Y if X has the distribution `prior`: a distribution, a sample or an embedding.

        mu_Y = C_YX (C_XX + ridge)^-1 mu_prior, with weights (K + ridge I)^-1 mu_prior(x_i).
        """
        return Function(self.kernel_y, self._outcomes, self._prior_weights(prior))

    def chain_rule(self, prior: Any) -> Function:
        """Embedding of (X, Y), in the RKHS of `Tensor`, if X has the distribution `prior`."""
        kernel = Tensor(self.kernel_x, self.kernel_y)
        return Function(kernel, (self.x, self._outcomes), self._prior_weights(prior))

    def bayes_rule(self, prior: Any, *, ridge: float | None = None) -> ConditionalEmbedding:
        """Posterior: the conditional embedding of X given y, if X has the distribution `prior`.

        With D the diagonal matrix of the weights of the chain rule and L the Gram matrix of y, the
        weights given y are D L ((D L)^2 + ridge^2 I)^-1 D l(y) (Fukumizu, Song and Gretton 2013).

        `ridge` regularises the inverse of the covariance operator of y. None: the mean eigenvalue of
        D L divided by sqrt(n).
        """
        weights = to_numpy(self._prior_weights(prior))
        n = len(weights)
        if 3 * 8 * n * n > settings().memory:
            raise MemoryBudgetError(
                f"bayes_rule needs {3 * 8 * n * n / 2**20:,.0f} MiB for {n} points, and the budget is "
                f"{settings().memory / 2**20:,.0f} MiB: use fewer points, or raise "
                "mercer.config(memory=...)"
            )
        product = weights[:, None] * to_numpy(Gram(self.kernel_y, self.y).dense())
        if ridge is None:
            mean_eigenvalue = float(np.trace(product)) / n
            ridge = max(mean_eigenvalue, np.finfo(np.float64).tiny) / sqrt(n)
        validate.positive("ridge", ridge)
        square = product @ product
        square[np.diag_indices(n)] += ridge * ridge
        inverse = product @ linalg.solve(square, np.diag(weights))
        solve = _MatrixProduct(inverse)
        return ConditionalEmbedding(self.kernel_y, self.kernel_x, self.y, self.x, solve)

    def _conditions(self, x: Any) -> Points:
        """New points x, in float64 if the sample is."""
        points, _ = read(self.kernel_x, x, None, "x")
        return widened_for(self.kernel_x, points) if self._doubled else points

    @property
    def _doubled(self) -> bool:
        """Whether x is in float64: as passed by the user, or because the ridge is small."""
        return widened(self.x) is self.x

    @property
    def _outcomes(self) -> Points:
        """The sample y, in float64 if x is."""
        return widened_for(self.kernel_y, self.y) if self._doubled else self.y

    def _prior_weights(self, prior: Any) -> Array:
        """Weights (K + ridge I)^-1 mu_prior(x_i): (n,)."""
        embedded = isinstance(prior, Embedding | Function)
        mu = prior if embedded else mean_embedding(self.kernel_x, prior)
        if mu.kernel != self.kernel_x:
            raise ValueError(
                f"the embedding of the prior must have the kernel {self.kernel_x!r}, got "
                f"{mu.kernel!r}"
            )
        return self.solve(mu(self.x)[:, None])[:, 0]


@dataclass(frozen=True, eq=False)
class _RidgeSolve:
    """Function k -> (K + ridge I)^-1 k."""

    gram: Gram
    ridge: float

    def __call__(self, k: Array) -> Array:
        return ridge_solve(self.gram, k, self.ridge)

    def adjoint(self, v: np.ndarray) -> Array:
        """The same, as the matrix is symmetric."""
        return self(array_like(v, self.gram.like))


@dataclass(frozen=True, eq=False)
class _MatrixProduct:
    """Function k -> M k."""

    matrix: np.ndarray

    def __call__(self, k: Array) -> Array:
        return self.matrix @ to_numpy(k)

    def adjoint(self, v: np.ndarray) -> Array:
        """M'v."""
        return self.matrix.T @ v


def _leave_one_out_ridge(kernel_x: Kernel, kernel_y: Kernel, x: Points, y: Points) -> float:
    """Ridge with the smallest leave-one-out error |l(y_i) - mu_-i(x_i)|^2 in the RKHS of y.

    With the smoother S = K (K + ridge)^-1, the leave-one-out residuals are the residuals divided by
    1 - S_ii, and the squared norms of the residuals are the diagonal of (I - S) L (I - S).
    """
    n = count(x)
    subset = slice(0, n, -(-n // _MAX_POINTS_FOR_SELECTION))
    k, outcomes = (
        to_numpy(Gram(kernel, widened_for(kernel, take_rows(points, subset))).dense()).astype(
            np.float64
        )
        for kernel, points in ((kernel_x, x), (kernel_y, y))
    )
    values, vectors = linalg.eigh(k)
    rotated = vectors.T @ outcomes @ vectors
    errors = []
    for ridge in _RIDGES * len(k):
        eigenvalues = ridge / (np.maximum(values, 0.0) + ridge)  # of I - S
        scaled = vectors * eigenvalues
        residuals = np.einsum("ij,ij->i", scaled @ rotated, scaled)
        errors.append(float(np.sum(residuals / (scaled * vectors).sum(axis=1) ** 2)))
    return float(_RIDGES[int(np.argmin(errors))] * n)
