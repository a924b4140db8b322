"""Probability product kernels: inner products of powers of densities."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, is_array, namespace, to_numpy
from mercer.errors import NoRule
from mercer.gram.bag_sums import bag_sums
from mercer.kernels.base import Kernel, Points
from mercer.kernels.dot import Linear
from mercer.rkhs.embeddings.as_bags import as_bags
from mercer.rkhs.embeddings.as_batch import batch_of
from mercer.rkhs.embeddings.atoms import Gaussians, width
from mercer.rkhs.embeddings.bags import Bags
from mercer.rkhs.embeddings.batch import AtomBlock, DistributionBatch
from mercer.rkhs.embeddings.expected import Expected, expected_kernel
from mercer.rkhs.embeddings.expected_gaussians import sums_of_covariances
from mercer.rkhs.embeddings.mixture_powers import powered_mixtures, products_of_powers


@dataclass(frozen=True)
class ProbabilityProduct(Kernel):
    """Probability product kernel int p(x)^r q(x)^r dx of two densities, with the exponent r = `rho`.

    rho = 1/2 is the Bhattacharyya kernel, which is 1 for equal distributions and smaller for others;
    rho = 1 is the expected likelihood kernel. For two Gaussians, with S = C + D, it is
    (2 pi)^((1 - 2r) d/2) r^(-d/2) |S|^(-1/2) (|C| |D|)^((1-r)/2) exp(-r (m - n)'S^-1(m - n) / 2).

    Points are `Gaussian`, `Mixture` of Gaussians, samples, whose densities are estimated by Gaussian kernels of
    the width `bandwidth`, or an array of histograms, one per row, for which the integral is a sum. Mixtures and
    samples have a closed form for rho = 1. For other exponents they are integrated at fixed nodes around
    the components of both densities, to about 1e-10 in one dimension, 1e-5 in two and 1e-3 in
    more.

    Parameters
    ----------
    rho : float
    bandwidth : float or None
        Standard deviation of the Gaussian kernels around the points of samples; None: samples are refused.

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
    bandwidth: float | None = None

    def __post_init__(self) -> None:
        validate.positive("rho", self.rho)
        if self.bandwidth is not None:
            validate.positive("bandwidth", self.bandwidth)

    def accept(self, x: Any, name: str = "x") -> Points:
        if is_array(x) or (isinstance(x, list | tuple) and not validate.holds_objects(x)):
            points = validate.points(x, name)
            if bool(namespace(points).any(points < 0)):
                raise ValueError(f"{name} must hold histograms, but has negative numbers")
            return points
        if isinstance(x, Bags) or _holds_samples(x):
            return self._smoothed(x, name)
        batch = batch_of(Linear(), x, name)
        if not all(isinstance(block.atoms, Gaussians) for block in batch.parts):
            raise NoRule(
                f"no probability product of boxes, or of samples and densities together, in {name}: only Gaussian "
                "and Mixture of Gaussians have one; fit one of them to each first"
            )
        return batch

    def pairwise(self, x: Any, y: Any, /) -> Array:
        _alike(x, y)
        if not isinstance(x, DistributionBatch):
            return x**self.rho @ namespace(x, y).permute_dims(y**self.rho, (1, 0))
        (a,), (b,) = x.parts, y.parts
        if self.rho == 1 or (a.plain and b.plain):
            return bag_sums(Expected(self, a.atoms, b.atoms), a.segments, b.segments)
        return self._of_mixtures(a, b)

    def _smoothed(self, x: Any, name: str) -> DistributionBatch:
        """Samples as mixtures of Gaussians around their points."""
        if self.bandwidth is None:
            raise NoRule(
                f"no probability product of samples in {name}, which have no density: pass a bandwidth, with which "
                "the density is estimated; or fit a Gaussian or a Mixture to each first, such as Gaussian.fit(bag), "
                "or count code words"
            )
        bags = as_bags(x, draws=1, rng=0, name=name)
        points = to_numpy(bags.values).astype(np.float64)
        kernels = Gaussians(points, np.full(points.shape, self.bandwidth**2, dtype=np.float64))
        n = len(bags)
        return DistributionBatch(n, (AtomBlock(kernels, np.arange(n), bags.segments),))

    def _of_mixtures(self, a: AtomBlock, b: AtomBlock) -> np.ndarray:
        """Integrals at nodes, and the closed form of pairs of single Gaussians."""
        x, y = powered_mixtures(a, self.rho), powered_mixtures(b, self.rho)
        values = products_of_powers(x, x if a is b else y)
        single = [np.flatnonzero(np.diff(block.segments.offsets) == 1) for block in (a, b)]
        if all(map(len, single)):
            first, second = (
                block.atoms[block.segments.offsets[at]]
                for block, at in zip((a, b), single, strict=True)
            )
            values[np.ix_(*single)] = expected_kernel.apply(self, first, second)
        return values

    def paired(self, x: Any, y: Any, /) -> Array:
        _alike(x, y)
        if not isinstance(x, DistributionBatch):
            return namespace(x, y).sum(x**self.rho * y**self.rho, axis=1)
        rows = (slice(i, i + 1) for i in range(len(x)))
        return np.array([self.pairwise(x[i], y[i])[0, 0] for i in rows])


@expected_kernel(ProbabilityProduct, Gaussians, Gaussians)
def _(kernel: ProbabilityProduct, x: Gaussians, y: Gaussians) -> np.ndarray:
    r, d = kernel.rho, x.width
    r2, log_det = sums_of_covariances(x, y)
    log_dets = _log_dets(x)[:, None] + _log_dets(y)
    logs = (1 - 2 * r) * d / 2 * log(2 * pi) - d / 2 * log(r) + (1 - r) / 2 * log_dets
    return np.exp(logs - 0.5 * log_det - 0.5 * r * r2)


def _holds_samples(x: Any) -> bool:
    """Whether a list has nothing but samples."""
    return isinstance(x, list | tuple) and not any(hasattr(item, "log_density") for item in x)


def _alike(x: Any, y: Any) -> None:
    """Raise an error unless x and y are both densities or both histograms, of the same dimension."""
    kinds = [isinstance(points, DistributionBatch) for points in (x, y)]
    if kinds[0] != kinds[1]:
        raise TypeError(
            "x and y must both hold distributions with densities, or both histograms, one per row"
        )
    widths = [
        width(p.parts[0].atoms) if isinstance(p, DistributionBatch) else p.shape[1] for p in (x, y)
    ]
    if widths[0] != widths[1]:
        raise ValueError(
            f"x and y must have the same number of columns, got {widths[0]} and {widths[1]}"
        )


def _log_dets(x: Gaussians) -> np.ndarray:
    """Log-determinants of the covariance matrices: (n,)."""
    if x.covs.ndim == 2:
        return np.sum(np.log(x.covs), axis=1)
    return linalg.slogdet(x.covs)[1]
