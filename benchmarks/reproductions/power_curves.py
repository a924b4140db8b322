"""python -m benchmarks.reproductions.power_curves: power and run time against sample size and dimension.

Tests in linear time beside the test of all pairs: learnt and random locations or frequencies for two samples (ME, SCF; the
variance of one column of d is doubled), pairs of locations for independence (NFSIC; a Gaussian with a dependent sign), and Stein
features for goodness of fit (FSSD; the variance of one column of d is doubled). Level 0.05; learnt tests learn from one half
(FSSD: one fifth) of the observations. ``--family samples --runs 50 --seconds 300`` does a part; what was done before is kept.
``--draw`` writes docs/_static/power_curves_NAME.svg from the record.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    arguments,
    band,
    heading,
    rate,
    rounds,
    table,
    timed,
)
from mercer import htest
from mercer.datasets import GaussianSign, VarianceShift
from mercer.kernels import RBF
from mercer.kernels.bandwidth import median_bandwidth
from mercer.rkhs import Gaussian

LEVEL, J, RUNS, SHARE = 0.05, 5, 200, 0.2
SIZES, DIMENSIONS = (100, 250, 500, 1000, 2000), (1, 2, 5, 10, 20)
SIZE = 500  # where dimensions vary
DOCS = Path(__file__).parents[2] / "docs"
Samples = tuple[np.ndarray, ...]
Test = Callable[[Samples, np.random.Generator], float]  # -> p-value


@dataclass(frozen=True)
class Family:
    """A problem of n observations in d columns, d where sizes vary, and tests of it, the last one of all pairs."""

    title: str
    dimension: int
    draw: Callable[[int, int, np.random.Generator], Samples]
    tests: Mapping[str, Test]


def _learnt(kind: Any, **options: Any) -> Test:
    """Learn from the first halves of the samples, test with the second."""

    def run(samples: Samples, rng: np.random.Generator) -> float:
        n = len(samples[0]) // 2
        test = kind.optimized(*(s[:n] for s in samples), rng=rng, **options)
        return test.test(*(s[n:] for s in samples), rng=rng).pvalue

    return run


def _as_is(test: htest.HypothesisTest) -> Test:
    return lambda samples, rng: test.test(*samples, rng=rng).pvalue  # type: ignore[attr-defined]


def _standard(d: int) -> Gaussian:
    return Gaussian(np.zeros(d), 1.0)


def _fssd_learnt(samples: Samples, rng: np.random.Generator) -> float:
    (x,) = samples
    n = round(SHARE * len(x))
    test = htest.FSSD.optimized(_standard(x.shape[1]), x[:n], locations=J, rng=rng)
    return test.test(x[n:], rng=rng).pvalue


def _stein(kind: Any, **options: Any) -> Test:
    def run(samples: Samples, rng: np.random.Generator) -> float:
        (x,) = samples
        test = kind(_standard(x.shape[1]), RBF(median_bandwidth(x)), **options)
        return test.test(x, rng=rng).pvalue

    return run


def _scaled(n: int, d: int, rng: np.random.Generator) -> Samples:
    x = rng.standard_normal((n, d))
    x[:, 0] *= 2**0.5
    return (x,)


FAMILIES = {
    "samples": Family(
        "Two samples",
        5,
        lambda n, d, rng: VarianceShift(d, 2.0).sample(n, rng=rng),
        {
            "ME, learnt": _learnt(htest.ME, locations=J),
            "ME, random": _as_is(htest.ME(locations=J)),
            "SCF, learnt": _learnt(htest.SCF, frequencies=J),
            "SCF, random": _as_is(htest.SCF(frequencies=J)),
            "MMD": _as_is(htest.MMD(null=htest.Permutation(199))),
        },
    ),
    "independence": Family(
        "Independence",
        2,
        lambda n, d, rng: GaussianSign(d).sample(n, rng=rng),
        {
            "NFSIC, learnt": _learnt(htest.NFSIC, locations=J),
            "NFSIC, random": _as_is(htest.NFSIC(locations=J)),
            "HSIC": _as_is(htest.HSIC(null=htest.Permutation(199))),
        },
    ),
    "goodness": Family(
        "Goodness of fit",
        5,
        _scaled,
        {
            "FSSD, learnt": _fssd_learnt,
            "FSSD, random": _stein(htest.FSSD, locations=J),
            "KSD": _stein(htest.KSD, null=htest.WildBootstrap(199)),
        },
    ),
}


def points(family: str) -> dict[str, list[tuple[int, int]]]:
    """Numbers of observations and columns along both axes."""
    fixed = FAMILIES[family].dimension
    return {
        "observations": [(n, fixed) for n in SIZES],
        "columns": [(SIZE, d) for d in DIMENSIONS],
    }


KEYS = [
    f"{family}/{n}/{d}/{test}"
    for family, each in FAMILIES.items()
    for n, d in dict.fromkeys(p for axis in points(family).values() for p in axis)
    for test in each.tests
]


def once(key: str, seed: int) -> dict[str, Any]:
    """Whether a test rejects, and its seconds of processor time; tests of a point see the same observations."""
    family, n, d, test = key.split("/")
    start = [seed, int(n), int(d), zlib.crc32(family.encode())]
    samples = FAMILIES[family].draw(int(n), int(d), np.random.default_rng(start))
    rng = np.random.default_rng([seed, zlib.crc32(key.encode())])
    pvalue, seconds = timed(lambda: FAMILIES[family].tests[test](samples, rng))
    return {"rejections": int(pvalue <= LEVEL), "times": [round(seconds, 5)], "seconds": seconds}


def main() -> int:
    """Make the runs that are missing, print the tables, and draw the curves."""
    parser = arguments(__doc__, RUNS)
    parser.add_argument("--family", nargs="*", choices=[*FAMILIES, []], default=[*FAMILIES])
    parser.add_argument("--draw", action="store_true", help="only draw what is on record")
    told = parser.parse_args()
    store = RECORD.load(told.results)
    if told.draw:
        draw(store)
        return 0
    keys = [key for key in KEYS if key.split("/")[0] in told.family]
    turns = rounds(store, keys, told.runs)
    RECORD.run(store, turns, once, told.seconds, told.results, told.workers)
    print(markdown(store))
    return 0


# ---- the printed page -----------------------------------------------------------------------


def draw(store: Store) -> None:
    """Three panels for each family: power against size and dimension with 95% bands, and seconds against size."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style = {"font.family": "sans-serif", "svg.fonttype": "none", "svg.hashsalt": "mercer"}
    with mpl.rc_context(style):
        for family, each in FAMILIES.items():
            figure = Figure(figsize=(10, 3.2), layout="constrained")
            axes = figure.subplots(1, 3)
            for test in each.tests:
                for ax, (axis, some) in zip(axes, enumerate(points(family).values()), strict=False):
                    _curve(ax, store, family, test, some, axis)
                _times(axes[2], store, family, test)
            axes[0].set(
                title=f"{each.title}: power, {each.dimension} columns", xlabel="observations"
            )
            axes[1].set(title=f"{SIZE} observations", xlabel="columns")
            axes[2].set(title="Seconds of processor time", xlabel="observations", yscale="log")
            for ax in axes:
                ax.set_xscale("log")
                ax.spines[["top", "right"]].set_visible(False)
            for ax in axes[:2]:
                ax.set_ylim(0, 1.02)
                ax.axhline(LEVEL, color="#1d2733", lw=0.8, ls="--")
            axes[0].legend(frameon=False, fontsize=8)
            file = DOCS / "_static" / f"power_curves_{family}.svg"
            figure.savefig(file, facecolor="white", metadata={"Date": None})


