"""Check and time everything that runs on a GPU; prints Markdown.

python -m benchmarks.gpu > benchmarks/results/gpu.md
python -m benchmarks.gpu goodness independence    # some parts only
"""

from __future__ import annotations

import sys
import time
import traceback
import warnings

import torch

from benchmarks.gpu import accuracy, learners, products, tests
from benchmarks.gpu.tools import normal, seconds


def machine() -> float:
    """What the device can do; returns its rate of products of halves."""
    a = normal(8192, 8192).half()
    rate = 2 * 8192**3 / seconds(lambda: a @ a)
    b = torch.empty(2**30, dtype=torch.float32, device="cuda")
    c = torch.empty_like(b)
    copy = 2 * 4 * 2**30 / seconds(lambda: c.copy_(b))
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    print(f"Products of halves {rate / 1e12:.0f} TFLOP/s, copies {copy / 1e12:.2f} TB/s.")
    return rate


def main() -> None:
    torch.manual_seed(0)
    warnings.simplefilter("ignore", ResourceWarning)
    rate = machine()
    parts = {
        "two_sample": lambda: tests.two_sample(rate),
        "independence": tests.independence,
        "goodness": tests.goodness,
        "aggregated": tests.aggregated,
        "agreement": tests.agreement,
        "products": products.products,
        "solvers": learners.solvers,
        "bags": learners.bags,
        "streamed": learners.streamed,
        "nystrom": lambda: learners.nystrom(rate),
        "learnt": tests.learnt,
        "right": accuracy.right,
    }
    failed = []
    for name in sys.argv[1:] or parts:
        start = time.perf_counter()
        try:
            parts[name]()
        except Exception:  # the others are still wanted
            traceback.print_exc()
            failed.append(name)
        torch.cuda.empty_cache()
        print(f"({name}: {time.perf_counter() - start:.0f} s in all)", file=sys.stderr, flush=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
