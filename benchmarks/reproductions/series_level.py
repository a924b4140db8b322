"""python -m benchmarks.reproductions.series_level: levels of tests on autocorrelated rows, and what their caution costs.

Independent series of the same kind, at level 0.05: two-sample tests compare them, tests of independence pair them, tests
of goodness of fit are handed a chain that follows the model, `Monitor` watches two streams for 5,000 points (``--only
"monitor"``), which stay equal or differ by one standard deviation after the first 1,000. No constant was chosen on these problems (`tests.support.series_problems` names those that were). Power is on independent
observations, beside that of permutations on the same data. ``--workers 16 --runs 400 --seconds 300`` runs cells
side by side, all cells a few runs at a time, and keeps what it has; ``--only "HSIC; AR"`` does a part.
"""

from __future__ import annotations

import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    arguments,
    heading,
    rate,
    rounds,
    table,
    with_error,
)
from mercer.htest import (
    DHSIC,
    FSSD,
    HSIC,
    KSD,
    MMD,
    HypothesisTest,
    KSDAgg,
    Lancaster,
    Monitor,
    Permutation,
    PhaseSurrogates,
    SerialHSIC,
    ShiftHSIC,
    WildBootstrap,
)
from mercer.rkhs import Gaussian

from tests.support.htest_levels import LEVEL, MOST  # isort: skip  (found by the path that `records` adds)
from tests.support.series_problems import CHAINS, STATIONARY, WALKS, Draw, arma, garch  # isort: skip

SIZES = (100, 300, 1000)
SEED = 2  # of the record: constants changed after seed 1 was looked at
SERIES = WildBootstrap(499, block=None)
TESTS: dict[str, HypothesisTest] = {
    "MMD": MMD(null=SERIES),
    "HSIC": HSIC(null=SERIES),
    "ShiftHSIC": ShiftHSIC(),
    "HSIC, phases": HSIC(null=PhaseSurrogates(99)),
    "DHSIC": DHSIC(null=SERIES),
    "Lancaster": Lancaster(null=SERIES),
    "Lancaster, total": Lancaster(null=SERIES, total=True),
}
THREE = ("DHSIC", "Lancaster", "Lancaster, total")  # series at a time
CHAIN_TESTS: dict[str, Callable[[Gaussian], HypothesisTest]] = {
    "KSD": lambda model: KSD(model, null=SERIES),
    "KSDAgg": lambda model: KSDAgg(model, null=SERIES),
    "FSSD": lambda model: FSSD(model, null=SERIES),
}
TWINS: dict[str, HypothesisTest] = {
    "MMD": MMD(null=Permutation(499)),
    "HSIC": HSIC(null=Permutation(499)),
    "ShiftHSIC": HSIC(null=Permutation(499)),
    "KSD": KSD(Gaussian(0.0, 1.0), null=WildBootstrap(499)),
}
WATCHED = ("independent", "AR(0.5)", "AR(0.9)")  # by `Monitor`
POINTS, CHANGE, AT_ONCE = 5000, 1000, 50  # of a stream, before the shift, and in a batch
Samples = tuple[np.ndarray, ...]


def _difference(
    change: Callable[[np.ndarray, float], np.ndarray], d: int = 1
) -> Callable[[np.random.Generator, int], Samples]:
    """Two normal samples, the second changed by an effect of the order of n^(-1/2)."""

    def draw(rng: np.random.Generator, n: int) -> Samples:
        return rng.standard_normal((n, d)), change(rng.standard_normal((n, d)), 10 / n**0.5)

    return draw


def _effect(signal: Callable[[np.ndarray], np.ndarray], size: float) -> Any:
    """A normal x, and y = effect of x + noise, of the order of n^(-1/2)."""

    def draw(rng: np.random.Generator, n: int) -> Samples:
        x = rng.standard_normal(n)
        return x, size * 10 / n**0.5 * signal(x) + rng.standard_normal(n)

    return draw


