"""Pictures: all of matplotlib is behind this door. Every function draws on an Axes and returns it."""

from mercer.plot.function import plot_function

__all__ = ["plot_function"]
