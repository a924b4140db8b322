"""Goodness-of-fit test by the finite set Stein discrepancy, in linear time."""

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
from mercer.htest.goodness.against_draws import drawn, sampler_of
from mercer.htest.goodness.goodness_result import GoodnessResult, goodness_result
from mercer.htest.goodness.learn_stein_locations import best_locations, random_locations
from mercer.htest.goodness.model_null import ModelDraws
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_chain import chain_forms
from mercer.htest.goodness.stein_features import SteinMoments, feature_chunks
from mercer.htest.goodness.stein_sample import MIN_OBSERVATIONS, SteinSample, sample_of
from mercer.htest.goodness.streamed_stein import StreamedSteinEvidence, streamed_stein
from mercer.htest.nulls import Null, Spectrum, WildBootstrap
from mercer.htest.slow_contrasts import SlowContrasts, SlowForms, slow_forms
from mercer.htest.weighted_chi2 import WeightedChi2
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import read
from mercer.kernels.smooth import Profile
from mercer.kernels.stein import Stein
from mercer.row_streams import RowStream, streamed


@dataclass(frozen=True, eq=False, repr=False)
class FSSD(WithArrays):
    """Goodness-of-fit test by Stein features at a few locations, in linear time.

    The statistic is the unbiased estimate of FSSD^2 = 1/(dJ) sum_j |E xi(X, v_j)|^2 with
    xi(x, v) = s(x) k(x, v) + grad_x k(x, v); it may be negative (Jitkrittum et al. 2017). For analytic
    kernels such as RBF and InverseMultiquadric, and locations drawn from a distribution with a
    density, FSSD is almost surely zero only if the model is right. Random locations may miss the
    misfit: `FSSD.optimized` learns locations, and they show where the model does not fit.

    Parameters
    ----------
    model : distribution or function
        Anything that has a score: see `KSD`.
    kernel : Kernel or None
        A smooth radial kernel. None: InverseMultiquadric with the median distance as bandwidth.
    locations : int or points (J, d)
        Locations, or their number: they are then drawn from a Gaussian fitted to the observations,
        with the rng of `test` (`statistic` uses seed 0), and stored in `result.test.locations`.
    null : WeightedChi2, Spectrum, ModelDraws, WildBootstrap(block=None) or None
        The limiting distribution of the statistic: with the covariance of the observed features,
        analytic (`WeightedChi2`, the default) or simulated (`Spectrum`), or with the covariance of
        features of draws from the model (`ModelDraws`). `WildBootstrap(block=None)` is for Markov chains and other series,
        as in `KSD`; `optimized` must then learn from another chain.

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
            _ = Stein(
                self.kernel, model.score
            ).scored.form  # raises if the kernel is not smooth enough
        series = isinstance(self.null, WildBootstrap) and self.null.block is None
        if not (series or isinstance(self.null, WeightedChi2 | Spectrum | ModelDraws | None)):
            raise TypeError(
                "null must be WeightedChi2(), Spectrum(), ModelDraws(), for series WildBootstrap(block=None), or None, "
                f"got {self.null!r}"
            )
        if isinstance(self.null, ModelDraws):
            sampler_of(self.model)  # raises if the model cannot be sampled
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
        """A test with locations and bandwidth that maximize the power for these observations.

        The objective is the statistic divided by its standard deviation (Jitkrittum et al. 2017,
        section 3), including the one under the model. The number of steps is chosen by validation on
        the other half of the observations, because in high dimension the search overfits small
        samples. If validation shows no gain, the locations are random and the bandwidth is large, so
        that the test is one of the mean score, unless a smaller bandwidth is clearly better. Apply the
        test to other observations than these, or its p-values are too small: use a fifth or half of
        the data here and the others for the test. From ten dimensions on use RBF: an inverse
        multiquadric decays slowly and detects little but the mean there.

        Parameters
        ----------
        model : distribution or function
        x : points
        kernel : Kernel or None
            A smooth radial kernel, whose bandwidth is learnt, too. None: RBF.
        locations : int
        rng : int, Generator or None
            Random numbers for the starting points.
        """
        validate.whole("locations", locations)
        sample = sample_of(model_of(model), kernel, x, MIN_OBSERVATIONS)
        learnt, best = best_locations(sample, kernel, locations, validate.generator(rng))
        return cls(model, learnt, locations=_outer(sample, best))

    @property
    def reads_parts(self) -> bool:
        """Samples that are not in memory are read part by part, whatever the null distribution."""
        return True

    def statistic(self, x: Any) -> float:
        """The unbiased estimate of FSSD^2; if locations are random, they are drawn with seed 0."""
        return self._evidence(x, validate.generator(SEED))[0].moments.observed

    def unitless(self, x: Any) -> np.ndarray:
        """FSSD^2 divided by the mean of |xi(x_i, v)|^2; locations as in `statistic`: (1,)."""
        moments = self._evidence(x, validate.generator(SEED))[0].moments
        power = float(np.trace(moments.products))
        return np.array([moments.observed / power if power > 0 else 0.0], dtype=np.float64)

    def test(self, x: Any, *, rng: Any = None) -> GoodnessResult:
        """The statistic and its p-value; `result.test` is this test with its kernel and locations."""
        rng = validate.generator(rng)
        evidence, used = self._evidence(x, rng)
        judgement = (self.null or WeightedChi2()).judge(evidence, rng)
        observed = evidence.moments.observed
        rows = evidence.moments.n if isinstance(evidence, StreamedSteinEvidence) else None
        return goodness_result(used, evidence.sample, observed, judgement, rows=rows)

    def _evidence(
        self, x: Any, rng: np.random.Generator
    ) -> tuple[SteinFeatureEvidence | StreamedSteinEvidence, FSSD]:
        """The evidence for the null, and this test with its kernel and locations."""
        streams = streamed(x)
        if streams is not None:
            return self._streamed_evidence(streams[0], rng)
        sample = sample_of(model_of(self.model), self.kernel, x, MIN_OBSERVATIONS)
        if isinstance(self.locations, int):
            locations = random_locations(to_numpy(sample.points), self.locations, rng)
        else:
            locations = _read(sample, self.locations)
        return SteinFeatureEvidence(self.model, sample, locations), self._used(sample, locations)

    def _streamed_evidence(
        self, stream: RowStream, rng: np.random.Generator
    ) -> tuple[StreamedSteinEvidence, FSSD]:
        """The same for observations that are read part by part."""
        stein = streamed_stein(model_of(self.model), self.kernel, stream)
        if isinstance(self.locations, int):
            locations = stein.random_locations(self.locations, rng)
        else:
            locations = _read(stein.sample, self.locations)
        in_memory = SteinFeatureEvidence(self.model, stein.sample, locations)
        used = self._used(stein.sample, locations)
        return StreamedSteinEvidence(stein, locations, in_memory), used

    def _used(self, sample: SteinSample, locations: np.ndarray) -> FSSD:
        """The test with its kernel and locations."""
        outer = frozen(_outer(sample, locations))
        return replace(self, kernel=sample.kernel.kernel, locations=outer)


@dataclass(frozen=True, eq=False)
class SteinFeatureEvidence:
    """Stein features of a sample at locations, for the nulls `WeightedChi2`, `Spectrum` and `ModelDraws`."""

    model: Any
    sample: SteinSample
    locations: np.ndarray

    @cached_property
    def moments(self) -> SteinMoments:
        """Moments of the observed features."""
        return self._moments(self.sample.points)

    def spectrum(self, rank: int) -> tuple[float, np.ndarray, float]:
        """The statistic, and its limit with the covariance of the observed features."""
        return self.moments.spectrum(rank)

    def of_draws(
        self, draws: int, rng: np.random.Generator, observed: SteinMoments | None = None
    ) -> SteinMoments:
        """The statistic, and its limit with the covariance of features of draws from the model."""
        observed = self.moments if observed is None else observed
        points = array_like(drawn(self.model, draws, rng), self.sample.points)
        chart = self.sample.chart
        points = points if chart is None else chart.coordinates(points, "draws from the model")
        under_model = self._moments(points)
        return replace(under_model, n=observed.n, judged=observed.observed)

    def slow_forms(self) -> SlowForms:
        """|mean xi|^2, and its values at the slowest cosines of a chain; two passes over the features."""
        n = len(self.sample)
        contrasts = SlowContrasts.of(np.ones(n, dtype=np.float64), (n,))
        sums = np.zeros((self.locations.size, contrasts.weights.shape[1]), dtype=np.float64)
        for rows, features in feature_chunks(*self._feature_arguments(self.sample.points)):
            sums += features.T @ contrasts.weights[rows]
        chunks = feature_chunks(*self._feature_arguments(self.sample.points))
        products = np.concatenate([features @ sums for _, features in chunks])
        return chain_forms(slow_forms(contrasts, products)).scaled(1 / n)

    def _moments(self, points: Any) -> SteinMoments:
        return SteinMoments.of(*self._feature_arguments(points))

    def _feature_arguments(
        self, points: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Profile, Profile]:
        """The arguments of `stein_features` at some points."""
        kernel = self.sample.kernel
        scores = to_numpy(kernel.score(points)).astype(np.float64, copy=False)
        profile, slope, _ = kernel.scored.form
        return to_numpy(points), scores, self.locations, profile, slope


def _outer(sample: SteinSample, places: np.ndarray) -> np.ndarray:
    """Locations in the space of the observations, from arguments of the kernel."""
    return places if sample.chart is None else sample.chart.points(places)


def _read(sample: SteinSample, locations: Any) -> np.ndarray:
    """Locations handed in by the user, checked, as arguments of the kernel."""
    checked, _ = read(sample.kernel.kernel, locations, sample.columns, "locations")
    validate.same_width(sample.points, checked, ("x", "locations"))
    places = to_numpy(checked).astype(np.float64)
    return places if sample.chart is None else sample.chart.coordinates(places, "locations")
