"""Contents of the tables of a report: rows of data as text, and the versions of the software."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np

import mercer
from mercer.backend import is_array, to_numpy
from mercer.frames import Table
from mercer.htest.format_number import figure
from mercer.kernels.prepare import as_table
from mercer.report.page import brief


def cells(rows: Any) -> tuple[list[str], list[list[str]]]:
    """Column names and values of rows of any kind, as text."""
    table = as_table(rows, "rows")
    if table is None and not is_array(rows):
        return ["value"], [[brief(row)] for row in rows]
    if table is None:
        values = to_numpy(rows)
        values = values[:, None] if values.ndim == 1 else values
        names = [f"column {j}" for j in range(values.shape[1])]
        return names, [[figure(float(v), 5) for v in row] for row in values]
    return list(table.columns.names), [_table_row(row, table) for row in table.values]


def _table_row(row: np.ndarray, table: Table) -> list[str]:
    """Values of one row of a table as text, categories by their labels."""
    return [
        table.labels.get(float(v), f"{v:g}") if categorical else figure(float(v), 5)
        for v, categorical in zip(row, table.columns.categorical, strict=True)
    ]


def versions() -> dict[str, str]:
    """Versions of the software that made the report."""
    return {
        "mercer": mercer.__version__,
        "Python": f"{platform.python_version()}, NumPy {np.__version__}",
    }