DIFFERENT: Mapping[str, Callable[[np.random.Generator, int], Samples]] = {
    "shift": _difference(lambda y, e: y + 0.42 * e),
    "scale": _difference(lambda y, e: y * (1 + 0.5 * e)),
    "shift, d = 5": _difference(lambda y, e: y + 0.22 * e, d=5),
}
DEPENDENT: Mapping[str, Callable[[np.random.Generator, int], Samples]] = {
    "linear": _effect(lambda x: x, 0.34),
    "absolute value": _effect(np.abs, 0.65),
}
# What SerialHSIC is asked about: rows in random order, of which 5% are to be rejected, and series.
ROWS: Mapping[str, Draw] = {
    "independent": STATIONARY["independent"],
    "independent t2": lambda rng, n: rng.standard_t(2, n),
    "independent counts": lambda rng, n: rng.poisson(1.0, n).astype(np.float64),
    "independent, d = 5": lambda rng, n: rng.standard_normal((n, 5)),
    "AR(0.2)": arma((0.2,)),
    "AR(-0.3)": arma((-0.3,)),
    "MA(4), only lag 4": arma(ma=(0.0, 0.0, 0.0, 0.4)),
    "GARCH(0.3, 0.6)": garch(0.3, 0.6),
    "GARCH(0.1, 0.85)": STATIONARY["GARCH(0.1, 0.85)"],
    "threshold AR": STATIONARY["threshold AR"],
}
SERIAL = SerialHSIC(null=Permutation(199))
MISFITS: Mapping[str, Callable[[np.random.Generator, int], Samples]] = {
    "shift": lambda rng, n: (rng.standard_normal((n, 1)) + 3 / n**0.5,),
    "scale": lambda rng, n: (rng.standard_normal((n, 1)) * (1 + 2.5 / n**0.5),),
}
ALTERNATIVES = {"MMD": DIFFERENT, "HSIC": DEPENDENT, "ShiftHSIC": DEPENDENT, "KSD": MISFITS}


def keys() -> Iterator[str]:
    """Kind, test, problem and size of every cell."""
    for n in SIZES:
        for test in TESTS:
            yield from (f"level; {test}; {problem}; {n}" for problem in STATIONARY | WALKS)
        for test in CHAIN_TESTS:
            yield from (f"chain; {test}; {problem}; {n}" for problem in CHAINS)
        for test, problems in ALTERNATIVES.items():
            yield from (f"power; {test}; {problem}; {n}" for problem in problems)
        yield from (f"serial; SerialHSIC; {problem}; {n}" for problem in ROWS)
    for change in ("none", "shift"):
        yield from (f"monitor; {change}; {problem}; {POINTS}" for problem in WATCHED)


def once(key: str, run: int) -> dict[str, Any]:
    """Run number `run` of a cell: rejections, refusals, cautions, and rejections by the permutation twin."""
    kind, name, problem, size = key.split("; ")
    rng = np.random.default_rng([run, zlib.crc32(key.encode()), SEED])
    if kind == "monitor":
        return _watched(STATIONARY[problem], rng, shifted=name == "shift")
    if kind == "serial":
        return {"rejections": int(SERIAL.test(ROWS[problem](rng, int(size)), rng=run).rejects())}
    if kind == "level":
        draw = (STATIONARY | WALKS)[problem]
        number = 3 if name in THREE else 2
        return _judged(TESTS[name], tuple(draw(rng, int(size)) for _ in range(number)), run)
    if kind == "chain":
        x = CHAINS[problem](rng, int(size)).reshape(int(size), -1)
        model = Gaussian(np.zeros(x.shape[1]), 1.0)
        return _judged(CHAIN_TESTS[name](model), (x,), run)
    samples = ALTERNATIVES[name][problem](rng, int(size))
    started = time.process_time()
    test = TESTS[name] if name in TESTS else CHAIN_TESTS[name](Gaussian(0.0, 1.0))
    told = _judged(test, samples, run)
    told["seconds"] = time.process_time() - started
    started = time.process_time()
    twin = TWINS[name].test(*samples, rng=run).pvalue <= LEVEL
    return told | {"twin": int(twin), "twin_seconds": time.process_time() - started}


def _watched(draw: Draw, rng: np.random.Generator, *, shifted: bool) -> dict[str, Any]:
    """Whether `Monitor` raised an alarm, before a shift and at all, and how many points after the shift."""
    x, y = (draw(rng, POINTS)[:, None] for _ in range(2))
    y[CHANGE:] += shifted * y.std()
    state: Any = Monitor(LEVEL)
    seen = 0
    while seen < POINTS and not (seen and state.alarmed):
        state = state.update(x[seen : seen + AT_ONCE], y[seen : seen + AT_ONCE])
        seen += AT_ONCE
    early = state.alarmed and seen <= CHANGE
    found = state.alarmed and not early
    return {
        "rejections": int(state.alarmed),
        "early": int(early),
        "delay": (seen - CHANGE) * found,
    }


def _judged(test: HypothesisTest, samples: Samples, run: int) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            result = test.test(*samples, rng=run)
        except ValueError as error:
            if "random walk" not in str(error):
                raise
            return {"rejections": 0, "refused": 1, "cautions": 0}
    caution = any(note.startswith("Caution") for note in result.notes)
    return {"rejections": int(result.pvalue <= LEVEL), "refused": 0, "cautions": int(caution)}


# ---- running ----------------------------------------------------------------------------------


