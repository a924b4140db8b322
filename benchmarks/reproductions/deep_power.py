"""python -m benchmarks.reproductions.deep_power: level and power of DeepMMD beside other tests.

Problems of Liu et al. 2020: blobs whose covariances differ (section 5, "Blob"), a mixture of two Gaussians in ten dimensions
("HDGM"), and pictures: digits against digits with a square of noise. n is the size of each sample, training rows
included. Four nulls, none of which was looked at when defaults were chosen. Level 0.05, 199 permutations.

``--problems blobs --tests DeepMMD --runs 50 --seconds 300`` does a part; what was done before is kept.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from benchmarks.reproductions.deep_kernel_plain import plain_deep_test
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
from mercer.datasets import fetch_usps
from mercer.htest import ME, MMD, DeepMMD, MMDAgg, MMDFuse, Permutation

LEVEL, P = 0.05, Permutation(199)
Pair = tuple[np.ndarray, np.ndarray]
Draw = Callable[[np.random.Generator, int], Pair]


# ---- problems -------------------------------------------------------------------------------


def blobs(rng: np.random.Generator, n: int, *, differ: bool = True) -> Pair:
    """Nine blobs of variance 0.03 on a grid of unit spacing; in the second sample they are correlated, each in its way."""
    covariances = np.array([-0.02, -0.022, -0.024, -0.026, 0.0, 0.02, 0.022, 0.024, 0.026]) / 0.03
    centres = rng.integers(0, 3, (2, n, 2)).astype(np.float64)
    noise = rng.standard_normal((2, n, 2))
    if differ:
        rho = covariances[(3 * centres[1, :, 0] + centres[1, :, 1]).astype(np.int64)]
        noise[1, :, 1] = rho * noise[1, :, 0] + np.sqrt(1 - rho**2) * noise[1, :, 1]
    x, y = centres + np.sqrt(0.03) * noise
    return x, y


def mixture(rng: np.random.Generator, n: int, *, differ: bool = True) -> Pair:
    """Two Gaussians half a unit apart in each of ten columns; in the second sample two columns are correlated, +-1/2."""
    which = rng.integers(0, 2, (2, n))
    noise = rng.standard_normal((2, n, 10))
    if differ:
        rho = np.where(which[1] == 0, 0.5, -0.5)
        noise[1, :, 1] = rho * noise[1, :, 0] + np.sqrt(0.75) * noise[1, :, 1]
    x, y = 0.5 * which[..., None] + noise
    return x, y


def digits(rng: np.random.Generator, n: int, *, differ: bool = True) -> Pair:
    """USPS digits, 16 x 16; in a third of the second sample a square of 4 x 4 pixels, anywhere, is mirrored."""
    images = _usps()
    rows = rng.permutation(len(images))[: 2 * n]
    x, y = images[rows[:n]], images[rows[n:]].copy()
    if differ:
        for picture in y[: n // 3]:
            i, j = rng.integers(0, 12, 2)
            picture[i : i + 4, j : j + 4] = picture[i : i + 4, j : j + 4][:, ::-1]
    return x.reshape(n, -1), rng.permutation(y).reshape(n, -1)


def heavy_tails(rng: np.random.Generator, n: int) -> Pair:
    """Student's t with two degrees of freedom, in five columns."""
    x, y = rng.standard_t(2, (2, n, 5))
    return x, y


@cache
def _usps() -> np.ndarray:
    return np.asarray(fetch_usps().pixels, dtype=np.float64)


@dataclass(frozen=True)
class Problem:
    """How samples are drawn, their sizes, and whether they differ."""

    draw: Draw
    sizes: tuple[int, ...]
    null: bool = False


def _alike(draw: Callable[..., Pair]) -> Draw:
    return lambda rng, n: draw(rng, n, differ=False)


PROBLEMS = {
    "blobs": Problem(blobs, (200, 400)),
    "mixture": Problem(mixture, (2000,)),
    "digits": Problem(digits, (600,)),
    "null blobs": Problem(_alike(blobs), (60,), null=True),
    "null mixture": Problem(_alike(mixture), (60,), null=True),
    "null digits": Problem(_alike(digits), (60,), null=True),
    "null heavy tails": Problem(heavy_tails, (60,), null=True),
}


# ---- tests ----------------------------------------------------------------------------------


def convolutions() -> Any:
    """The network for digits: two convolutions and two layers."""
    import torch
    from torch import nn

    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(
            nn.Unflatten(1, (1, 16, 16)), nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
            nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 32),
        )  # fmt: skip


def _halves(x: np.ndarray, y: np.ndarray) -> tuple[Pair, Pair]:
    n = len(x) // 2
    return (x[:n], y[:n]), (x[n:], y[n:])


