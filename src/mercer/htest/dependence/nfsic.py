"""NFSIC, the normalized finite set independence criterion: a linear-time test at a few pairs of locations."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import array_like, count, take_rows, to_numpy
from mercer.gram.stream_sums import MIN_ROWS_TO_HASH, drawn_by_hash
from mercer.gram.threads import spans
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.fourier_features import check_affordable
from mercer.htest.dependence.fsic import FeatureCovarianceEvidence, FSICEvidence
from mercer.htest.dependence.learn_location_pairs import optimal_location_pairs
from mercer.htest.dependence.streamed_fsic import StreamedFSIC, streamed_fsic
from mercer.htest.dependence.streamed_variables import streamed_variables
from mercer.htest.feature_tests import (
    MIN_OBSERVATIONS_FOR_ASYMPTOTICS,
    SEED,
    WithArrays,
    asymptotic_or_permuted,
    check_permutable,
    different,
    features,
    frozen,
    given_points,
    is_number,
    is_real,
)
from mercer.htest.nulls import Chi2, Null, Permutation
from mercer.htest.weighted_chi2 import WeightedChi2
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import read
from mercer.rkhs.paired_samples import Variable, check_kernels, variables
from mercer.rkhs.sample_rows import taken
from mercer.row_streams import RowStream, streamed

_FEATURE_COPIES = 4  # of the features in memory at the same time
# Observations near each location, and for each feature, from which on the chi-square null holds its level.
_MIN_EFFECTIVE_OBSERVATIONS = 20
_OBSERVATIONS_PER_FEATURE = 100


@dataclass(frozen=True, eq=False, repr=False)
class NFSIC(WithArrays):
    """Independence test by covariances of kernel values at a few pairs of locations, in linear time.

    With u_j the covariance of k(x, v_j) and l(y, w_j) over the observations and S the covariance
    of the products whose means they are, the statistic is n u' (S + ridge I)^-1 u (Jitkrittum et al.
    2017). It costs O(nJ) kernel values. For analytic and characteristic kernels such as RBF and
    locations drawn from a distribution with a density, the test is consistent with probability
    one. Random locations may miss the dependence: `NFSIC.optimized` learns them, and learnt locations
    show where the dependence is.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of the variable itself; for data frames `default_kernel`.
    locations : int or pair of points (J, dx), (J, dy)
        An int: the number of pairs of a point of x and a point of y, drawn independently of each
        other with the rng of `test`, in `statistic` with seed 0. The `test.locations` of the result
        are those that were used.
    ridge : float
        Added to the variances. 0: constant directions are dropped instead.
    null : Chi2, WeightedChi2, Permutation or None
        The chi-square null needs 500 observations (with more than 5 locations, 100 for each), of which
        about twenty are near every location; with narrow kernels, such as learnt ones, there may be
        fewer. With a ridge the null is a weighted sum of chi-squares; the chi-square of the paper
        then rejects too rarely. None: the asymptotic null where it holds, else 999 permutations.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 2))
    >>> y = x[:, 0] ** 2 + rng.normal(size=1000)
    >>> result = NFSIC(locations=3).test(x, y, rng=0)
    >>> result.rejects(), result.test.locations[0].shape, result.test.locations[1].shape
    (True, (3, 2), (3, 1))
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    locations: Any = field(default=5, kw_only=True)
    ridge: float = field(default=0.0, kw_only=True)
    null: Null | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_kernels(kernel_x=self.kernel_x, kernel_y=self.kernel_y)
        validate.non_negative("ridge", self.ridge)
        self._check_null()
        object.__setattr__(self, "locations", _number_or_pair(self.locations))

    @classmethod
    def optimized(
        cls,
        x: Any,
        y: Any,
        *,
        kernel_x: Kernel | None = None,
        kernel_y: Kernel | None = None,
        locations: int = 5,
        rng: Any = None,
    ) -> NFSIC:
        """A test whose locations and bandwidths maximise a proxy of its power on these observations.

        The proxy is n u' M^-1 u, the statistic with M in place of S: a weighted mean of S and of its
        value under independence, the product of the covariances of both features. With S alone, as in
        the paper (Jitkrittum et al. 2017), the search on few observations ends in gaps of the
        sample. Apply the new test to other observations, or its p-values are too small: use half
        of the data for the search and half for the test.

        Parameters
        ----------
        x, y : variables
            Arrays, tensors or data frames of numbers.
        kernel_x, kernel_y : Kernel or None
            Smooth radial kernels, whose bandwidths are learnt too. None: RBF.
        locations : int
        rng : int, Generator or None
            Draws the starting points of the search.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(1200, 3))
        >>> y = np.sin(4 * x[:, 0]) + 0.5 * rng.normal(size=1200)
        >>> test = NFSIC.optimized(x[:600], y[:600], locations=1, rng=0)
        >>> test.test(x[600:], y[600:]).rejects(0.01)
        True
        """
        check_kernels(kernel_x=kernel_x, kernel_y=kernel_y)
        learnt_x, learnt_y, v, w = optimal_location_pairs(
            (kernel_x, kernel_y), x, y, locations, rng
        )
        return cls(learnt_x, learnt_y, locations=(v, w))

    @property
    def reads_parts(self) -> bool:
        """Samples that are not in memory are read part by part, whatever the null distribution."""
        return True

    def statistic(self, x: Any, y: Any) -> float:
        """The statistic; locations given as a number are drawn with seed 0."""
        return self._evidence(x, y, validate.generator(SEED))[0].observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value; `result.test` is this test with the locations that were drawn."""
        rng = validate.generator(rng)
        evidence, pair, used = self._evidence(x, y, rng)
        null, notes = self._valid_null(evidence)
        if self.null is None:
            check_permutable(null, evidence, evidence.n, "NystromHSIC()")
        judgement = null.judge(evidence, rng)
        rows = evidence.n if isinstance(evidence, StreamedFSIC) else None
        return independence_result(used, pair, evidence.observed, judgement, notes, rows=rows)

    def _valid_null(self, evidence: FeatureCovarianceEvidence) -> tuple[Null, tuple[str, ...]]:
        """The null that holds for these observations and locations, and a note about it."""
        asymptotic = WeightedChi2() if self.ridge > 0 else Chi2()
        null, notes = asymptotic_or_permuted(
            self.null, asymptotic, evidence.n, evidence.degrees, _OBSERVATIONS_PER_FEATURE, ""
        )
        large = evidence.n >= max(
            MIN_OBSERVATIONS_FOR_ASYMPTOTICS, _OBSERVATIONS_PER_FEATURE * evidence.degrees
        )
        effective = evidence.effective_observations
        if isinstance(null, Permutation) or not large or effective >= _MIN_EFFECTIVE_OBSERVATIONS:
            return null, notes
        reason = f"only about {effective:.1g} observations are near some of the locations"
        if isinstance(evidence, StreamedFSIC) and self.null is None:
            return null, (*notes, f"The p-value is approximate, because {reason}.")
        if self.null is None:
            return Permutation(999), (f"Null: 999 permutations, because {reason}.",)
        warnings.warn(
            f"{type(null).__name__}() is not valid here, because {reason}: use null=Permutation(999)",
            UserWarning,
            stacklevel=3,
        )
        return null, notes

    def _evidence(
        self, x: Any, y: Any, rng: np.random.Generator
    ) -> tuple[FeatureCovarianceEvidence, tuple[Variable, ...], NFSIC]:
        """The evidence, the variables, and this test with its kernels and locations fixed.

        Features are those of uncentred points, on which features of some kernels depend.
        """
        streams = streamed(x, y)
        if streams is not None:
            return self._streamed_evidence(streams, rng)
        pair = variables((self.kernel_x, self.kernel_y), (x, y))
        points = tuple(v.uncentred for v in pair)
        if isinstance(self.locations, int):
            locations = _drawn_locations(points, self.locations, rng)
            public = tuple(frozen(v) if is_real(v) else v for v in locations)
        else:
            public, locations = self.locations, self._given_locations(pair)
        check_affordable(count(points[0]), 2 * count(locations[0]), "locations", _FEATURE_COPIES)
        k, l = (  # noqa: E741
            features(v.kernel, p, c) for v, p, c in zip(pair, points, locations, strict=True)
        )
        return FSICEvidence(k, l, float(self.ridge)), pair, self._used(pair, public)

    def _streamed_evidence(
        self, streams: tuple[RowStream, ...], rng: np.random.Generator
    ) -> tuple[FeatureCovarianceEvidence, tuple[Variable, ...], NFSIC]:
        """The same for variables that are read part by part."""
        both = streamed_variables((self.kernel_x, self.kernel_y), streams)
        if isinstance(self.locations, int):
            locations = _hashed_locations(both.drawn, self.locations, rng)
            public = tuple(frozen(v) for v in locations)
        else:
            public, locations = self.locations, self._given_locations(both.variables)
        evidence = streamed_fsic(both, locations, float(self.ridge))
        return evidence, both.variables, self._used(both.variables, public)

    def _given_locations(self, pair: tuple[Variable, ...]) -> tuple[Points, ...]:
        points = [v.uncentred for v in pair]
        triples = zip(pair, points, self.locations, (0, 1), strict=True)
        return tuple(_read_locations(*args) for args in triples)

    def _used(self, pair: tuple[Variable, ...], public: Any) -> NFSIC:
        """The test with its kernels and locations fixed."""
        kernel_x, kernel_y = self.kernel_x or pair[0].kernel, self.kernel_y or pair[1].kernel
        return replace(self, kernel_x=kernel_x, kernel_y=kernel_y, locations=public)


def _number_or_pair(value: Any) -> Any:
    """A number of pairs of locations, or the pairs, with numbers as read-only arrays."""
    if is_number(value):
        validate.whole("locations", value)
        return int(value)
    needed = "locations must be a whole number or a pair of points, (J, dx) and (J, dy)"
    if not (isinstance(value, list | tuple) and len(value) == 2):
        raise TypeError(f"{needed}, got {type(value).__name__}")
    pair = tuple(given_points(f"locations[{i}]", points, needed) for i, points in enumerate(value))
    sizes = [count(points) for points in pair]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"locations must be pairs, as many in x as in y, got {sizes[0]} and {sizes[1]}"
        )
    return pair


def _drawn_locations(
    points: tuple[Points, ...], number: int, rng: np.random.Generator
) -> tuple[Any, ...]:
    """Pairs of a point of x and a point of y, all distinct where there are enough.

    They do not depend on which points were observed together, so that permutation tests are exact.
    """
    x, y = points
    if is_real(x) and is_real(y) and count(x) >= MIN_ROWS_TO_HASH:
        return tuple(
            array_like(v, p)
            for v, p in zip(
                _hashed_locations(_from_memory(points), number, rng), points, strict=True
            )
        )
    rows, columns = different(x), different(y)
    size = len(rows) * len(columns)
    cells = np.sort(rng.choice(size, min(number, size), replace=False, shuffle=False))
    return taken(x, rows[cells // len(columns)]), taken(y, columns[cells % len(columns)])


def _from_memory(points: tuple[Points, ...]) -> Callable[[int, int, int], np.ndarray]:
    """Draws different points of a variable in memory."""

    def drawn(index: int, number: int, seed: int) -> np.ndarray:
        sample = points[index]
        chunks = (to_numpy(take_rows(sample, r)) for r in spans(count(sample), MIN_ROWS_TO_HASH))
        return drawn_by_hash(chunks, number, seed)

    return drawn


def _hashed_locations(
    drawn: Callable[[int, int, int], np.ndarray], number: int, rng: np.random.Generator
) -> tuple[np.ndarray, ...]:
    """Pairs of a point of x and a point of y, in one pass over many observations."""
    first, second = (drawn(i, number, int(rng.integers(2**63))) for i in (0, 1))
    if len(first) == len(second) == number:
        return first, second
    size = len(first) * len(second)  # of discrete variables
    cells = np.sort(rng.choice(size, min(number, size), replace=False, shuffle=False))
    return first[cells // len(second)], second[cells % len(second)]


def _read_locations(variable: Variable, points: Points, value: Any, index: int) -> Points:
    """Locations as points of the variable's kernel."""
    name = f"locations[{index}]"
    locations, _ = read(variable.kernel, value, variable.columns, name)
    if is_real(points) and is_real(locations):
        validate.same_width(points, locations, (variable.name, name))
        locations = array_like(locations, points)
    return locations
