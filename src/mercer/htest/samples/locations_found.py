"""Places where two samples differ: observations with extreme witness values, and locations of a test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.backend import is_array, to_numpy
from mercer.frames import Columns, Table
from mercer.htest.format_number import figure
from mercer.htest.samples.effect import witness_of
from mercer.htest.samples.pooled_sample import Pooled
from mercer.kernels.prepare import aligned, as_table
from mercer.rkhs.sample_rows import taken


@dataclass(frozen=True, eq=False)
class Standouts:
    """Observations of one sample where it has most mass compared with the other.

    Attributes
    ----------
    indices : array (k,)
        Their positions in the sample that was handed in, the most telling first.
    witness : array (k,)
        The witness function there, the observation itself left out; for kernels with an origin
        (linear, energy) it is that of the centred points.
    rows : points
        The observations, of the kind the sample was (rows of a data frame, say).
    """

    indices: np.ndarray
    witness: np.ndarray
    rows: Any = field(repr=False)

    def __len__(self) -> int:
        return len(self.indices)


@dataclass(frozen=True, eq=False)
class Points:
    """The observations that differ most: of the first sample, and of the second."""

    first: Standouts
    second: Standouts


@dataclass(frozen=True)
class Location:
    """A place at which a test compares the samples.

    `coordinates` by the names of the columns; `witness` is positive where the first sample has
    more mass.
    """

    coordinates: Mapping[str, float | str]
    witness: float

    def __str__(self) -> str:
        more = "first" if self.witness > 0 else "second"
        return f"{_listed(self.coordinates)}: more of the {more} sample"


@dataclass(frozen=True)
class Frequency:
    """A frequency at which a test compares the samples: radians per unit of each column."""

    coordinates: Mapping[str, float]

    def __str__(self) -> str:
        return f"waves of {_listed(self.coordinates)} (radians per unit)"


def standouts(pooled: Pooled, witness: np.ndarray, k: int) -> Points:
    """The k observations of each sample that the witness singles out."""
    n = pooled.n
    samples = pooled.samples or (pooled.unmoved[:n], pooled.unmoved[n:])
    kept = (None, None) if pooled.rows is None else (pooled.rows.first, pooled.rows.second)
    sides = []
    for sample, rows, values, sign in zip(
        samples, kept, (witness[:n], witness[n:]), (1, -1), strict=True
    ):
        here = np.argsort(-sign * values, kind="stable")[:k]
        indices = here if rows is None else rows[here]
        sides.append(Standouts(indices, values[here], taken(sample, here)))
    return Points(*sides)


def locations_of(test: Any, pooled: Pooled) -> tuple[Location, ...] | tuple[Frequency, ...]:
    """The locations or frequencies of a test, with the names of the columns."""
    if is_array(getattr(test, "frequencies", None)):
        scaled = to_numpy(test.frequencies) / (1.0 if test.bandwidth is None else test.bandwidth)
        names = _names(pooled, scaled.shape[1])
        return tuple(Frequency(dict(zip(names, map(float, row), strict=True))) for row in scaled)
    places = getattr(test, "locations", None)
    if places is None or isinstance(places, int):
        raise TypeError(f"{type(test).__name__} compares samples at no locations: use ME or UME")
    values = to_numpy(witness_of(pooled)(places))
    rows = _coordinates(places, pooled)
    return tuple(Location(row, float(v)) for row, v in zip(rows, values, strict=True))


def _coordinates(places: Any, pooled: Pooled) -> list[dict[str, float | str]]:
    """Each location by column: numbers, and the labels of categories where these are known."""
    table = as_table(places, "locations")
    if table is not None:
        places = table.values if pooled.columns is None else aligned(table, pooled.columns)
    if not is_array(places):
        return [{"point": str(v)} for v in places]
    values = to_numpy(places)
    names = _names(pooled, values.shape[1])
    labels = _labels(pooled, table)
    categorical = (False,) * len(names) if pooled.columns is None else pooled.columns.categorical
    return [
        {
            name: labels.get(float(v), f"{v:g}") if is_label else float(v)
            for name, v, is_label in zip(names, row, categorical, strict=True)
        }
        for row in values
    ]


def _labels(pooled: Pooled, table: Table | None) -> dict[float, str]:
    tables = [table, *(as_table(s, "x") for s in pooled.samples or ())]
    return {code: label for t in tables if t is not None for code, label in t.labels.items()}


def _names(pooled: Pooled, width: int) -> tuple[str, ...]:
    columns: Columns | None = pooled.columns
    return tuple(f"column {j}" for j in range(width)) if columns is None else columns.names


def _listed(coordinates: Mapping[str, float | str], most: int = 6) -> str:
    parts = [
        f"{k} = {figure(v) if isinstance(v, float) else repr(v)}" for k, v in coordinates.items()
    ]
    return ", ".join(parts[:most]) + (f" and {len(parts) - most} more" if len(parts) > most else "")
