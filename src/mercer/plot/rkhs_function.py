"""Plots of RKHS functions of one or two variables, with their points and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import array_like, is_array, to_numpy
from mercer.kernels.base import Kernel
from mercer.plot.style import DIVERGING, FAINT, INK, NEGATIVE, POSITIVE, SEQUENTIAL, axes
from mercer.rkhs import Function

Limits = Sequence[float] | Sequence[Sequence[float]]

_LINE_POINTS = 500  # of a curve; smooth at the width of a page
_GRID_SIDE = 120  # grid points along each axis of a map
_MAX_DOTS = 200  # of one sign on a map; more would hide it


def plot_function(
    function: Function, *, ax: Any = None, limits: Limits | None = None, label: str | None = None
) -> Any:
    """Draw an RKHS function: a curve for points with one column, a filled-contour map for two.

    The points are marked by ticks under the curve, upwards for positive weights and downwards for
    negative ones, with length proportional to the weight; or by dots on the map, black for positive
    weights and white for negative ones, with area proportional to the weight.

    Parameters
    ----------
    function : Function
        One function, or several functions of one variable.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    limits : (low, high), or a pair of them for the plane, optional
        Range to draw (default: the range of the points with a margin).
    label : str, optional
        Name of the function (default: "f(x)").

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> f = Function(RBF(0.5), [0.0, 1.0], [1.0, -1.0])
    >>> ax = plot_function(f, label="witness")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('x', 'witness')
    """
    validate.instance("function", function, Function, "a Function")
    if not is_array(function.points) or function.points.shape[1] > 2:
        width = function.points.shape[1] if is_array(function.points) else "no"
        raise ValueError(
            f"only functions of one or two columns can be plotted, these points have {width} columns"
        )
    points = to_numpy(function.points)
    window = (
        _window(function, points) if limits is None else _checked_limits(limits, points.shape[1])
    )
    if points.shape[1] == 1:
        return _line(function, points[:, 0], window[0], axes(ax), label or "f(x)")
    if function.weights.ndim == 2:
        raise ValueError("a map shows one function; plot f[0], f[1], ... separately")
    return _map(function, points, window, axes(ax), label or "f(x)")


# ---- one variable -------------------------------------------------------------------------


def _line(function: Function, points: np.ndarray, window: np.ndarray, ax: Any, label: str) -> Any:
    """Draw functions of one variable as curves."""
    x = np.linspace(window[0], window[1], _LINE_POINTS)
    values = _values(function, x[:, None])  # (m,) or (m, k)
    ax.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    if values.ndim == 1:
        ax.plot(x, values, color=INK, label=label)
        _ticks(ax, points, to_numpy(function.weights), values)
    else:
        for j, column in enumerate(values.T):
            ax.plot(x, column, label=f"{label} {j}")
        ax.legend(loc="best", frameon=False)
    ax.set(xlim=window, xlabel=_names(function, ("x",))[0], ylabel=label)
    return ax


def _ticks(ax: Any, points: np.ndarray, weights: np.ndarray, values: np.ndarray) -> None:
    """Draw the points as ticks along a base line under the curve."""
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    height = (high - low) or 1.0
    base, longest = low - 0.17 * height, 0.08 * height
    sizes = longest * weights / (np.abs(weights).max() or 1.0)
    ax.axhline(base, color=FAINT, linewidth=0.8, zorder=0)
    signs = (
        (weights > 0, POSITIVE, "positive weights"),
        (weights < 0, NEGATIVE, "negative weights"),
    )
    for selected, colour, name in signs:
        if np.any(selected):
            ends = base + sizes[selected]
            # Many ticks are transparent, so that their density shows.
            alpha = float(np.clip(60 / np.sum(selected), 0.04, 0.9))
            ax.vlines(points[selected], base, ends, color=colour, alpha=alpha, linewidth=1.2)
            ax.plot([], [], color=colour, linewidth=1.2, label=name)  # opaque in the legend
    extent = ax.dataLim  # includes earlier drawings on the same Axes
    ax.set_ylim(min(base - 1.4 * longest, extent.y0), max(high + 0.08 * height, extent.y1))
    ax.legend(loc="best", frameon=False)


# ---- two variables ------------------------------------------------------------------------


def _map(function: Function, points: np.ndarray, window: np.ndarray, ax: Any, label: str) -> Any:
    """Draw a function of two variables as a filled-contour map."""
    first, second = (np.linspace(a, b, _GRID_SIDE) for a, b in window)
    grid = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    values = _values(function, grid).reshape(_GRID_SIDE, _GRID_SIDE)
    levels, colours = _levels(values)
    filled = ax.contourf(first, second, values, levels=levels, cmap=colours)
    if colours == DIVERGING:
        ax.contour(first, second, values, levels=[0.0], colors=INK, linewidths=0.7)
    _dots(ax, points, to_numpy(function.weights))
    ax.figure.colorbar(filled, cax=ax.inset_axes((1.03, 0.0, 0.05, 1.0)), label=label)
    names = _names(function, ("$x_1$", "$x_2$"))
    ax.set(xlim=window[0], ylim=window[1], xlabel=names[0], ylabel=names[1])
    widths = window[:, 1] - window[:, 0]
    if function.columns is None and 1 / 3 < widths[0] / widths[1] < 3:
        ax.set_aspect("equal")  # unnamed coordinates share a unit
    return ax


def _levels(values: np.ndarray) -> tuple[np.ndarray, str]:
    """Round contour levels and a colour map, symmetric about zero if the function changes sign."""
    from matplotlib.ticker import MaxNLocator

    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high)) or 1.0
    if high - low <= 1e-12 * size:
        low, high = low - 0.5 * size, high + 0.5 * size
    signed = low < -1e-3 * size and high > 1e-3 * size
    low, high = (-size, size) if signed else (low, high)
    levels = np.asarray(MaxNLocator(15, symmetric=signed).tick_values(low, high))
    return levels, DIVERGING if signed else SEQUENTIAL


def _dots(ax: Any, points: np.ndarray, weights: np.ndarray) -> None:
    """Draw the points with area by weight; many points are thinned, and the legend gives the number."""
    largest = float(np.clip(5000 / len(points), 12, 40))
    sizes = np.maximum(largest * np.abs(weights) / (np.abs(weights).max() or 1.0), 2.0)
    signs = (
        (weights > 0, INK, "white", "positive weights"),
        (weights < 0, "white", INK, "negative weights"),
    )
    for selected, face, edge, name in signs:
        (rows,) = np.nonzero(selected)
        if len(rows) == 0:
            continue
        if len(rows) > _MAX_DOTS:
            shown = rows[:: -(-len(rows) // _MAX_DOTS)]
            name, rows = f"{name} ({len(shown)} of {len(rows)})", shown
        ax.scatter(
            *points[rows].T, s=sizes[rows], c=face, edgecolors=edge, linewidths=0.5, label=name
        )
    if np.any(weights > 0) and np.any(weights < 0):
        ax.legend(loc="best", fontsize="small", framealpha=0.85)


# ---- values, names and limits -------------------------------------------------------------


def _values(function: Function, grid: np.ndarray) -> np.ndarray:
    """Values of the function at grid points."""
    return to_numpy(function(array_like(grid, function.points)))


def _names(function: Function, default: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the columns, or default names."""
    return default if function.columns is None else function.columns.names


