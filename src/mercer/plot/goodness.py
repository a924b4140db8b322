"""Plots of where a model does not fit: Stein witness, evidence map, misfit of each column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import array_like, is_array, to_numpy
from mercer.plot.column_differences import short
from mercer.plot.style import DIVERGING, FAINT, INK, NEGATIVE, POSITIVE, SEQUENTIAL, axes
from mercer.rkhs import Function

LogDensity = Callable[[np.ndarray], np.ndarray]

_LINE_POINTS = 400  # of a curve; smooth at the width of a page
_GRID_SIDE = 100  # grid points along each axis of a map; the image interpolates between them
_MAX_DOTS = 600  # observations shown; more would hide the map
_BINS = 40
_MARGIN = 0.1  # of the range of the observations
_MAX_LOG_MASS = 0.02  # a density with more mass is not normalized; 2% allows for the grid
_CONTOUR_MASSES = (0.9, 0.5, 0.1)  # probability enclosed by the contour lines of the model
# The colours on a map do not follow the dark mode of a page, because those of the map do not.
_DARK, _LIGHT, _GREY = "#202020", "#fdfdfd", "#b8b8b8"
_STAR = {"marker": "*", "color": "#ffd92f", "markeredgecolor": _DARK, "linestyle": "none"}


def plot_misfit(
    witness: Function,
    *,
    ax: Any = None,
    log_density: LogDensity | None = None,
    locations: Any = None,
    support: Any = None,
) -> Any:
    """Draw the Stein witness of one or two columns, with the observations and the model's density.

    Positive (red) where there are more observations than the model expects, negative (blue) where
    there are fewer. For one column the observations are a histogram and the density a dashed line,
    both rescaled to the height of the witness; for two columns they are dots and contour lines that
    enclose 90, 50 and 10 percent of the model's probability.

    Parameters
    ----------
    witness : Function
        Result of `GoodnessResult.witness()` for observations with one or two columns.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    log_density : callable, optional
        Log-density of the model at points (n, d), up to an additive constant.
    locations : array (J, d), optional
        Locations of the test, marked by stars.
    support : array (d, 2), optional
        Support of the model; nothing is drawn outside it.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from mercer.htest import KSD
    >>> from mercer.rkhs import Gaussian
    >>> model = Gaussian(0.0, 1.0)
    >>> result = KSD(model).test(model.sample(100, rng=0) + 0.5, rng=0)
    >>> plot_misfit(result.witness(), log_density=model.log_density).get_ylabel()
    'Stein witness'
    """
    validate.instance("witness", witness, Function, "a Function")
    points = _plain(witness.points)
    names = None if witness.columns is None else witness.columns.names
    window = _window(points, locations, support)
    if points.shape[1] == 1:
        return _line(witness, points[:, 0], window[0], axes(ax), log_density, locations, names)
    ax = axes(ax)
    first, second, grid = _grid(window)
    values = to_numpy(witness(array_like(grid, witness.points))).reshape(_GRID_SIDE, _GRID_SIDE)
    largest = float(np.abs(values).max()) or 1.0
    image = _image(ax, values, window, DIVERGING, -largest, largest)
    _colour_bar(ax, image, "more observations than expected (+), fewer (-)")
    ax.contour(first, second, values, levels=[0.0], colors=_GREY, linewidths=0.8)
    if log_density is not None:
        _contours(ax, log_density, first, second, grid)
    _dots(ax, points, _DARK)
    _stars(ax, locations)
    return _with_axis_labels(ax, window, names)


def plot_evidence(
    evidence: Any, *, ax: Any = None, locations: Any = None, labels: Sequence[str] | None = None
) -> Any:
    """Draw a map of the evidence against a model, with the observations and the test's locations.

    The evidence is the signal-to-noise ratio of a test at a single location, which
    `FSSD.optimized` maximizes.

    Parameters
    ----------
    evidence : Evidence
        Result of `GoodnessResult.evidence()` for observations with two columns.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    locations : array (J, 2), optional
        Locations of the test, marked by stars.
    labels : sequence of str, optional
        Names of the columns.

    Returns
    -------
    matplotlib Axes
    """
    points = _plain(evidence.observations)
    if points.shape[1] != 2:
        raise ValueError(
            f"an evidence map needs two columns, these observations have {points.shape[1]}"
        )
    window = _window(points, locations, evidence.sample.support)
    ax = axes(ax)
    _, _, grid = _grid(window)
    values = np.maximum(evidence(grid), 0.0).reshape(_GRID_SIDE, _GRID_SIDE)
    largest = float(values.max()) or 1.0
    image = _image(ax, values, window, SEQUENTIAL, 0.0, largest)
    _colour_bar(ax, image, "evidence against the model (signal-to-noise ratio)")
    _dots(ax, points, _LIGHT)
    _stars(ax, locations)
    return _with_axis_labels(ax, window, labels)


def plot_columns(columns: Sequence[Any], *, ax: Any = None, most: int = 15) -> Any:
    """Draw the relative discrepancy of each column given the others, with its interval.

    Columns whose interval excludes zero are red.

    Parameters
    ----------
    columns : sequence of MisfitColumn
        Result of `GoodnessResult.columns()`.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    most : int
        Largest number of columns to show.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    shown = list(columns)[:most]
    for position, column in enumerate(shown):
        low, high = column.misfit.relative_interval
        colour = POSITIVE if low > 0 else FAINT
        ax.barh(position, column.misfit.relative, 0.62, color=colour, alpha=0.85)
        ax.plot([low, high], [position, position], color=INK, linewidth=1.2)
    ax.set_yticks(range(len(shown)), [short(c.name) for c in shown], parse_math=False)
    ax.invert_yaxis()
    count = f" ({len(shown)} of {len(columns)} columns)" if len(columns) > len(shown) else ""
    ax.set_xlabel(f"relative discrepancy{count}")
    ax.set_xlim(left=0)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax


