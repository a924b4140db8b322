"""Single-file HTML reports: they open without a network and run no scripts."""

from mercer.report.independence import independence_report
from mercer.report.two_sample import two_sample_report

__all__ = ["independence_report", "two_sample_report"]
