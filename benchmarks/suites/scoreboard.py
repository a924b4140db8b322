"""Every test and learner with a peer, call against call, at sizes from 50 to 20,000; growth of all of them."""

from __future__ import annotations

from dataclasses import asdict

from benchmarks.report import RESULTS, Options, Report
from benchmarks.scoreboard import board, page, picture, tables


def run(options: Options) -> Report:
    measured = board.measured(options)
    title = f"Scoreboard, {measured.processor}"
    title += " (by processor time: others used the machine)" if options.shared else ""
    bars = [] if options.quick else tables.bars(measured)
    report = Report(title, tables.tables(measured), bars, asdict(measured), board.file_name())
    if not options.quick and options.results == RESULTS:
        picture.save(measured, page.STATIC / f"{board.file_name()}.svg")
        page.write(report, measured)
    return report
