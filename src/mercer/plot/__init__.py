"""Plots (need matplotlib). Every function draws on a matplotlib Axes and returns it."""

from mercer.plot.column_differences import plot_features
from mercer.plot.dependence_witness_map import plot_dependence
from mercer.plot.goodness import plot_columns, plot_evidence, plot_misfit
from mercer.plot.graph import plot_graph
from mercer.plot.histograms import plot_histograms
from mercer.plot.kernel_matrix import plot_gram
from mercer.plot.null import plot_null
from mercer.plot.pairwise import plot_pairwise
from mercer.plot.power import plot_power, plot_wealth
from mercer.plot.rkhs_function import plot_function
from mercer.plot.samples import plot_embeddings, plot_shares, plot_witness
from mercer.plot.timeline import plot_drift, plot_drift_columns

__all__ = [
    "plot_columns",
    "plot_dependence",
    "plot_drift",
    "plot_drift_columns",
    "plot_embeddings",
    "plot_evidence",
    "plot_features",
    "plot_function",
    "plot_gram",
    "plot_graph",
    "plot_histograms",
    "plot_misfit",
    "plot_null",
    "plot_pairwise",
    "plot_power",
    "plot_shares",
    "plot_wealth",
    "plot_witness",
]


def __dir__() -> list[str]:
    return __all__
