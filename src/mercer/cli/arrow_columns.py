"""Columns of numbers and labels from Arrow arrays, one batch after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.cli.table import (
    LabelColumn,
    NumericColumn,
    affordable,
    refuse_rounding,
    unfit_dates,
    unfit_type,
)

_BYTES_PER_LABEL = 100  # memory of one label in a dictionary, beside its characters


def check_type(kind: Any, column: str, file: str, time: bool = False) -> None:
    """Refuse a column that holds neither numbers nor text, such as lists, and dates unless they order the rows."""
    import pyarrow as pa

    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    known = (
        is_text(inner)
        or pa.types.is_null(inner)
        or pa.types.is_boolean(inner)
        or pa.types.is_integer(inner)
        or pa.types.is_floating(inner)
        or pa.types.is_decimal(inner)
    )
    dates = pa.types.is_date(inner) or pa.types.is_timestamp(inner)
    if dates and not time:
        raise unfit_dates(column, file, str(kind))
    if not known and not dates:
        raise unfit_type(column, file, str(kind))


def is_text(kind: Any) -> bool:
    """Whether the values are strings."""
    import pyarrow as pa

    text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(kind) for is_kind in text)


@dataclass
class ArrowColumn:
    """Column while it is read, one array per batch; each distinct label is stored once."""

    name: str
    file: str
    category: bool
    rows: int = 0
    parts: list[np.ndarray] = field(default_factory=list)
    levels: dict[str, int] = field(default_factory=dict)
    text: bool = False
    label_bytes: int = 0  # memory of the levels, roughly
    time: bool = False  # dates, by --time

    def add(self, array: Any) -> None:
        """Append a batch: an Arrow array that has been validated."""
        import pyarrow as pa

        kind = array.type
        check_type(kind, self.name, self.file, self.time)
        if pa.types.is_dictionary(kind) and not is_text(kind.value_type):
            array, kind = array.dictionary_decode(), kind.value_type
        if pa.types.is_dictionary(kind) or is_text(kind):
            self.text = True
            self.parts.append(self._text_codes(array))
        elif self.category and not pa.types.is_null(kind):
            self.text = True
            self.parts.append(self._number_codes(array))
        else:
            self.parts.append(self._numbers(array, kind))
        self.rows += len(array)

    def column(self) -> NumericColumn | LabelColumn:
        """All batches as one column."""
        joined = np.concatenate(self.parts) if self.parts else np.empty(0)
        if not self.text:
            return NumericColumn(joined)
        return LabelColumn(joined.astype(np.int64, copy=False), tuple(self.levels))

    def _text_codes(self, array: Any) -> np.ndarray:
        """Codes of text, through its dictionary: strings are not repeated for every row."""
        import pyarrow as pa

        if not pa.types.is_dictionary(array.type):
            array = array.dictionary_encode()
        indices = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        used, inverse = np.unique(indices, return_inverse=True)
        words = array.dictionary
        codes = [-1 if i < 0 else self._code(words[i].as_py()) for i in used.tolist()]
        return np.array(codes, dtype=np.int64)[inverse]

    def _number_codes(self, array: Any) -> np.ndarray:
        values = array.to_pylist()
        words = (None if v is None or v != v else str(v) for v in values)
        return np.fromiter(map(self._code, words), np.int64, len(values))

    def _code(self, word: str | None) -> int:
        if not word:  # empty text is a missing value
            return -1
        if word not in self.levels:
            self.levels[word] = len(self.levels)
            self.label_bytes += _BYTES_PER_LABEL + len(word)
            affordable(self.rows, 1, self.file, beside=self.label_bytes)
        return self.levels[word]

    def _numbers(self, array: Any, kind: Any) -> np.ndarray:
        import pyarrow as pa
        import pyarrow.compute as pc

        if pa.types.is_null(kind):
            return np.full(len(array), np.nan)
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            return _days(array)
        if pa.types.is_boolean(kind):
            array = pc.cast(array, pa.uint8())
        elif pa.types.is_integer(kind):
            integers = array.fill_null(0).to_numpy(zero_copy_only=False)
            refuse_rounding(integers, self.name, self.file, self.rows)
        single = pa.types.is_float32(kind) or pa.types.is_float16(kind)
        wide = pc.cast(array, pa.float32() if single else pa.float64(), safe=False)
        return wide.to_numpy(zero_copy_only=False)  # NaN where a value is missing


def _days(array: Any) -> np.ndarray:
    """Dates and timestamps as days since 1970, in UTC where they have a time zone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    microseconds = pc.cast(pc.cast(array, pa.timestamp("us"), safe=False), pa.int64())
    return pc.cast(microseconds, pa.float64()).to_numpy(zero_copy_only=False) / 86_400e6
