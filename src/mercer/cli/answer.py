"""What a comparison of two files found: everything that is told, written or drawn, found once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import PurePath
from typing import Any

import mercer
from mercer.cli.match import Sample
from mercer.cli.table import Labels
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.effect import Effect
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.report.affordable import MAX_ROWS_FOR_ALL_PAIRS, ranked

SCHEMA = "mercer/command/two-sample/1"


@dataclass(frozen=True)
class Findings:
    """A result, and what it says when it is asked."""

    samples: tuple[Sample, Sample]
    result: TwoSampleResult
    some: TwoSampleResult  # the same, on some rows of large samples
    level: float
    seed: int
    effect: Effect
    features: Features | None  # None: too many columns, or only one
    notes: tuple[str, ...]

    @property
    def differ(self) -> bool:
        """Whether the samples differ, at the level asked for."""
        return self.result.rejects(self.level)

    @property
    def names(self) -> tuple[str, str]:
        """What the samples are called: their files, without folders where that is enough."""
        first, second = called([sample.name for sample in self.samples])
        return first, second

    @property
    def numbered(self) -> bool:
        """Whether the rows of the result are those of the files, in their order."""
        rows = tuple(sample.rows for sample in self.samples)
        return rows == self.result.sizes and not any(sample.dropped for sample in self.samples)

    def at_least(self, effect: float | None) -> bool:
        """Whether they differ, and by at least this standardized distance."""
        return self.differ and (effect is None or self.effect.standardized >= effect)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only; the same for the same files and the same seed."""
        document = {
            "schema": SCHEMA,
            "mercer": mercer.__version__,
            "differ": self.differ,
            "level": self.level,
            "pvalue": self.result.pvalue,
            "distance": self.effect.standardized,
            "seed": self.seed,
            "files": [file_of(sample) for sample in self.samples],
            "columns": columns_of(self.samples[0]),
            "result": {**self.some.to_dict(), "sizes": list(self.result.sizes)},
            "features": None if self.features is None else self.features.to_dict(),
            "remarks": list(self.notes),
        }
        return plain(document)


def plain(value: Any) -> Any:
    """For JSON, which has no infinities: None instead."""
    if isinstance(value, dict):
        return {str(key): plain(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def called(paths: Sequence[str]) -> list[str]:
    """Names of files without their folders, where these names are different."""
    names = [PurePath(path).name or path for path in paths]
    return names if len(set(names)) == len(set(paths)) else list(paths)


def found(
    samples: Sequence[Sample], result: TwoSampleResult, level: float, seed: int, notes: list[str]
) -> Findings:
    """Ask the result how much the samples differ, and where."""
    first, second = samples
    features, some = ranked(result, seed), result.thinned(MAX_ROWS_FOR_ALL_PAIRS)
    if features is not None:
        features = _called(features, first)
    elif len(first.columns) > 1:
        notes.append("the columns are too many to be ranked one by one: choose --columns")
    if some is not result:
        kept = f"{some.sizes[0]:,} and {some.sizes[1]:,}"
        notes.append(f"the effect size comes from {kept} rows, the verdict from all")
    return Findings(
        (first, second), result, some, level, seed, some.effect(), features, tuple(notes)
    )


def _called(features: Features, sample: Sample) -> Features:
    """The columns by the names the command gives them, also where the file had none."""
    names = list(sample.columns)
    known = {f"column {j}": name for j, name in enumerate(names)} if sample.array else {}
    renamed = tuple(replace(f, name=known.get(f.name, f.name)) for f in features)
    return replace(features, features=renamed)


def file_of(sample: Sample) -> dict[str, Any]:
    """What is said about a file."""
    return {
        "name": sample.name,
        "rows": sample.rows,
        "dropped": sample.dropped,
        "imputed": sample.imputed,
    }


def columns_of(sample: Sample) -> list[dict[str, str]]:
    """What is said about the columns of a file."""
    return [
        {"name": name, "kind": "categories" if isinstance(held, Labels) else "numbers"}
        for name, held in sample.columns.items()
    ]
