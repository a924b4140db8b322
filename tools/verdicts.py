"""Compare the verdicts of every hypothesis test between processors.

    python tools/verdicts.py            # as on every processor, in subprocesses
    python tools/verdicts.py --here     # p-values of this process as JSON

Each test of the zoo is run on its null and on its alternative problem with fixed seeds. p-values that differ by
no more than rounding leave a verdict as it is; where one differs by more, the table says by how much.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from processors import PROCESSORS, imitation

ROOT = Path(__file__).resolve().parents[1]
SEEDS = 3
LEVELS = (0.01, 0.05, 0.1)


def here() -> dict[str, float]:
    """The p-value of every test on every problem and seed, on this processor."""
    import numpy as np

    sys.path.insert(0, str(ROOT))
    from tests.support.htest_zoo import IDS, ZOO

    found = {}
    for name, entry in zip(IDS, ZOO, strict=True):
        problems = {"null": entry.null[-1], "alternative": entry.alternative}
        for kind, problem in problems.items():
            for seed in range(SEEDS):
                rng = np.random.default_rng(seed)
                result = entry.test.test(*problem(rng, entry.sizes), rng=rng)
                found[f"{name}, {kind}, seed {seed}"] = float(result.pvalue)
    return found


def blas() -> list[str]:
    """The processors that the BLAS libraries in use were written for."""
    from threadpoolctl import threadpool_info

    return sorted({lib["architecture"] for lib in threadpool_info() if "architecture" in lib})


def under(processor: str, python: Path = Path(sys.executable)) -> dict[str, float]:
    """The same in a subprocess that computes as on another processor."""
    environment = imitation(processor, python)
    command = [str(python), __file__, "--here"]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    told = json.loads(done.stdout)
    if not set(told["blas"]) <= set(PROCESSORS[processor].kernels):
        raise RuntimeError(f"BLAS was to run as on {processor}, and ran as on {told['blas']}")
    return told["pvalues"]


def compared(pvalues: dict[str, dict[str, float]]) -> dict:
    """What differs between processors: verdicts at the usual levels, and the largest gap of p-values."""
    first, *others = pvalues
    changed, moved = [], {}
    for case, p in pvalues[first].items():
        values = {processor: pvalues[processor][case] for processor in (first, *others)}
        gap = max(values.values()) - min(values.values())
        if any(len({v <= level for v in values.values()}) > 1 for level in LEVELS):
            changed.append({"case": case, **values})
        if gap > 1e-6 * max(p, 1e-6):
            moved[case] = gap
    return {
        "processors": list(pvalues),
        "cases": len(pvalues[first]),
        "changed": changed,
        "moved": dict(sorted(moved.items(), key=lambda item: -item[1])),
    }


def section(found: dict) -> list[str]:
    """Lines of Markdown for the record of the matrix."""
    told = ", ".join(found["processors"])
    lines = ["", "## Verdicts", ""]
    lines.append(f"{found['cases']} p-values of the zoo of tests, on {told}:")
    lines.append(
        f"{len(found['changed'])} verdicts at the levels {', '.join(map(str, LEVELS))} differ, and"
        f" {len(found['moved'])} p-values differ by more than rounding."
    )
    lines += [f"* {case['case']}: {case}" for case in found["changed"]]
    lines += [f"* {case}: by {gap:.2g}" for case, gap in list(found["moved"].items())[:20]]
    return lines


def main() -> int:
    """Print p-values of this process, or compare processors; 1 if a verdict differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--here", action="store_true", help="p-values of this process as JSON")
    if parser.parse_args().here:
        json.dump({"pvalues": here(), "blas": blas()}, sys.stdout)
        return 0
    found = compared({name: under(name) for name in PROCESSORS})
    print("\n".join(section(found)))
    return int(bool(found["changed"]))


if __name__ == "__main__":
    raise SystemExit(main())
