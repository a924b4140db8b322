"""Map of the dependence of two variables: where values occur together more often than by chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import array_like, is_array, to_numpy
from mercer.plot.style import DIVERGING, INK, axes

_GRID_SIDE = 120  # grid points along each axis, about one per three pixels
_MAX_DOTS = 400  # observations shown; more would hide the map


def plot_dependence(witness: Any, *, ax: Any = None, labels: tuple[str, str] | None = None) -> Any:
    """Draw a filled-contour map of a dependence witness, with the observations as dots.

    Red where values of x and y occur together more often than under independence, blue where less.

    Parameters
    ----------
    witness : DependenceWitness
        Result of `IndependenceResult.witness()` for two variables of one numeric column each.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    labels : pair of str, optional
        Names of the variables.

    Returns
    -------
    matplotlib Axes
    """
    points = [variable.uncentred for variable in (witness.x, witness.y)]
    for variable, p in zip((witness.x, witness.y), points, strict=True):
        if not is_array(p) or p.shape[1] != 1 or _categorical(variable):
            raise ValueError(
                "a map of the dependence needs two variables of one numeric column each, but "
                f"{variable.described} is not one; use plot() for the null distribution"
            )
    values = [to_numpy(p)[:, 0] for p in points]
    grids = [np.linspace(v.min(), v.max(), _GRID_SIDE) for v in values]
    sides = [array_like(g[:, None], p) for g, p in zip(grids, points, strict=True)]
    surface = to_numpy(witness.surface(*sides))  # rows are x
    ax = axes(ax)
    largest = float(np.abs(surface).max()) or 1.0
    levels = np.linspace(-largest, largest, 21)
    filled = ax.contourf(*grids, surface.T, levels=levels, cmap=DIVERGING, extend="both")
    bar = ax.figure.colorbar(filled, ax=ax)
    bar.ax.yaxis.set_major_formatter("{x:.2g}")
    bar.set_label("more often than by chance (+), less often (-)", fontsize="small")
    rows = np.linspace(0, len(values[0]) - 1, min(len(values[0]), _MAX_DOTS)).astype(np.int64)
    ax.plot(values[0][rows], values[1][rows], ".", color=INK, markersize=2, alpha=0.6)
    names = labels or (witness.x.label, witness.y.label)
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    return ax


def _categorical(variable: Any) -> bool:
    return variable.columns is not None and any(variable.columns.categorical)