def deep(x: np.ndarray, y: np.ndarray, seed: int, **options: Any) -> float:
    network = convolutions() if x.shape[1] == 256 else None
    steps = (
        {} if len(x) > 150 else {"steps": 100}
    )  # nulls: the level does not depend on how long is learnt
    return DeepMMD(network, null=P, **steps, **options).test(x, y, rng=seed).pvalue


def deep_once(x: np.ndarray, y: np.ndarray, seed: int) -> float:
    return deep(x, y, seed, cross_fit=False)


def mmd_optimized(x: np.ndarray, y: np.ndarray, seed: int) -> float:
    seen, unseen = _halves(x, y)
    return MMD.optimized(*seen, null=P).test(*unseen, rng=seed).pvalue


def me_optimized(x: np.ndarray, y: np.ndarray, seed: int) -> float:
    seen, unseen = _halves(x, y)
    return ME.optimized(*seen, locations=5, rng=seed).test(*unseen, rng=seed).pvalue


TESTS: dict[str, Callable[[np.ndarray, np.ndarray, int], float]] = {
    "DeepMMD": deep,
    "DeepMMD, one half tested": deep_once,
    "as in the paper, plain torch": plain_deep_test,
    "MMDAgg": lambda x, y, seed: MMDAgg(null=P).test(x, y, rng=seed).pvalue,
    "MMDFuse": lambda x, y, seed: MMDFuse(null=P).test(x, y, rng=seed).pvalue,
    "MMD.optimized": mmd_optimized,
    "ME.optimized": me_optimized,
}
AT_NULLS = ("DeepMMD",)


def main() -> int:
    parser = arguments(__doc__, runs=50)
    parser.add_argument("--problems", nargs="*", choices=[*PROBLEMS, []], default=list(PROBLEMS))
    parser.add_argument("--tests", nargs="*", choices=[*TESTS, []], default=list(TESTS))
    parser.add_argument("--sizes", nargs="*", type=int, help="some of the sizes only")
    told = parser.parse_args()
    store = RECORD.load(told.results)
    keys = [*_cells(told.problems, told.tests, told.sizes)]
    RECORD.run(
        store, rounds(store, keys, told.runs), _once, told.seconds, told.results, told.workers
    )
    print(_markdown(store))
    return 0


def _cells(problems: list[str], tests: list[str], sizes: list[int] | None) -> Iterator[str]:
    for name in problems:
        problem = PROBLEMS[name]
        for size in problem.sizes:
            if sizes and size not in sizes:
                continue
            for test in tests:
                if test in AT_NULLS or not problem.null:
                    yield f"{name}/{size}/{test}"


def _once(key: str, seed: int) -> dict[str, Any]:
    name, size, test = key.split("/")
    rng = np.random.default_rng([seed, int(size), zlib.crc32(name.encode())])
    x, y = PROBLEMS[name].draw(rng, int(size))
    pvalue, seconds = timed(lambda: TESTS[test](x, y, seed))
    return {"rejections": int(pvalue <= LEVEL), "seconds": seconds}


# ---- what is told ---------------------------------------------------------------------------


def _row(key: str, entry: dict[str, Any]) -> dict[str, str]:
    name, size, test = key.split("/")
    share, runs = rate(entry), entry["runs"]
    low, high = band(entry["rejections"], runs)
    inside = "yes" if low <= LEVEL <= high or share <= LEVEL else "NO"
    return {
        "problem": name,
        "n": f"{int(size):,}",
        "test": test,
        "rate": f"{share:.3f} ± {(share * (1 - share) / runs) ** 0.5:.3f}",
        "95% band": f"{low:.2f} to {high:.2f}",
        "runs": str(runs),
        "seconds a run": f"{entry['seconds'] / runs:.2f}",
    } | ({"holds its level": inside} if PROBLEMS[name].null else {})


def _markdown(store: Store) -> str:
    cells = {key: entry for key, entry in store["cells"].items() if entry["runs"]}
    lines = heading("DeepMMD: power and level", "python -m benchmarks.reproductions.deep_power")
    lines += [
        "",
        "n rows in each sample, those to learn from included; level 0.05, 199 permutations; ± one standard error.",
        "",
    ]
    order = list(TESTS)
    for title, null in (("Power", False), ("Level", True)):
        rows = [
            _row(key, entry)
            for key, entry in sorted(cells.items(), key=lambda item: _place(item[0], order))
            if PROBLEMS[key.split("/")[0]].null == null
        ]
        lines += [f"## {title}", "", *table(rows), ""]
    return "\n".join(lines)


def _place(key: str, order: list[str]) -> tuple[int, int, int]:
    name, size, test = key.split("/")
    return list(PROBLEMS).index(name), int(size), order.index(test)


RECORD = Record("deep_power", _markdown)

if __name__ == "__main__":
    raise SystemExit(main())
