"""The command: python -m benchmarks [list | SUITE ...] [--quick] [--shared] [--repeats N] [--only WORDS] [--results DIR]."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import signal
from pathlib import Path
from types import ModuleType

from rich.console import Console

from benchmarks import suites
from benchmarks.report import RESULTS, Options, save, show


def main() -> int:
    known = [m.name for m in pkgutil.iter_modules(suites.__path__)]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=suites.__doc__)
    add = parser.add_argument
    add(
        "suites", nargs="*", metavar="SUITE", help=f"list, {', '.join(known)}; all if none is named"
    )
    add("--quick", action="store_true", help="small sizes: does it run?")
    add("--repeats", type=int, default=5, help="rounds of every comparison (5)")
    add("--shared", action="store_true", help="others use the machine: judge by processor time")
    add(
        "--only", default="", help="scoreboard: contests that contain one of these words (svc,hsic)"
    )
    add("--results", type=Path, default=RESULTS, help="where the files go")
    told = parser.parse_args()
    unknown = set(told.suites) - {"list", *known}
    if unknown:
        parser.error(f"no suite {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    if "list" in told.suites:
        for name in known:
            console.print(f"[bold]{name:10}[/] {_suite(name).__doc__.splitlines()[0]}")
        return 0
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a suite may tell what it has
    words = tuple(word for word in told.only.split(",") if word)
    options = Options(told.quick, told.repeats, told.shared, console, words, told.results)
    for name in told.suites or known:
        report = _suite(name).run(options)
        show(report, console)
        for path in save(
            report, told.results, (report.name or name) + ("-quick" if told.quick else "")
        ):
            console.print(f"[dim]{path.name} written[/]")
    return 0


def _suite(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.suites.{name}")


if __name__ == "__main__":
    raise SystemExit(main())
