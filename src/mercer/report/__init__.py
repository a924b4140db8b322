"""Single-file HTML reports (need jinja2 and matplotlib); they work offline and contain no scripts."""

from mercer.report.goodness import goodness_report
from mercer.report.independence import independence_report
from mercer.report.two_sample import two_sample_report

__all__ = ["goodness_report", "independence_report", "two_sample_report"]


def __dir__() -> list[str]:
    return __all__
