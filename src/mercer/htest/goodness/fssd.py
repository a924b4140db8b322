"""The finite set Stein discrepancy: a model and observations compared at a few locations, in linear time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import array_like, to_numpy
from mercer.htest.feature_tests import (
    SEED,
    WithArrays,
    frozen,
    number_or_points,
)
from mercer.htest.goodness.against_draws import drawn as drawn_from
from mercer.htest.goodness.against_draws import sampler_of
from mercer.htest.goodness.goodness_result import GoodnessResult, goodness_result
from mercer.htest.goodness.learn_stein_locations import best_locations, drawn
from mercer.htest.goodness.model_null import ModelDraws
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_features import FeatureMoments
from mercer.htest.goodness.stein_sample import Sample, sample_of
from mercer.htest.nulls import Null, Spectrum
from mercer.htest.weighted_chi2 import WeightedChi2
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import read
from mercer.kernels.stein import Stein

_LEAST = 4  # observations


@dataclass(frozen=True, eq=False, repr=False)
class FSSD(WithArrays):
    """Do observations come from a model? By Stein features at a few locations, in linear time.

    FSSD^2 = 1/(dJ) sum_j |E xi(X, v_j)|^2 with xi(x, v) = s(x) k(x, v) + grad_x k(x, v), in its
    unbiased estimate, which may be negative (Jitkrittum et al. 2017). For analytic kernels such
    as RBF and InverseMultiquadric, and locations drawn from a distribution with a density, it is
    with probability one zero only for the model itself. Random locations may sit where nothing is
    to be seen: `FSSD.optimized` learns them, and they tell where the model does not fit.

    Parameters
    ----------
    model : distribution or function
        As in `KSD`: whatever has a score.
    kernel : Kernel or None
        A smooth function of the distance. None: InverseMultiquadric at the median distance.
    locations : int or points (J, d)
        A number: so many draws from a Gaussian fitted to the observations, with the rng of `test`,
        and in `statistic` always with seed 0. The result's `test.locations` are those that were used.
    null : WeightedChi2, Spectrum, ModelDraws or None
        The limit of the statistic, with the covariance of the observed features by its formula,
        or drawn; or with that of the features of draws from the model. None: `WeightedChi2`.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).laplace(scale=0.5**0.5, size=(2000, 2))
    >>> model = Gaussian([0.0, 0.0], 1.0)  # of the same mean and variance
    >>> test = FSSD.optimized(model, x[:600], locations=2, rng=0)
    >>> test.test(x[600:]).rejects(), test.locations.shape
    (True, (2, 2))
    """

    model: Any
    kernel: Kernel | None = None
    locations: Any = field(default=5, kw_only=True)
    null: Null | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        model = model_of(self.model)
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")
            _ = Stein(self.kernel, model.score).scored.form  # refused where it is not smooth enough
        if not isinstance(self.null, WeightedChi2 | Spectrum | ModelDraws | None):
            raise TypeError(
                f"null must be WeightedChi2(), Spectrum(), ModelDraws() or None, got {self.null!r}"
            )
        if isinstance(self.null, ModelDraws):
            sampler_of(self.model)  # refused here where it cannot be drawn from
        object.__setattr__(self, "locations", number_or_points("locations", self.locations))

    @classmethod
    def optimized(
        cls,
        model: Any,
        x: Any,
        *,
        kernel: Kernel | None = None,
        locations: int = 5,
        rng: Any = None,
    ) -> FSSD:
        """A test whose locations and bandwidth give these observations the most power.

        What is made large is the statistic divided by its standard deviation (Jitkrittum et al. 2017,
        section 3), that under the model included, in as many steps as make it larger on
        observations that the steps have not seen: in many dimensions few observations are soon learnt
        by heart. Where they show nothing so, locations are random and the kernel is wide, and the test
        is one of the mean of the score, unless a smaller width sees clearly more. Hand the new test
        other observations than these, or its p-values are too small: a fifth or half of the data for
        this, the rest for the test. In ten dimensions and more use RBF: an inverse multiquadric, which
        falls off slowly, sees there little but the mean.

        Parameters
        ----------
        model : distribution or function
        x : points
        kernel : Kernel or None
            A smooth function of the distance, whose width is learnt too. None: RBF.
        locations : int
        rng : int, Generator or None
            Draws where the search begins.
        """
        validate.whole("locations", locations)
        sample = sample_of(model_of(model), kernel, x, _LEAST)
        learnt, places = best_locations(sample, kernel, locations, validate.generator(rng))
        return cls(model, learnt, locations=_outer(sample, places))

    def statistic(self, x: Any) -> float:
        """FSSD^2; locations that are left open are drawn with seed 0."""
        return self._evidence(x, validate.generator(SEED))[0].moments.observed

    def unitless(self, x: Any) -> np.ndarray:
        """FSSD^2 over the mean of |xi(x_i, v)|^2, which has no unit; locations as in `statistic`: (1,)."""
        moments = self._evidence(x, validate.generator(SEED))[0].moments
        own = float(np.trace(moments.products))
        return np.array([moments.observed / own if own > 0 else 0.0], dtype=np.float64)

    def test(self, x: Any, *, rng: Any = None) -> GoodnessResult:
        """The statistic and its p-value; `result.test` is this test with what was drawn."""
        rng = validate.generator(rng)
        evidence, used = self._evidence(x, rng)
        judgement = (self.null or WeightedChi2()).judge(evidence, rng)
        return goodness_result(used, evidence.sample, evidence.moments.observed, judgement)

    def _evidence(self, x: Any, rng: np.random.Generator) -> tuple[_Evidence, FSSD]:
        """What the nulls ask, and this test with everything fixed."""
        sample = sample_of(model_of(self.model), self.kernel, x, _LEAST)
        if isinstance(self.locations, int):
            chosen = drawn(to_numpy(sample.points), self.locations, rng)
        else:
            chosen = _read(sample, self.locations)
        used = replace(self, kernel=sample.kernel.kernel, locations=frozen(_outer(sample, chosen)))
        return _Evidence(self.model, sample, chosen), used


class _Evidence:
    """Stein features of a sample at locations, and what nulls ask about them."""

    def __init__(self, model: Any, sample: Sample, locations: np.ndarray) -> None:
        self.model, self.sample, self.locations = model, sample, locations

    @cached_property
    def moments(self) -> FeatureMoments:
        """Of the observed features."""
        return self._moments(self.sample.points)

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The statistic, and its limit by the observed features."""
        return self.moments.spectrum(rank)

    def of_draws(self, draws: int, rng: np.random.Generator) -> FeatureMoments:
        """The statistic, and its limit by the features of draws from the model."""
        points = array_like(drawn_from(self.model, draws, rng), self.sample.points)
        chart = self.sample.chart
        points = points if chart is None else chart.coordinates(points, "draws from the model")
        found = self._moments(points)
        return replace(found, n=self.moments.n, judged=self.moments.observed)

    def _moments(self, points: Any) -> FeatureMoments:
        kernel = self.sample.kernel
        scores = to_numpy(kernel.score(points)).astype(np.float64, copy=False)
        profile, slope, _ = kernel.scored.form
        return FeatureMoments.of(to_numpy(points), scores, self.locations, profile, slope)


def _outer(sample: Sample, places: np.ndarray) -> np.ndarray:
    """Locations among the observations, of locations that the kernel compares with."""
    return places if sample.chart is None else sample.chart.points(places)


def _read(sample: Sample, locations: Any) -> np.ndarray:
    """Locations with the columns of the sample, as the kernel compares with them."""
    found, _ = read(sample.kernel.kernel, locations, sample.columns, "locations")
    validate.same_width(sample.points, found, ("x", "locations"))
    places = to_numpy(found).astype(np.float64)
    return places if sample.chart is None else sample.chart.coordinates(places, "locations")
