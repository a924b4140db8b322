"""Several files with the same columns as one, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.cli.exits import Refused
from mercer.cli.table import File, LabelColumn, NumericColumn, affordable, quoted

Column = NumericColumn | LabelColumn


def joined(name: str, files: Sequence[File]) -> File:
    """The rows of all files, in their order; they must have the same columns of the same kinds."""
    first = files[0]
    for file in files[1:]:
        if set(file.columns) != set(first.columns):
            different = sorted(set(file.columns) ^ set(first.columns))
            raise Refused(
                f"{file.name} and {first.name} have different columns ({quoted(different)}); name those to "
                "compare with --columns"
            )
    affordable(sum(file.rows for file in files), len(first.columns), name)
    columns = {
        column: _stacked(column, [(file.name, file.columns[column]) for file in files])
        for column in first.columns
    }
    notes = tuple(dict.fromkeys(note for file in files for note in file.notes))
    return File(name, columns, all(file.array for file in files), notes)


def _stacked(name: str, parts: Sequence[tuple[str, Column]]) -> Column:
    columns = [column for _, column in parts]
    numbers = [column for column in columns if isinstance(column, NumericColumn)]
    labels = [column for column in columns if isinstance(column, LabelColumn)]
    if numbers and labels:
        kinds = ("numbers" if isinstance(column, NumericColumn) else "labels" for column in columns)
        listed = ", ".join(
            f"{kind} in {file}" for (file, _), kind in zip(parts, kinds, strict=True)
        )
        raise Refused(f"column {name!r} has {listed}; treat it alike with --categories {name}")
    if numbers:
        return NumericColumn(np.concatenate([column.values for column in numbers]))
    levels = tuple(dict.fromkeys(level for column in labels for level in column.levels))
    at = {level: position for position, level in enumerate(levels)}
    return LabelColumn(np.concatenate([_recoded(column, at) for column in labels]), levels)


def _recoded(column: LabelColumn, at: dict[str, int]) -> np.ndarray:
    """Codes as positions in another list of levels; -1 stays -1."""
    positions = np.array([*(at[level] for level in column.levels), -1], dtype=np.int64)
    return positions[column.codes]
