"""Null distribution of means of time series: their slowest cosines are as random as the mean.

A statistic |sum_t w_t phi_t|^2 of stationary feature vectors phi_t, with w constant on each series, has under the null
hypothesis a sum of mean zero and of the covariance f(0), the spectral density at frequency zero. So have, for every
series, the sums with w_t = cos(pi j (t - 1/2) / n), j = 1, 2, ..., as long as f is flat up to these frequencies, and all
are uncorrelated and nearly normal. A random rotation among them therefore does not change their joint distribution: the
statistic at random mixtures of the contrasts is its null distribution (a rotation test, Langsrud 2005, on the
cosines of Mueller 2007). In one dimension it is Student's t with as many degrees of freedom as there are cosines.
The mixtures are multipliers of a dependent wild bootstrap that know no block length, only the number of cosines.

Autocorrelation of any sign, oscillations and seasons leave the lowest frequencies alone. Where f falls within them, fewer
cosines are used, and multiplied by what f has fallen according to `slow_spectrum`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.backend import array_like, to_numpy
from mercer.gram import LazyMatrix
from mercer.htest.slow_spectrum import (
    autocovariances,
    autoregressive_spectrum,
    lags_needed,
    single_lag_spectrum,
    slow_changes_spectrum,
)
from mercer.linalg import eigh, one_blas_thread
from mercer.rkhs.paired_samples import listed_briefly

_MAX_COSINES = 16  # of all series together: as Student's t with 16 degrees of freedom
_MAX_INFLATION = 2.0  # faster cosines, at which f has fallen by more, are left out
_MIN_EFFECTIVE = 30  # fewer effective observations: spectra at the end of their error bars
_SLOWEST = 3  # cosines that hold 83% of the variance of a random walk
# Share of the variance in the slowest cosines from which a series counts as a random walk. Measured on the larger of two:
# 94% of pairs of random walks exceed it, at any n; 0.1% of AR(0.95) with 300 observations do.
_WANDERING = 0.55
# Largest form of the cosines, over the mean of their forms beyond the slowest. Where every observation has a direction of
# its own, each mixture of cosines is a series in some direction, slow by choice and not by nature: their forms are equal.
# In 100 runs at each of 20 to 100 rows, independent rows of 50 and 200 numbers had slow directions in up to 61%, with a
# ratio of at most 2.3; all random walks in 1, 3 and 50 dimensions that had them exceeded 3.
_MIN_PROMINENCE = 3.0
_MAX_ROUGHNESS = 15.0  # n (1 - r_1) of a random walk, with probability 0.95; of AR(0.9) it is 0.1 n
_MIN_ROWS_TO_WANDER = 20  # of fewer values three cosines are too large a part
_ROUNDING_ERRORS = 8  # of a sum of n terms, over sqrt(n) and the largest term
_EQUAL = 1e-10  # relative: a series that varies less is constant


@dataclass(frozen=True)
class SlowContrasts:
    """Orthonormal weights of observations in series one after the other; column 0 is the observed contrast."""

    sizes: tuple[int, ...]
    weights: np.ndarray  # (N, 1 + series * cosines)

    @classmethod
    def of(cls, observed: np.ndarray, sizes: tuple[int, ...]) -> SlowContrasts:
        """The contrast of the statistic, and the slowest cosines of each series."""
        number = max(min(_MAX_COSINES // len(sizes), min(sizes) // 3), 1)
        weights = np.zeros((sum(sizes), 1 + number * len(sizes)), dtype=np.float64)
        weights[:, 0] = observed / np.linalg.norm(observed)
        for i, (start, size) in enumerate(zip(starts(sizes), sizes, strict=True)):
            columns = slice(1 + i * number, 1 + (i + 1) * number)
            weights[start : start + size, columns] = cosines(size, number)
        return cls(sizes, weights)

    @property
    def number(self) -> int:
        """Cosines of each series."""
        return (self.weights.shape[1] - 1) // len(self.sizes)

    @property
    def frequencies(self) -> np.ndarray:
        """Frequencies of all cosines, in radians per step: (series * cosines,)."""
        return np.concatenate([np.pi * np.arange(1, self.number + 1) / n for n in self.sizes])

    def pieces(self, values: np.ndarray) -> list[np.ndarray]:
        """Values of each series, less their mean."""
        parts = np.split(values, starts(self.sizes)[1:])
        return [part - part.mean() for part in parts]


@dataclass(frozen=True)
class SlowForms:
    """Inner products of the contrasts that are used: entry 0, 0 is the observed statistic."""

    matrix: np.ndarray  # (1 + k, 1 + k)
    effective: float  # number of effective observations of the shortest series
    wandering: tuple[float, ...]  # share of the variance of each series in its slowest cosines
    tolerance: float = 0.0  # largest difference by rounding between equal forms
    remarks: tuple[str, ...] = ()  # on what was done to the series
    used: np.ndarray | None = None  # mask of the contrasts that are used; None: all

    def rotated(self, resamples: int, seed: int) -> np.ndarray:
        """u'Mu for directions u that are uniform on the sphere: (resamples,)."""
        return self.mixed(
            np.random.default_rng(seed).standard_normal((resamples, len(self.matrix)))
        )

    def mixed(self, normals: np.ndarray) -> np.ndarray:
        """u'Mu for the directions u of standard normal vectors (b, 1 + k): (b,)."""
        u = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        return np.einsum("bi,bi->b", u @ self.matrix, u)

    @property
    def cosines(self) -> int:
        """How many cosines are used."""
        return len(self.matrix) - 1

    def slowest(self, cosines: int) -> SlowForms:
        """The forms of one series with fewer cosines, the slowest ones."""
        return replace(self, matrix=self.matrix[: cosines + 1, : cosines + 1], used=None)

    def scaled(self, factor: float, *remarks: str) -> SlowForms:
        """The forms times a factor, with remarks."""
        matrix, tolerance = factor * self.matrix, factor * self.tolerance
        return replace(self, matrix=matrix, tolerance=tolerance, remarks=remarks)

    def notes(self) -> tuple[str, ...]:
        """How many cosines were used, and a caution where the series are short for their memory."""
        used = f"Compared with the {self.cosines} slowest cosines of the series."
        if self.effective >= _MIN_EFFECTIVE:
            return (*self.remarks, used)
        return (
            f"Caution: the series are worth about {max(self.effective, 1.0):.0f} independent "
            f"observations, fewer than {_MIN_EFFECTIVE}: the p-value is conservative.",
            *self.remarks,
            used,
        )


