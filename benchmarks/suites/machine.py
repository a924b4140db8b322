"""The machine's own limits: matrix products and exponentials per second."""

from __future__ import annotations

from benchmarks.machine import Limits
from benchmarks.report import Options, Report, Table


def run(options: Options) -> Report:
    limits = Limits()
    limits.measure(2 if options.quick else 4 * options.repeats)
    table = Table("Limits on all cores", limits.rows())
    return Report("Limits of the machine", [table], raw=limits.history)