def _curve(
    ax: Any, store: Store, family: str, test: str, some: list[tuple[int, int]], axis: int
) -> None:
    found = [(p[axis], store["cells"].get(f"{family}/{p[0]}/{p[1]}/{test}")) for p in some]
    known = [(at, entry) for at, entry in found if entry and entry["runs"]]
    if known:
        places = [at for at, _ in known]
        ends = np.array([band(e["rejections"], e["runs"]) for _, e in known])
        (line,) = ax.plot(places, [rate(e) for _, e in known], "o-", ms=3, lw=1.2, label=test)
        ax.fill_between(places, *ends.T, color=line.get_color(), alpha=0.12, lw=0)


def _times(ax: Any, store: Store, family: str, test: str) -> None:
    some = points(family)["observations"]
    found = [(n, store["cells"].get(f"{family}/{n}/{d}/{test}")) for n, d in some]
    known = [(n, float(np.median(e["times"]))) for n, e in found if e and e["runs"]]
    if known:
        ax.plot(*zip(*known, strict=True), "o-", ms=3, lw=1.2, label=test)


_NOTE = f"""Share of runs that reject at level {LEVEL}, with 95% bands (Wilson), and the median of the seconds of processor time, learning included.
Jitkrittum et al. 2016 and 2017 show such curves for ME and SCF, NFSIC and FSSD; the problems are theirs, sizes and dimensions
are smaller. {J} locations or frequencies; MMD and HSIC with 199 permutations and KSD with 199 signs, all at the median distance."""


def markdown(store: Store) -> str:
    """A table for each family, against size and against dimension."""
    command = "python -m benchmarks.reproductions.power_curves"
    lines = [*heading("Power and run time against sample size and dimension", command), "", _NOTE]
    for family, each in FAMILIES.items():
        for word, some in points(family).items():
            fixed = f"{each.dimension} columns", f"{SIZE} observations"
            rest = fixed[word == "columns"]
            lines += ["", f"## {each.title}: {word}, {rest}", ""]
            lines += table(_rows(store["cells"], family, word, some))
    return "\n".join(lines) + "\n"


def _rows(
    cells: Mapping[str, Any], family: str, word: str, some: list[tuple[int, int]]
) -> Iterator[dict[str, str]]:
    for n, d in some:
        tests = FAMILIES[family].tests
        entries = {test: cells.get(f"{family}/{n}/{d}/{test}", {"runs": 0}) for test in tests}
        if all(entry["runs"] for entry in entries.values()):
            runs = [entry["runs"] for entry in entries.values()]
            yield {
                word: str(n if word == "observations" else d),
                **{test: _told(entry) for test, entry in entries.items()},
                "runs": str(min(runs)),
            }


def _told(entry: Mapping[str, Any]) -> str:
    low, high = band(entry["rejections"], entry["runs"])
    return f"{rate(entry):.2f} ({low:.2f} to {high:.2f}), {np.median(entry['times']):.3f} s"


RECORD = Record("power_curves", markdown)
PLAN = Plan(RECORD, once, lambda _: dict.fromkeys(KEYS, RUNS))

if __name__ == "__main__":
    raise SystemExit(main())
