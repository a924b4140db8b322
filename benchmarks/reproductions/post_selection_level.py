"""python -m benchmarks.reproductions.post_selection_level: do p-values allow for the selection of features?

`post_selection` on features that are independent of the target (level 0.05, beside p-values that ignore the selection) and
on features of which two matter (power).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import Record, heading, table, with_error
from mercer.htest import post_selection

LEVEL, K, FEATURES = 0.05, 3, 10
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def _squares(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    x = rng.normal(size=(n, FEATURES))
    return x, x[:, 0] ** 2 / 2 + x[:, 1] + rng.normal(size=n)


NULLS: dict[str, Draw] = {
    "normal": lambda rng, n: (rng.normal(size=(n, FEATURES)), rng.normal(size=n)),
    "exponential": lambda rng, n: (rng.exponential(size=(n, FEATURES)), rng.exponential(size=n)),
    "correlated features": lambda rng, n: (
        rng.normal(size=(n, FEATURES)) + rng.normal(size=(n, 1)),
        rng.normal(size=n),
    ),
}
ALTERNATIVES: dict[str, Draw] = {"y = x0^2 / 2 + x1 + noise": _squares}
SETTINGS = ((200, 5), (200, 10), (600, 10), (600, 30))
KEYS = [f"{name}|{n}|{b}" for name in (*NULLS, *ALTERNATIVES) for n, b in SETTINGS]


def once(key: str, seed: int) -> dict[str, Any]:
    """Under a null: one of the selected features, in turn. Otherwise: how many of the two that matter are found."""
    name, n, block = key.split("|")
    draw = {**NULLS, **ALTERNATIVES}[name]
    x, y = draw(np.random.default_rng([seed, int(n), len(name)]), int(n))
    result = post_selection(x, y, k=K, block=int(block), rng=seed)
    if name in NULLS:
        feature = result.features[seed % K]
        return {"rejections": int(feature.pvalue <= LEVEL), "naive": int(feature.naive <= LEVEL)}
    relevant = [f for f in result if f.name in ("0", "1")]
    return {
        "selected": len(relevant) / 2,
        "rejections": sum(f.pvalue <= LEVEL for f in relevant) / 2,
    }


def markdown(store: Mapping[str, Any]) -> str:
    """Tables of levels and of power."""
    command = "python -m benchmarks.reproductions.post_selection_level"
    lines = [*heading("Inference after selection by HSIC: level and power", command), ""]
    lines += [
        f"The {K} of {FEATURES} features with the largest HSIC are selected and tested at level {LEVEL}. Under the null one of the",
        "selected is looked at in each run; 400 runs have a band of 0.017 to 0.083 (three standard errors).",
    ]
    cells = store["cells"]
    rows, powers = [], []
    for key in KEYS:
        entry, (name, n, block) = cells.get(key, {"runs": 0}), key.split("|")
        if not (runs := entry["runs"]):
            continue
        row = {"problem": name, "n": n, "block": block, "runs": runs}
        rate = entry["rejections"] / runs
        if name in NULLS:
            error = (LEVEL * (1 - LEVEL) / runs) ** 0.5
            inside = "yes" if abs(rate - LEVEL) <= 3 * error else "NO"
            naive = entry["naive"] / runs
            shares = (with_error(share, runs, 3) for share in (rate, naive))
            rows.append(
                row | dict(zip(("selective", "naive"), shares, strict=True)) | {"in band": inside}
            )
        else:
            selected = entry["selected"] / runs
            found = with_error(rate, runs)
            powers.append({**row, "selected": with_error(selected, runs), "found": found})
    lines += ["", "## Level", "", *table(rows), "", "## Power", ""]
    lines += [
        "Share of the two features that matter that are selected, and that are selected and significant.",
        "",
    ]
    return "\n".join([*lines, *table(powers)]) + "\n"


RECORD = Record("post_selection", markdown)
PLAN = Plan(RECORD, once, lambda _: dict.fromkeys(KEYS, 400))


if __name__ == "__main__":
    raise SystemExit(PLAN.main(__doc__))
