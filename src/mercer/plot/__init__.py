"""Pictures: all of matplotlib is behind this door. Every function draws on an Axes and returns it."""

from mercer.plot.features import plot_features
from mercer.plot.function import plot_function
from mercer.plot.gram import plot_gram
from mercer.plot.histograms import plot_histograms
from mercer.plot.null import plot_null
from mercer.plot.power import plot_power, plot_wealth
from mercer.plot.samples import plot_embeddings, plot_shares, plot_witness

__all__ = [
    "plot_embeddings",
    "plot_features",
    "plot_function",
    "plot_gram",
    "plot_histograms",
    "plot_null",
    "plot_power",
    "plot_shares",
    "plot_wealth",
    "plot_witness",
]
