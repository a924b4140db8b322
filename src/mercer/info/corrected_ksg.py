"""Mutual information with the bias of the KSG estimator measured on samples of known information and removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import array_like, namespace, to_numpy
from mercer.info.estimator import Estimator
from mercer.info.ksg import KSG, local_information
from mercer.info.paired_surrogates import measured, paired_correction, without_noise
from mercer.info.sample import Sample, fixed_generator, more_points_than

TIED = 0.05  # share of repeated numbers up to which a column counts as continuous
_FEW_COLUMNS, _OBSERVATIONS, _MOST_COPIES = 2, 4000, 4  # of Gaussian samples
_SINGULAR = 1e-10  # smallest eigenvalue of a correlation matrix that is treated as regular


@dataclass(frozen=True)
class CorrectedKSG(Estimator):
    """Mutual information of continuous variables by `KSG`, less its bias on samples of known information.

    Each column becomes normal scores of its ranks and each variable is whitened: both are one-to-one, so that
    the information does not change. Beside the data, KSG sees one Gaussian sample of the same size, dimensions and
    covariance matrix, of which the information is known, I(C) = log(det C_x det C_y / det C) / 2. The value is

        KSG(data) + c max(0, 1 - s^2 / c^2),   c = I(C) - KSG(Gaussian sample),

    where s is the standard error of KSG on the Gaussian sample; so no noise is added where there is no bias. For one plus one
    column, where that bias is small, there are up to four such samples, and their mean counts.
    For data that are Gaussian up to a monotone transformation of each column this is right in any number of
    dimensions, where KSG alone loses most of the information.

    Where the columns of two whitened variables are correlated in pairs only, as in y = x + noise, the pairs are looked at,
    too. Let E be the sum over the pairs of KSG on the data less KSG on the Gaussian sample, in one plus one dimension,
    where KSG has little bias, and t its standard error. If E is above 2t, a second sample has the pairs of the data, each
    with its observations in an order of its own, so that the pairs are independent and their information is about
    I(C) + E. It gives a second correction, I(C) + E - KSG(second sample), and c is a mean of both with the weight
    (1 - 4 t^2 / E^2) (1 - 4 u^2 / v^2) for the second: u is the difference of KSG on the data and on the second sample, which are
    alike if the pairs are independent in the data, and v that of the corrections. As n grows all corrections vanish,
    and the value is that of KSG.
    `estimate` tells how large the correction is.

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

    def local(self, variables: Sequence[Sample], given: Sample | None = None) -> np.ndarray:
        """Terms of KSG on the transformed data, of which the value before the correction is the mean: (n,)."""
        points = self._points(variables, given)
        if points is None:
            return KSG(self.k).local(variables, given)
        return local_information(points, self.k, given is not None)

    def _points(self, variables: Sequence[Sample], given: Sample | None) -> list[Any] | None:
        """The variables as whitened normal scores; None where numbers are tied."""
        more_points_than(variables[0], self.k, repr(self))
        samples = [*variables, *([given] if given is not None else [])]
        raw = [v.numbers("CorrectedKSG") for v in samples]
        if any(has_ties(points) for points in raw):
            return None
        return _canonical([_whitened(_normal_scores(p)) for p in raw], given is not None)

    def parts(
        self, variables: Sequence[Sample], given: Sample | None = None
    ) -> tuple[float, float]:
        """The value of KSG on the transformed data, and the correction."""
        points, conditional = self._points(variables, given), given is not None
        if points is None:
            # Ranks of many tied numbers are not normal scores; KSG decides whether there are too many.
            return KSG(self.k).information(variables, given), 0.0
        value = measured(points, self.k, conditional=conditional).value
        joint = _joint(points)
        n, width = joint.shape
        covariance = joint.T @ joint / n
        if n < width + 3 or linalg.eigvalsh(covariance)[0] < _SINGULAR:
            return value, 0.0
        ends = [*np.cumsum([int(p.shape[1]) for p in points])]
        information = gaussian_information(covariance, ends, n, conditional)
        rng, samples = fixed_generator(), []
        for _ in range(_copies(n, width)):
            samples.append(_gaussian_sample(covariance, n, rng))
        each = [
            measured(
                [
                    array_like(np.ascontiguousarray(s), points[0])
                    for s in np.split(sample, ends[:-1], axis=1)
                ],
                self.k,
                conditional=conditional,
            )
            for sample in samples
        ]
        gaussian = float(np.mean([one.value for one in each]))
        correction = without_noise(information - gaussian, each[0].variance / len(each))
        fewest = min(int(p.shape[1]) for p in points)
        if len(points) == 2 and not conditional and fewest > 1:
            x, y = (to_numpy(p) for p in points)
            correction = paired_correction(value, x, y, samples[0], information, correction, self.k)
        return value, correction


def _joint(points: Sequence[Any]) -> np.ndarray:
    """The columns of all variables, on the host."""
    return np.concatenate([to_numpy(p) for p in points], axis=1)


def _canonical(points: list[Any], conditional: bool) -> list[Any]:
    """The variables in an order and with signs that do not depend on how they came; what is given stays the last."""
    joint = _joint(points)
    starts = np.cumsum([0, *(int(p.shape[1]) for p in points)])
    spans = [slice(a, b) for a, b in pairwise(starts)]
    squares = (joint.T @ joint / len(joint)) ** 2

    def key(i: int) -> tuple[Any, ...]:
        last = conditional and i == len(points) - 1
        correlated = np.sum(squares[spans[i]]) - np.sum(squares[spans[i], spans[i]])
        skewness = np.sum(np.abs(np.mean(joint[:, spans[i]] ** 3, axis=0)))
        return last, int(points[i].shape[1]), round(float(correlated), 9), float(skewness)

    ordered = [points[i] for i in sorted(range(len(points)), key=key)]
    joint = _joint(ordered)
    leading = linalg.eigh(joint.T @ joint)[1][:, -1]
    signs = np.where(leading * np.sum((joint @ leading) ** 3) < 0, -1.0, 1.0)
    each = np.split(signs, np.cumsum([int(p.shape[1]) for p in ordered])[:-1])
    return [p * array_like(sign, p) for p, sign in zip(ordered, each, strict=True)]


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


def _copies(n: int, width: int) -> int:
    """How many Gaussian samples: several of one plus one column, where the noise of one is larger than the bias of KSG."""
    return 1 if width > _FEW_COLUMNS else min(-(-_OBSERVATIONS // n), _MOST_COPIES)


def _gaussian_sample(covariance: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Gaussian sample with mean zero and exactly this covariance matrix: (n, d)."""
    from scipy.linalg import solve_triangular

    z = rng.standard_normal((n, len(covariance)))
    z -= z.mean(axis=0)
    white = solve_triangular(linalg.cholesky(z.T @ z / n), z.T, lower=True)
    return (linalg.cholesky(covariance) @ white).T


def has_ties(points: Any) -> bool:
    """Whether more than a twentieth of the numbers of a column repeat others: not by rounding alone."""
    xp = namespace(points)
    ordered = xp.sort(points, axis=0)
    repeated = xp.astype(ordered[1:, :] == ordered[:-1, :], xp.float64)
    return bool(xp.any(xp.sum(repeated, axis=0) > TIED * points.shape[0]))


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