# ---- one column ---------------------------------------------------------------------------


def _line(
    witness: Function,
    points: np.ndarray,
    window: np.ndarray,
    ax: Any,
    log_density: LogDensity | None,
    locations: Any,
    names: Sequence[str] | None,
) -> Any:
    """Draw the witness of one column."""
    x = np.linspace(window[0], window[1], _LINE_POINTS)
    values = to_numpy(witness(array_like(x[:, None], witness.points)))
    height = float(np.abs(values).max()) or 1.0
    edges = np.linspace(window[0], window[1], _BINS + 1)
    shares = np.histogram(points, edges)[0] / len(points) / (edges[1] - edges[0])
    density = np.zeros(_LINE_POINTS) if log_density is None else _density(log_density, x)
    top = max(float(shares.max()), float(density.max())) or 1.0
    ax.stairs(height * shares / top, edges, fill=True, color=FAINT, alpha=0.5, label="observations")
    if density.any():
        ax.plot(x, height * density / top, color=INK, linestyle="--", linewidth=1, label="model")
    ax.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
    ax.plot(x, values, color=INK, linewidth=1.6, label="witness")
    more, fewer = values >= 0, values <= 0
    ax.fill_between(x, values, where=more, color=POSITIVE, alpha=0.3, linewidth=0)
    ax.fill_between(x, values, where=fewer, color=NEGATIVE, alpha=0.3, linewidth=0)
    if locations is not None:
        places = _plain(locations)[:, 0]
        ax.plot(places, np.zeros(len(places)), markersize=12, label="locations", **_STAR)
    ax.set(xlim=window, ylabel="Stein witness")
    ax.set_xlabel("x" if names is None else names[0], parse_math=False)
    ax.legend(loc="best", frameon=False, fontsize="small")
    return ax


def _density(log_density: LogDensity, x: np.ndarray) -> np.ndarray:
    """The density on a grid, normalized in the window if it is known up to a constant only."""
    logs = log_density(x[:, None])
    logs = np.where(np.isfinite(logs), logs, -np.inf)
    top = float(logs.max())
    if not np.isfinite(top):
        return np.zeros_like(x)
    shape = np.exp(logs - top)
    mass = float(np.trapezoid(shape, x))
    return shape * (np.exp(top) if top + np.log(mass) < _MAX_LOG_MASS else 1 / mass)


# ---- two columns --------------------------------------------------------------------------


