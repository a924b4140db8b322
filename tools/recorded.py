"""Record the numbers of every kernel, hypothesis test, measure and learner, bit by bit.

    python tools/recorded.py write FILE.json     # before a change that must not alter a number
    python tools/recorded.py compare FILE.json   # after it: every quantity that is missing, new or different
    python tools/recorded.py coverage            # public names that no case calls

The cases are those of the zoos of the tests, on small samples with fixed seeds, in float64 and float32.
A case that raises is recorded by the type of its exception. Names of quantities hold no module or file,
so that these may be renamed. A record holds for one machine and one version of the libraries: other
processors and other releases of NumPy, SciPy or scikit-learn round differently. BLAS runs in one thread.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

PACKAGES = ("htest", "learn", "rkhs", "features")
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")  # each reads its number of threads when loaded
SLOW = 2.0  # seconds from which on a case is named in the summary


def record() -> tuple[dict[str, str], dict[str, float]]:
    """All quantities by name, and the CPU seconds of each case."""
    from recorded_cases import all_cases
    from recorded_values import quantities

    _seed_unseeded_generators()
    recorded: dict[str, str] = {}
    seconds: dict[str, float] = {}
    for case in all_cases():
        start = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                recorded |= {f"{case.name} | {q}": text for q, text in quantities(case.call())}
        except Exception as error:
            recorded[f"{case.name} | raised"] = type(error).__name__
        seconds[case.name] = time.process_time() - start
    return recorded, seconds


def _seed_unseeded_generators() -> None:
    """Make `default_rng()` without a seed the same in every process: some cases pass none."""
    import numpy as np

    original = np.random.default_rng
    np.random.default_rng = lambda seed=None: original(0 if seed is None else seed)


def differences(before: dict[str, str], now: dict[str, str]) -> Iterator[str]:
    """A line for every quantity that is missing, new or different."""
    for key in sorted(before.keys() | now.keys()):
        if key not in now:
            yield f"missing    {key}\n    before {before[key]}"
        elif key not in before:
            yield f"new        {key}\n    now    {now[key]}"
        elif before[key] != now[key]:
            yield f"different  {key}\n    before {before[key]}\n    now    {now[key]}"


def summary(recorded: dict[str, str], seconds: dict[str, float]) -> str:
    """How much was recorded, what raised, and what took long."""
    raised = sorted(k for k in recorded if k.endswith("| raised"))
    slow = sorted((s, name) for name, s in seconds.items() if s > SLOW)
    silent = sorted(seconds.keys() - {key.rsplit(" | ", 1)[0] for key in recorded})
    return "\n".join(
        [
            f"{len(seconds)} cases, {len(recorded)} quantities, {sum(seconds.values()):.0f} CPU seconds",
            *(f"raised: {key} {recorded[key]}" for key in raised),
            *(f"no number: {name}" for name in silent),
            *(f"slow: {name}, {s:.1f} s" for s, name in slow),
        ]
    )


# ---- coverage ---------------------------------------------------------------------------------


def uncovered() -> list[str]:
    """Public names of which no function ran while the cases did."""
    import importlib

    modules = [importlib.import_module(f"mercer.{package}") for package in PACKAGES]
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            called.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        record()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return [
        f"{module.__name__}.{name}"
        for module in modules
        for name in module.__all__
        if not called & set(_codes(getattr(module, name)))
    ]


def _codes(thing: Any) -> Iterator[CodeType]:
    """The code of a function, or of everything that a class defines."""
    if not isinstance(thing, type):
        yield inspect.unwrap(thing).__code__
        return
    for member in vars(thing).values():
        function = getattr(member, "__func__", getattr(member, "fget", member))
        function = getattr(function, "func", function)  # cached_property
        if hasattr(function, "__code__"):
            yield inspect.unwrap(function).__code__


# ---- the program ------------------------------------------------------------------------------


def main() -> int:
    """Write a record, compare with one, or name what is not covered."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("write", "compare"):
        commands.add_parser(name).add_argument("file", type=Path)
    commands.add_parser("coverage")
    asked = parser.parse_args()
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in LIBRARIES}
    if asked.command == "coverage":
        names = uncovered()
        print(*names, f"{len(names)} public names are not called", sep="\n")
        return 0
    recorded, seconds = record()
    print(summary(recorded, seconds))
    if asked.command == "write":
        asked.file.write_text(json.dumps(recorded, indent=0, sort_keys=True))
        return 0
    lines = list(differences(json.loads(asked.file.read_text()), recorded))
    print(*lines, sep="\n")
    kinds = Counter(line.split()[0] for line in lines)
    print(f"{len(lines)} differences: {dict(kinds)}" if lines else "0 differences")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
