"""Pictures: all of matplotlib is behind this door. Every function draws on an Axes and returns it."""

from mercer.plot.features import plot_features
from mercer.plot.function import plot_function
from mercer.plot.goodness import plot_columns, plot_evidence, plot_misfit
from mercer.plot.gram import plot_gram
from mercer.plot.histograms import plot_histograms
from mercer.plot.null import plot_null
from mercer.plot.pairwise import plot_pairwise
from mercer.plot.power import plot_power, plot_wealth
from mercer.plot.samples import plot_embeddings, plot_shares, plot_witness
from mercer.plot.witness import plot_dependence

__all__ = [
    "plot_columns",
    "plot_dependence",
    "plot_embeddings",
    "plot_evidence",
    "plot_features",
    "plot_function",
    "plot_gram",
    "plot_histograms",
    "plot_misfit",
    "plot_null",
    "plot_pairwise",
    "plot_power",
    "plot_shares",
    "plot_wealth",
    "plot_witness",
]
