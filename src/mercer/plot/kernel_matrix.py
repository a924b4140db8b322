"""Heat map of a kernel matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.gram import Gram
from mercer.plot.style import SEQUENTIAL, axes
from mercer.rkhs.sample_rows import taken

_MAX_ROWS_SHOWN = 160  # more rows are smaller than a pixel of a small figure


def plot_gram(
    matrix: Gram,
    *,
    ax: Any = None,
    sizes: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    order: Any = None,
) -> Any:
    """Draw a heat map of a kernel matrix, light where points are similar.

    At most 160 points are shown, evenly spaced within each group.

    Parameters
    ----------
    matrix : Gram
        Gram matrix of one sample, or of several samples stacked on top of each other.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    sizes : sequence of int, optional
        Number of rows of each group; lines separate the groups.
    names : sequence of str, optional
        Names of the groups.
    order : array (n,), optional
        Sort keys: points are sorted by them within their group.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> ax = plot_gram(Gram(RBF(1.0), [0.0, 0.5, 3.0, 3.5]), sizes=[2, 2], names=["a", "b"])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['a', 'b']
    """
    validate.instance("matrix", matrix, Gram, "a Gram matrix, such as Gram(RBF(1.0), x)")
    n = matrix.shape[0]
    if not matrix.symmetric:
        raise ValueError(
            "matrix must be the Gram matrix of one sample with itself, Gram(kernel, x); got that of two samples"
        )
    sizes = [n] if sizes is None else [int(size) for size in sizes]
    if sum(sizes) != n or min(sizes) < 1:
        raise ValueError(f"sizes must be positive and add up to {n}, got {sizes}")
    keys = np.arange(n) if order is None else to_numpy(validate.vector(order, "order"))
    if len(keys) != n:
        raise ValueError(f"order must have {n} numbers, got {len(keys)}")
    ax, shown = axes(ax), _shown(sizes, keys)
    rows = np.concatenate(shown)
    image = ax.imshow(_entries(matrix, rows), cmap=SEQUENTIAL, interpolation="none")
    edges = np.cumsum([0, *map(len, shown)])
    for edge in edges[1:-1]:
        ax.axhline(edge - 0.5, color="white", linewidth=1.2)
        ax.axvline(edge - 0.5, color="white", linewidth=1.2)
    middles = (edges[:-1] + edges[1:]) / 2 - 0.5
    ax.set_xticks(middles if names else [], names or [])
    ax.set_yticks(middles if names else [], names or [], rotation=90, va="center")
    ax.tick_params(length=0)
    ax.figure.colorbar(image, cax=ax.inset_axes((1.03, 0.0, 0.04, 1.0)), label="k(x, y)")
    return ax


def _shown(sizes: Sequence[int], keys: np.ndarray) -> list[np.ndarray]:
    """Rows to show of each group, sorted by their keys."""
    share, start, shown = min(1.0, _MAX_ROWS_SHOWN / sum(sizes)), 0, []
    for size in sizes:
        rows = start + np.argsort(keys[start : start + size], kind="stable")
        number = max(1, round(share * size))
        shown.append(rows[np.linspace(0, size - 1, number).round().astype(int)])
        start += size
    return shown


def _entries(matrix: Gram, rows: np.ndarray) -> np.ndarray:
    """Submatrix of these rows: (r, r)."""
    return to_numpy(Gram(matrix.kernel, taken(matrix.x, rows)).dense())
