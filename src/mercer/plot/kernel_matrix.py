"""A kernel matrix as a picture: what is alike with what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.gram import Gram
from mercer.plot.style import SEQUENTIAL, axes
from mercer.rkhs.sample_rows import taken

_MOST = 160  # rows of the picture


def plot_gram(
    matrix: Gram,
    *,
    ax: Any = None,
    sizes: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
    order: Any = None,
) -> Any:
    """A heat map of a kernel matrix, light where points are alike.

    Of more than 160 points some are shown, spread evenly over each group.

    Parameters
    ----------
    matrix : Gram
        Of one sample, or of several samples one after the other.
    ax : matplotlib Axes, optional
        A new figure if left out.
    sizes : sequence of int, optional
        How many rows each group has; lines are drawn between the groups.
    names : sequence of str, optional
        What the groups are called.
    order : array (n,), optional
        Within its group each point is put in the order of these numbers.

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
        raise ValueError("the matrix must be of one sample with itself: Gram(kernel, x)")
    sizes = [n] if sizes is None else [int(size) for size in sizes]
    if sum(sizes) != n or min(sizes) < 1:
        raise ValueError(f"sizes must be positive and add up to {n}, got {sizes}")
    keys = np.arange(n) if order is None else to_numpy(validate.vector(order, "order"))
    if len(keys) != n:
        raise ValueError(f"order must have {n} numbers, got {len(keys)}")
    ax, shown = axes(ax), _shown(sizes, keys)
    rows = np.concatenate(shown)
    picture = ax.imshow(_entries(matrix, rows), cmap=SEQUENTIAL, interpolation="none")
    edges = np.cumsum([0, *map(len, shown)])
    for edge in edges[1:-1]:
        ax.axhline(edge - 0.5, color="white", linewidth=1.2)
        ax.axvline(edge - 0.5, color="white", linewidth=1.2)
    middles = (edges[:-1] + edges[1:]) / 2 - 0.5
    ax.set_xticks(middles if names else [], names or [])
    ax.set_yticks(middles if names else [], names or [], rotation=90, va="center")
    ax.tick_params(length=0)
    ax.figure.colorbar(picture, cax=ax.inset_axes((1.03, 0.0, 0.04, 1.0)), label="k(x, y)")
    return ax


def _shown(sizes: Sequence[int], keys: np.ndarray) -> list[np.ndarray]:
    """For each group the rows to show, sorted."""
    share, start, shown = min(1.0, _MOST / sum(sizes)), 0, []
    for size in sizes:
        rows = start + np.argsort(keys[start : start + size], kind="stable")
        keep = max(1, round(share * size))
        shown.append(rows[np.linspace(0, size - 1, keep).round().astype(int)])
        start += size
    return shown


def _entries(matrix: Gram, rows: np.ndarray) -> np.ndarray:
    """The entries between some rows: (r, r)."""
    return to_numpy(Gram(matrix.kernel, taken(matrix.x, rows)).dense())
