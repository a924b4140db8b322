"""Power of a test by sample size, and wealth of a monitor by batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot.style import FAINT, INK, NEGATIVE, POSITIVE, axes


def plot_power(
    curve: Any, *, ax: Any = None, target: float | None = None, needed: int | None = None
) -> Any:
    """Draw a power curve; the band is its 95% interval given the size of the pilot.

    Parameters
    ----------
    curve : PowerCurve
        Result of `power`, or the curve of `sample_size`.
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).
    target : float, optional
        Power to mark by a line (default: 0.8).
    needed : int, optional
        Sample size that reaches the target, marked by a line.

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    n = np.array([size[0] for size in curve.sizes], dtype=np.float64)
    order = np.argsort(n)
    n, power, low, high = (np.asarray(v)[order] for v in (n, curve.power, curve.low, curve.high))
    ax.fill_between(n, low, high, color=NEGATIVE, alpha=0.15, linewidth=0, label="95% interval")
    ax.plot(n, power, color=NEGATIVE, marker="o", markersize=4, label="power")
    target = 0.8 if target is None else target
    ax.axhline(target, color=FAINT, linewidth=0.8, zorder=0)
    ax.axhline(curve.level, color=FAINT, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_ylim(0, 1.02)
    if len(n) > 1 and n[-1] / n[0] > 3:
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter("")
        ticks = _separated(n)
        ax.set_xticks(ticks, [f"{v:,.0f}" for v in ticks])
        ax.minorticks_off()
    if needed is not None:
        ax.axvline(needed, ymax=target / 1.02, color=POSITIVE, linewidth=1.2)
        ax.annotate(
            f"n = {needed:,}", (needed, 0.04), (5, 0), textcoords="offset points", color=POSITIVE
        )
    ax.annotate(
        f"level {curve.level:g}", (1, curve.level), (-3, 3), xycoords=("axes fraction", "data"),
        textcoords="offset points", ha="right", fontsize="small", color="#666666",
    )  # fmt: skip
    equal = all(a == b for a, b in curve.sizes)
    ax.set(
        xlabel="size of each sample" if equal else "size of the first sample",
        ylabel=f"power of {type(curve.test).__name__}",
    )
    ax.legend(loc="best", frameon=False)
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax


def _separated(n: np.ndarray) -> list[float]:
    """Sizes whose tick labels do not overlap on a logarithmic scale."""
    distance, ticks = 0.09 * np.log(n[-1] / n[0]), [float(n[-1])]
    for value in n[-2::-1]:
        if np.log(ticks[-1] / value) >= distance:
            ticks.append(float(value))
    return ticks[::-1]


def plot_wealth(state: Any, *, ax: Any = None) -> Any:
    """Draw the wealth of a monitor after each batch on a logarithmic scale, and the alarm threshold.

    Parameters
    ----------
    state : MonitorState
    ax : matplotlib Axes, optional
        Axes to draw on (default: a new figure).

    Returns
    -------
    matplotlib Axes
    """
    ax = axes(ax)
    path = np.exp(np.clip([0.0, *state.path], -600, 600))
    alarm = 1 / state.monitor.level
    ax.axhline(alarm, color=POSITIVE, linewidth=1.0)
    ax.axhline(1.0, color=FAINT, linewidth=0.8, zorder=0)
    ax.annotate(
        f"alarm at {alarm:g}", (0.99, alarm), (0, 4), color=POSITIVE, ha="right",
        xycoords=("axes fraction", "data"), textcoords="offset points", fontsize="small",
    )  # fmt: skip
    ax.plot(np.arange(len(path)), path, color=INK, marker=".")
    crossed = np.flatnonzero(path >= alarm)
    if len(crossed):
        ax.plot(crossed[0], path[crossed[0]], color=POSITIVE, marker="o", markersize=8)
    ax.set_yscale("log")
    low, high = min(float(path.min()), 0.5), max(float(path.max()), alarm)
    ax.set_ylim(low * (low / high) ** 0.08, high * (high / low) ** 0.12)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="batches", ylabel="wealth", xlim=(0, max(len(path) - 1, 1)))
    for side in ("right", "top"):
        ax.spines[side].set_visible(False)
    return ax
