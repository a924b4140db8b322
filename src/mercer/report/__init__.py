"""Single-file HTML reports (need jinja2 and matplotlib); they work offline and contain no scripts."""

from mercer.report.drift_page import drift_report
from mercer.report.goodness import goodness_report
from mercer.report.graph_page import graph_report
from mercer.report.independence import independence_report
from mercer.report.pairwise_page import pairwise_report
from mercer.report.power_page import power_report
from mercer.report.two_sample import two_sample_report

__all__ = [
    "drift_report",
    "goodness_report",
    "graph_report",
    "independence_report",
    "pairwise_report",
    "power_report",
    "two_sample_report",
]


def __dir__() -> list[str]:
    return __all__