def cosines(n: int, number: int) -> np.ndarray:
    """The slowest cosines of n observations, orthonormal and orthogonal to the constant: (n, number)."""
    steps = (np.arange(n) + 0.5) / n
    return np.sqrt(2 / n) * np.cos(np.pi * np.outer(steps, np.arange(1, number + 1)))


def starts(sizes: Sequence[int]) -> np.ndarray:
    """Where each series begins."""
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)


def slow_forms(contrasts: SlowContrasts, products: np.ndarray, tolerance: float = 0.0) -> SlowForms:
    """Forms W'HW of contrasts W from the products HW of their matrix H: (N, 1 + k).

    H is the matrix of inner products of the feature vectors. The spectrum that counts is that of the witness, the first of
    the products: its direction is the one in which the statistic is large, and was not chosen for being slow.
    """
    matrix = contrasts.weights.T @ products
    matrix = (matrix + matrix.T) / 2
    inflation, effective = _spectra(contrasts, products[:, 0], margin=0.0)
    if effective * min(contrasts.sizes) < _MIN_EFFECTIVE:
        inflation = _spectra(contrasts, products[:, 0], margin=1.0)[0]
    by_series = np.maximum.accumulate(inflation.reshape(len(contrasts.sizes), -1), axis=1)
    used = by_series <= _MAX_INFLATION
    used[:, 0] = True
    kept = np.concatenate([[True], used.ravel()])
    scale = np.sqrt(np.concatenate([[1.0], inflation]))[kept]
    forms = matrix[np.ix_(kept, kept)] * np.outer(scale, scale)
    slowest = products[:, 1:] @ slowest_mixture(matrix[1:, 1:], contrasts.number)
    wandering = slow_shares(contrasts.pieces(slowest))
    return SlowForms(forms, effective * min(contrasts.sizes), wandering, tolerance, used=kept)


def rotated_together(forms: Sequence[SlowForms], resamples: int, seed: int) -> np.ndarray:
    """u'Mu of several statistics at the same contrasts and the same random directions: (forms, resamples).

    Each is as `SlowForms.rotated`, and together they have the dependence of the statistics, which a correction for their
    number may use. A statistic that uses fewer contrasts takes the part of the directions that it uses.
    """
    masks = [np.ones(len(f.matrix), dtype=bool) if f.used is None else f.used for f in forms]
    normals = np.random.default_rng(seed).standard_normal((resamples, len(masks[0])))
    return np.stack([f.mixed(normals[:, mask]) for f, mask in zip(forms, masks, strict=True)])


def contrasted(matrix: LazyMatrix, contrasts: SlowContrasts) -> SlowForms:
    """Forms of the contrasts by the matrix of inner products of the feature vectors; one pass over its tiles."""
    weights = array_like(contrasts.weights, matrix.like)
    products = to_numpy(matrix @ weights)
    tolerance = _rounding(products, to_numpy(matrix.diagonal()))
    return slow_forms(contrasts, products.astype(np.float64), tolerance)


