"""Evidence against a model at single locations, for maps of where it does not fit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.gram.threads import spans
from mercer.htest.goodness.learn_stein_locations import NULL_VARIANCE_FACTOR
from mercer.htest.goodness.stein_features import stein_features
from mercer.htest.goodness.stein_sample import SteinSample
from mercer.kernels.prepare import read

_MAX_OBSERVATIONS = 2000  # a subsample beyond; a map hardly changes with more
_MAX_FEATURE_VALUES = 2_000_000  # in memory at a time: 16 MB


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence against a model of a test at a single location v, as a function of v.

    The evidence is the signal-to-noise ratio that `FSSD.optimized` maximizes: FSSD^2 at v alone in
    units of its standard deviation (Jitkrittum et al. 2017, section 3 and figure 3). It is close to
    zero where the model fits.
    """

    sample: SteinSample

    @property
    def observations(self) -> np.ndarray:
        """The observations in original units: (n, d)."""
        return to_numpy(self.sample.observations)

    def __call__(self, places: Any) -> np.ndarray:
        """The evidence at these locations: (m,)."""
        locations, _ = read(self.sample.kernel.kernel, places, self.sample.columns, "places")
        validate.same_width(self.sample.points, locations, ("x", "places"))
        v = self.sample.inner(to_numpy(locations).astype(np.float64))
        sample = self._subsample
        points = to_numpy(sample.points)
        scores = to_numpy(sample.kernel.score(sample.points)).astype(np.float64, copy=False)
        profile, slope, _ = sample.kernel.scored.form
        ratios = []
        for rows in spans(len(v), max(_MAX_FEATURE_VALUES // points.size, 1)):
            features = stein_features(points, scores, v[rows], profile, slope)  # (n, m, d)
            ratios.append(_ratio(features * np.sqrt(v[rows].size)))
        return np.concatenate(ratios)

    @property
    def _subsample(self) -> SteinSample:
        n = len(self.sample)
        if n <= _MAX_OBSERVATIONS:
            return self.sample
        return self.sample.subset(np.linspace(0, n - 1, _MAX_OBSERVATIONS).astype(np.int64))


def _ratio(features: np.ndarray) -> np.ndarray:
    """sqrt(n) times the criterion `learn_stein_locations.Ratio` of every single location: (m,).

    It needs only the mean m of the features and the mean P of their products: mean c_i^2 = m'Pm.
    """
    n, _, d = features.shape
    by_location = features.transpose(1, 0, 2) / np.sqrt(d)
    mean = by_location.mean(axis=1)  # (m, d)
    products = by_location.transpose(0, 2, 1) @ by_location / n  # (m, d, d)
    m2 = np.sum(mean**2, axis=1)
    statistic = (n * m2 - np.trace(products, axis1=1, axis2=2)) / (n - 1)
    spread = 4 * np.maximum(np.einsum("mi,mij,mj->m", mean, products, mean) - m2**2, 0.0)
    variance = spread + NULL_VARIANCE_FACTOR * np.sum(products**2, axis=(1, 2)) / n
    positive = variance > 0
    deviations = np.sqrt(np.where(positive, variance, 1.0))
    return np.where(positive, np.sqrt(n) * statistic / deviations, 0.0)


def log_density_of(model: Any) -> Callable[[np.ndarray], np.ndarray] | None:
    """The log-density of a model, up to an additive constant; None if it has none."""
    if hasattr(model, "feature_names_in_"):
        model = copy.copy(model)
        del model.feature_names_in_  # points have no names here, of which scikit-learn would warn
    names = ("log_density", "logpdf", "score_samples")
    methods = (getattr(model, name, None) for name in names)
    method = next((m for m in methods if callable(m)), None)
    if method is None:
        return None

    def log_density(x: np.ndarray) -> np.ndarray:
        argument = x.T if hasattr(model, "dataset") else x  # gaussian_kde has points as columns
        values = np.asarray(to_numpy(method(argument)), dtype=np.float64)
        return values.reshape(len(x), -1).sum(axis=1)  # over independent coordinates

    return log_density
