"""Shared parts of tests on features: locations, feature values, printing, and selection of a valid null."""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import fields, is_dataclass
from numbers import Number
from typing import Any, Self

import numpy as np

from mercer import validate
from mercer.backend import EqualByValue, count, is_array, take_rows, to_numpy
from mercer.errors import NoRule
from mercer.gram.threads import spans
from mercer.htest.evidence import Permutable, provides
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Chi2, Null, Permutation
from mercer.kernels.base import Kernel, Points, Radial
from mercer.kernels.metric import sensitive_to
from mercer.kernels.prepare import as_table
from mercer.kernels.take import Rows
from mercer.rkhs.sample_rows import is_plain

SEED = 0  # of random locations in `.statistic(...)`, which has no rng
MIN_OBSERVATIONS_FOR_ASYMPTOTICS = 500  # well above the sizes whose levels were measured too high
# Chi-square tests at level 0.05 (ME, SCF and NFSIC; normal, lognormal, t and counts; 250 runs each) reject
# in 7% to 20% of runs with 25 observations, 6% to 12% with 50, 5% to 12% with 100, 4% to 8% with 200.
_MIN_OBSERVATIONS, _MIN_OBSERVATIONS_PER_FEATURE = 100, 10
# Points whose features are computed at a time.
_POINTS_PER_CHUNK = 16384
_MAX_PRINTED_NUMBERS = 12  # larger arrays are printed by their shape


