"""Where a model does not fit: the Stein witness on the line and the plane, and the evidence on a map."""

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

_LINE = 400  # values along a line
_SIDE = 100  # values along each side of a map
_DOTS = 600  # observations that are shown
_BARS = 40
_MARGIN = 0.1  # of the range of the observations
_WHOLE = 0.02  # logarithm of the mass on the line beyond which a density is none
_SHARES = (0.9, 0.5, 0.1)  # of the model's mass inside its contour lines
# On a map, whose colours are the same on light pages and dark ones, and so not those of words.
_DARK, _LIGHT, _MIDDLE = "#202020", "#fdfdfd", "#b8b8b8"
_STAR = {"marker": "*", "color": "#ffd92f", "markeredgecolor": _DARK, "linestyle": "none"}


def plot_misfit(
    witness: Function,
    *,
    ax: Any = None,
    log_density: LogDensity | None = None,
    locations: Any = None,
    support: Any = None,
) -> Any:
    """The Stein witness on the line or the plane, with what was observed and what the model expects.

    Positive (red) where more observations are than the model expects, negative (blue) where fewer.
    On the line the observations are a histogram and the model's density a line, neither with a
    scale; on the plane they are dots and contour lines that hold 90, 50 and 10 percent of it.

    Parameters
    ----------
    witness : Function
        `GoodnessResult.witness()` of observations with one or two columns.
    ax : matplotlib Axes, optional
        A new figure if left out.
    log_density : callable, optional
        The logarithm of the model's density at points (n, d), perhaps up to a constant.
    locations : array (J, d), optional
        Where a test has looked.
    support : array (d, 2), optional
        Where the model lives: nothing is drawn beyond.

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
    values = to_numpy(witness(array_like(grid, witness.points))).reshape(_SIDE, _SIDE)
    reach = float(np.abs(values).max()) or 1.0
    drawn = _image(ax, values, window, DIVERGING, -reach, reach)
    _bar(ax, drawn, "more observations than expected (+), fewer (-)")
    ax.contour(first, second, values, levels=[0.0], colors=_MIDDLE, linewidths=0.8)
    if log_density is not None:
        _contours(ax, log_density, first, second, grid)
    _dots(ax, points, _DARK)
    _stars(ax, locations)
    return _finished(ax, window, names)


def plot_evidence(
    evidence: Any, *, ax: Any = None, locations: Any = None, labels: Sequence[str] | None = None
) -> Any:
    """The evidence against a model over the plane, with the observations and a test's locations.

    Large where a test at this one location would find most: by the signal-to-noise ratio that
    learnt locations make largest.

    Parameters
    ----------
    evidence : Evidence
        `GoodnessResult.evidence()` of observations with two columns.
    ax : matplotlib Axes, optional
        A new figure if left out.
    locations : array (J, 2), optional
        Where a test has looked.
    labels : sequence of str, optional
        What the columns are called.

    Returns
    -------
    matplotlib Axes
    """
    points = _plain(evidence.observations)
    if points.shape[1] != 2:
        raise ValueError(f"only two columns have a map, these observations have {points.shape[1]}")
    window = _window(points, locations, evidence.sample.support)
    ax = axes(ax)
    _, _, grid = _grid(window)
    values = np.maximum(evidence(grid), 0.0).reshape(_SIDE, _SIDE)
    top = float(values.max()) or 1.0
    drawn = _image(ax, values, window, SEQUENTIAL, 0.0, top)
    _bar(ax, drawn, "evidence against the model (signal to noise)")
    _dots(ax, points, _LIGHT)
    _stars(ax, locations)
    return _finished(ax, window, labels)


def plot_columns(columns: Sequence[Any], *, ax: Any = None, most: int = 15) -> Any:
    """How far a model is off in each column, given the others: relative discrepancies.

    With their intervals; columns whose intervals do not hold zero are red.

    Parameters
    ----------
    columns : sequence of MisfitColumn
        `GoodnessResult.columns()`.
    ax : matplotlib Axes, optional
        A new figure if left out.
    most : int
        Columns that are shown.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    shown = list(columns)[:most]
    for place, column in enumerate(shown):
        low, high = column.misfit.relative_interval
        colour = POSITIVE if low > 0 else FAINT
        ax.barh(place, column.misfit.relative, 0.62, color=colour, alpha=0.85)
        ax.plot([low, high], [place, place], color=INK, linewidth=1.2)
    ax.set_yticks(range(len(shown)), [short(c.name) for c in shown], parse_math=False)
    ax.invert_yaxis()
    left_out = f", {len(shown)} of {len(columns)} columns" if len(columns) > len(shown) else ""
    ax.set_xlabel(f"relative discrepancy{left_out}")
    ax.set_xlim(left=0)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax


