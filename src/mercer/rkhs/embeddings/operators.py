"""Covariance and cross-covariance operators of paired samples."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import array_like, count, to_numpy
from mercer.gram import Gram, cholesky
from mercer.kernels.base import Kernel, Points
from mercer.rkhs.function import Function
from mercer.rkhs.paired_samples import paired_points


@dataclass(frozen=True, eq=False, repr=False)
class CovarianceOperator:
    """Empirical cross-covariance operator C with <f, C g> = cov(f(X), g(Y)) for f, g of the two RKHSs.

    C g = sum_i (g(y_i) - mean g) k(x_i, .) / n. Its squared Hilbert-Schmidt norm is HSIC, and its
    largest singular value is COCO. Without y it is the covariance operator of x.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable.
    x, y : points
        Paired samples of the same size.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.rkhs import CovarianceOperator, Function, hsic
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> y = x**2 + 0.1 * rng.normal(size=200)
    >>> c = CovarianceOperator.of(x, y, kernel_x=RBF(1.0), kernel_y=RBF(1.0))
    >>> g = Function(RBF(1.0), [1.0], [1.0])
    >>> c(g).inner(g), float(np.cov(g(x), g(y), bias=True)[0, 1])  # <g, C g> = cov(g(X), g(Y))
    (0.0133..., 0.0133...)
    >>> bool(np.isclose(c.norm() ** 2, hsic(RBF(1.0), RBF(1.0), x, y)))
    True
    """

    kernel_x: Kernel
    kernel_y: Kernel
    x: Points
    y: Points

    @classmethod
    def of(
        cls,
        x: Any,
        y: Any = None,
        *,
        kernel_x: Kernel | None = None,
        kernel_y: Kernel | None = None,
    ) -> CovarianceOperator:
        """Operator of paired samples; the covariance operator of x if y is omitted."""
        if y is None:
            y, kernel_y = x, kernel_y or kernel_x
        (kernel_x, x), (kernel_y, y) = paired_points((kernel_x, kernel_y), (x, y), least=2)
        return cls(kernel_x, kernel_y, x, y)

    def __repr__(self) -> str:
        return f"CovarianceOperator({self.kernel_x!r}, {self.kernel_y!r}, {count(self.x)} points)"

    def __call__(self, g: Function) -> Function:
        """C g, a function on the space of x."""
        validate.instance("g", g, Function, "a Function of the RKHS of y")
        if g.kernel != self.kernel_y:
            raise ValueError(f"g must have the kernel {self.kernel_y!r}, got {g.kernel!r}")
        values = to_numpy(g(self.y)).astype(np.float64)
        weights = (values - values.mean(axis=0)) / len(values)
        weights = weights - weights.mean(axis=0)
        like = Gram(self.kernel_x, self.x).like
        return Function(self.kernel_x, self.x, array_like(weights, like))

    @property
    def adjoint(self) -> CovarianceOperator:
        """Adjoint C', from functions of x to functions of y."""
        return CovarianceOperator(self.kernel_y, self.kernel_x, self.y, self.x)

    def norm(self) -> float:
        """Hilbert-Schmidt norm, the square root of the biased HSIC."""
        gram_x, gram_y = (
            Gram(k, p).centered() for k, p in ((self.kernel_x, self.x), (self.kernel_y, self.y))
        )
        return sqrt(max(gram_x.inner(gram_y), 0.0)) / count(self.x)

    def singular_values(self, number: int = 10) -> np.ndarray:
        """Largest singular values, decreasing: those of A'B / n with the centred Gram matrices AA', BB'."""
        validate.whole("number", number)
        a, b = (
            to_numpy(cholesky(Gram(k, p), tolerance=1e-12).columns).astype(np.float64)
            for k, p in ((self.kernel_x, self.x), (self.kernel_y, self.y))
        )
        product = (a - a.mean(axis=0)).T @ (b - b.mean(axis=0)) / len(a)
        return linalg.svdvals(product)[:number]