class WithArrays(EqualByValue, HypothesisTest):
    """Test with array fields: compared by value, printed in short form."""

    null: Null | None

    def __repr__(self) -> str:
        names = [f.name for f in fields(self)] if is_dataclass(self) else []
        shown = (f"{name}={_short(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({', '.join(shown)})"

    def _fixed_at(self, **values: Any) -> Self:
        """The same test with other values, which are valid, of some fields."""
        test = copy(self)
        for name, value in values.items():
            object.__setattr__(test, name, value)
        return test

    def _check_null(self) -> None:
        if self.null is not None:
            validate.instance("null", self.null, Null, "a null, such as Permutation(999), or None")


# ---- locations ----------------------------------------------------------------------------------


def number_or_points(name: str, value: Any) -> Any:
    """Check a number of locations, or locations: points become a read-only array (J, d)."""
    if is_number(value):
        validate.whole(name, value)
        return int(value)
    return given_points(name, value, f"{name} must be a whole number or points (J, d)")


def given_points(name: str, value: Any, needed: str) -> Any:
    """Points that a test holds: numbers become a read-only array (J, d), frames and objects stay what they are."""
    if isinstance(value, list | tuple) or is_array(value):
        points = validate.points_or_objects(value, name)
        return frozen(points) if is_real(points) else points
    if isinstance(value, Rows):
        return value
    if as_table(value, name) is None:
        raise TypeError(f"{needed}, got {validate.shown(value)}")
    return value


def is_number(value: object) -> bool:
    """Whether a value means a number of locations rather than points."""
    return value is None or isinstance(value, Number | str)


def is_real(points: Points) -> bool:
    """Whether points are an array of floating-point numbers (n, d)."""
    if isinstance(points, np.ndarray):
        return points.ndim == 2 and points.dtype.kind == "f"
    return is_array(points) and points.ndim == 2 and "float" in str(points.dtype)


def frozen(values: Any) -> np.ndarray:
    """A read-only copy in float64."""
    copy = to_numpy(values).astype(np.float64)
    copy.flags.writeable = False
    return copy


def features(kernel: Kernel, points: Points, locations: Points) -> np.ndarray:
    """k(x_i, v_j) in float64, made for some points at a time: (n, J)."""
    if isinstance(kernel, Radial) and is_plain(points) and is_plain(locations):
        return _radial_features(kernel, points, locations)
    parts = [
        to_numpy(kernel.pairwise(take_rows(points, rows), locations))
        for rows in spans(count(points), _POINTS_PER_CHUNK)
    ]
    return np.concatenate(parts).astype(np.float64)


def _radial_features(kernel: Radial, points: np.ndarray, locations: np.ndarray) -> np.ndarray:
    """The same for plain numbers; one row for each location, because short rows take most of the time."""
    middle = locations.mean(axis=0)
    places = locations - middle
    sizes = np.einsum("ij,ij->i", places, places)
    values = np.empty((len(places), len(points)), dtype=np.float64)
    for rows in spans(len(points), _POINTS_PER_CHUNK // 4):
        columns = np.subtract(points[rows].T, middle[:, None], order="C")  # (d, rows)
        norms = np.einsum("ij,ij->j", columns, columns)
        error = 4 * np.finfo(np.float64).eps * float(norms.max() + sizes.max())
        if len(middle) == 1 or sensitive_to(error, kernel.profile, columns, 1e-9):
            values[:, rows] = kernel.pairwise(points[rows], locations).T
            continue
        r2 = (-2 * places) @ columns  # |x|^2 + |v|^2 - 2 x'v
        r2 += norms
        r2 += sizes[:, None]
        values[:, rows] = kernel.profile(np.maximum(r2, 0.0, out=r2))
    return values.T


def different(points: Points) -> np.ndarray:
    """Positions of the distinct points, in an order that depends on their values only."""
    if not is_array(points):
        keys = np.array([repr(take_rows(points, slice(i, i + 1))) for i in range(count(points))])
        return np.unique(keys, return_index=True)[1]
    values = to_numpy(points).reshape(count(points), -1)
    first = np.argsort(values[:, 0])  # where all differ, there is no other order
    if np.all(values[first[1:], 0] != values[first[:-1], 0]):
        return first
    order = np.lexsort(values.T[::-1])
    new = np.any(values[order[1:]] != values[order[:-1]], axis=1)
    return order[np.concatenate([[True], new])]


# ---- nulls --------------------------------------------------------------------------------------


def asymptotic_or_permuted(
    null: Null | None,
    asymptotic: Null,
    size: float,
    features: int,
    per_feature: int = 50,
    where: str = " in each sample",
) -> tuple[Null, tuple[str, ...]]:
    """Null that is valid at this number of observations, and a note about it.

    None means the asymptotic null where it holds and 999 permutations where it does not. Whoever
    asks for the asymptotic one below that is warned; below `_MIN_OBSERVATIONS`, where the inverted covariance
    of the features makes chi-square tests reject far too often, it is refused.
    """
    needed = max(MIN_OBSERVATIONS_FOR_ASYMPTOTICS, per_feature * features)
    small, name = size < needed, type(asymptotic).__name__
    if null is None:
        default = Permutation(999) if small else asymptotic
        why = f"fewer than {needed}" if small else f"at least {needed}"
        label = "999 permutations" if small else f"{name}(), {features} features"
        return default, (f"Null: {label}, for there are {why} observations{where}.",)
    fewest = max(_MIN_OBSERVATIONS, _MIN_OBSERVATIONS_PER_FEATURE * features)
    if isinstance(null, Chi2) and size < fewest:
        raise ValueError(
            f"Chi2() needs at least {fewest} observations{where}, got {size:.0f}: with fewer it rejects "
            "too often; use null=Permutation(999), or leave null out"
        )
    if small and not isinstance(null, Permutation):
        warnings.warn(
            f"{type(null).__name__}() holds from about {needed} observations{where} on, and here "
            f"{size:.0f} count: use null=Permutation(999)",
            UserWarning,
            stacklevel=4,
        )
    return null, ()


def check_permutable(null: Null, evidence: Any, size: float, instead: str) -> None:
    """Raise where the null that was chosen for few observations permutes them, and they were read part by part."""
    if isinstance(null, Permutation) and not provides(evidence, Permutable):
        raise NoRule(
            f"{size:.0f} observations are too few for an asymptotic null distribution, and rows that are read part by part "
            f"are not permuted by this test: use {instead}, or raise mercer.config(memory=...)"
        )


# ---- private ------------------------------------------------------------------------------------


def _short(value: Any) -> str:
    if isinstance(value, tuple) and any(isinstance(v, np.ndarray) for v in value):
        return f"({', '.join(_short(v) for v in value)})"
    if not isinstance(value, np.ndarray):
        return repr(value)
    if value.size <= _MAX_PRINTED_NUMBERS:
        return repr(value.tolist())
    return f"<array {' x '.join(str(n) for n in value.shape)}>"
