"""python -m benchmarks.scoreboard.growth KIND [--shared] [--largest N] [--only WORD ...]: growth exponents of the zoos, as JSON.

KIND is tests or learners: every entry of the zoo of tests/support, peer or not, is timed at growing sizes
until a call takes half a second; the exponent is the slope of log seconds over log n at the three largest.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from benchmarks.scoreboard.contest import SIZES, Call
from benchmarks.scoreboard.measure import Clock, Repeated, clock

KINDS = ("tests", "learners")
_ENOUGH = 0.5  # seconds of a call, from which on larger sizes are left out
_REACH = (
    2.0  # seconds that a call at the next size may be expected to take: ninety entries in minutes
)
_FITTED = 3  # sizes that the slope is fitted to
_COLUMNS = 5
_PER_BAG = 5
_BAGGED = (
    "SupportMeasureMachine",
    "OneClassSMM",
    "DistributionRegressor",
    "BayesianDistributionRegressor",
    "MeanFeatures",
)


def entries(kind: str) -> dict[str, Callable[[int], Call]]:
    """By name, what prepares the call at n observations."""
    if kind == "tests":
        from tests.support.htest_zoo import IDS, ZOO

        return {
            name: lambda n, entry=entry: _test_call(entry, n)
            for name, entry in zip(IDS, ZOO, strict=True)
        }
    from tests.support.learn_zoo import ZOO as LEARNERS

    return {
        " ".join(repr(learner).split()): lambda n, learner=learner: _learner_call(learner, n)
        for learner in LEARNERS
    }


def _test_call(entry: Any, n: int) -> Call:
    """n observations altogether, where the null hypothesis does not hold."""
    rng = np.random.default_rng(0)
    samples = entry.alternative(rng, tuple(n // len(entry.sizes) for _ in entry.sizes))
    return lambda: entry.test.test(*samples, rng=0)


def _learner_call(learner: Any, n: int) -> Call:
    """n points, or n bags of five points; one column for splines."""
    from sklearn.base import clone, is_classifier, is_regressor

    from mercer.rkhs import Bags

    rng = np.random.default_rng(0)
    name = type(learner).__name__
    x = rng.laplace(size=(n, 1 if name == "SmoothingSpline" else _COLUMNS))
    smooth = x[:, 0] + np.sin(2 * x[:, -1]) + 0.3 * rng.standard_normal(n)
    y: Any = smooth
    if is_classifier(learner):
        y = (smooth > 0).astype(np.int64)
    elif name == "KCCA":
        y = np.stack([smooth, rng.standard_normal(n)], axis=1)
    elif not is_regressor(learner) and name not in ("HSICSelector", "MRMR", "MeanFeatures"):
        y = None
    points: Any = x
    if name in _BAGGED:
        noise = 0.3 * rng.standard_normal((n * _PER_BAG, _COLUMNS))
        points = Bags(np.repeat(x, _PER_BAG, axis=0) + noise, _PER_BAG * np.arange(n + 1))
    return lambda: clone(learner).fit(points, y)


def measured(prepare: Callable[[int], Call], now: Clock, largest: int) -> dict[str, Any]:
    """Seconds by size, the exponent, and why it ended where it did."""
    seconds: dict[int, float] = {}
    ended = ""
    for n in (size for size in SIZES if size <= largest):
        call = prepare(n)
        try:
            if not seconds:
                call()  # imports, compiles
            spent = Repeated(call).seconds(now)
            again = 0 if spent > 0.3 else 1 if spent > 0.05 else 3
            seconds[n] = min([spent, *(Repeated(call).seconds(now) for _ in range(again))])
        except Exception as error:  # an entry that refuses a size ends there, and says why
            ended = f"{type(error).__name__}: {error}"[:200]
            break
        later = next((size for size in SIZES if size > n), n)
        power = max(exponent(seconds) or 2.0, 1.0)
        if seconds[n] > _ENOUGH or seconds[n] * (later / n) ** power > _REACH:
            break
    return {
        "seconds": {str(n): float(f"{t:.4g}") for n, t in seconds.items()},
        "exponent": exponent(seconds),
        "ended": ended,
    }


def exponent(seconds: dict[int, float]) -> float | None:
    """Slope of log seconds over log n at the largest sizes; None for a single size."""
    sizes = sorted(seconds)[-_FITTED:]
    if len(sizes) < 2:
        return None
    slope = np.polyfit(np.log(sizes), np.log([max(seconds[n], 1e-9) for n in sizes]), 1)[0]
    return round(float(slope), 2)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--shared", action="store_true")
    parser.add_argument("--largest", type=int, default=SIZES[-1])
    parser.add_argument("--only", nargs="*", default=[])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with redirect_stdout(sys.stderr):
        records = {
            name: measured(prepare, clock(options.shared), options.largest)
            for name, prepare in entries(options.kind).items()
            if not options.only or any(word.lower() in name.lower() for word in options.only)
        }
    print(json.dumps(records))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
