"""Spectra of series at low frequencies, relative to frequency zero, by two short models.

The variance of a mean of n autocorrelated values is f(0) / n, with f their spectral density. What a series shows of
f(0) are its values at the lowest frequencies; how much f falls from zero to there is estimated by an autoregression,
and by slow changes of the level below noise, whose autocorrelations are small but last long (volatility).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_MAX_LAGS = 40  # of autocorrelations that the model of slow changes is fitted to
_DECAYS = np.array([0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98])  # of slow changes, per step
_FEWEST_EFFECTIVE = 3  # the bias of autocorrelations is corrected as if there were at least so many
_ROUNDS = 5  # of that correction, which grows with the slow changes that it finds
_MARGIN = 1.0  # standard errors of detected slow changes: what one stretch shows of them is mostly too little
_DETECTED = 1.5  # standard errors from which on slow changes count
_SIGNIFICANT = 2.5  # standard errors of the largest of some 25 autocorrelations that count: 14% of noise exceeds it
_ROUNDING = 1e-12  # a share of the variance of an innovation below it is rounding


class Spectrum(NamedTuple):
    """Spectral density at some frequencies and at zero, as ratios."""

    inflation: np.ndarray  # (q,), f(0) / f(w_j), at least 1
    effective: float  # share of the observations that are effective: variance / f(0), at most 1


def autocovariances(pieces: list[np.ndarray], lags: int) -> np.ndarray:
    """Autocovariances of series of mean zero, pooled over its pieces, for lags 0, ..., `lags`."""
    n = sum(len(piece) for piece in pieces)
    sums = [sum(float(p[: len(p) - h] @ p[h:]) for p in pieces) for h in range(lags + 1)]
    return np.array(sums, dtype=np.float64) / n


def autoregression(covariances: np.ndarray, n: int) -> np.ndarray:
    """Coefficients of the autoregression with the least AIC, by the Levinson recursion."""
    a, variance = np.empty(0, dtype=np.float64), float(covariances[0])
    best, least = a, n * np.log(variance)
    for order in range(1, len(covariances)):
        k = float(covariances[order] - a @ covariances[order - 1 : 0 : -1]) / variance
        a = np.append(a - k * a[::-1], k)
        variance *= max(1 - k * k, _ROUNDING)
        score = n * np.log(variance) + 2 * order
        if score < least:
            best, least = a, score
    return best


def autoregressive_spectrum(
    covariances: np.ndarray, sizes: tuple[int, ...], w: np.ndarray, margin: float = 0.0
) -> Spectrum:
    """Spectrum of an autoregression, its sum of coefficients corrected for bias.

    For one coefficient a the bias is about -(1 + 4a) / n (Kendall 1954; one of the 4 is due to sums over n - 1
    terms divided by n). `margin` standard errors are added, for a conservative answer.
    """
    n = min(sizes)
    order = int(min(10 * np.log10(sum(sizes)), n // 4))
    a = autoregression(covariances[: order + 1], sum(sizes))
    total = float(a.sum())
    if total > 0:
        error = margin * np.sqrt(max(1 - total**2, 0.0) / n)
        a = a * (min(total + (1 + 4 * total) / n + error, 1 - 0.5 / n) / total)
    lags = np.arange(1, len(a) + 1)
    gain = np.abs(1 - np.exp(-1j * np.outer(np.append(0.0, w), lags)) @ a) ** 2  # 1 / f
    everywhere = np.pi * (np.arange(4 * n) + 0.5) / (4 * n)
    variance = np.mean(np.abs(1 - np.exp(-1j * np.outer(everywhere, lags)) @ a) ** -2)
    return Spectrum(np.maximum(gain[1:] / gain[0], 1.0), min(float(variance * gain[0]), 1.0))


def slow_changes_spectrum(
    covariances: np.ndarray,
    sizes: tuple[int, ...],
    w: np.ndarray,
    effective: float,
    margin: float = 0.0,
) -> Spectrum:
    """Spectrum of noise and an autoregression of order one: autocorrelations s a^h for h > 0.

    s and a are chosen by least squares. Autocorrelations around an estimated mean are too small by f(0) / n,
    which is added; `margin` standard errors of s are added, too.
    """
    best = Spectrum(np.ones_like(w), 1.0)
    if len(covariances) < 2:
        return best
    for _ in range(_ROUNDS):
        best = _slow_changes(covariances, sizes, w, effective, margin)
        if best.effective >= effective:
            break
        effective = best.effective
    return best


def _slow_changes(
    covariances: np.ndarray, sizes: tuple[int, ...], w: np.ndarray, effective: float, margin: float
) -> Spectrum:
    """The model of slow changes, with autocorrelations corrected for this share of effective observations."""
    n, lags = min(sizes), np.arange(1, len(covariances))
    correlations = covariances[1:] / covariances[0] + 1 / max(n * effective, _FEWEST_EFFECTIVE)
    best, least = Spectrum(np.ones_like(w), 1.0), np.inf
    for decay in _DECAYS[1 - 1 / n > _DECAYS]:
        curve = decay**lags
        norm = float(curve @ curve)
        error = 1 / np.sqrt(sum(sizes) * norm)
        share = float(correlations @ curve) / norm
        share = share if share > _DETECTED * error else 0.0
        loss = float(np.sum((correlations - share * curve) ** 2))
        if loss < least:
            share = min(share + (margin + _MARGIN) * error, 1.0) if share else 0.0
            slow = (1 - decay**2) / np.abs(1 - decay * np.exp(-1j * np.append(0.0, w))) ** 2
            f = 1 - share + share * slow
            best, least = Spectrum(f[0] / f[1:], min(1 / float(f[0]), 1.0)), loss
    return best


def effective_share(values: np.ndarray) -> float:
    """Share of autocorrelated values that are effective for their distribution, at most 1.

    The smaller of two: variance / f(0) for their mean, and 1 / (1 + 2 sum_h r_h^2) for their variance, which counts
    oscillations as well (Bartlett 1946). The squares are taken less 1 / n, their mean for independent values.
    """
    centred, n = values - values.mean(), len(values)
    covariances = autocovariances([centred], lags_needed((n,)))
    if not covariances[0] > 0:
        return 1.0
    squares = (covariances[1:] / covariances[0]) ** 2
    oscillating = 1 / (1 + 2 * max(float(np.sum(squares - 1 / n)), 0.0))
    slow = autoregressive_spectrum(covariances, (n,), np.empty(0, dtype=np.float64)).effective
    return min(slow, oscillating)


def single_lag_spectrum(
    covariances: np.ndarray, sizes: tuple[int, ...], w: np.ndarray, margin: float = 0.0
) -> Spectrum:
    """Spectrum of x_t = a x_(t-s) + e_t at the lag s of the largest autocorrelation, if that is significant.

    Seasons that repeat the last one, which an autoregression of all lags up to s would need too many coefficients for.
    """
    if len(covariances) < 3:
        return Spectrum(np.ones_like(w), 1.0)
    lags = np.arange(2, len(covariances))
    pairs = np.sum([np.maximum(size - lags, 1) for size in sizes], axis=0)  # so many steps apart
    correlations = covariances[2:] / covariances[0] * sum(sizes) / pairs
    best = int(np.argmax(correlations * np.sqrt(pairs)))
    lag, a, total = int(lags[best]), float(correlations[best]), float(pairs[best])
    if a < _SIGNIFICANT / np.sqrt(total):
        return Spectrum(np.ones_like(w), 1.0)
    n = min(sizes) / lag  # the series is as good as s series of this length
    a = min(a + (1 + 3 * a) / min(sizes) + margin * np.sqrt((1 - a * a) / total), 1 - 0.5 / n)
    gain = np.abs(1 - a * np.exp(-1j * lag * w)) ** 2
    return Spectrum(np.maximum(gain / (1 - a) ** 2, 1.0), (1 - a) / (1 + a))


def lags_needed(sizes: tuple[int, ...]) -> int:
    """How many autocovariances the two models use."""
    n = min(sizes)
    return max(min(n // 4, _MAX_LAGS), min(int(10 * np.log10(sum(sizes))), n // 4))
