"""A null distribution with what was observed in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot.style import FAINT, INK, POSITIVE, axes

_BINS = 40
_GRID = 400
_FAR = 3.0  # widths of the null beyond which what was observed is shown by an arrow


def plot_null(result: Any, *, ax: Any = None) -> Any:
    """The null distribution of a test, the statistic in it, and the tail that is the p-value.

    A histogram where the null was resampled, its density where it has one. A statistic far
    outside is an arrow at the edge, so that the null keeps its shape.

    Parameters
    ----------
    result : Result
        Of any hypothesis test.
    ax : matplotlib Axes, optional
        A new figure if left out.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    observed = float(result.statistic if result.observed is None else result.observed)
    draws = np.asarray(result.null, dtype=np.float64)
    if len(draws) == 0 and result.law is None:
        return _bound_only(ax, result)
    low, high = _range(draws, result.law)
    right = observed if observed <= high + _FAR * (high - low) else high + 0.6 * (high - low)
    window = _padded(min(low, observed), max(high, right))
    if len(draws):
        _histogram(ax, draws, observed, window)
    else:
        _density(ax, result.law, observed, window)
    _observed(ax, result, observed, right)
    ax.set(xlim=window, xlabel=f"{type(result.test).__name__} statistic under the null hypothesis")
    ax.set_yticks([])
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    return ax


def _range(draws: np.ndarray, law: Any) -> tuple[float, float]:
    if len(draws):
        return float(draws.min()), float(draws.max())
    low, high = law.support()
    middle, spread = float(law.mean()), float(law.std())
    return max(low, middle - 4 * spread), min(high, middle + 5 * spread)


def _padded(low: float, high: float) -> tuple[float, float]:
    width = (high - low) or abs(high) or 1.0
    return low - 0.04 * width, high + 0.04 * width


def _histogram(ax: Any, draws: np.ndarray, observed: float, window: tuple[float, float]) -> None:
    low, high = float(draws.min()), float(draws.max())
    width = (high - low) / _BINS or (window[1] - window[0]) / 60
    # An edge at what was observed: the bars right of it are the p-value.
    first = observed - width * np.ceil((observed - low) / width + 1e-9)
    edges = first + width * np.arange(int(np.ceil((high - first) / width)) + 2)
    counts, _ = np.histogram(draws, edges)
    tail = edges[:-1] >= observed - 1e-9 * width
    colours = np.where(tail, POSITIVE, FAINT)
    ax.bar(edges[:-1], counts, width, align="edge", color=colours, edgecolor="white", linewidth=0.4)


def _density(ax: Any, law: Any, observed: float, window: tuple[float, float]) -> None:
    x = np.unique(np.concatenate([np.linspace(*window, _GRID), [np.clip(observed, *window)]]))
    with np.errstate(all="ignore"):
        y = np.asarray(law.pdf(x), dtype=np.float64)
    y = np.where(np.isfinite(y), y, np.nan)
    middle = float(law.pdf(law.mean()))
    ax.plot(x, y, color=INK, linewidth=1.2)
    ax.fill_between(x, y, color=FAINT, alpha=0.5, linewidth=0)
    ax.fill_between(x, y, where=x >= observed, color=POSITIVE, alpha=0.8, linewidth=0)
    ax.set_ylim(0, 1.15 * min(float(np.nanmax(y)), 4 * middle))


def _observed(ax: Any, result: Any, observed: float, right: float) -> None:
    """A line where the statistic is, or an arrow to it, with the p-value beside."""
    words = f"observed {observed:.3g}\np = {result.pvalue:.3g}"
    top = ax.get_ylim()[1]
    ax.set_ylim(0, 1.12 * top)
    if observed > right:
        ax.annotate(
            "", (right, 0.5 * top), (right - 0.12 * (right - ax.get_xlim()[0]), 0.5 * top),
            arrowprops={"arrowstyle": "-|>", "color": POSITIVE, "linewidth": 1.6},
        )  # fmt: skip
        ax.text(right, 0.56 * top, words, color=POSITIVE, ha="right", va="bottom")
        return
    ax.axvline(observed, ymax=0.94, color=POSITIVE, linewidth=1.6)
    low, high = _view(ax, observed)
    beyond = (observed - low) / (high - low) > 0.6
    ax.annotate(
        words, (observed, 1.04 * top), (-5 if beyond else 5, 0), textcoords="offset points",
        ha="right" if beyond else "left", va="top", color=POSITIVE,
        bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 1.0},
    )  # fmt: skip


def _view(ax: Any, observed: float) -> tuple[float, float]:
    low, high = ax.dataLim.x0, ax.dataLim.x1
    return min(low, observed), max(high, observed) + 1e-300


def _bound_only(ax: Any, result: Any) -> Any:
    """Nothing was drawn or fitted: say what is known."""
    ax.set_axis_off()
    ax.text(
        0.5, 0.5, f"p \N{LESS-THAN OR EQUAL TO} {result.pvalue:.3g}\n(no null distribution to show)",
        ha="center", va="center", transform=ax.transAxes, color=INK,
    )  # fmt: skip
    return ax
