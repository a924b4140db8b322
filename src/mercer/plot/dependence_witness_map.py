"""The dependence of two variables as a map: where pairs come together more often than by chance."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backend import array_like, is_array, to_numpy
from mercer.plot.style import DIVERGING, INK, axes

_SIDE = 120  # values along each side
_DOTS = 400  # observations that are shown


def plot_dependence(witness: Any, *, ax: Any = None, labels: tuple[str, str] | None = None) -> Any:
    """A filled-contour map of a witness of dependence, with the observations on it.

    Red where x and y come together more often than if they were independent, blue where less.

    Parameters
    ----------
    witness : DependenceWitness
        Of two variables of one column of numbers each: `IndependenceResult.witness()`.
    ax : matplotlib Axes, optional
        A new figure if left out.
    labels : pair of str, optional
        What the variables are called.

    Returns
    -------
    matplotlib Axes
    """
    points = [variable.unmoved for variable in (witness.x, witness.y)]
    for variable, p in zip((witness.x, witness.y), points, strict=True):
        if not is_array(p) or p.shape[1] != 1 or _categorical(variable):
            raise ValueError(
                "only the dependence of two columns of numbers has a map: "
                f"{variable.described} is something else"
            )
    values = [to_numpy(p)[:, 0] for p in points]
    grids = [np.linspace(v.min(), v.max(), _SIDE) for v in values]
    sides = [array_like(g[:, None], p) for g, p in zip(grids, points, strict=True)]
    surface = to_numpy(witness.surface(*sides))  # rows are x
    ax = axes(ax)
    reach = float(np.abs(surface).max()) or 1.0
    drawn = ax.contourf(
        *grids, surface.T, levels=np.linspace(-reach, reach, 21), cmap=DIVERGING, extend="both"
    )
    bar = ax.figure.colorbar(drawn, ax=ax)
    bar.ax.yaxis.set_major_formatter("{x:.2g}")
    bar.set_label("more often than by chance (+), less often (-)", fontsize="small")
    some = np.linspace(0, len(values[0]) - 1, min(len(values[0]), _DOTS)).astype(np.int64)
    ax.plot(values[0][some], values[1][some], ".", color=INK, markersize=2, alpha=0.6)
    names = labels or (witness.x.label, witness.y.label)
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    return ax


def _categorical(variable: Any) -> bool:
    return variable.columns is not None and any(variable.columns.categorical)