def _grid(window: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coordinates along both axes, and the points of the grid."""
    first, second = (np.linspace(a, b, _GRID_SIDE) for a, b in window)
    return first, second, np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)


def _image(
    ax: Any, values: np.ndarray, window: np.ndarray, colours: str, low: float, high: float
) -> Any:
    """Draw values as an image, which stays small in an SVG, unlike contours of rough values."""
    return ax.imshow(
        values, extent=window.ravel(), origin="lower", aspect="auto", interpolation="bilinear",
        cmap=colours, vmin=low, vmax=high,
    )  # fmt: skip


def _contours(
    ax: Any, log_density: LogDensity, first: np.ndarray, second: np.ndarray, grid: np.ndarray
) -> None:
    """Draw contour lines that enclose `_CONTOUR_MASSES` of the model's probability in this window."""
    logs = log_density(grid)
    if not np.isfinite(logs).any():
        return
    density = np.exp(np.where(np.isfinite(logs), logs, -np.inf) - np.nanmax(logs))
    descending = np.sort(density)[::-1]
    mass = np.cumsum(descending) / descending.sum()
    levels = sorted({float(descending[np.searchsorted(mass, m)]) for m in _CONTOUR_MASSES})
    shape = len(second), len(first)
    ax.contour(
        first,
        second,
        density.reshape(shape),
        levels=levels,
        colors=_DARK,
        linewidths=0.8,
        alpha=0.7,
    )


def _dots(ax: Any, points: np.ndarray, colour: str) -> None:
    """Draw at most `_MAX_DOTS` observations."""
    rows = np.linspace(0, len(points) - 1, min(len(points), _MAX_DOTS)).astype(np.int64)
    ax.plot(*points[rows].T, ".", color=colour, markersize=2.2, alpha=0.55)


def _stars(ax: Any, locations: Any) -> None:
    """Mark the locations of the test."""
    if locations is not None:
        ax.plot(*_plain(locations).T, markersize=14, label="locations", **_STAR)
        look = {"frameon": True, "facecolor": _LIGHT, "edgecolor": _GREY, "labelcolor": _DARK}
        ax.legend(loc="best", fontsize="small", framealpha=0.85, **look)


def _colour_bar(ax: Any, image: Any, label: str) -> None:
    """Add a colour bar with its label."""
    bar = ax.figure.colorbar(image, ax=ax)
    bar.ax.yaxis.set_major_formatter("{x:.3g}")
    bar.set_label(label, fontsize="small")


def _with_axis_labels(ax: Any, window: np.ndarray, names: Sequence[str] | None) -> Any:
    """Set the limits, labels and aspect of a map; returns the Axes."""
    ax.set(xlim=window[0], ylim=window[1])
    labels = ("column 0", "column 1") if names is None else names
    ax.set_xlabel(labels[0], parse_math=False)
    ax.set_ylabel(labels[1], parse_math=False)
    widths = window[:, 1] - window[:, 0]
    if names is None and 1 / 3 < widths[0] / widths[1] < 3:
        ax.set_aspect("equal")  # unnamed coordinates share a unit
    return ax


# ---- points and limits --------------------------------------------------------------------


def _plain(points: Any) -> np.ndarray:
    """Observations of one or two columns as a NumPy array of float64."""
    if not is_array(points) or points.ndim != 2 or points.shape[1] > 2:
        raise ValueError(
            "a plot of where a model does not fit needs observations of one or two columns, got "
            f"shape {tuple(getattr(points, 'shape', ()))}; use plot_columns() for more"
        )
    return to_numpy(points).astype(np.float64)


def _window(points: np.ndarray, locations: Any, support: Any) -> np.ndarray:
    """Range of the observations and locations with a margin, inside the support: (d, 2)."""
    shown = points if locations is None else np.concatenate([points, _plain(locations)])
    low, high = shown.min(axis=0), shown.max(axis=0)
    margin = np.where(high > low, _MARGIN * (high - low), 1.0)
    window = np.stack([low - margin, high + margin], axis=1)
    if support is None:
        return window
    lower, upper = np.asarray(support, dtype=np.float64).T
    return np.stack([np.maximum(window[:, 0], lower), np.minimum(window[:, 1], upper)], axis=1)
