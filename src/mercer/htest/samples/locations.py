"""Tests with features: what they share, and the locations of those whose features are kernel values."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields, replace
from functools import reduce
from numbers import Number
from typing import Any, ClassVar, Self

import numpy as np

from mercer import validate
from mercer.backend import array_like, count, is_array, take_rows, to_numpy
from mercer.gram.run import spans
from mercer.htest.base import HypothesisTest
from mercer.htest.nulls import Null
from mercer.htest.samples.moments import NormalizedEvidence, SquaredEvidence, asymptotic_or_permuted
from mercer.htest.samples.pool import Pooled, pool
from mercer.htest.samples.result import TwoSampleResult, two_sample_result
from mercer.kernels.base import Kernel, Points
from mercer.kernels.door import as_table, prepare
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.points import joined, read

SEED = 0  # draws what a test leaves open when `.statistic(x, y)` is asked for
_ROWS = 16384  # points whose features are made at a time
_SHOWN = 12  # numbers of an array that are printed


Evidence = NormalizedEvidence | SquaredEvidence


class FeatureTest(HypothesisTest):
    """A test on mean features: the null that holds is chosen, and the result has what was drawn.

    Arrays among the fields are compared number by number and printed short.
    """

    asymptotic: ClassVar[Null]  # the null that holds for large samples
    null: Null | None

    @abstractmethod
    def _evidence(self, x: Any, y: Any, rng: np.random.Generator) -> tuple[Evidence, Pooled, Self]:
        """What the nulls ask, the pooled sample, and this test with everything fixed."""

    def statistic(self, x: Any, y: Any) -> float:  # type: ignore[override]
        """The statistic; what the test leaves open is drawn with seed 0."""
        return self._evidence(x, y, validate.generator(SEED))[0].observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:  # type: ignore[override]
        """The statistic and its p-value; `result.test` is this test with what was drawn."""
        rng = validate.generator(rng)
        evidence, pooled, used = self._evidence(x, y, rng)
        null, notes = asymptotic_or_permuted(
            self.null, self.asymptotic, evidence.difference, evidence.degrees
        )
        judgement = null.judge(evidence, rng)
        return two_sample_result(used, pooled, evidence.observed, judgement, notes)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(
            _same(getattr(self, f.name), getattr(other, f.name))
            for f in fields(self)  # type: ignore[arg-type]
        )

    def __hash__(self) -> int:
        return hash((type(self), repr(self)))

    def __repr__(self) -> str:
        shown = (f"{f.name}={_short(getattr(self, f.name))}" for f in fields(self))  # type: ignore[arg-type]
        return f"{type(self).__name__}({', '.join(shown)})"

    def _check_null(self) -> None:
        if self.null is not None:
            validate.instance("null", self.null, Null, "a null, such as Permutation(999), or None")


class LocationTest(FeatureTest):
    """A test whose features are kernel values k(x, v_j) at a few locations v_j."""

    kind: ClassVar[type[Evidence]]
    kernel: Kernel | None
    locations: Any

    def __post_init__(self) -> None:
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")
        self._check_null()
        object.__setattr__(self, "locations", number_or_points("locations", self.locations))

    def _evidence(self, x: Any, y: Any, rng: np.random.Generator) -> tuple[Evidence, Pooled, Self]:
        """Features at the points as they came, before `pool` moved them: there k may depend on it."""
        pooled = pool(self.kernel, x, y)
        x, y = (s.points if isinstance(s, Empirical) else s for s in (x, y))
        kernel, a, b = prepare(pooled.kernel, x, y)
        chosen, shown = _chosen(self.locations, kernel, pooled, joined(a, b), rng)
        z = np.concatenate([features(kernel, a, chosen), features(kernel, b, chosen)])
        used = replace(self, kernel=self.kernel or pooled.kernel, locations=shown)  # type: ignore[type-var]
        return self.kind(z, pooled.n, pooled.weights), pooled, used


def number_or_points(name: str, value: Any) -> Any:
    """How many, or which: a whole number, or points; numbers become a read-only array (J, d)."""
    if is_number(value):
        validate.whole(name, value)
        return int(value)
    if isinstance(value, list | tuple) or is_array(value):
        found = validate.points_or_objects(value, name)
        return frozen(found) if _is_real(found) else found
    if as_table(value, name) is None:
        raise TypeError(f"{name} must be a whole number or points (J, d), got {value!r}")
    return value


def is_number(value: object) -> bool:
    """Whether it is to be checked as a number of locations rather than as points."""
    return value is None or isinstance(value, Number | str)


def frozen(values: Any) -> np.ndarray:
    """A read-only copy in float64."""
    copy = to_numpy(values).astype(np.float64)
    copy.flags.writeable = False
    return copy


def _chosen(
    locations: Any, kernel: Kernel, pooled: Pooled, points: Points, rng: np.random.Generator
) -> tuple[Points, Any]:
    """The locations as points of the kernel, and as the test shows them."""
    if isinstance(locations, int):
        chosen = drawn(points, locations, rng)
        return chosen, frozen(chosen) if _is_real(chosen) else chosen
    chosen, _ = read(kernel, locations, pooled.columns, "locations")
    if _is_real(points) and _is_real(chosen):
        validate.same_width(points, chosen, ("x", "locations"))
        chosen = array_like(chosen, points)
    return chosen, locations


def features(kernel: Kernel, points: Points, locations: Points) -> np.ndarray:
    """k(x_i, v_j) in float64, made for some points at a time: (n, J)."""
    parts = [
        to_numpy(kernel.pairwise(take_rows(points, rows), locations))
        for rows in spans(count(points), _ROWS)
    ]
    return np.concatenate(parts).astype(np.float64)


def drawn(points: Points, number: int, rng: np.random.Generator) -> Points:
    """Some of the points, all different where there are enough; their order does not matter."""
    order = _different(points)
    chosen = rng.choice(len(order), min(number, len(order)), replace=False, shuffle=False)
    rows = [slice(int(i), int(i) + 1) for i in order[np.sort(chosen)]]
    return reduce(joined, (take_rows(points, r) for r in rows))


def _different(points: Points) -> np.ndarray:
    """Positions of the distinct points, in an order that depends on their values only."""
    if not is_array(points):
        keys = np.array([repr(take_rows(points, slice(i, i + 1))) for i in range(count(points))])
        return np.unique(keys, return_index=True)[1]
    values = to_numpy(points).reshape(count(points), -1)
    first = np.argsort(values[:, 0], kind="stable")
    if np.all(values[first[1:], 0] != values[first[:-1], 0]):
        return first
    order = np.lexsort(values.T[::-1])
    new = np.any(values[order[1:]] != values[order[:-1]], axis=1)
    return order[np.concatenate([[True], new])]


def _is_real(points: Points) -> bool:
    """Whether they are an array of floating-point numbers (n, d)."""
    return is_array(points) and points.ndim == 2 and "float" in str(points.dtype)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b)
    return a is b or bool(a == b)


def _short(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size <= _SHOWN:
        return repr(value.tolist())
    return f"<array {' x '.join(str(n) for n in value.shape)}>"
