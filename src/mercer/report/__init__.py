"""Single-file HTML reports: they open without a network and run no scripts."""

from mercer.report.two_sample import two_sample_report

__all__ = ["two_sample_report"]
