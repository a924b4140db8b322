"""Mean embeddings of distributions, and their linear combinations, as functions of the RKHS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from math import prod, sqrt
from numbers import Real
from operator import add, mul
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, scalar, to_numpy
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import read
from mercer.kernels.take import taken
from mercer.rkhs.compression.greedy_selection import checked_points, columns_of, herded
from mercer.rkhs.distributions import Empirical, shares
from mercer.rkhs.embeddings.as_batch import DISTRIBUTIONS, batch_of, diracs
from mercer.rkhs.embeddings.atoms import is_points
from mercer.rkhs.embeddings.bags import Bags
from mercer.rkhs.embeddings.batch import DistributionBatch, inner_products
from mercer.rkhs.function import Function
from mercer.rkhs.mixture import Mixture

# Allowed deviation of a sum of probabilities from one: rounding of sums and products of coefficients.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """Linear combination mu = sum_i c_i mu_i of mean embeddings mu_i = E k(X_i, .).

    Created by `mean_embedding`. ``p - q`` is the witness function of two distributions, and its norm
    is their maximum mean discrepancy. Inner products, values and distances are exact where the kernel
    has a closed form for the distributions; for samples they refer to the empirical distribution.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.rkhs import Gaussian, mean_embedding
    >>> k = RBF(1.0)
    >>> p, q = mean_embedding(k, Gaussian(0.0, 1.0)), mean_embedding(k, Gaussian(1.0, 1.0))
    >>> p([0.0, 1.0])  # E k(X, x)
    array([0.7071..., 0.5506...])
    >>> (p - q).norm()  # MMD
    0.4210...
    >>> p.distance(q) == (p - q).norm()
    True
    """

    kernel: Kernel
    terms: tuple[Any, ...]
    coefficients: np.ndarray

    def __repr__(self) -> str:
        if len(self.terms) == 1 and self.coefficients[0] == 1:
            return f"Embedding({self.kernel!r}, {self.terms[0]!r})"
        return f"Embedding({self.kernel!r}, {len(self.terms)} distributions)"

    def __call__(self, x: Any) -> Array:
        """Values sum_i c_i E k(X_i, x_j) at points: (n,)."""
        values = inner_products(self.kernel, diracs(self.kernel, x, "x"), self._batch)
        return values @ array_like(self.coefficients, values)

    # ---- geometry ---------------------------------------------------------------------

    def inner(self, other: Embedding | Function) -> float:
        """Inner product <mu, nu>: E k(X, Y) with an embedding, E f(X) with a function."""
        if isinstance(other, Function):
            self._same_kernel(other.kernel)
            if other.weights.ndim != 1:
                raise TypeError("other must be one function, got several: use f[j]")
            return float(to_numpy(other.weights) @ to_numpy(self(other.points)))
        validate.instance("other", other, Embedding, "an Embedding or a Function")
        self._same_kernel(other.kernel)
        values = inner_products(self.kernel, self._batch, other._batch)
        return scalar(self.coefficients @ (to_numpy(values) @ other.coefficients))

    def norm2(self) -> float:
        """Squared norm |mu|^2, never negative."""
        return max(self.inner(self), 0.0)

    def norm(self) -> float:
        """Norm |mu|."""
        return sqrt(self.norm2())

    def distance2(self, other: Embedding | Function) -> float:
        """Squared distance |mu - nu|^2, the squared maximum mean discrepancy of two distributions.

        `other` may be a function, such as a value of `ConditionalEmbedding`.
        """
        if isinstance(other, Function):
            return max(self.norm2() + other.norm2() - 2 * self.inner(other), 0.0)
        validate.instance("other", other, Embedding, "an Embedding or a Function")
        return (self - other).norm2()

    def distance(self, other: Embedding | Function) -> float:
        """Distance |mu - nu|, the maximum mean discrepancy of two distributions."""
        return sqrt(self.distance2(other))

    # ---- algebra ----------------------------------------------------------------------

    def __add__(self, other: Any) -> Embedding:
        if isinstance(other, Real) and other == 0:
            return self  # so that sum([p, q]) works
        if not isinstance(other, Embedding):
            return NotImplemented
        self._same_kernel(other.kernel)
        coefficients = np.concatenate([self.coefficients, other.coefficients])
        return replace(self, terms=self.terms + other.terms, coefficients=coefficients)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> Embedding:
        if not isinstance(factor, Real):
            return NotImplemented
        validate.number("a factor", factor)
        return replace(self, coefficients=self.coefficients * float(factor))

    __rmul__ = __mul__

    def __truediv__(self, factor: Any) -> Embedding:
        return self * (1 / factor) if isinstance(factor, Real) else NotImplemented

    def __neg__(self) -> Embedding:
        return self * -1.0

    def __sub__(self, other: Any) -> Embedding:
        return self + -other if isinstance(other, Embedding) else NotImplemented

    def mixture(self, *others: Embedding, weights: Any = None) -> Embedding:
        """Embedding of a mixture: the mean of embeddings, weighted with probabilities."""
        components = (self, *others)
        m = len(components)
        probabilities = np.full(m, 1 / m) if weights is None else shares(weights, m)
        weighted = (float(w) * mu for mu, w in zip(components, probabilities, strict=True))
        return reduce(add, weighted)

    def product(self, *others: Embedding) -> ProductEmbedding:
        """Embedding of the joint distribution of independent variables."""
        return ProductEmbedding((self, *others))

    # ---- conversions ------------------------------------------------------------------

    @property
    def distribution(self) -> Any:
        """Distribution with this embedding: a mixture, if this is a mean of several embeddings."""
        c = self.coefficients
        if c.min() < 0 or abs(c.sum() - 1) > _ROUNDING:
            raise ValueError(
                "only means of embeddings are embeddings of a distribution: the coefficients must be "
                f"probabilities, got {c.tolist()[:5]}"
            )
        return self.terms[0] if len(c) == 1 else Mixture(self.terms, c)

    def herd(self, m: int, *, candidates: int = 2000, rng: Any = None) -> Array:
        """Select `m` points that represent the distribution, by `kernel_herding`: (m, d).

        They are selected from the points of a sample, or from `candidates` draws of a distribution
        known in closed form. The target is this embedding, exact where there is a closed form.

        Examples
        --------
        >>> from mercer.kernels import RBF
        >>> from mercer.rkhs import Gaussian
        >>> p = Gaussian([0.0, 0.0], 1.0)
        >>> mu = mean_embedding(RBF(1.0), p)
        >>> herd, drawn = mu.herd(40, rng=0), p.sample(40, rng=0)
        >>> mu.distance(mean_embedding(RBF(1.0), herd)) < mu.distance(mean_embedding(RBF(1.0), drawn)) / 3
        True
        """
        validate.whole("candidates", candidates)
        p = self.distribution
        x = p.points if isinstance(p, Empirical) else p.sample(candidates, rng=rng)
        validate.whole("m", m)
        kernel, points = checked_points(self.kernel, x, median_rbf)
        mean = to_numpy(self(points)).astype(np.float64)
        return taken(x, herded(columns_of(kernel, points), mean, m))

    def function(self) -> Function:
        """Embedding of samples as a `Function`: points with weights."""
        blocks = self._batch.parts
        if not all(is_points(block.atoms) for block in blocks):
            raise TypeError(
                "only embeddings of samples are sums over points: use draws, for example "
                "mean_embedding(kernel, Empirical(p.sample(1000, rng=0)))"
            )
        block = blocks[0]
        owners = np.repeat(block.owners, np.diff(block.segments.offsets))
        weights = self.coefficients[owners] * block.segments.shares
        return Function(self.kernel, block.atoms, weights)

    # ---- private ----------------------------------------------------------------------

    @property
    def _batch(self) -> DistributionBatch:
        return batch_of(self.kernel, self.terms, "p")

    def _same_kernel(self, kernel: Kernel) -> None:
        if kernel != self.kernel:
            raise ValueError(f"both must have the same kernel, got {self.kernel!r} and {kernel!r}")


def mean_embedding(kernel: Kernel, p: Any) -> Embedding:
    """Mean embedding mu = E k(X, .) of a distribution.

    <mu, f> = E f(X) for every f in the RKHS. For a characteristic kernel, different distributions have
    different embeddings.

    Parameters
    ----------
    kernel : Kernel
    p : distribution or sample
        `Gaussian`, `Mixture`, `Uniform`, `Dirac`, `Empirical`, or an array of points (n, d).

    Returns
    -------
    Embedding

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.rkhs import Gaussian
    >>> p = Gaussian([0.0, 0.0], [1.0, 2.0])
    >>> exact, sampled = (mean_embedding(RBF(1.0), q) for q in (p, p.sample(2000, rng=0)))
    >>> exact.distance(sampled) < 0.03
    True
    """
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    if isinstance(p, Bags) or (isinstance(p, list | tuple) and any(map(_is_bag, p))):
        raise TypeError(
            "p must be one distribution, got several: call mean_embedding for each of them, or use "
            "MeanMap(kernel), whose values are their inner products"
        )
    if not isinstance(p, DISTRIBUTIONS):
        p = Empirical(read(kernel, p, None, "p")[0])
    mu = Embedding(kernel, (p,), np.ones(1, dtype=np.float64))
    if not isinstance(p, Empirical):
        mu.norm2()  # raises NoRule here, rather than at the first use
    return mu


def _is_bag(item: Any) -> bool:
    return isinstance(item, DISTRIBUTIONS) or getattr(item, "ndim", 0) == 2


@dataclass(frozen=True, eq=False)
class ProductEmbedding:
    """Mean embedding mu_1(x_1) mu_2(x_2) ... of the joint distribution of independent variables.

    Its kernel is the product `Tensor` of the kernels. Inner products are products of inner products of
    the factors, so the n m combinations of two samples are never formed.
    """

    factors: tuple[Embedding, ...]

    def __call__(self, *points: Any) -> Array:
        """Values at tuples of points, one argument for each variable: (n,)."""
        if len(points) != len(self.factors):
            raise ValueError(
                f"points of {len(self.factors)} variables are needed, got {len(points)}"
            )
        return reduce(mul, (mu(x) for mu, x in zip(self.factors, points, strict=True)))

    def inner(self, other: ProductEmbedding) -> float:
        """Inner product prod_l <mu_l, nu_l>."""
        validate.instance("other", other, ProductEmbedding, "a ProductEmbedding")
        if len(self.factors) != len(other.factors):
            raise ValueError(
                "both must have the same number of variables, got "
                f"{len(self.factors)} and {len(other.factors)}"
            )
        return prod(a.inner(b) for a, b in zip(self.factors, other.factors, strict=True))

    def norm(self) -> float:
        """Norm |mu_1| |mu_2| ..."""
        return sqrt(max(self.inner(self), 0.0))

    def distance2(self, other: ProductEmbedding) -> float:
        """Squared distance of two distributions of independent variables, never negative."""
        return max(self.inner(self) + other.inner(other) - 2 * self.inner(other), 0.0)

    def distance(self, other: ProductEmbedding) -> float:
        """Maximum mean discrepancy of two distributions of independent variables."""
        return sqrt(self.distance2(other))
