"""Heat map of the information between columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.plot.column_matrix import draw_column_matrix


def draw_information(ax: Any, shown: np.ndarray, names: Sequence[str], measure: str) -> None:
    """Draw the matrix of nats between columns, with values where there is room; NaN is blank."""
    top = float(np.nanmax(shown)) if np.any(np.isfinite(shown)) else 1.0
    draw_column_matrix(ax, shown, names, top=top, label=f"{measure} (nats)")
