"""Null distribution of a test with the observed statistic."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot.style import FAINT, INK, POSITIVE, axes

_BINS = 40  # enough to show the shape of 200 to 1,000 resamples
_GRID_POINTS = 400  # of a density; smooth at the width of a page
_QUIET = "#666666"  # of a tail that is larger than the level
_HEADROOM = 1.35  # height of the axes over that of the bars, for the observed value and its p-value
_MAX_DISTANCE = 3.0  # ranges of the null; a statistic farther out is shown by an arrow


def plot_null(result: Any, *, ax: Any = None, level: float | None = None) -> Any:
    """Draw the null distribution of a test, the statistic, and the tail that is the p-value.

    A resampled null is drawn as a histogram, an analytic one as a density. A statistic far
    outside is shown as an arrow at the edge, so that the null distribution stays legible. The tail
    is red only where the test rejects.

    Parameters
    ----------
    result : Result
        Result of any hypothesis test.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    level : float, optional
        Significance level (default: that of the result).

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    colour = POSITIVE if result.rejects(level) else _QUIET
    observed = float(result.statistic if result.observed is None else result.observed)
    draws = np.asarray(result.null, dtype=np.float64)
    if len(draws) == 0 and result.law is None:
        return _write_pvalue(ax, result)
    low, high = _range(draws, result.law)
    right = (
        observed if observed <= high + _MAX_DISTANCE * (high - low) else high + 0.6 * (high - low)
    )
    window = _padded(min(low, observed), max(high, right))
    if len(draws):
        _draw_histogram(ax, draws, observed, window, colour)
    else:
        _draw_density(ax, result.law, observed, window, colour)
    _draw_observed(ax, result, observed, right, colour)
    ax.set(xlim=window, xlabel=f"{type(result.test).__name__} under the null hypothesis")
    ax.set_yticks([])
    for side in ("left", "right", "top"):
        ax.spines[side].set_visible(False)
    return ax


def _range(draws: np.ndarray, law: Any) -> tuple[float, float]:
    """Range of the null distribution: of its resamples, or from -4 to +5 standard deviations."""
    if len(draws):
        return float(draws.min()), float(draws.max())
    low, high = law.support()
    mean, deviation = float(law.mean()), float(law.std())
    return max(low, mean - 4 * deviation), min(high, mean + 5 * deviation)


def _padded(low: float, high: float) -> tuple[float, float]:
    """An interval widened by 4% on each side."""
    width = (high - low) or abs(high) or 1.0
    return low - 0.04 * width, high + 0.04 * width


def _draw_histogram(
    ax: Any, draws: np.ndarray, observed: float, window: tuple[float, float], colour: str
) -> None:
    """Draw resampled statistics; those at or beyond the observed one are coloured."""
    low, high = float(draws.min()), float(draws.max())
    width = (high - low) / _BINS or (window[1] - window[0]) / 60
    # One edge is at the observed statistic, so that the bars to its right are the p-value.
    first = observed - width * np.ceil((observed - low) / width + 1e-9)
    edges = first + width * np.arange(int(np.ceil((high - first) / width)) + 2)
    counts, _ = np.histogram(draws, edges)
    tail = edges[:-1] >= observed - 1e-9 * width
    colours = np.where(tail, colour, FAINT)
    ax.bar(edges[:-1], counts, width, align="edge", color=colours, edgecolor="white", linewidth=0.4)


def _draw_density(
    ax: Any, law: Any, observed: float, window: tuple[float, float], colour: str
) -> None:
    """Draw an analytic null distribution; the tail beyond the observed statistic is coloured."""
    x = np.unique(
        np.concatenate([np.linspace(*window, _GRID_POINTS), [np.clip(observed, *window)]])
    )
    with np.errstate(all="ignore"):
        y = np.asarray(law.pdf(x), dtype=np.float64)
    y = np.where(np.isfinite(y), y, np.nan)
    at_mean = float(law.pdf(law.mean()))
    ax.plot(x, y, color=INK, linewidth=1.2)
    ax.fill_between(x, y, color=FAINT, alpha=0.5, linewidth=0)
    ax.fill_between(x, y, where=x >= observed, color=colour, alpha=0.8, linewidth=0)
    ax.set_ylim(0, 1.15 * min(float(np.nanmax(y)), 4 * at_mean))


def _draw_observed(ax: Any, result: Any, observed: float, right: float, colour: str) -> None:
    """Mark the observed statistic by a line, or an arrow if it is outside, with the p-value."""
    text = f"observed {observed:.3g}\np = {result.pvalue:.3g}"
    top = ax.get_ylim()[1]
    if observed > right:
        ax.set_ylim(0, 1.12 * top)
        ax.annotate(
            "", (right, 0.5 * top), (right - 0.12 * (right - ax.get_xlim()[0]), 0.5 * top),
            arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.6},
        )  # fmt: skip
        ax.text(right, 0.56 * top, text, color=colour, ha="right", va="bottom")
        return
    ax.set_ylim(0, _HEADROOM * top)  # two lines of text above the bars
    ax.axvline(observed, ymax=0.97, color=colour, linewidth=1.6)
    low, high = _data_range(ax, observed)
    beyond = (observed - low) / (high - low) > 0.6
    ax.annotate(
        text, (observed, 0.97 * _HEADROOM * top), (-5 if beyond else 5, 0), textcoords="offset points",
        ha="right" if beyond else "left", va="top", color=colour,
        bbox={"facecolor": "#ffffff", "alpha": 0.7, "edgecolor": "none", "pad": 1.0},
    )  # fmt: skip


def _data_range(ax: Any, observed: float) -> tuple[float, float]:
    """Range of the data on the x-axis, the observed statistic included."""
    low, high = ax.dataLim.x0, ax.dataLim.x1
    return min(low, observed), max(high, observed) + 1e-300


def _write_pvalue(ax: Any, result: Any) -> Any:
    """Write the p-value, or the bound on it, for a test without a null distribution."""
    relation = "\N{LESS-THAN OR EQUAL TO}" if result.bounded else "="
    ax.set_axis_off()
    ax.text(
        0.5, 0.5, f"p {relation} {result.pvalue:.3g}\n(no null distribution to show)",
        ha="center", va="center", transform=ax.transAxes, color=INK,
    )  # fmt: skip
    return ax
