"""Entropies from moments and from fitted families: Edgeworth, maximum entropy, parametric."""

from __future__ import annotations

from dataclasses import dataclass
from math import e, log, pi, sqrt
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.info.closed_forms import GaussianIntegrals, closed_integrals
from mercer.info.corrected_ksg import log_determinant_bias
from mercer.info.estimator import Estimator, ShannonIntegral
from mercer.info.information_measures import Integrals
from mercer.info.sample import Sample, more_points_than, same_columns
from mercer.rkhs.gaussian import Gaussian

_MAX_COLUMNS = 40  # of Edgeworth, whose cumulants are d^3 numbers


@dataclass(frozen=True)
class Edgeworth(Estimator):
    """Shannon's entropy near a Gaussian: that of the Gaussian, minus |k3|^2 / 12 (Van Hulle 2005).

    k3 are the third cumulants of the whitened sample, and |k3|^2 the sum over all d^3 of them, less what noise adds
    to it. So the cumulant of three different columns weighs 1/2, and not 1/72 as printed by Van Hulle and computed by the
    toolbox ITE, which also leaves out the whitening. Right to second order in the skewness; not consistent for data that
    are far from Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import entropy
    >>> x = np.random.default_rng(0).normal(size=(2000, 3))
    >>> round(entropy(x, estimator=Edgeworth()), 1)  # 3 log(2 pi e) / 2 = 4.26
    4.2
    """

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        points = x.host("Edgeworth")
        n, d = points.shape
        if d > _MAX_COLUMNS:
            raise ValueError(
                f"Edgeworth takes up to {_MAX_COLUMNS} columns, but {x.name} has {d}: use Parametric(Gaussian)"
            )
        white, log_det = _whitened(points, x)
        third = np.einsum("ni,nj,nk->ijk", white, white, white, optimize=True) / n
        square = np.sum(third**2)
        # The noise of a third moment has the variance (E z_i^2 z_j^2 z_k^2 - k3^2) / n.
        noise = (np.mean(np.sum(white**2, axis=1) ** 3) - square) / n
        negentropy = float(square - noise) / 12
        return ShannonIntegral(self, (d * log(2 * pi * e) + log_det) / 2 - negentropy)


@dataclass(frozen=True)
class MaximumEntropy(Estimator):
    """Entropy on the line by the least informative density with two given means (Hyvaerinen 1998).

    That of the Gaussian, minus a (E z exp(-z^2/2))^2 + b (E g(z) - E g(N))^2 of the standardized observations z, where
    g(z) = exp(-z^2/2), or |z| if `heavy_tails` is False. Close where the density is near a Gaussian.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import entropy
    >>> x = np.random.default_rng(0).normal(size=2000)
    >>> round(entropy(x, estimator=MaximumEntropy()), 1)
    1.4
    """

    heavy_tails: bool = True

    def __post_init__(self) -> None:
        validate.truth("heavy_tails", self.heavy_tails)

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        if x.dimension != 1:
            raise ValueError(
                f"MaximumEntropy is for numbers on the line, but {x.name} has {x.dimension} columns: use KNN()"
            )
        white, log_det = _whitened(x.host("MaximumEntropy"), x)
        z = white[:, 0]
        odd = 36 / (8 * sqrt(3) - 9) * np.mean(z * np.exp(-(z**2) / 2)) ** 2
        if self.heavy_tails:
            even = 24 / (16 * sqrt(3) - 27) * (np.mean(np.exp(-(z**2) / 2)) - sqrt(0.5)) ** 2
        else:
            even = 1 / (2 - 6 / pi) * (np.mean(np.abs(z)) - sqrt(2 / pi)) ** 2
        return ShannonIntegral(self, (log(2 * pi * e) + log_det) / 2 - float(odd + even))


@dataclass(frozen=True)
class Parametric(Estimator):
    """Closed form of a distribution that is fitted to the sample.

    Parameters
    ----------
    family : class or object with `fit`
        `fit(x)` returns a distribution with closed forms, such as `mercer.rkhs.Gaussian`. Shannon's
        entropy of Gaussians is unbiased: log-determinants of covariance matrices are corrected.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import mutual_information
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 3000))
    >>> round(mutual_information(x, x + noise, estimator=Parametric()), 2)  # log(2) / 2 = 0.35
    0.3...
    """

    family: Any = Gaussian

    def __post_init__(self) -> None:
        if not callable(getattr(self.family, "fit", None)):
            raise TypeError(
                f"family must have a method fit, as mercer.rkhs.Gaussian, got {validate.shown(self.family)}"
            )

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        points = x.host("Parametric")
        if y is not None:
            same_columns(x, y)
            fitted = self.family.fit(y.host("Parametric"))
            return closed_integrals(self.family.fit(points), fitted)
        if self.family is not Gaussian:
            return closed_integrals(self.family.fit(points))
        return FittedGaussian(self.family.fit(points), len(x))


class FittedGaussian(GaussianIntegrals):
    """Integrals of a Gaussian fitted to n points, Shannon's entropy without the bias of the log-determinant."""

    def __init__(self, p: Gaussian, n: int) -> None:
        super().__init__(p, None)
        self.n = n

    def log_p(self) -> float:
        return super().log_p() + log_determinant_bias(self.n, self.p.dimension) / 2


def _whitened(points: np.ndarray, x: Sample) -> tuple[np.ndarray, float]:
    """Whitened points, and the log-determinant of the covariance matrix without its bias on Gaussian data."""
    n, d = points.shape
    more_points_than(x, d + 1, "a covariance matrix")
    fitted = Gaussian.fit(points)
    root = linalg.cholesky(np.diag(fitted.cov) if fitted.cov.ndim == 1 else fitted.cov)
    from scipy.linalg import solve_triangular

    white = solve_triangular(root, (points - fitted.mean).T, lower=True).T
    log_det = 2 * float(np.sum(np.log(np.diagonal(root))))
    return white, log_det - log_determinant_bias(n, d)
