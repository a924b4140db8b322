"""Check and time everything that runs on a GPU; prints Markdown.

python -m benchmarks.gpu > benchmarks/results/gpu.md
python -m benchmarks.gpu goodness independence    # some parts only
python -m benchmarks.gpu table                    # every test and learner, beside the CPU
"""

from __future__ import annotations

import signal
import sys
import time
import traceback
import warnings

import torch

from benchmarks.gpu import accuracy, learners, products, tests
from benchmarks.gpu.conformance import conformance
from benchmarks.gpu.floor import rates
from benchmarks.gpu.table import table

_LIMIT = 150  # seconds for a part
_LONG = {"conformance": 900, "table": 0}  # 0: none, the cells of the table have limits of their own


def _late(number: int, frame: object) -> None:
    raise TimeoutError("not done in the time that a part has")


def _conforms() -> None:
    wrong = conformance()
    if wrong:
        raise AssertionError(f"{wrong} results are not those of NumPy in float64")


def main() -> None:
    torch.manual_seed(0)
    warnings.simplefilter("ignore", ResourceWarning)
    known = rates()
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    print(
        f"Products of halves {known.halves / 1e12:.0f} TFLOP/s, copies {known.copied / 1e12:.2f} TB/s, "
        f"float32 {known.single / 1e12:.1f} and float64 {known.double / 1e12:.1f} x 10^12 operations and "
        f"{known.powers / 1e12:.2f} x 10^12 powers of two in float64 a second."
    )
    parts = {
        "two_sample": lambda: tests.two_sample(known),
        "independence": lambda: tests.independence(known),
        "goodness": lambda: tests.goodness(known),
        "aggregated": lambda: tests.aggregated(known),
        "agreement": tests.agreement,
        "products": lambda: products.products(known),
        "solvers": learners.solvers,
        "bags": learners.bags,
        "streamed": learners.streamed,
        "nystrom": lambda: learners.nystrom(known),
        "classifiers": learners.classifiers,
        "learnt": tests.learnt,
        "right": accuracy.right,
        "conformance": _conforms,
        "table": table,
    }
    failed = []
    for name in sys.argv[1:] or parts:
        start = time.perf_counter()
        signal.signal(signal.SIGALRM, _late)
        signal.alarm(_LONG.get(name, _LIMIT))
        try:
            parts[name]()
        except Exception:  # the others are still wanted
            traceback.print_exc()
            failed.append(name)
        signal.alarm(0)
        torch.cuda.empty_cache()
        print(f"({name}: {time.perf_counter() - start:.0f} s in all)", file=sys.stderr, flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