def contrasted_features(features: np.ndarray, contrasts: SlowContrasts) -> SlowForms:
    """The same from the feature vectors themselves, in time linear in their number: (N, r)."""
    products = features @ (features.T @ contrasts.weights)
    diagonal = np.einsum("ij,ij->i", features, features)
    return slow_forms(contrasts, products, _rounding(products, diagonal))


def contrasted_pair(a: np.ndarray, b: np.ndarray, contrasts: SlowContrasts) -> SlowForms:
    """The same for AA' o BB', the products of the features (N, r) and (N, s) of two variables."""
    products = np.empty(contrasts.weights.shape, dtype=np.float64)
    with one_blas_thread():
        for k, w in enumerate(contrasts.weights.T):
            products[:, k] = np.einsum("ij,ij->i", a @ (a.T @ (w[:, None] * b)), b)
    diagonal = np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b)
    return slow_forms(contrasts, products, _rounding(products, diagonal))


def _rounding(products: np.ndarray, diagonal: np.ndarray) -> float:
    """Largest difference by rounding between equal forms, from products of this precision."""
    largest = float(np.max(np.abs(diagonal), initial=0.0))
    eps = float(np.finfo(products.dtype).eps)
    return _ROUNDING_ERRORS * eps * len(products) ** 0.5 * largest


def slowest_mixture(forms: np.ndarray, number: int) -> np.ndarray:
    """The mixture of cosines, so many of each series, with the largest form; zero where no form stands out."""
    values, vectors = eigh(forms)
    faster = np.arange(len(forms)) % number >= _SLOWEST
    level = float(np.mean(np.diagonal(forms)[faster])) if np.any(faster) else 0.0
    return vectors[:, -1] * (values[-1] > _MIN_PROMINENCE * level)


def slow_shares(pieces: Sequence[np.ndarray]) -> tuple[float, ...]:
    """Share of the variance of each series in its three slowest cosines; 0 where it cannot be a random walk.

    It cannot with fewer than 20 values, or if the autocorrelation at lag 1 is far from one (Dickey and Fuller 1979).
    """
    shares = []
    for piece in pieces:
        n, total = len(piece), float(piece @ piece)
        slow = cosines(n, _SLOWEST).T @ piece
        rough = n * float(np.sum(np.diff(piece) ** 2)) > 2 * _MAX_ROUGHNESS * total
        known = n >= _MIN_ROWS_TO_WANDER and total > 0 and not rough
        shares.append(float(slow @ slow) / total if known else 0.0)
    return tuple(shares)


def wanders(share: float) -> bool:
    """Whether this share in the slowest cosines is that of a random walk."""
    return share > _WANDERING


def untested(names: Sequence[str]) -> tuple[str, ...]:
    """A caution that names columns or pairs that were left untested among others, because they wander; else nothing."""
    if not names:
        return ()
    return (
        f"Caution: {listed_briefly(names)} {'wanders' if len(names) == 1 else 'wander'} like a random walk or a trend, so that "
        "no test was made and the p-value is 1: take differences (difference=True, or --difference of the command), or observe "
        "for longer.",
    )


def refusal(name: str, share: float, remedy: str | None = None) -> ValueError:
    """The error for a series that looks like a random walk."""
    if remedy is None:
        remedy = (
            f"Take differences, np.diff({name}, axis=0) (difference=True, or --difference of the command), remove the trend, or "
            "observe it for longer"
        )
    return ValueError(
        f"{name} must be a stationary series, but it wanders like a random walk or a trend: {share:.0%} of its variance "
        f"is in its {_SLOWEST} slowest cosines. {remedy}"
    )


def _spectra(
    contrasts: SlowContrasts, witness: np.ndarray, margin: float
) -> tuple[np.ndarray, float]:
    """The largest inflation by any model at each frequency, and the least effective share."""
    sizes, w = contrasts.sizes, contrasts.frequencies
    covariances = autocovariances(contrasts.pieces(witness), lags_needed(sizes))
    if not covariances[0] > _EQUAL * float(np.mean(witness**2)):
        return np.ones_like(w), 1.0
    fits = [autoregressive_spectrum(covariances, sizes, w, margin)]
    fits.append(slow_changes_spectrum(covariances, sizes, w, fits[0].effective, margin))
    fits.append(single_lag_spectrum(covariances, sizes, w, margin))
    inflation = np.max([fit.inflation for fit in fits], axis=0)
    return inflation, min(fit.effective for fit in fits)
