"""Source files that a call enters: how far one has to walk to follow it.

    python tools/call_walks.py two_sample      # files and crossings of one call as JSON

Each call is the first one of a fresh process, after all imports. Code that runs at import is not counted, and
`HSIC` runs on the CPU.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("htest", "learn", "cli", "plot", "report", "datasets")


def _two_sample() -> Callable[[], object]:
    import numpy as np

    from mercer.htest import two_sample

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 2)), rng.normal(0.5, 1.0, size=(50, 2))
    return lambda: two_sample(x, y)


def _svc() -> Callable[[], object]:
    import numpy as np

    from mercer.learn import SVC

    x = np.random.default_rng(0).normal(size=(60, 2))
    return lambda: SVC().fit(x, x[:, 0] > 0)


def _support_measure_machine() -> Callable[[], object]:
    import numpy as np

    from mercer.learn import SupportMeasureMachine

    rng = np.random.default_rng(0)
    spreads = rng.uniform(0.5, 2.0, size=30)
    bags = [rng.normal(0.0, s, size=(20, 1)) for s in spreads]
    return lambda: SupportMeasureMachine().fit(bags, spreads > 1.2)


def _goodness() -> Callable[[], object]:
    import numpy as np

    from mercer.cli import app

    folder = tempfile.TemporaryDirectory()
    data = Path(folder.name) / "data.csv"
    rows = np.random.default_rng(0).normal(size=(100, 2))
    np.savetxt(data, rows, delimiter=",", header="a,b", comments="")

    def call() -> None:
        with folder:
            app(["goodness", str(data), "--model", "gmm:3"], standalone_mode=False)

    return call


def _hsic() -> Callable[[], object]:
    import numpy as np

    from mercer.htest import HSIC

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 1))
    return lambda: HSIC().test(x, y, rng=0)


CALLS = {
    "two_sample": _two_sample,
    "SVC": _svc,
    "SupportMeasureMachine": _support_measure_machine,
    "goodness": _goodness,
    "HSIC": _hsic,
}
# Two thirds of the traced files before modules that were only passed through were merged
# (27, 41, 73, 39); for two_sample 16/27 of 34.
WALK_LIMITS = {"two_sample": 20, "SVC": 18, "SupportMeasureMachine": 27, "goodness": 48, "HSIC": 26}


def trace(call: Callable[[], object], package: Path) -> tuple[list[str], dict[str, int]]:
    """Files below `package` whose functions `call` enters, in order, and calls between two files.

    Threads that the call starts are traced too. A call that passes through another library, such as a
    pool of threads, counts as one between the two files where it passes on one thread.
    """
    prefix = str(package.resolve()) + os.sep
    entered: dict[str, None] = {}
    crossings: Counter[str] = Counter()

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not _is_function(frame, prefix):
            return
        name = frame.f_code.co_filename.removeprefix(prefix)
        entered.setdefault(name)
        caller = frame.f_back
        while caller is not None and not _is_function(caller, prefix):
            caller = caller.f_back
        origin = caller.f_code.co_filename.removeprefix(prefix) if caller else name
        if origin != name:
            crossings[f"{origin} -> {name}"] += 1

    previous = sys.getprofile()
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(previous)
        threading.setprofile(None)
    if not entered:
        raise RuntimeError(
            f"the call entered no function below {package}; is another copy imported?"
        )
    return list(entered), dict(crossings)


def _is_function(frame: FrameType, prefix: str) -> bool:
    """Whether a frame runs a function of the package, not the body of a module or a class."""
    code = frame.f_code
    return code.co_filename.startswith(prefix) and bool(code.co_flags & inspect.CO_OPTIMIZED)


def traced_files(name: str, package: Path) -> tuple[list[str], dict[str, int]]:
    """The trace of a call by its name, in a process of its own."""
    command = [sys.executable, __file__, name, str(package)]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise RuntimeError(f"the call {name} failed:\n{finished.stderr}")
    files, crossings = json.loads(finished.stdout)
    return files, crossings


def main() -> None:
    """Trace the call that the command names, and print files and crossings as JSON."""
    name, package = sys.argv[1], Path(sys.argv[2]) if len(sys.argv) > 2 else ROOT / "src/mercer"
    sys.path.insert(0, str(package.resolve().parent))
    for module in PACKAGES:
        importlib.import_module(f"{package.name}.{module}")
    call = CALLS[name]()
    with contextlib.redirect_stdout(io.StringIO()):
        traced = trace(call, package)
    json.dump(traced, sys.stdout)


if __name__ == "__main__":
    main()
