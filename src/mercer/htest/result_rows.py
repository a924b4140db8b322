"""Results as tables: in notebooks, and as data frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from html import escape
from typing import Any

from mercer.frames import rows_frame

_LONGEST_HEAD = (
    12  # characters before a colon that are the head of a row: "Asked", "Verdict", "Size"
)


class Summarized(ABC):
    """A result with a summary and numbers: what it prints, what notebooks show, and one row for pandas."""

    @abstractmethod
    def summary(self) -> str:
        """The result in plain words."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return summary_table(type(self).__name__, self.summary())

    def to_frame(self) -> Any:
        """One row of a pandas data frame: entries of `to_dict`, those of entries joined by dots."""
        return rows_frame(self.to_dict())


class ResultRows(ABC):
    """A result with rows: iterating gives them, notebooks show them, and pandas reads them."""

    @abstractmethod
    def __iter__(self) -> Iterator[Any]: ...

    def summary(self) -> str:
        """The rows in plain words."""
        return str(self)

    def to_frame(self) -> Any:
        """One row of a pandas data frame for every row; entries of entries are joined by dots."""
        rows = [row.to_dict() if hasattr(row, "to_dict") else row._asdict() for row in self]
        return rows_frame(rows)

    def _repr_html_(self) -> str:
        return summary_table(type(self).__name__, str(self))


def summary_table(title: str, summary: str) -> str:
    """A summary as an HTML table, a row for each line; what stands before a colon is the head of the row."""
    lines = [line.partition(": ") for line in summary.split("\n")]
    rows = [
        (head, text) if text and len(head) <= _LONGEST_HEAD else ("", "".join((head, colon, text)))
        for head, colon, text in lines
    ]
    cells = "".join(
        f"<tr><th style='text-align:left;vertical-align:top'>{escape(head)}</th>"
        f"<td style='text-align:left'>{escape(text)}</td></tr>"
        for head, text in rows
    )
    return f"<table><caption>{escape(title)}</caption>{cells}</table>"
