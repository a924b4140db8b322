"""Entropies of discrete data from the counts of each value, with corrections of the bias."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.info.estimator import Estimator
from mercer.info.information_measures import Integrals
from mercer.info.regions import RegionIntegrals
from mercer.info.sample import Sample, require_instance, same_columns

_GRID = 400  # nodes of the integral over the concentration in NSB


class BiasCorrection(ABC):
    """A correction of the bias of the plug-in entropy, which is too small by about (K - 1) / 2n."""

    @abstractmethod
    def entropy(self, counts: np.ndarray) -> float:
        """Shannon's entropy from the number of times that each value was observed."""


@dataclass(frozen=True)
class MillerMadow(BiasCorrection):
    """Adds (K - 1) / 2n to the plug-in entropy of K observed values (Miller 1955)."""

    def entropy(self, counts: np.ndarray) -> float:
        return _plain(counts) + (len(counts) - 1) / (2 * float(counts.sum()))


@dataclass(frozen=True)
class Grassberger(BiasCorrection):
    """log n - mean of G(n_i), G(n) = psi(n) + (-1)^n (psi((n+1)/2) - psi(n/2)) / 2 (Grassberger 2003)."""

    def entropy(self, counts: np.ndarray) -> float:
        from scipy.special import digamma

        sign = np.where(counts % 2 == 0, 1.0, -1.0)
        terms = digamma(counts) + sign / 2 * (digamma((counts + 1) / 2) - digamma(counts / 2))
        return log(counts.sum()) - float(np.sum(counts * terms) / counts.sum())


@dataclass(frozen=True)
class ChaoShen(BiasCorrection):
    """Horvitz-Thompson estimator with the coverage 1 - f_1 / n, f_1 values seen once (Chao and Shen 2003)."""

    def entropy(self, counts: np.ndarray) -> float:
        n = counts.sum()
        single = int(np.sum(counts == 1))
        coverage = 1 - min(single, n - 1) / n  # all values seen once: as if one were not
        p = coverage * counts / n
        return float(-np.sum(p * np.log(p) / -np.expm1(n * np.log1p(-np.minimum(p, 1 - 1e-16)))))


@dataclass(frozen=True)
class NSB(BiasCorrection):
    """Posterior mean with a prior that is nearly uniform in the entropy (Nemenman, Shafee and Bialek 2002).

    A mixture of symmetric Dirichlet priors over K values. All terms are logarithms, and the integral over the
    concentration is centred at its peak, so that it works for any number of observations.

    Parameters
    ----------
    values : int or None
        How many values are possible; None: as many as were observed.
    """

    values: int | None = None

    def __post_init__(self) -> None:
        if self.values is not None:
            validate.whole("values", self.values)

    def entropy(self, counts: np.ndarray) -> float:
        from scipy.special import digamma, gammaln, polygamma

        size = len(counts) if self.values is None else self.values
        if size < len(counts):
            raise ValueError(f"values must be at least the {len(counts)} observed ones, got {size}")
        if size == 1:
            return 0.0
        n = counts.sum()
        levels, repeats = np.unique(counts, return_counts=True)
        logs = np.linspace(log(1e-6 / size), log(1e4 * max(n, size)), _GRID)
        beta = np.exp(logs)[:, None]
        total = size * beta[:, 0]
        evidence = gammaln(total) - gammaln(n + total)
        evidence += np.sum(repeats * (gammaln(levels + beta) - gammaln(beta)), axis=1)
        slope = size * polygamma(1, total + 1) - polygamma(
            1, beta[:, 0] + 1
        )  # d E[entropy] / d beta
        log_weights = evidence + np.log(np.maximum(slope, 1e-300)) + logs
        weights = np.exp(log_weights - log_weights.max())
        seen = np.sum(repeats * (levels + beta) * digamma(levels + beta + 1), axis=1)
        unseen = (size - len(counts)) * beta[:, 0] * digamma(beta[:, 0] + 1)
        means = digamma(n + total + 1) - (seen + unseen) / (n + total)
        return float(np.sum(weights * means) / np.sum(weights))


@dataclass(frozen=True)
class PlugIn(Estimator):
    """Estimator for discrete data: relative frequencies in place of probabilities.

    Rows are values; each distinct row is one. Sums over values replace integrals in every measure.
    Shannon's entropy, and with it mutual information, is corrected for bias if a `correction` is named:
    `MillerMadow()`, `Grassberger()`, `ChaoShen()` or `NSB()`.

    Examples
    --------
    >>> from mercer.info import entropy
    >>> round(entropy([1, 1, 2, 2], estimator=PlugIn()), 3)
    0.693
    >>> round(entropy([1, 1, 2, 2], estimator=PlugIn(MillerMadow())), 3)
    0.818
    """

    correction: BiasCorrection | None = None

    def __post_init__(self) -> None:
        if self.correction is not None:
            require_instance(
                "correction", self.correction, BiasCorrection, "MillerMadow(), or None"
            )

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        if y is None:
            shares = np.bincount(x.codes(), weights=x.weights)
            return FrequencyIntegrals(self, shares / shares.sum(), None, (_count(x), 0))
        same_columns(x, y)
        codes = joined_rows(x, y).codes()
        halves = (codes[: len(x)], codes[len(x) :])
        weights, size = (x.weights, y.weights), codes.max() + 1
        p, q = (np.bincount(c, w, size) for c, w in zip(halves, weights, strict=True))
        return FrequencyIntegrals(self, p / p.sum(), q / q.sum(), (_count(x), _count(y)))


class FrequencyIntegrals(RegionIntegrals):
    """Sums over the values of one or two discrete distributions, with corrected entropies."""

    def __init__(
        self, plug_in: PlugIn, p: np.ndarray, q: np.ndarray | None, counts: tuple[int, int]
    ) -> None:
        super().__init__(plug_in, p, q)
        self.plug_in, self.counts = plug_in, counts

    def log_p(self) -> float:
        if self.plug_in.correction is None:
            return super().log_p()
        if not self.counts[0]:
            raise ValueError(
                f"{self.plug_in!r} needs counts, got weighted observations: use PlugIn()"
            )
        return -self.plug_in.correction.entropy(np.rint(self.p[self.p > 0] * self.counts[0]))

    def swapped(self) -> FrequencyIntegrals:
        p, q = self.pair
        return FrequencyIntegrals(self.plug_in, q, p, (self.counts[1], self.counts[0]))


def _count(x: Sample) -> int:
    """Number of observations; zero if they are weighted."""
    return len(x) if x.weights is None else 0


def joined_rows(x: Sample, y: Sample) -> Sample:
    """The observations of both samples, without weights."""
    values = np.concatenate([to_numpy(x.values), to_numpy(y.values)])
    return Sample(values, x.categorical, f"{x.name} and {y.name}")


def product_sample(samples: Sequence[Sample]) -> Sample:
    """All combinations of the distinct rows of samples, weighted by the products of their shares."""
    levels = [np.unique(to_numpy(s.values), axis=0, return_counts=True) for s in samples]
    places = np.indices([len(counts) for _, counts in levels]).reshape(len(samples), -1)
    rows = [rows[at] for (rows, _), at in zip(levels, places, strict=True)]
    shares = [(c / c.sum())[at] for (_, c), at in zip(levels, places, strict=True)]
    flags = tuple(flag for s in samples for flag in s.categorical)
    return Sample(np.concatenate(rows, axis=1), flags, "the product", np.prod(shares, axis=0))


def _plain(counts: np.ndarray) -> float:
    p = counts / counts.sum()
    return float(-np.sum(p * np.log(p)))
