"""python -m benchmarks.reproductions.independence_power: rejection rates of published problems, again.

Jitkrittum et al. 2017, Figures 1 to 3: sinusoids, Gaussian signs and independent Gaussians, level
0.05, 4,000 observations of which NFSIC-opt learns from one half and tests with the other, and the
sizes of their third figure; and rotated uniforms, with and without columns of noise, which their
program has beside. J = 10 locations, 10 frequencies, landmarks or features.

``--problem sin4 --runs 100 --seconds 300`` does a part; what was done before is kept, so that a
long run can be made of short ones. Rates are compared with those of the published procedure on the
same observations (`independence_procedures.py`). ``--times`` shows how NFSIC scales instead.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.reproductions import independence_procedures as procedures
from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import (
    Record,
    Store,
    arguments,
    compared,
    heading,
    rounds,
    table,
    timed,
)
from mercer import htest
from mercer.datasets import (
    GaussianSign,
    IndependentGaussians,
    PairedProblem,
    RotatedUniform,
    Sinusoid,
    SongYears,
    VideoCaptions,
)

LEVEL, J, MAIN_SIZE = 0.05, 10, 4000
SIZES = (25_000, 50_000, 100_000, 200_000)  # whose times are told
Pair = tuple[np.ndarray, np.ndarray]
Run = Callable[[Pair, np.random.Generator], float]


@dataclass(frozen=True)
class Study:
    """A problem, and the numbers of observations."""

    problem: PairedProblem
    sizes: tuple[int, ...] = (MAIN_SIZE,)


STUDIES = {f"sin{w}": Study(Sinusoid(float(w))) for w in range(1, 7)}
STUDIES |= {f"gsign{d}": Study(GaussianSign(d)) for d in range(1, 7)}
STUDIES |= {f"turn{a}": Study(RotatedUniform(2 * math.pi * a / 360)) for a in range(2, 11, 2)}
STUDIES |= {f"noise{d}": Study(RotatedUniform(math.pi / 4, d)) for d in (2, 4, 6)}
STUDIES |= {f"sg{d}": Study(IndependentGaussians(d, d)) for d in (50, 250)}
MEDIA = (500, 1000, 1500, 2000)
STUDIES |= {
    "songs": Study(SongYears(), MEDIA),
    "songs broken": Study(SongYears(0.0), MEDIA),
    "videos": Study(VideoCaptions(), MEDIA),
    "videos broken": Study(VideoCaptions(0.0), MEDIA),
}
for name in ("sin4", "gsign4"):
    STUDIES[name] = Study(STUDIES[name].problem, (1000, 3000, MAIN_SIZE, 6000, 10_000))


def nfsic_optimised(whole: Pair, rng: np.random.Generator) -> float:
    """Half of the observations to learn from, half for the test."""
    x, y = whole
    n = len(x) // 2
    test = htest.NFSIC.optimized(x[:n], y[:n], locations=J, rng=rng)
    return test.test(x[n:], y[n:], rng=rng).pvalue


def _with(test: Any) -> Run:
    return lambda whole, rng: test.test(*whole, rng=rng).pvalue


TESTS: dict[str, tuple[Run, Run]] = {
    "NFSIC-opt": (nfsic_optimised, procedures.nfsic_optimised),
    "NFSIC-rand": (_with(htest.NFSIC(locations=J)), procedures.nfsic_random),
    "QHSIC": (_with(htest.HSIC(null=htest.Permutation(300))), procedures.hsic_quadratic),
    "FHSIC": (_with(htest.FourierHSIC(frequencies=10)), procedures.hsic_fourier),
    "NyHSIC": (_with(htest.NystromHSIC(landmarks=10)), procedures.hsic_nystrom),
    "RDC": (_with(htest.RDC()), procedures.rdc),
}
MERCER, PUBLISHED = "mercer", "published"
RUNS, VIDEO_RUNS = (
    100,
    30,
)  # the second of 1,500 and 2,000 videos, of 3,878 columns, and of a slow test of videos


def main() -> int:
    told = _arguments()
    store = RECORD.load(told.results)
    if told.times:
        store["times"] = times()
        RECORD.save(store, told.results)
    else:
        turns = rounds(store, list(_cells(told)), told.runs)
        RECORD.run(store, turns, _once, told.seconds, told.results, told.workers)
    print(_markdown(store))
    return 0


def _arguments() -> argparse.Namespace:
    parser = arguments(__doc__, runs=RUNS)
    parser.add_argument("--problem", nargs="*", choices=[*STUDIES, []], default=[*STUDIES])
    parser.add_argument("--tests", nargs="*", choices=[*TESTS, []], default=[*TESTS])
    parser.add_argument("--sizes", nargs="*", type=int, default=[MAIN_SIZE])
    parser.add_argument(
        "--only-mercer", action="store_true", help="without the published procedures"
    )
    parser.add_argument("--times", action="store_true", help="how NFSIC scales")
    return parser.parse_args()


def _cells(told: argparse.Namespace) -> Iterable[str]:
    for study in told.problem:
        for size in STUDIES[study].sizes:
            for test in told.tests if size in told.sizes else ():
                yield f"{study}/{size}/{test}/{MERCER}"
                if not told.only_mercer:
                    yield f"{study}/{size}/{test}/{PUBLISHED}"


def _wanted(_: Store) -> dict[str, int]:
    """All cells but the published QHSIC of data in many columns, which takes minutes a run."""
    return {
        f"{name}/{size}/{test}/{by}": VIDEO_RUNS if _is_slow(name, size, test, by) else RUNS
        for name, study in STUDIES.items()
        for size in study.sizes
        for test in TESTS
        for by in (MERCER, PUBLISHED)
        if by == MERCER or test != "QHSIC" or _low_rank(name)
    }


def _is_slow(name: str, size: int, test: str, by: str) -> bool:
    """Whether a run takes so long that a night has time for few: the published search of random locations, too."""
    published_random = (test, by) == ("NFSIC-rand", PUBLISHED)
    return name.startswith("videos") and (size > MEDIA[1] or published_random)


def _low_rank(name: str) -> bool:
    """Whether kernel matrices of a problem have few columns as factors."""
    return name.startswith(("sin", "turn")) or name in ("gsign1", "gsign2", "gsign3", "noise2")


def _once(key: str, seed: int) -> dict[str, Any]:
    study, size, test, by = key.split("/")
    whole = _data(study, int(size), seed)
    rng = np.random.default_rng([seed, zlib.crc32(f"{test}/{by}".encode())])
    pvalue, seconds = timed(lambda: TESTS[test][by == PUBLISHED](whole, rng))
    return {"rejections": int(pvalue <= LEVEL), "seconds": seconds}


@lru_cache(maxsize=4)
def _data(study: str, size: int, seed: int) -> Pair:
    """Observations, the same for every test."""
    rng = np.random.default_rng([seed, size, zlib.crc32(study.encode())])
    return STUDIES[study].problem.sample(size, rng=rng)


# ---- how it scales --------------------------------------------------------------------------


def times(sizes: Iterable[int] = SIZES) -> list[dict[str, Any]]:
    """Seconds of processor time for NFSIC at these numbers of observations."""
    found = []
    for n in sizes:
        whole = Sinusoid(2.0).sample(n, rng=0)
        for name, run in (
            ("NFSIC, chi-square", _with(htest.NFSIC(locations=J))),
            ("NFSIC, 999 permutations", _with(htest.NFSIC(locations=J, null=htest.Permutation()))),
            ("NFSIC-opt, learnt on one half", nfsic_optimised),
        ):
            seconds = min(_seconds(run, whole) for _ in range(3))
            found.append({"test": name, "n": n, "seconds": round(seconds, 3)})
    return found


def _seconds(run: Run, whole: Pair) -> float:
    return timed(lambda: run(whole, np.random.default_rng(0)))[1]


# ---- the printed page -----------------------------------------------------------------------


def _rows(cells: dict[str, Any]) -> Iterable[dict[str, str]]:
    for key, entry in sorted(cells.items(), key=lambda item: _order(item[0])):
        study, size, test, by = key.split("/")
        if by != MERCER or not entry["runs"]:
            continue
        other = cells.get(f"{study}/{size}/{test}/{PUBLISHED}")
        level = LEVEL if STUDIES[study].problem.null else None
        named = {"problem": study, "n": f"{int(size):,}", "test": test}
        yield named | compared(entry, other, level)


def _order(key: str) -> tuple[int, int, int]:
    study, size, test, _ = key.split("/")
    return list(STUDIES).index(study), int(size), list(TESTS).index(test)


def _markdown(store: Store) -> str:
    command = "python -m benchmarks.reproductions.independence_power"
    lines = heading("Power of independence tests on published problems", command)
    lines += ["", *table(_rows(store["cells"]))]
    lines += [
        "",
        "Rate: share of rejections at level 0.05. To reach: the rate of the published procedure, run here on the",
        "same observations (Jitkrittum et al. 2017 print curves only). Reached: not below by more than the 99%",
        "band of the difference; sg, where the variables are independent: 0.05 within three standard errors.",
        "sin: frequency; gsign: columns of x; turn: degrees; noise: further columns of each variable, turned by",
        "45 degrees. NFSIC-opt learns from half of the observations. Seconds of processor time. QHSIC has no",
        "rate to reach where its published form takes minutes a run (kernel matrices of full rank): it is",
        "the same statistic, at the same bandwidths. songs and videos: stand-ins for the million-song and",
        "VideoStory46K panels, of the same numbers of columns (90 and 1; 2,000 and 1,878); broken: independent.",
        "Rates are given with their standard errors.",
        "",
        "What supports the text (Jitkrittum et al. 2017, section 4): NFSIC-opt finds sinusoids of frequency 4 to 6 and signs of 4",
        "and 5 columns, where HSIC with Gaussian kernels of the median width, exact or approximate, finds next to nothing, and",
        "random locations little. What does not: RDC, which is as fast, finds slightly turned uniforms more often and most",
        "sinusoids as often; signs of 6 columns are beyond all of them at 4,000 observations. mercer's NFSIC-opt finds higher",
        "frequencies than the published search, which stops at local optima.",
    ]
    if "times" in store:
        lines += ["", "## NFSIC is linear in the number of observations", ""]
        lines += table(store["times"])
        lines += [
            "",
            "Sinusoid of frequency 2, ten locations; the least of three times, seconds of processor time.",
        ]
    return "\n".join(lines) + "\n"


RECORD = Record("independence_power", _markdown)
PLAN = Plan(RECORD, _once, _wanted)

if __name__ == "__main__":
    raise SystemExit(main())
