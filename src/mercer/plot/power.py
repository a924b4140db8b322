"""The power of a test by the size of the samples, and the wealth of a monitor by batch."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.plot.style import FAINT, INK, NEGATIVE, POSITIVE, axes


def plot_power(
    curve: Any, *, ax: Any = None, target: float | None = None, needed: int | None = None
) -> Any:
    """A power curve with what the pilot leaves open as a band.

    Parameters
    ----------
    curve : PowerCurve
        From `power` or `sample_size`.
    ax : matplotlib Axes, optional
        A new figure if left out.
    target : float, optional
        A power to mark; 0.8 if left out.
    needed : int, optional
        The size that reaches it, to mark too.

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
    wanted = 0.8 if target is None else target
    ax.axhline(wanted, color=FAINT, linewidth=0.8, zorder=0)
    ax.axhline(curve.level, color=FAINT, linewidth=0.8, linestyle=":", zorder=0)
    ax.set_ylim(0, 1.02)
    if len(n) > 1 and n[-1] / n[0] > 3:
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter("")
        ticks = _apart(n)
        ax.set_xticks(ticks, [f"{v:,.0f}" for v in ticks])
        ax.minorticks_off()
    if needed is not None:
        ax.axvline(needed, ymax=wanted / 1.02, color=POSITIVE, linewidth=1.2)
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


def _apart(n: np.ndarray) -> list[float]:
    """The sizes whose labels do not run into each other on a logarithmic scale."""
    least, kept = 0.09 * np.log(n[-1] / n[0]), [float(n[-1])]
    for value in n[-2::-1]:
        if np.log(kept[-1] / value) >= least:
            kept.append(float(value))
    return kept[::-1]


def plot_wealth(state: Any, *, ax: Any = None) -> Any:
    """The wealth of a monitor after each batch, on a logarithmic scale, and where it alarms.

    Parameters
    ----------
    state : MonitorState
    ax : matplotlib Axes, optional
        A new figure if left out.

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