# ---- the line -----------------------------------------------------------------------------


def _line(
    witness: Function,
    points: np.ndarray,
    window: np.ndarray,
    ax: Any,
    log_density: LogDensity | None,
    locations: Any,
    names: Sequence[str] | None,
) -> Any:
    x = np.linspace(window[0], window[1], _LINE)
    values = to_numpy(witness(array_like(x[:, None], witness.points)))
    height = float(np.abs(values).max()) or 1.0
    edges = np.linspace(window[0], window[1], _BARS + 1)
    shares = np.histogram(points, edges)[0] / len(points) / (edges[1] - edges[0])
    density = np.zeros(_LINE) if log_density is None else _density(log_density, x)
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
    """The density on a line, over its integral where it is known up to a constant only."""
    logs = log_density(x[:, None])
    logs = np.where(np.isfinite(logs), logs, -np.inf)
    top = float(logs.max())
    if not np.isfinite(top):
        return np.zeros_like(x)
    shape = np.exp(logs - top)
    mass = float(np.trapezoid(shape, x))
    return shape * (np.exp(top) if top + np.log(mass) < _WHOLE else 1 / mass)


# ---- the plane ----------------------------------------------------------------------------


def _grid(window: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    first, second = (np.linspace(a, b, _SIDE) for a, b in window)
    return first, second, np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)


def _image(
    ax: Any, values: np.ndarray, window: np.ndarray, colours: str, low: float, high: float
) -> Any:
    """Pixels: they stay small in a page, however rough the values are."""
    return ax.imshow(
        values, extent=window.ravel(), origin="lower", aspect="auto", interpolation="bilinear",
        cmap=colours, vmin=low, vmax=high,
    )  # fmt: skip


def _contours(
    ax: Any, log_density: LogDensity, first: np.ndarray, second: np.ndarray, grid: np.ndarray
) -> None:
    """Lines of equal density that hold some shares of the model's mass on this map."""
    logs = log_density(grid)
    if not np.isfinite(logs).any():
        return
    density = np.exp(np.where(np.isfinite(logs), logs, -np.inf) - np.nanmax(logs))
    falling = np.sort(density)[::-1]
    mass = np.cumsum(falling) / falling.sum()
    levels = sorted({float(falling[np.searchsorted(mass, share)]) for share in _SHARES})
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
    rows = np.linspace(0, len(points) - 1, min(len(points), _DOTS)).astype(np.int64)
    ax.plot(*points[rows].T, ".", color=colour, markersize=2.2, alpha=0.55)


def _stars(ax: Any, locations: Any) -> None:
    if locations is not None:
        ax.plot(*_plain(locations).T, markersize=14, label="locations", **_STAR)
        look = {"frameon": True, "facecolor": _LIGHT, "edgecolor": _MIDDLE, "labelcolor": _DARK}
        ax.legend(loc="best", fontsize="small", framealpha=0.85, **look)


def _bar(ax: Any, filled: Any, label: str) -> None:
    bar = ax.figure.colorbar(filled, ax=ax)
    bar.ax.yaxis.set_major_formatter("{x:.3g}")
    bar.set_label(label, fontsize="small")


def _finished(ax: Any, window: np.ndarray, names: Sequence[str] | None) -> Any:
    ax.set(xlim=window[0], ylim=window[1])
    told = ("column 0", "column 1") if names is None else names
    ax.set_xlabel(told[0], parse_math=False)
    ax.set_ylabel(told[1], parse_math=False)
    widths = window[:, 1] - window[:, 0]
    if names is None and 1 / 3 < widths[0] / widths[1] < 3:
        ax.set_aspect("equal")  # coordinates without names have one unit
    return ax


# ---- what both share ----------------------------------------------------------------------


def _plain(points: Any) -> np.ndarray:
    if not is_array(points) or points.ndim != 2 or points.shape[1] > 2:
        raise ValueError(
            "only observations of one or two columns of numbers have a picture of where a model "
            f"does not fit, got {tuple(getattr(points, 'shape', ()))}"
        )
    return to_numpy(points).astype(np.float64)


def _window(points: np.ndarray, locations: Any, support: Any) -> np.ndarray:
    """The range of the observations and locations, and a margin up to the borders: (d, 2)."""
    both = points if locations is None else np.concatenate([points, _plain(locations)])
    low, high = both.min(axis=0), both.max(axis=0)
    margin = np.where(high > low, _MARGIN * (high - low), 1.0)
    window = np.stack([low - margin, high + margin], axis=1)
    if support is None:
        return window
    ends = np.asarray(support, dtype=np.float64)
    return np.stack([np.maximum(window[:, 0], ends[:, 0]), np.minimum(window[:, 1], ends[:, 1])], 1)
