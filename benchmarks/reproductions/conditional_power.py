"""python -m benchmarks.reproductions.conditional_power: what conditional tests reject, true or not.

Nonlinear models x = g(f(z) + e), y = h(f'(z) + e' + effect x) with random functions; with effect 0 the null
hypothesis is true. `KCI` smooths for prediction (slack 0) or less, and causal-learn's KCI comes as it is.
``--sizes 200 --runs 200 --seconds 300`` does a part; what was done before is kept, so that a long run
can be made of short ones.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.machine import describe
from mercer.htest import KCI, RCIT, RCoT

sys.path.append(str(Path(__file__).parents[2] / "tests"))  # where the models are

from htest_given import alike, mean, post_nonlinear, sums

RESULTS = Path(__file__).parents[1] / "results"
NAME = "conditional_power"
LEVEL = 0.05
SIGNALS = {s.__name__: s for s in (mean, sums, alike)}
DIMENSIONS, EFFECTS = (1, 3, 5), (0.0, 0.5)
PEER = "causal-learn KCI"


def tests() -> dict[str, Callable[..., float]]:
    """P-values of x, y and z, with a seed."""
    ours = {"KCI(slack=0.0)": KCI(slack=0.0), "KCI(slack=0.1)": KCI(slack=0.1), "KCI()": KCI()}
    ours |= {"RCoT()": RCoT(), "RCIT()": RCIT()}
    found: dict[str, Callable[..., float]] = {
        name: lambda *s, rng, t=t: t.test(*s, rng=rng).pvalue for name, t in ours.items()
    }
    if peers.installed("causallearn"):
        from causallearn.utils.KCI.KCI import KCI_CInd

        found[PEER] = lambda *s, rng: KCI_CInd().compute_pvalue(*(_column(v) for v in s))[0]
    return found


def main() -> int:
    told = _arguments()
    store, known = _load(told.results), tests()
    chosen = [name for name in known if told.only in name]
    started = saved = time.monotonic()
    for run in range(told.runs):
        for n, signal, d, effect in _problems(told.sizes):
            samples = None
            for name in chosen:
                key = f"{n}/{signal}/{d}/{effect:g}/{name}"
                entry = store.setdefault(key, {"runs": 0, "rejections": 0, "seconds": 0.0})
                if entry["runs"] != run or time.monotonic() - started > told.seconds:
                    continue
                samples = samples or _drawn(n, signal, d, effect, run)
                _once(entry, known[name], samples, run)
        if time.monotonic() - saved > 10:
            _save(store, told.results)
            saved = time.monotonic()
    _save(store, told.results)
    print(_markdown(store))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="*", type=int, default=[200, 1000])
    parser.add_argument("--only", default="", help="tests whose name has this in it")
    parser.add_argument("--runs", type=int, default=200, help="runs of each, earlier ones counted")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so long")
    parser.add_argument("--results", type=Path, default=RESULTS)
    return parser.parse_args()


def _problems(sizes: Iterable[int]) -> Iterable[tuple[int, str, int, float]]:
    return ((n, s, d, e) for n in sizes for s in SIGNALS for d in DIMENSIONS for e in EFFECTS)


def _drawn(n: int, signal: str, d: int, effect: float, run: int) -> tuple:
    rng = np.random.default_rng([run, n, d, zlib.crc32(signal.encode())])
    return post_nonlinear(SIGNALS[signal], d, effect=effect)(rng, (n,))


def _once(entry: dict[str, Any], test: Callable[..., float], samples: tuple, run: int) -> None:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        entry["rejections"] += int(test(*samples, rng=run) <= LEVEL)
    entry["seconds"] += time.process_time() - start
    entry["runs"] += 1


def _column(v: np.ndarray) -> np.ndarray:
    return v if v.ndim == 2 else v[:, None]


# ---- what is told ---------------------------------------------------------------------------


def _markdown(store: dict[str, Any]) -> str:
    seen = {key.split("/")[-1] for key in store}
    names = [name for name in dict.fromkeys([*tests(), PEER]) if name in seen]
    lines = ["# What conditional independence tests reject", ""]
    lines += [f"    python -m benchmarks.reproductions.{Path(__file__).stem} --runs 200", ""]
    lines += [f"* {key}: {value}" for key, value in describe().items()]
    head = ["n", "z", "signals", "runs", *names]
    for effect in EFFECTS:
        title = f"y depends on x, {effect:g}" if effect else "x and y independent given z"
        lines += ["", f"## {title}", "", _line(head), "|" + " --- |" * len(head)]
        lines += [_line(row) for row in _rows(store, names, effect)]
    spent = ", ".join(f"{name} {s:.0f}" for name, s in _milliseconds(store, names))
    lines += ["", f"Shares of rejections at level {LEVEL}. Milliseconds a run, all sizes: {spent}."]
    return "\n".join(lines) + "\n"


def _rows(store: dict[str, Any], names: list[str], effect: float) -> Iterable[list[str]]:
    sizes = sorted({int(key.split("/")[0]) for key in store})
    for n, signal, d, found in _problems(sizes):
        entries = [store.get(f"{n}/{signal}/{d}/{effect:g}/{name}") for name in names]
        if found == effect and any(e and e["runs"] for e in entries):
            runs = max(e["runs"] for e in entries if e)
            rates = [
                f"{e['rejections'] / e['runs']:.3f}" if e and e["runs"] else "" for e in entries
            ]
            yield [f"{n:,}", f"d = {d}", signal, str(runs), *rates]


def _milliseconds(store: dict[str, Any], names: list[str]) -> Iterable[tuple[str, float]]:
    for name in names:
        own = [entry for key, entry in store.items() if key.split("/")[-1] == name]
        runs = sum(entry["runs"] for entry in own)
        if runs:
            yield name, 1000 * sum(entry["seconds"] for entry in own) / runs


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _load(folder: Path) -> dict[str, Any]:
    file = folder / f"{NAME}.json"
    return json.loads(file.read_text(encoding="utf-8"))["cells"] if file.is_file() else {}


def _save(store: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    cells = {key: entry | {"seconds": round(entry["seconds"], 2)} for key, entry in store.items()}
    text = json.dumps({"machine": describe(), "cells": dict(sorted(cells.items()))}, indent=1)
    (folder / f"{NAME}.json").write_text(text + "\n", encoding="utf-8")
    (folder / f"{NAME}.md").write_text(_markdown(store), encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
