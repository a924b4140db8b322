"""Functions of an RKHS on the line and on the plane, with the points and weights they are made of."""

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

_LINE = 500  # values along a line
_SIDE = 120  # values along each side of a map
_DOTS = 200  # dots of one sign on a map


def plot_function(
    function: Function, *, ax: Any = None, limits: Limits | None = None, label: str | None = None
) -> Any:
    """A line for points with one column, a filled-contour map for points with two.

    The points are marked: as ticks under the line, up where the weight is positive and down
    where it is negative, their length its size; as dots on the map, black where it is positive
    and white where it is negative, their area its size.

    Parameters
    ----------
    function : Function
        One function or, on the line, several.
    ax : matplotlib Axes, optional
        A new figure if left out.
    limits : (low, high), or a pair of them for the plane, optional
        Where to draw; the range of the points and a little more if left out.
    label : str, optional
        What to call the function; "f(x)" if left out.

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
        what = f"{function.points.shape[1]} columns" if is_array(function.points) else "no columns"
        raise ValueError(
            f"only functions of one or two columns have a picture, these points have {what}"
        )
    points = to_numpy(function.points)
    window = _window(function, points) if limits is None else _given(limits, points.shape[1])
    if points.shape[1] == 1:
        return _line(function, points[:, 0], window[0], axes(ax), label or "f(x)")
    if function.weights.ndim == 2:
        raise ValueError("a map shows one function: plot f[0], f[1], ... one at a time")
    return _map(function, points, window, axes(ax), label or "f(x)")


# ---- the line -----------------------------------------------------------------------------


def _line(function: Function, points: np.ndarray, window: np.ndarray, ax: Any, label: str) -> Any:
    x = np.linspace(window[0], window[1], _LINE)
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
    """The points as ticks along a base line in a strip under the curve."""
    low, high = min(values.min(), 0.0), max(values.max(), 0.0)
    height = (high - low) or 1.0
    base, longest = low - 0.17 * height, 0.08 * height
    sizes = longest * weights / (np.abs(weights).max() or 1.0)
    ax.axhline(base, color=FAINT, linewidth=0.8, zorder=0)
    signs = (
        (weights > 0, POSITIVE, "positive weights"),
        (weights < 0, NEGATIVE, "negative weights"),
    )
    for chosen, colour, name in signs:
        if np.any(chosen):
            ends = base + sizes[chosen]
            alpha = float(np.clip(60 / np.sum(chosen), 0.04, 0.9))  # many: their density shows
            ax.vlines(points[chosen], base, ends, color=colour, alpha=alpha, linewidth=1.2)
            ax.plot([], [], color=colour, linewidth=1.2, label=name)  # opaque in the legend
    seen = ax.dataLim  # of what was drawn before as well
    ax.set_ylim(min(base - 1.4 * longest, seen.y0), max(high + 0.08 * height, seen.y1))
    ax.legend(loc="best", frameon=False)


# ---- the plane ----------------------------------------------------------------------------


def _map(function: Function, points: np.ndarray, window: np.ndarray, ax: Any, label: str) -> Any:
    first, second = (np.linspace(a, b, _SIDE) for a, b in window)
    grid = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    values = _values(function, grid).reshape(_SIDE, _SIDE)
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
        ax.set_aspect("equal")  # coordinates without names have one unit
    return ax


def _levels(values: np.ndarray) -> tuple[np.ndarray, str]:
    """Round levels and their colours, symmetric about zero where the function has both signs."""
    from matplotlib.ticker import MaxNLocator

    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high)) or 1.0
    if high - low <= 1e-12 * size:
        low, high = low - 0.5 * size, high + 0.5 * size
    both = low < -1e-3 * size and high > 1e-3 * size
    low, high = (-size, size) if both else (low, high)
    levels = np.asarray(MaxNLocator(15, symmetric=both).tick_values(low, high))
    return levels, DIVERGING if both else SEQUENTIAL


def _dots(ax: Any, points: np.ndarray, weights: np.ndarray) -> None:
    """The points, area by weight; of very many every so many-th, and the legend says so."""
    largest = float(np.clip(5000 / len(points), 12, 40))
    sizes = np.maximum(largest * np.abs(weights) / (np.abs(weights).max() or 1.0), 2.0)
    signs = (
        (weights > 0, INK, "white", "positive weights"),
        (weights < 0, "white", INK, "negative weights"),
    )
    for chosen, face, edge, name in signs:
        (rows,) = np.nonzero(chosen)
        if len(rows) == 0:
            continue
        if len(rows) > _DOTS:
            shown = rows[:: -(-len(rows) // _DOTS)]
            name, rows = f"{name} ({len(shown)} of {len(rows)})", shown
        ax.scatter(
            *points[rows].T, s=sizes[rows], c=face, edgecolors=edge, linewidths=0.5, label=name
        )
    if np.any(weights > 0) and np.any(weights < 0):
        ax.legend(loc="best", fontsize="small", framealpha=0.85)


# ---- where, and what it is called ---------------------------------------------------------


def _values(function: Function, grid: np.ndarray) -> np.ndarray:
    return to_numpy(function(array_like(grid, function.points)))


def _names(function: Function, default: tuple[str, ...]) -> tuple[str, ...]:
    return default if function.columns is None else function.columns.names


def _window(function: Function, points: np.ndarray) -> np.ndarray:
    """The range of the points, and a margin of about a bandwidth where there are several."""
    low, high = points.min(axis=0), points.max(axis=0)
    span = high - low
    reach = _bandwidth(function.kernel)
    margin = np.where(span > 0, np.clip(1.5 * reach, 0.08 * span, 0.4 * span), 3 * reach)
    wide = np.stack([low - margin, high + margin], axis=1)  # (d, 2)
    if np.all(span > 0):
        try:
            function.kernel.accept(array_like(wide.T, function.points))
        except ValueError:  # beyond the kernel's domain, which the points are in
            return np.stack([low, high], axis=1)
    return wide


def _bandwidth(kernel: Kernel) -> float:
    """The largest bandwidth of the kernel and its parts; 1 where none has any."""
    inner = [_bandwidth(part) for part in kernel.parts().values()]
    own = getattr(kernel, "bandwidth", None)
    return float(own) if isinstance(own, int | float) else max(inner, default=1.0)


def _given(limits: Limits, dimensions: int) -> np.ndarray:
    window = to_numpy(validate.finite(validate.real(limits, "limits"), "limits"))
    window = window[None, :] if window.shape == (2,) and dimensions == 1 else window
    if window.shape != (dimensions, 2) or not np.all(window[:, 0] < window[:, 1]):
        needed = "(low, high)" if dimensions == 1 else "((low, high), (low, high))"
        raise ValueError(f"limits must be {needed} with low < high, got {limits!r}")
    return window
