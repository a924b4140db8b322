"""Where a model fails: the evidence that one location would give, for every location of a map."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.gram.threads import spans
from mercer.htest.goodness.learn_stein_locations import _NULL
from mercer.htest.goodness.stein_features import stein_features
from mercer.htest.goodness.stein_sample import Sample
from mercer.kernels.prepare import read

_MOST = 2000  # observations that are looked at
_NUMBERS = 2_000_000  # of features that are held at a time


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence against a model that a test at one location v would give, as a function of v.

    The signal-to-noise ratio whose largest values `FSSD.optimized` looks for: FSSD^2 at v alone, in
    standard deviations for these observations (Jitkrittum et al. 2017, section 3 and figure 3).
    Around zero where nothing is to be seen.
    """

    sample: Sample

    @property
    def observations(self) -> np.ndarray:
        """The observations, in their own units: (n, d)."""
        return to_numpy(self.sample.observations)

    def __call__(self, places: Any) -> np.ndarray:
        """The evidence at some places: (m,)."""
        found, _ = read(self.sample.kernel.kernel, places, self.sample.columns, "places")
        validate.same_width(self.sample.points, found, ("x", "places"))
        v = self.sample.inner(to_numpy(found).astype(np.float64))
        some = self._some
        points = to_numpy(some.points)
        scores = to_numpy(some.kernel.score(some.points)).astype(np.float64, copy=False)
        profile, slope, _ = some.kernel.scored.form
        parts = []
        for rows in spans(len(v), max(_NUMBERS // points.size, 1)):
            made = stein_features(points, scores, v[rows], profile, slope)  # (n, m, d)
            parts.append(_ratio(made * np.sqrt(v[rows].size)))
        return np.concatenate(parts)

    @property
    def _some(self) -> Sample:
        n = len(self.sample)
        if n <= _MOST:
            return self.sample
        return self.sample.some(np.linspace(0, n - 1, _MOST).astype(np.int64))


def _ratio(features: np.ndarray) -> np.ndarray:
    """sqrt(n) times the criterion of `search.Ratio` at every location by itself: (m,).

    It needs the mean m of the features and the mean P of their products alone: mean c_i^2 = m'Pm.
    """
    n, _, d = features.shape
    by_place = features.transpose(1, 0, 2) / np.sqrt(d)
    mean = by_place.mean(axis=1)  # (m, d)
    products = by_place.transpose(0, 2, 1) @ by_place / n  # (m, d, d)
    m2 = np.sum(mean**2, axis=1)
    top = (n * m2 - np.trace(products, axis1=1, axis2=2)) / (n - 1)
    spread = 4 * np.maximum(np.einsum("mi,mij,mj->m", mean, products, mean) - m2**2, 0.0)
    variance = spread + _NULL * np.sum(products**2, axis=(1, 2)) / n
    known = variance > 0
    return np.where(known, np.sqrt(n) * top / np.sqrt(np.where(known, variance, 1.0)), 0.0)


def log_density_of(model: Any) -> Callable[[np.ndarray], np.ndarray] | None:
    """The logarithm of a model's density, perhaps up to a constant; None where it has none."""
    names = ("log_density", "logpdf", "score_samples")
    found = next((f for f in (getattr(model, name, None) for name in names) if callable(f)), None)
    if found is None:
        return None

    def log_density(x: np.ndarray) -> np.ndarray:
        given = x.T if hasattr(model, "dataset") else x  # gaussian_kde has points as columns
        values = np.asarray(to_numpy(found(given)), dtype=np.float64)
        return values.reshape(len(x), -1).sum(axis=1)  # of coordinates that are independent

    return log_density