def main() -> int:
    """Run what is asked for, and print the tables."""
    parser = arguments(__doc__, runs=400)
    parser.add_argument("--only", default="", help="cells whose name has this in it, ended by ;")
    parser.add_argument("--again", action="store_true", help="forget the earlier runs of these")
    told = parser.parse_args()
    chosen = [key for key in keys() if told.only in f"{key};"]
    store = RECORD.load(told.results)
    forgotten = set(chosen) if told.again else set()
    store["cells"] = {k: e for k, e in store["cells"].items() if k not in forgotten}
    turns = rounds(store, chosen, told.runs)
    RECORD.run(store, turns, once, told.seconds, told.results, told.workers)
    print(markdown(store))
    return 0


# ---- tables -----------------------------------------------------------------------------------


def markdown(store: Store) -> str:
    """Levels by test and problem, power beside permutations, and how often walks were refused."""
    cells = {k: e for k, e in store["cells"].items() if e["runs"]}
    command = "python -m benchmarks.reproductions.series_level --workers 16"
    lines = heading("Tests on autocorrelated rows: level and power", command)
    levels = [
        k for k in cells if k.startswith(("level", "chain")) and k.split("; ")[2] not in WALKS
    ]
    outside = [k for k in levels if rate(cells[k]) > MOST]
    lines += ["", "## Level", "", f"{len(levels)} cells, {len(outside)} above {MOST:.0%}.", ""]
    lines += table(_level_rows(cells))
    lines += [
        "",
        "Rejected at level 0.05, by the number of observations of each series. refused: as random walks, ",
    ]
    lines += [
        "which does not count as rejected; caution: fewer than 30 effective observations.",
        "",
    ]
    lines += ["## Power on independent observations", "", *table(_power_rows(cells))]
    lines += [
        "",
        "## SerialHSIC: rows that are rejected at level 0.05",
        "",
        *table(_serial_rows(cells)),
    ]
    if any(key.startswith("monitor") for key in cells):
        lines += [
            "",
            f"## Monitor: two streams, {POINTS:,} points in batches of {AT_ONCE}",
            "",
            *table(_monitor_rows(cells)),
        ]
    return "\n".join(lines) + "\n"


def _level_rows(cells: Mapping[str, Any]) -> Iterable[dict[str, str]]:
    rows = [("level", test, problem) for test in TESTS for problem in STATIONARY | WALKS]
    rows += [("chain", test, problem) for test in CHAIN_TESTS for problem in CHAINS]
    for kind, test, problem in rows:
        row = {"test": test, "series": problem}
        for n in SIZES:
            entry = cells.get(f"{kind}; {test}; {problem}; {n}")
            row[f"n = {n}"] = "" if entry is None else _level(entry)
        yield row


def _level(entry: Mapping[str, Any]) -> str:
    text = f"{rate(entry):.3f}" + (" (ABOVE)" if rate(entry) > MOST else "")
    for name, word in (("refused", "refused"), ("cautions", "caution")):
        share = entry.get(name, 0) / entry["runs"]
        text += f", {word} {share:.0%}" if share >= 0.005 else ""
    return f"{text}; {entry['runs']} runs"


def _power_rows(cells: Mapping[str, Any]) -> Iterable[dict[str, str]]:
    for key, entry in cells.items():
        if key.startswith("power"):
            _, test, problem, n = key.split("; ")
            ours, twin = rate(entry), entry["twin"] / entry["runs"]
            yield {
                "test": test,
                "alternative": problem,
                "n": n,
                "series": with_error(ours, entry["runs"]),
                "permutations": with_error(twin, entry["runs"]),
                "ratio": f"{ours / twin:.2f}" if twin else "",
                "time ratio": f"{entry['seconds'] / entry['twin_seconds']:.2f}",
                "runs": str(entry["runs"]),
            }


def _serial_rows(cells: Mapping[str, Any]) -> Iterable[dict[str, str]]:
    for problem in ROWS:
        entries = {n: cells.get(f"serial; SerialHSIC; {problem}; {n}") for n in SIZES}
        rates = {f"n = {n}": "" if e is None else f"{rate(e):.3f}" for n, e in entries.items()}
        runs = max((e["runs"] for e in entries.values() if e is not None), default=0)
        yield {"rows": problem, **rates, "runs": str(runs)}


def _monitor_rows(cells: Mapping[str, Any]) -> Iterable[dict[str, str]]:
    for problem in WATCHED:
        same, shift = (cells.get(f"monitor; {c}; {problem}; {POINTS}") for c in ("none", "shift"))
        row = {"streams": problem}
        if same is not None:
            row["false alarms"] = f"{same['rejections']} of {same['runs']}"
        if shift is not None:
            found, runs = shift["rejections"] - shift["early"], shift["runs"] - shift["early"]
            row["shift found"] = f"{found} of {runs}"
            row["points until then, mean"] = f"{shift['delay'] / found:.0f}" if found else ""
        yield row


RECORD = Record("series_level", markdown)
PLAN = Plan(RECORD, once, lambda _: dict.fromkeys(keys(), 400))

if __name__ == "__main__":
    raise SystemExit(main())
