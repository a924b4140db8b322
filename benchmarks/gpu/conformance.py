"""Every hypothesis test and learner on every backend that this machine has; prints Markdown.

python -m benchmarks.gpu.conformance    # needs neither pytest nor a GPU; rows of learners need scikit-learn
"""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any


def conformance() -> int:
    """Print a row for each test and learner; returns how many cells are not ok."""
    shared: Any = importlib.import_module("tests.conformance.backend_cases")
    here = [b for b in shared.BACKENDS if b.missing is None]
    for b in shared.BACKENDS:
        if b.missing is not None:
            print(f"{b.name}: left out, {b.missing}")
    print(f"\n| name | {' | '.join(b.name for b in here)} |\n|{'-|' * (1 + len(here))}")
    cases, wrong = shared.htest_cases(), 0
    try:
        cases += shared.learner_cases()
    except ImportError as error:
        print(f"learners: left out, {error}", file=sys.stderr)
    for case in cases:
        wanted = _outcome(case, shared.REFERENCE)
        cells = [_cell(case, b, wanted) for b in here]
        wrong += sum(cell != "ok" for cell in cells)
        print(f"| {case.name} | {' | '.join(cells)} |", flush=True)
    print(f"\n{wrong} of {len(cases) * len(here)} cells are not ok.")
    return wrong


def _outcome(case: Any, backend: Any) -> Any:
    """What a case gives on a backend, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return case.run(backend)
        except Exception as error:  # a cell of the table
            return error


def _cell(case: Any, backend: Any, wanted: Any) -> str:
    found = _outcome(case, backend)
    for error in (wanted, found):
        if isinstance(error, Exception):
            text = str(error).replace("|", "/").replace("\n", " ")[:200]
            return f"{type(error).__name__}: {text}"
    return case.difference(found, wanted, backend) or "ok"


if __name__ == "__main__":
    sys.exit(1 if conformance() else 0)
