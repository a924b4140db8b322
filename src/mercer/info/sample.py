"""Samples as numbers and categories, read and checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import astype, detached, double, namespace, on_gpu, to_numpy
from mercer.errors import shown
from mercer.frames import Table
from mercer.kernels.prepare import aligned
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.sample_rows import settled

_SEED = 20260219  # of subsamples and permutations, so that an estimate is a function of the data


@dataclass(frozen=True)
class Sample:
    """Observations (n, d) of float64, on the host or on a GPU; categories are coded as numbers."""

    values: Any
    categorical: tuple[bool, ...]
    name: str
    weights: np.ndarray | None = None
    source: Any = field(default=None, repr=False)  # the array that came, for its library and device
    columns: Any = field(default=None, repr=False)  # names and kinds of the columns of a data frame

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def dimension(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    @property
    def masses(self) -> np.ndarray:
        """The weights, also where they are equal: (n,)."""
        n = len(self)
        return np.full(n, 1 / n, dtype=np.float64) if self.weights is None else self.weights

    @property
    def discrete(self) -> bool:
        """Whether all columns hold categories."""
        return all(self.categorical)

    def take(self, rows: Any) -> Sample:
        """The observations in these rows."""
        weights = None if self.weights is None else self.weights[rows] / self.weights[rows].sum()
        return replace(self, values=self.values[rows, :], weights=weights)

    def numbers(self, what: str, *, weighted: bool = False) -> Any:
        """The values, which must be numbers, without weights unless `weighted`; `what` needs them."""
        if any(self.categorical):
            raise ValueError(
                f"{what} needs numbers, but {self.name} has columns of categories: use PlugIn() for "
                "categories, and MixedKSG() for the information of categories and numbers"
            )
        if self.weights is not None and not weighted:
            raise ValueError(
                f"{what} takes no weights, but {self.name} is weighted: use KDE() for numbers, PlugIn() "
                "for categories, or resample it"
            )
        return self.values

    def host(self, what: str) -> np.ndarray:
        """As `numbers`, in the memory of the host."""
        return to_numpy(self.numbers(what))

    def codes(self) -> np.ndarray:
        """Number of the distinct row that each observation is, from zero: (n,)."""
        _, codes = np.unique(to_numpy(self.values), axis=0, return_inverse=True)
        return codes.reshape(-1)


def read_sample(x: Any, name: str) -> Sample:
    """A sample from arrays, tensors, data frames with numbers and categories, and `Empirical`."""
    weights = None
    if isinstance(x, Empirical):
        x, weights = x.points, x.weights
    frame = settled(x, name)
    if isinstance(frame, Table):
        validate.finite(frame.values, name)
        values = frame.values.astype(np.float64)
        return Sample(values, frame.columns.categorical, name, weights, values, frame.columns)
    points = detached(validate.points(frame, name))
    values = astype(points, double(points)) if on_gpu(points) else to_numpy(points)
    values = values if on_gpu(points) else np.asarray(values, dtype=np.float64)
    return Sample(values, (False,) * int(values.shape[1]), name, weights, points)


def read_two(x: Any, y: Any) -> tuple[Sample, Sample]:
    """Two samples of the same columns, which are matched by name in two data frames."""
    tables = [
        settled(v.points if isinstance(v, Empirical) else v, name)
        for v, name in ((x, "x"), (y, "y"))
    ]
    left, right = read_sample(x, "x"), read_sample(y, "y")
    first, second = tables
    if isinstance(first, Table) and isinstance(second, Table):
        right = replace(right, values=aligned(second, first.columns).astype(np.float64))
        right = replace(right, categorical=first.columns.categorical)
    same_columns(left, right)
    return left, right


def read_variables(variables: Sequence[Any], names: Sequence[str]) -> list[Sample]:
    """Samples of variables that were observed together: as many rows each, on one device, with the same weights."""
    samples = [read_sample(x, name) for x, name in zip(variables, names, strict=True)]
    for other in samples[1:]:
        same_length(samples[0], other)
    weighted = [s for s in samples if s.weights is not None]
    for other in weighted[1:]:
        _same_weights(weighted[0], other)
    return [replace(s, weights=weighted[0].weights) for s in samples] if weighted else samples


def _same_weights(first: Sample, other: Sample) -> None:
    if not np.allclose(first.masses, other.masses, rtol=1e-12, atol=0.0):
        raise ValueError(
            f"{first.name} and {other.name} were observed together but have different weights: give both the weights of "
            "their rows, or only one of them"
        )


def same_length(first: Sample, other: Sample) -> None:
    """Require as many rows in two samples, on one device."""
    if len(other) != len(first):
        raise ValueError(
            f"{first.name} and {other.name} must have the same number of observations, got "
            f"{len(first)} and {len(other)}"
        )
    validate.same_library(first.source, other.source, (first.name, other.name))


def joined_columns(samples: Sequence[Sample]) -> Sample:
    """The columns of all samples side by side."""
    first = samples[0]
    if len(samples) == 1:
        return first
    values = namespace(first.values).concat([s.values for s in samples], axis=1)
    categorical = tuple(flag for s in samples for flag in s.categorical)
    weights = next((s.weights for s in samples if s.weights is not None), None)
    return Sample(values, categorical, " and ".join(s.name for s in samples), weights)


def same_columns(x: Sample, y: Sample) -> None:
    """Require two samples of the same columns."""
    validate.same_width(x.values, y.values, (x.name, y.name))
    validate.same_library(x.source, y.source, (x.name, y.name))
    if x.categorical != y.categorical:
        raise ValueError(f"{x.name} and {y.name} must have categories in the same columns")


def more_points_than(sample: Sample, least: int, what: str) -> None:
    """Require more than `least` observations."""
    if len(sample) <= least:
        raise ValueError(
            f"{what} needs more than {least} observations, but {sample.name} has {len(sample)}"
        )


def fixed_generator() -> np.random.Generator:
    """A generator in the same state each time."""
    return np.random.default_rng(_SEED)


def shuffled(sample: Sample, rng: np.random.Generator) -> Sample:
    """The observations in random order."""
    return sample.take(rng.permutation(len(sample)))


def require_instance(name: str, value: object, kind: type, example: str) -> None:
    """Require an object of the library, such as a measure or an estimator."""
    if not isinstance(value, kind):
        needed = f"a {kind.__name__.lower()} such as {example}"
        raise TypeError(f"{name} must be {needed}, got {shown(value)}")