def _window(function: Function, points: np.ndarray) -> np.ndarray:
    """Range of the points with a margin of about a bandwidth: (d, 2)."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = high - low
    bandwidth = _bandwidth(function.kernel)
    margin = np.where(span > 0, np.clip(1.5 * bandwidth, 0.08 * span, 0.4 * span), 3 * bandwidth)
    wide = np.stack([low - margin, high + margin], axis=1)  # (d, 2)
    if np.all(span > 0):
        try:
            function.kernel.accept(array_like(wide.T, function.points))
        except ValueError:  # the margin is outside the domain of the kernel
            return np.stack([low, high], axis=1)
    return wide


def _bandwidth(kernel: Kernel) -> float:
    """Bandwidth of a kernel, or the largest one of its components; 1 if there is none."""
    bandwidth = getattr(kernel, "bandwidth", None)
    if isinstance(bandwidth, int | float):
        return float(bandwidth)
    return max((_bandwidth(component) for component in kernel.parts().values()), default=1.0)


def _checked_limits(limits: Limits, dimensions: int) -> np.ndarray:
    """Limits handed in by the user, checked: (d, 2)."""
    window = to_numpy(validate.finite(validate.real(limits, "limits"), "limits"))
    window = window[None, :] if window.shape == (2,) and dimensions == 1 else window
    if window.shape != (dimensions, 2) or not np.all(window[:, 0] < window[:, 1]):
        needed = "(low, high)" if dimensions == 1 else "((low, high), (low, high))"
        raise ValueError(f"limits must be {needed} with low < high, got {limits!r}")
    return window
