"""Sequential two-sample test of two streams, by betting; valid after every batch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from math import exp, inf, log
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, is_array, to_numpy
from mercer.frames import Table
from mercer.htest.samples.effect import witness_of
from mercer.htest.samples.pooled_sample import Pooled, pool, stacked_table, two_samples
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import prepare
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.plot import plot_wealth
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.sample_rows import stacked, taken

_PAIRS_BEFORE_BETTING = 10  # the first witness is learnt from them
_MAX_PAIRS_PER_WITNESS = 100  # pairs that are bet on before the witness is learnt again
# Latest observations of each stream; they give the range of the witness.
_OBSERVATIONS_FOR_RANGE = 100
_ROUNDING_ERRORS = 100  # of the largest kernel value: a witness that varies less counts as constant
_MAX_BET = 0.5  # largest share of the wealth in one bet
# Step of online Newton for bets up to one half (Cutkosky and Orabona 2018).
_NEWTON_STEP = 2 / (2 - log(3))


@dataclass(frozen=True)
class Monitor:
    """Sequential test of whether two streams have the same distribution, valid after every batch.

    A gambler starts with wealth 1 and bets that the streams differ. Before each pair of
    observations comes, a function g with values in [-1/2, 1/2] is fixed, the clipped witness of
    the observations so far, and a part b of the wealth is put on g(x) > g(y): the wealth is
    multiplied by 1 + b (g(x) - g(y)). If the streams have the same distribution no such game can
    be expected to win, and by Ville's inequality the wealth ever reaches 1 / level with
    probability at most `level`, however often it is looked at and whatever ends the watch. If
    they differ the wealth grows exponentially. Bets are online Newton steps (Shekhar and Ramdas
    2023, algorithm 1 with the kernel payoff of section 4.1; g is clipped instead of divided by its
    largest possible value, which is as valid and wins faster).

    Objects do not remember calls: `update` returns a new state, with its own `update`.

    Parameters
    ----------
    level : float
        The chance of a false alarm, over all time.
    kernel : Kernel or None
        None: the default kernel of the observations so far, chosen anew for each batch.
    history : int
        How many of the latest observations of each stream the witness is made of.

    Notes
    -----
    What is assumed: the observations of both streams are independent, each new one is fresh. Streams whose
    observations depend on earlier ones give false alarms: of eight pairs of equal streams with 2,000 observations,
    three of AR(0.5) and all of AR(0.9) did. Thin them until `SerialHSIC` finds nothing. A
    fixed reference sample that is compared with one batch after another is not a stream. Batches
    may have different sizes; of unequal ones, several observations of the longer stream are
    averaged against one of the shorter. The first 10 pairs are only learnt from.

    Measured on 400 streams of normal numbers in the plane, RBF(1.5), looked at after every pair,
    level 0.05: 3% false alarms for 20 batches of 20 and 20, 1% for 20 of 30 and 10, 0.8% for 120
    of 1 and 1. A shift of 0.3, 0.5 or 1 standard deviations was found after 240, 120 or 60 pairs
    (medians of 100 streams).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> state = Monitor(level=0.05)
    >>> for _ in range(20):
    ...     state = state.update(rng.normal(size=(30, 2)), rng.normal(0.5, 1.0, size=(20, 2)))
    >>> state.alarmed, state.pvalue < 0.05, state.batches
    (True, True, 20)
    """

    level: float = 0.05
    kernel: Kernel | None = None
    history: int = field(default=1000, kw_only=True)

    def __post_init__(self) -> None:
        validate.between("level", self.level, 0.0, 1.0)
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")
        validate.whole("history", self.history, least=2)

    def update(self, x: Any, y: Any) -> MonitorState:
        """The state after the first batch."""
        return MonitorState(self).update(x, y)


@dataclass(frozen=True, eq=False)
class MonitorState:
    """State of a monitor after some batches; `state = state.update(x, y)` continues.

    Attributes
    ----------
    monitor : Monitor
    batches, pairs : int
        How many batches came, and on how many pairs was bet.
    log_wealth, highest : float
        The logarithm of the wealth now, and its largest value so far.
    path : tuple of float
        `log_wealth` after each batch.
    """

    monitor: Monitor
    batches: int = 0
    pairs: int = 0
    log_wealth: float = 0.0
    highest: float = 0.0
    path: tuple[float, ...] = field(default=(), repr=False)
    bet: _Bet = field(default_factory=lambda: _Bet(), repr=False)
    held: tuple[Any, Any] | None = field(default=None, repr=False)

    @property
    def wealth(self) -> float:
        """The gambler's wealth, an e-value: under the null hypothesis its mean is at most 1."""
        return exp(self.log_wealth) if self.log_wealth < 700 else inf

    @property
    def pvalue(self) -> float:
        """1 / the largest wealth so far: a p-value at any time, also one chosen by the data."""
        return max(exp(-self.highest), float(np.finfo(np.float64).tiny))

    @property
    def alarmed(self) -> bool:
        """Whether the wealth has ever reached 1 / level."""
        return bool(self.highest >= -log(self.monitor.level))

    def update(self, x: Any, y: Any) -> MonitorState:
        """The state after another batch of both streams, each of at least one observation."""
        x, y = self._checked(x, y)
        state = replace(self, batches=self.batches + 1)
        groups = _groups(count(x), count(y))
        used = 0
        if state.held is None:  # nothing to bet with yet
            used = min(_PAIRS_BEFORE_BETTING, len(groups))
            state = state._learnt(x, y, groups[:used])
        while used < len(groups):
            size = int(np.clip(state.seen // 8, _PAIRS_BEFORE_BETTING // 2, _MAX_PAIRS_PER_WITNESS))
            block = groups[used : used + size]
            state = state._staked(x, y, block)._learnt(x, y, block)
            used += len(block)
        return replace(state, path=(*state.path, state.log_wealth))

    @property
    def seen(self) -> int:
        """Number of observations in the witness."""
        return 0 if self.held is None else sum(count(s) for s in self.held)

    def plot(self, ax: Any = None) -> Any:
        """Plot of the wealth after each batch, with the alarm threshold; returns the Axes."""
        return plot_wealth(self, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "level": self.monitor.level,
            "batches": self.batches,
            "pairs": self.pairs,
            "log_wealth": self.log_wealth,
            "pvalue": self.pvalue,
            "alarmed": self.alarmed,
            "path": list(self.path),
        }

    # ---- private ----------------------------------------------------------------------

    def _checked(self, x: Any, y: Any) -> tuple[Any, Any]:
        """A batch that the kernel takes, of the kind that came before."""
        for name, sample in (("x", x), ("y", y)):
            if isinstance(sample, Empirical):
                raise TypeError(f"{name} must be a plain batch: streams have no weights")
        x, y = two_samples(x, y)
        if isinstance(x, Table) and self.monitor.kernel is None:
            stacked_table(x, y)
        else:
            prepare(self.monitor.kernel or VECTOR_KERNEL, x, y)
        for old, new, name in zip(self.held or (), (x, y), ("x", "y"), strict=False):
            before, now = _described(old), _described(new)
            if before != now:
                raise TypeError(f"{name} must be of the kind it was before, {before}, got {now}")
        return x, y

    def _learnt(self, x: Any, y: Any, groups: list[tuple[slice, slice]]) -> MonitorState:
        """State with the observations of some groups added to the history."""
        new = (_rows(x, [g[0] for g in groups]), _rows(y, [g[1] for g in groups]))
        if self.held is None:
            return replace(self, held=new)
        samples = (stacked(old, more) for old, more in zip(self.held, new, strict=True))
        first, second = (_latest(s, self.monitor.history) for s in samples)
        return replace(self, held=(first, second))

    def _staked(self, x: Any, y: Any, groups: list[tuple[slice, slice]]) -> MonitorState:
        """State after bets on some groups, all with one witness that has not seen them."""
        payoffs = _payoffs(self.monitor.kernel, self.held, x, y, groups)
        wealth, highest, bet = self.log_wealth, self.highest, self.bet
        for payoff in payoffs:
            wealth += float(np.log1p(bet.share * payoff))
            highest = max(highest, wealth)
            bet = bet.after(payoff)
        return replace(
            self, log_wealth=wealth, highest=highest, bet=bet, pairs=self.pairs + len(groups)
        )


@dataclass(frozen=True)
class _Bet:
    """The share of the wealth to bet, by online Newton steps on -log(1 + share * payoff)."""

    share: float = 0.0
    curvature: float = 1.0

    def after(self, payoff: float) -> _Bet:
        """The next bet: a step against the gradient, within [0, 1/2]."""
        slope = -payoff / (1 + self.share * payoff)
        curvature = self.curvature + slope**2
        return _Bet(
            float(np.clip(self.share - _NEWTON_STEP * slope / curvature, 0.0, _MAX_BET)), curvature
        )


def _payoffs(
    kernel: Kernel | None, held: Any, x: Any, y: Any, groups: list[tuple[slice, slice]]
) -> np.ndarray:
    """Mean of g over the x of each group less the mean over its y, g in [-1/2, 1/2]: in [-1, 1]."""
    if kernel is None and _constant(reduce(stacked, held)):  # no bandwidth, nothing to bet on yet
        return np.zeros(len(groups), dtype=np.float64)
    pooled = pool(kernel, *held, least=1)
    witness = witness_of(pooled)
    parts = [
        *(_latest(sample, _OBSERVATIONS_FOR_RANGE) for sample in held),
        *(_rows(s, [group[i] for group in groups]) for i, s in enumerate((x, y))),
    ]
    values = to_numpy(witness(reduce(stacked, parts))).astype(np.float64)
    ends = np.cumsum([count(rows) for rows in parts])
    past, first, second = np.split(values, ends[1:3])
    middle, reach = (past.max() + past.min()) / 2, past.max() - past.min()
    if reach <= _ROUNDING_ERRORS * _largest(pooled):  # constant but for rounding: nothing to bet on
        return np.zeros(len(groups), dtype=np.float64)
    sides = []
    for side, chunk in enumerate((first, second)):
        clipped = np.clip((chunk - middle) / reach, -0.5, 0.5)
        sizes = np.array([group[side].stop - group[side].start for group in groups])
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        sides.append(np.add.reduceat(clipped, starts) / sizes)
    return sides[0] - sides[1]


def _largest(pooled: Pooled) -> float:
    """k(x, x) at its largest, in rounding errors: what a mean of kernel values is known to."""
    diagonal = to_numpy(pooled.kernel.diag(pooled.unmoved))
    return float(np.max(np.abs(diagonal))) * float(np.finfo(diagonal.dtype).eps)


def _groups(n: int, m: int) -> list[tuple[slice, slice]]:
    """As many groups as the smaller batch has points, with one of its points each."""
    number = min(n, m)
    cuts = [np.linspace(0, size, number + 1).round().astype(int) for size in (n, m)]
    return [
        (slice(int(cuts[0][i]), int(cuts[0][i + 1])), slice(int(cuts[1][i]), int(cuts[1][i + 1])))
        for i in range(number)
    ]


def _rows(sample: Any, spans: list[slice]) -> Any:
    """The rows of consecutive spans."""
    return taken(sample, np.arange(spans[0].start, spans[-1].stop))


def _described(sample: Any) -> str:
    """What two batches of a stream must have in common, in words."""
    if isinstance(sample, Table):
        return f"a data frame with columns {', '.join(sorted(sample.columns.names))}"
    width = f" of {sample.shape[1]} columns" if is_array(sample) and sample.ndim == 2 else ""
    return f"{type(sample).__name__}{width}"


def _latest(sample: Any, number: int) -> Any:
    size = count(sample)
    return sample if size <= number else taken(sample, np.arange(size - number, size))


def _constant(sample: Any) -> bool:
    """Whether all rows are equal."""
    values = sample.values if isinstance(sample, Table) else sample
    if not is_array(values):
        return False
    array = to_numpy(values)
    return bool(np.all(array == array[:1]))
