"""Mutual information with the bias of the KSG estimator measured on Gaussian data and removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import array_like, namespace, to_numpy
from mercer.info.estimator import Estimator
from mercer.info.ksg import KSG, local_information
from mercer.info.sample import Sample, fixed_generator, more_points_than

_TIED = 0.05  # share of repeated numbers up to which a column counts as continuous
_SINGULAR = 1e-10  # smallest eigenvalue of a correlation matrix that is treated as regular


@dataclass(frozen=True)
class CorrectedKSG(Estimator):
    """Mutual information of continuous variables by `KSG`, with its bias on Gaussian data removed.

    Each column becomes normal scores of its ranks and each variable is whitened: both are one-to-one, so that
    the information does not change. Beside the data, KSG sees one Gaussian sample of the same size, dimensions and
    covariance matrix, of which the information is known, I(C) = log(det C_x det C_y / det C) / 2. The value is

        KSG(data) + c max(0, 1 - s^2 / c^2),   c = I(C) - KSG(Gaussian sample),

    where s is the standard error of KSG on the Gaussian sample; so no noise is added where there is no bias.
    For data that are Gaussian up to a monotone transformation of each column this is right in any number of
    dimensions, where KSG alone loses most of the information; as n grows c vanishes, and both agree.
    `estimate` tells how large c is.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import KSG, mutual_information
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 1000, 5))
    >>> x, y = np.exp(x), x + noise
    >>> [round(mutual_information(x, y, estimator=e), 1) for e in (KSG(), CorrectedKSG())]  # 5 log(2) / 2 = 1.73
    [0.7, 1.8]
    """

    k: int = 5

    def __post_init__(self) -> None:
        validate.whole("k", self.k)

    def information(self, variables: Sequence[Sample], given: Sample | None = None) -> float:
        value, correction = self.parts(variables, given)
        return value + correction

    def parts(
        self, variables: Sequence[Sample], given: Sample | None = None
    ) -> tuple[float, float]:
        """The value of KSG on the transformed data, and the correction."""
        more_points_than(variables[0], self.k, repr(self))
        samples = [*variables, *([given] if given is not None else [])]
        raw = [v.numbers("CorrectedKSG") for v in samples]
        if any(has_ties(points) for points in raw):
            # Ranks of many tied numbers are not normal scores; KSG decides whether there are too many.
            return KSG(self.k).information(variables, given), 0.0
        points = [_whitened(_normal_scores(p)) for p in raw]
        conditional = given is not None
        value = float(np.mean(local_information(points, self.k, conditional)))
        joint = to_numpy(namespace(*points).concat(points, axis=1))
        n, width = joint.shape
        covariance = joint.T @ joint / n
        if n < width + 3 or linalg.eigvalsh(covariance)[0] < _SINGULAR:
            return value, 0.0
        ends = np.cumsum([int(p.shape[1]) for p in points])[:-1]
        surrogate = np.split(_gaussian_sample(covariance, n), ends, axis=1)
        alike = [array_like(np.ascontiguousarray(s), points[0]) for s in surrogate]
        local = local_information(alike, self.k, conditional)
        difference = gaussian_information(covariance, [*ends, width], n, conditional) - np.mean(
            local
        )
        noise = np.var(local) / n
        return value, float(difference * max(0.0, 1 - noise / max(difference**2, noise)))


def gaussian_information(
    covariance: np.ndarray, ends: Sequence[Any], n: int, conditional: bool
) -> float:
    """Unbiased estimate of the information of Gaussian variables from the covariance matrix of n observations.

    `ends` are the last columns of the variables, plus one; if `conditional`, the last variable is given.
    """
    starts = [0, *ends[:-1]]
    spans = [[*range(a, b)] for a, b in zip(starts, ends, strict=True)]
    last = spans.pop() if conditional else []

    def log_determinant(columns: list[int]) -> float:
        matrix = covariance[np.ix_(columns, columns)]
        unbiased = linalg.slogdet(matrix)[1] - log_determinant_bias(n, len(columns))
        return float(unbiased) if columns else 0.0

    total = sum(log_determinant([*span, *last]) for span in spans)
    total -= (len(spans) - 1) * log_determinant(last)
    return (total - log_determinant([*(i for span in spans for i in span), *last])) / 2


def log_determinant_bias(n: int, d: int) -> float:
    """Bias of the log-determinant of the covariance matrix of n Gaussian observations, that of a Wishart matrix."""
    from scipy.special import digamma

    return float(np.sum(digamma((n - 1 - np.arange(d)) / 2)) + d * np.log(2 / n))


def _gaussian_sample(covariance: np.ndarray, n: int) -> np.ndarray:
    """Gaussian sample with mean zero and exactly this covariance matrix: (n, d)."""
    from scipy.linalg import solve_triangular

    z = fixed_generator().standard_normal((n, len(covariance)))
    z -= z.mean(axis=0)
    white = solve_triangular(linalg.cholesky(z.T @ z / n), z.T, lower=True)
    return (linalg.cholesky(covariance) @ white).T


def has_ties(points: Any) -> bool:
    """Whether more than a twentieth of the numbers of a column repeat others: not by rounding alone."""
    xp = namespace(points)
    ordered = xp.sort(points, axis=0)
    repeated = xp.astype(ordered[1:, :] == ordered[:-1, :], xp.float64)
    return bool(xp.any(xp.sum(repeated, axis=0) > _TIED * points.shape[0]))


def _normal_scores(points: Any) -> Any:
    """Normal quantiles at the ranks of every column: (n, d)."""
    from scipy.special import ndtri

    xp, n = namespace(points), points.shape[0]
    scores = array_like(ndtri((np.arange(n) + 0.5) / n), points)
    order = xp.argsort(points, axis=0, stable=True)  # ties keep the order of observations
    ranks = xp.argsort(order, axis=0)
    return xp.reshape(scores[xp.reshape(ranks, (-1,))], points.shape)


def _whitened(points: Any) -> Any:
    """Points with mean zero and the identity as covariance matrix, unless that is singular: (n, d)."""
    centred = points - namespace(points).mean(points, axis=0)
    covariance = to_numpy(centred.T @ centred) / len(points)
    values, vectors = linalg.eigh(covariance)
    if values[0] < _SINGULAR * values[-1]:
        return centred
    return centred @ array_like((vectors / np.sqrt(values)) @ vectors.T, points)
