"""Probability product kernels: inner products of powers of densities."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, is_array, namespace
from mercer.errors import NoRule
from mercer.gram.bag_sums import bag_sums
from mercer.kernels.base import Kernel, Points
from mercer.kernels.dot import Linear
from mercer.rkhs.embeddings.atoms import Gaussians, width
from mercer.rkhs.embeddings.batch import Batch, batch_of
from mercer.rkhs.embeddings.expected import Expected, expected_kernel
from mercer.rkhs.embeddings.expected_gaussians import sums_of_covariances


@dataclass(frozen=True)
class ProbabilityProduct(Kernel):
    """int p(x)^r q(x)^r dx of two distributions with densities, r the exponent `rho`.

    rho = 1/2 is Bhattacharyya's, 1 for equal distributions and less for others; rho = 1 the expected
    likelihood. For two Gaussians, with S = C + D,
    (2 pi)^((1 - 2r) d/2) r^(-d/2) |S|^(-1/2) (|C| |D|)^((1-r)/2) exp(-r (m - n)'S^-1(m - n) / 2).

    Points are `Gaussian`, `Mixture` of them (rho = 1 only: powers of sums have no closed form), or
    an array of histograms, one a row, whose sum of products of powers is taken.

    References
    ----------
    T. Jebara, R. Kondor, A. Howard (2004). Probability product kernels. Journal of Machine Learning
    Research 5, 819-844.

    Examples
    --------
    >>> from mercer.rkhs import Gaussian, ProbabilityProduct
    >>> k = ProbabilityProduct()
    >>> k([Gaussian(0.0, 1.0), Gaussian(2.0, 1.0)])  # exp(-1/2) off the diagonal
    array([[1.    , 0.6065...],
           [0.6065..., 1.    ]])
    >>> k([[0.5, 0.5], [1.0, 0.0]])
    array([[1.    , 0.7071...],
           [0.7071..., 1.    ]])
    """

    rho: float = 0.5

    def __post_init__(self) -> None:
        validate.positive("rho", self.rho)

    def accept(self, x: Any, name: str = "x") -> Points:
        if is_array(x) or (isinstance(x, list | tuple) and not validate.holds_objects(x)):
            points = validate.points(x, name)
            if bool(namespace(points).any(points < 0)):
                raise ValueError(f"{name} must hold histograms, which have no negative numbers")
            return points
        if isinstance(x, list | tuple) and not any(hasattr(one, "sample") for one in x):
            raise NoRule(
                f"no probability product of samples in {name}: they have no density of their own; fit a "
                "Gaussian or a Mixture to them first, such as Gaussian.fit(bag), or count code words"
            )
        batch = batch_of(Linear(), x, name)
        if not all(isinstance(part.atoms, Gaussians) for part in batch.parts):
            raise NoRule(
                f"no probability product of samples or boxes in {name}: they have no density of "
                "their own; fit a Gaussian or a Mixture to them first"
            )
        if self.rho != 1 and not all(part.plain for part in batch.parts):
            raise NoRule(
                f"no probability product of mixtures with rho = {self.rho:g}, only with rho = 1"
            )
        return batch

    def pairwise(self, x: Points, y: Points, /) -> Array:
        _alike(x, y)
        if not isinstance(x, Batch):
            return x**self.rho @ namespace(x, y).permute_dims(y**self.rho, (1, 0))
        (a,), (b,) = x.parts, y.parts
        return bag_sums(Expected(self, a.atoms, b.atoms), a.segments, b.segments)

    def paired(self, x: Points, y: Points, /) -> Array:
        _alike(x, y)
        if not isinstance(x, Batch):
            return namespace(x, y).sum(x**self.rho * y**self.rho, axis=1)
        rows = (slice(i, i + 1) for i in range(len(x)))
        return np.array([self.pairwise(x[i], y[i])[0, 0] for i in rows])


@expected_kernel(ProbabilityProduct, Gaussians, Gaussians)
def _(kernel: ProbabilityProduct, x: Gaussians, y: Gaussians) -> np.ndarray:
    r, d = kernel.rho, x.width
    r2, log_det = sums_of_covariances(x, y)
    own = _log_dets(x)[:, None] + _log_dets(y)
    logs = (1 - 2 * r) * d / 2 * log(2 * pi) - d / 2 * log(r) + (1 - r) / 2 * own
    return np.exp(logs - 0.5 * log_det - 0.5 * r * r2)


def _alike(x: Points, y: Points) -> None:
    """Two sets of distributions with densities, or of histograms, of one width."""
    kinds = [isinstance(points, Batch) for points in (x, y)]
    if kinds[0] != kinds[1]:
        raise TypeError(
            "x and y must both hold distributions with densities or both histograms, one a row"
        )
    widths = [width(p.parts[0].atoms) if isinstance(p, Batch) else p.shape[1] for p in (x, y)]
    if widths[0] != widths[1]:
        raise ValueError(
            f"x and y must have the same number of columns, got {widths[0]} and {widths[1]}"
        )


def _log_dets(x: Gaussians) -> np.ndarray:
    if x.covs.ndim == 2:
        return np.sum(np.log(x.covs), axis=1)
    return linalg.slogdet(x.covs)[1]
