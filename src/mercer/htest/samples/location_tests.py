"""Base classes of two-sample tests on mean features, and on kernel values at a few locations."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial, reduce
from typing import Any, ClassVar, Self

import numpy as np

from mercer import validate
from mercer.backend import array_like, count, take_rows, to_numpy
from mercer.gram.stream_sums import MIN_ROWS_TO_HASH, drawn_by_hash
from mercer.gram.threads import spans
from mercer.htest.feature_tests import (
    SEED,
    WithArrays,
    asymptotic_or_permuted,
    check_permutable,
    different,
    features,
    frozen,
    is_real,
    number_or_points,
)
from mercer.htest.nulls import Null
from mercer.htest.samples.mean_difference import NormalizedEvidence, SquaredEvidence
from mercer.htest.samples.pooled_sample import Pooled, pool
from mercer.htest.samples.streamed_samples import (
    FromMoments,
    LocationFeatures,
    StreamedNormalized,
    StreamedSquared,
    streamed_samples,
)
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import prepare, read
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.sample_rows import is_plain, joined
from mercer.row_streams import RowStream, streamed

Evidence = NormalizedEvidence | SquaredEvidence | StreamedNormalized | StreamedSquared
_STREAMED = {NormalizedEvidence: StreamedNormalized, SquaredEvidence: StreamedSquared}


class FeatureTest(WithArrays):
    """Two-sample test on mean features; it selects a valid null, and its result keeps the drawn parameters."""

    asymptotic: ClassVar[Null]  # the null that holds for large samples

    @property
    def reads_parts(self) -> bool:
        """Samples that are not in memory are read part by part, whatever the null distribution."""
        return True

    @abstractmethod
    def _evidence(self, x: Any, y: Any, rng: np.random.Generator) -> tuple[Evidence, Pooled, Self]:
        """Evidence, pooled sample, and this test with all parameters fixed."""

    def statistic(self, x: Any, y: Any) -> float:
        """The statistic; unspecified parameters are drawn with seed 0."""
        return self._evidence(x, y, validate.generator(SEED))[0].observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The statistic and its p-value; `result.test` is this test with the drawn parameters."""
        rng = validate.generator(rng)
        evidence, pooled, used = self._evidence(x, y, rng)
        null, notes = asymptotic_or_permuted(
            self.null, self.asymptotic, evidence.effective, evidence.degrees
        )
        if self.null is None:
            check_permutable(null, evidence, evidence.effective, "MMDAgg(landmarks=100)")
        judgement = null.judge(evidence, rng)
        rows = evidence.sizes if isinstance(evidence, FromMoments) else None
        return two_sample_result(used, pooled, evidence.observed, judgement, notes, rows=rows)


class LocationTest(FeatureTest):
    """A test whose features are kernel values k(x, v_j) at a few locations v_j."""

    kind: ClassVar[type[NormalizedEvidence] | type[SquaredEvidence]]
    kernel: Kernel | None
    locations: Any

    def __post_init__(self) -> None:
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")
        self._check_null()
        object.__setattr__(self, "locations", number_or_points("locations", self.locations))

    def _evidence(self, x: Any, y: Any, rng: np.random.Generator) -> tuple[Evidence, Pooled, Self]:
        """Evidence from features at the original points: `pool` may shift them, and k may depend on that."""
        streams = streamed(x, y)
        if streams is not None:
            return self._streamed_evidence(streams, rng)
        pooled = pool(self.kernel, x, y)
        x, y = (s.points if isinstance(s, Empirical) else s for s in (x, y))
        kernel = pooled.kernel
        plain = is_plain(x) and is_plain(y)
        if not plain:
            kernel, x, y = prepare(kernel, x, y)
        points = np.concatenate([x, y]) if plain else joined(x, y)
        locations, shown = _chosen(self.locations, kernel, pooled, points, rng)
        samples = (points,) if plain else (x, y)
        parts = [features(kernel, sample, locations) for sample in samples]
        z = parts[0] if plain else np.concatenate(parts)
        used = self._fixed_at(kernel=self.kernel or pooled.kernel, locations=shown)
        return self.kind(z, pooled.n, pooled.weights), pooled, used

    def _streamed_evidence(
        self, streams: tuple[RowStream, ...], rng: np.random.Generator
    ) -> tuple[Evidence, Pooled, Self]:
        """The same for samples that are read part by part."""
        samples = streamed_samples(self.kernel, streams)
        pooled, kernel = samples.pooled, samples.kernel
        if isinstance(self.locations, int):
            locations = samples.drawn(self.locations, rng)
            shown = frozen(locations)
        else:
            locations, shown = _chosen(self.locations, kernel, pooled, samples.sampled_points, rng)
        work = partial(LocationFeatures, kernel=kernel, locations=locations)
        evidence = _STREAMED[self.kind](samples.moments(work, count(locations)))
        used = self._fixed_at(kernel=self.kernel or kernel, locations=shown)
        return evidence, pooled, used


def _chosen(
    locations: Any, kernel: Kernel, pooled: Pooled, points: Points, rng: np.random.Generator
) -> tuple[Points, Any]:
    """The locations as points of the kernel, and as the test shows them."""
    if isinstance(locations, int):
        points_used = drawn(points, locations, rng)
        return points_used, frozen(points_used) if is_real(points_used) else points_used
    points_used, _ = read(kernel, locations, pooled.columns, "locations")
    if is_real(points) and is_real(points_used):
        validate.same_width(points, points_used, ("x", "locations"))
        points_used = array_like(points_used, points)
    return points_used, locations


def drawn(points: Points, number: int, rng: np.random.Generator) -> Points:
    """Some of the points, all different where there are enough; their order does not matter."""
    if is_real(points) and count(points) >= MIN_ROWS_TO_HASH:
        chunks = (to_numpy(take_rows(points, r)) for r in spans(count(points), MIN_ROWS_TO_HASH))
        return array_like(drawn_by_hash(chunks, number, int(rng.integers(2**63))), points)
    order = different(points)
    subset = rng.choice(len(order), min(number, len(order)), replace=False, shuffle=False)
    if is_plain(points):
        return points[order[np.sort(subset)]]
    rows = [slice(int(i), int(i) + 1) for i in order[np.sort(subset)]]
    return reduce(joined, (take_rows(points, r) for r in rows))
