"""python -m benchmarks.reproductions.conditional_power: what conditional tests reject, true or not.

Nonlinear models x = g(f(z) + e), y = h(f'(z) + e' + effect x) with random functions; with effect 0 the null
hypothesis is true. `KCI` smooths for prediction (slack 0) or less, and causal-learn's KCI comes as it is.
``--sizes 200 --runs 50 --seconds 300`` does a part; what was done before is kept, so that a long run
can be made of short ones.
"""

from __future__ import annotations

import argparse
import warnings
import zlib
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    arguments,
    heading,
    rate,
    rounds,
    table,
    timed,
    with_error,
)
from mercer.htest import KCI, RCIT, RCoT
from tests.support.htest_given import alike, mean, post_nonlinear, sums

LEVEL = 0.05
SIGNALS = {s.__name__: s for s in (mean, sums, alike)}
RUNS, SIZES, DIMENSIONS, EFFECTS = 100, (200, 1000), (1, 3, 5), (0.0, 0.5)
PEER = "causal-learn KCI"


@cache
def tests() -> dict[str, Callable[..., float]]:
    """P-values of x, y and z, with a seed."""
    ours = {"KCI(slack=0.0)": KCI(slack=0.0), "KCI(slack=0.1)": KCI(slack=0.1), "KCI()": KCI()}
    ours |= {"RCoT()": RCoT(), "RCIT()": RCIT()}
    found: dict[str, Callable[..., float]] = {
        name: lambda *s, rng, t=t: t.test(*s, rng=rng).pvalue for name, t in ours.items()
    }
    if peers.installed("causallearn"):
        from causallearn.utils.KCI.KCI import KCI_CInd

        found[PEER] = lambda *s, rng: float(KCI_CInd().compute_pvalue(*(_column(v) for v in s))[0])
    return found


def main() -> int:
    told = _arguments()
    store = RECORD.load(told.results)
    names = [name for name in tests() if told.only in name]
    turns = rounds(store, _cells(told.sizes, names), told.runs)
    RECORD.run(store, turns, _once, told.seconds, told.results, told.workers)
    print(_markdown(store))
    return 0


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, RUNS)
    parser.add_argument("--sizes", nargs="*", type=int, default=[*SIZES])
    parser.add_argument("--only", default="", help="tests whose name has this in it")
    return parser.parse_args()


def _cells(sizes: Iterable[int], names: Iterable[str]) -> list[str]:
    return [f"{n}/{s}/{d}/{e:g}/{name}" for n, s, d, e in _problems(sizes) for name in names]


def _problems(sizes: Iterable[int]) -> Iterable[tuple[int, str, int, float]]:
    return ((n, s, d, e) for n in sizes for s in SIGNALS for d in DIMENSIONS for e in EFFECTS)


def _once(key: str, run: int) -> dict[str, Any]:
    n, signal, d, effect, name = key.split("/")
    samples = _drawn(int(n), signal, int(d), float(effect), run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pvalue, seconds = timed(lambda: tests()[name](*samples, rng=run))
    return {"rejections": int(pvalue <= LEVEL), "seconds": seconds}


@lru_cache(maxsize=4)
def _drawn(n: int, signal: str, d: int, effect: float, run: int) -> tuple:
    """Observations, the same for every test."""
    rng = np.random.default_rng([run, n, d, zlib.crc32(signal.encode())])
    return post_nonlinear(SIGNALS[signal], d, effect=effect)(rng, (n,))


def _column(v: np.ndarray) -> np.ndarray:
    return v if v.ndim == 2 else v[:, None]


# ---- the printed page -----------------------------------------------------------------------


def _markdown(store: Store) -> str:
    cells = store["cells"]
    seen = {key.split("/")[-1] for key in cells}
    names = [name for name in dict.fromkeys([*tests(), PEER]) if name in seen]
    command = f"python -m benchmarks.reproductions.{Path(__file__).stem}"
    lines = heading("What conditional independence tests reject", command)
    for effect in EFFECTS:
        title = f"y depends on x, {effect:g}" if effect else "x and y independent given z"
        lines += ["", f"## {title}", "", *table(_rows(cells, names, effect))]
    spent = ", ".join(f"{name} {s:.0f}" for name, s in _milliseconds(cells, names))
    lines += ["", f"Shares of rejections at level {LEVEL}. Milliseconds a run, all sizes: {spent}."]
    return "\n".join(lines) + "\n"


def _rows(cells: dict[str, Any], names: list[str], effect: float) -> Iterable[dict[str, str]]:
    sizes = sorted({int(key.split("/")[0]) for key in cells})
    for n, signal, d, found in _problems(sizes):
        entries = {name: cells.get(f"{n}/{signal}/{d}/{effect:g}/{name}") for name in names}
        done = {name: e for name, e in entries.items() if e and e["runs"]}
        if found == effect and done:
            runs = str(min(e["runs"] for e in done.values()))
            rates = {name: _rate(done[name]) if name in done else "" for name in names}
            yield {"n": f"{n:,}", "z": f"d = {d}", "signals": signal, "runs": runs} | rates


def _rate(entry: dict[str, Any]) -> str:
    return with_error(rate(entry), entry["runs"])


def _milliseconds(cells: dict[str, Any], names: list[str]) -> Iterable[tuple[str, float]]:
    for name in names:
        own = [entry for key, entry in cells.items() if key.split("/")[-1] == name]
        runs = sum(entry["runs"] for entry in own)
        if runs:
            yield name, 1000 * sum(entry["seconds"] for entry in own) / runs


RECORD = Record("conditional_power", _markdown)
PLAN = Plan(RECORD, _once, lambda _: dict.fromkeys(_cells(SIZES, tests()), RUNS))

if __name__ == "__main__":
    raise SystemExit(main())
