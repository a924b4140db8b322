"""Mean embeddings of bags by explicit features, in time linear in the number of points."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from mercer import validate
from mercer.backend import to_numpy
from mercer.config import settings
from mercer.features import RandomFourier
from mercer.features.kernel_estimator import KernelEstimator
from mercer.features.random_state import generator
from mercer.rkhs import Bags
from mercer.rkhs.embeddings.as_bags import as_bags

_MAX_FIT_POINTS = 10_000  # on which the feature map is fitted; drawn at random from more


class MeanFeatures(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Bags as vectors: the mean of a feature map over the points of each bag.

    With a map whose inner products are about k, those of the means are about `MeanMap` of k, and a
    linear learner on them does what a kernel machine on bags does, in time linear in all points.

    Parameters
    ----------
    map : transformer or None
        Anything with `fit` and `transform` for points, such as ``RandomFourier(RBF(1.0), 500)`` or
        `Nystrom`. None: ``RandomFourier()``, at the median distance of the points.
    draws : int
        Number of points drawn from each known distribution (`Gaussian`, `Mixture`, `Uniform`).
    random_state : int, Generator, RandomState or None
        For these draws, and for the points that the map is fitted on, where there are more than
        10,000.

    Attributes
    ----------
    map_ : the fitted map

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn.pipeline import make_pipeline
    >>> rng = np.random.default_rng(0)
    >>> spread = rng.uniform(0.5, 2.0, size=200)
    >>> bags = [rng.normal(0.0, s, size=(50, 1)) for s in spread]
    >>> line = make_pipeline(MeanFeatures(random_state=0), RidgeCV(np.logspace(-5, 1, 7)))
    >>> error = line.fit(bags[:150], spread[:150]).predict(bags[150:]) - spread[150:]
    >>> float(np.sqrt(np.mean(error**2))) < 0.15
    True
    """

    def __init__(self, map: Any = None, *, draws: int = 1000, random_state: Any = None) -> None:
        self.map = map
        self.draws = draws
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the map to the points of all bags, or to a random subset."""
        validate.whole("draws", self.draws)
        rng = generator(self.random_state)
        fitted_on, self._seed = rng.integers(2**31, size=2).tolist()
        bags = as_bags(self._numbers(X, reset=True), draws=self.draws, rng=fitted_on)
        points = to_numpy(bags.values)
        if len(points) > _MAX_FIT_POINTS:
            points = points[np.sort(rng.choice(len(points), _MAX_FIT_POINTS, replace=False))]
        default = RandomFourier(random_state=int(rng.integers(2**31)))
        fresh: Any = default if self.map is None else clone(self.map)
        self.map_ = fresh.fit(points)
        self.n_features_in_ = int(bags.values.shape[1])
        self._n_features_out = self._means(bags[:1]).shape[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Mean features of every bag: (n, k)."""
        check_is_fitted(self)
        bags = as_bags(self._numbers(X, reset=False), draws=self.draws, rng=self._seed)
        if bags.values.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {bags.values.shape[1]} features, but MeanFeatures is expecting "
                f"{self.n_features_in_} features as input"
            )
        rows = max(settings().memory // 8 // (16 * self._n_features_out), 1)
        out = np.empty((len(bags), self._n_features_out), dtype=np.float64)
        first = 0
        while first < len(bags):  # as many bags as there is room for, one at least
            reach = bags.offsets[first] + rows
            last = max(int(np.searchsorted(bags.offsets, reach, side="right")) - 1, first + 1)
            out[first:last] = self._means(bags[first:last])
            first = last
        return out

    def _means(self, bags: Bags) -> np.ndarray:
        return bags.means(self.map_.transform(bags.values))
