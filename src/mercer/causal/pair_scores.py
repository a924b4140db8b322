"""Scores of the hypothesis that one of two variables causes the other: small where noise is independent of the cause.

Every score is computed for both directions. Residuals of the effect are examined as they are (additive noise), divided by
their spread given the cause (heteroscedastic noise), and after the effect was turned into normal scores, which undoes most
increasing distortions (post-nonlinear noise). Differences of whole numbers get a chi-square statistic.
"""

from __future__ import annotations

import numpy as np

from mercer.causal.penalised_spline import Smoother, spline_smoother, standardized

_FREQUENCIES = np.array([0.5, 1.0, 1.5, 2.5, 4.0])  # of the features whose dependence is measured
_BINS = 8  # of the cause, in which conditional distributions are compared
_ROUNDING = 1e-12  # standard deviation of residuals of standardized variables that are rounding
_MAX_LEVELS = 30  # distinct values up to which a variable counts as discrete
_MIN_SPREAD = 0.05  # of the mean squared residual: the least conditional variance
_SCALE_SCORES = (
    "log residual variance",
    "dependence of residuals",
    "dependence of scaled residuals",
    "dependence of absolute residuals",
    "dependence of absolute scaled residuals",
    "log variation of the spread",
    "skewness",
    "excess kurtosis",
    "log variation of the skewness",
    "log variation of the kurtosis",
)
SCORE_NAMES = (
    *_SCALE_SCORES,
    *(f"{name}, normal scores" for name in _SCALE_SCORES),
    "mean log slope",
    "mean log spacing of the cause",
    "variation of conditional histograms",
    "log distinct values of the cause",
    "discrete noise, medians",
    "discrete noise, modes",
    "log distinct discrete noise",
)


def direction_scores(cause: np.ndarray, effect: np.ndarray) -> np.ndarray:
    """Scores of cause -> effect, in the order of `SCORE_NAMES`; both variables have variance one."""
    smooth = spline_smoother(cause)
    scores = [
        *_noise_scores(cause, effect, smooth),
        *_noise_scores(cause, normal_scores(effect), smooth),
    ]
    scores += [_mean_log_slope(cause, effect), _mean_log_spacing(cause)]
    scores += [_histogram_variation(cause, effect)]
    scores += [np.log(min(len(np.unique(cause)), _MAX_LEVELS)), *_discrete_noise(cause, effect)]
    return np.nan_to_num(np.array(scores, dtype=np.float64))


def dependence(u: np.ndarray, v: np.ndarray) -> float:
    """Square root of CKA of two variables with a few Fourier features, between 0 and 1."""
    a, b = _waves(u), _waves(v)
    cross, norm_a, norm_b = (np.sum((p.T @ q) ** 2) for p, q in ((a, b), (a, a), (b, b)))
    return float(np.sqrt(cross / np.sqrt(norm_a * norm_b + 1e-300)))


def normal_scores(values: np.ndarray) -> np.ndarray:
    """Quantiles of the normal distribution at mid-ranks, standardized."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    return standardized(ndtri((rankdata(values) - 0.5) / len(values)))


def _waves(values: np.ndarray) -> np.ndarray:
    angles = values[:, None] * _FREQUENCIES
    waves = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    return waves - waves.mean(axis=0)


def _noise_scores(cause: np.ndarray, effect: np.ndarray, smooth: Smoother) -> list[float]:
    """The scores `_SCALE_SCORES`."""
    residuals = effect - smooth(effect)
    variance = float(residuals.var())
    spread = np.sqrt(np.maximum(smooth(residuals**2), _MIN_SPREAD * variance + 1e-12))
    plain = standardized(residuals, _ROUNDING)
    scaled = standardized(residuals / spread, _ROUNDING)
    moments = [np.sqrt(np.mean((smooth(scaled**k) - np.mean(scaled**k)) ** 2)) for k in (3, 4)]
    scores = [
        np.log(variance + 1e-4),
        *(dependence(cause, e) for e in (plain, scaled)),
        *(dependence(cause, standardized(np.abs(e))) for e in (plain, scaled)),
        np.log(spread.std() / spread.mean() + 0.01),
        np.mean(scaled**3),
        np.mean(scaled**4) - 3,
        *(np.log(m + 0.01) for m in moments),
    ]
    return [float(score) for score in scores]


def _mean_log_slope(cause: np.ndarray, effect: np.ndarray) -> float:
    """Mean log |dy / dx| between neighbours in x, of information-geometric inference (Janzing et al. 2012)."""
    order = np.argsort(cause, kind="stable")
    run, rise = np.diff(cause[order]), np.abs(np.diff(effect[order]))
    positive = (run > 0) & (rise > 0)
    return float(np.mean(np.log(rise[positive] / run[positive]))) if positive.sum() > 5 else 0.0


def _mean_log_spacing(values: np.ndarray) -> float:
    """Mean log gap of the sorted values times n, the entropy up to a constant."""
    gaps = np.diff(np.sort(values))
    gaps = gaps[gaps > 0]
    return float(np.mean(np.log(gaps * len(values)))) if len(gaps) else 0.0


def _histogram_variation(cause: np.ndarray, effect: np.ndarray) -> float:
    """Log variation of standardized conditional histograms of the effect over bins of the cause."""
    from scipy.stats import rankdata

    bins = np.minimum((rankdata(cause) - 0.5) / len(cause) * _BINS, _BINS - 1).astype(np.int64)
    edges, shares = np.linspace(-2.5, 2.5, 9), []
    for number in range(_BINS):
        inside = effect[bins == number]
        if len(inside) > 5:
            shares.append(np.histogram(standardized(inside), edges)[0] / len(inside))
    return float(np.log(np.std(shares, axis=0).mean() + 1e-3)) if len(shares) > 1 else 0.0


def _discrete_noise(cause: np.ndarray, effect: np.ndarray) -> list[float]:
    """Log chi-square over degrees of freedom of the cause and of whole-number noise, and its log support.

    The noise is what remains of the effect, in steps of its smallest gap, after the median and after the mode
    of each value of the cause. Zeros where a variable is not discrete.
    """
    values, rows = np.unique(cause, return_inverse=True)
    levels = np.unique(effect)
    if max(len(values), len(levels)) > _MAX_LEVELS or min(len(values), len(levels)) < 2:
        return [0.0, 0.0, 0.0]
    steps = np.round((effect - levels[0]) / np.min(np.diff(levels))).astype(np.int64)
    groups = [steps[rows == i] for i in range(len(values))]
    centres = (
        np.array([round(float(np.median(g))) for g in groups]),
        np.array([int(np.argmax(np.bincount(g))) for g in groups]),
    )
    scores, support = [], 1
    for centre in centres:
        noise, columns = np.unique(steps - centre[rows], return_inverse=True)
        table = np.zeros((len(values), len(noise)))
        np.add.at(table, (rows, columns), 1)
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
        freedom = max((len(values) - 1) * (len(noise) - 1), 1)
        scores.append(float(np.log(np.sum((table - expected) ** 2 / expected) / freedom + 0.1)))
        support = len(noise)
    return [*scores, float(np.log(support))]
