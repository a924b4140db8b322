"""Sequential two-sample test of two streams, by betting; valid after every batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import exp, inf, log
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, is_array, to_numpy
from mercer.frames import Table
from mercer.htest.repeated_batches import refuse_repeated
from mercer.htest.result_rows import Summarized
from mercer.htest.samples.effect import witness_of
from mercer.htest.samples.pooled_sample import Pooled, pool, stacked_table, two_samples
from mercer.htest.serial_hsic import constant_rows
from mercer.htest.stream_memory import MIN_ROWS_FOR_MEMORY, streams_memory
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
    What is assumed: no observation depends on earlier ones, or only on those up to `MonitorState.memory` before it. The
    memory is measured whenever the number of pairs has doubled and before an alarm counts: `SerialHSIC` at level 0.1
    decides in both streams, and in both halves of each stream, whether there is one, and the lags of its features how
    long it is; before an alarm in the first 100 observations one stream is enough. Streams with a memory of m are judged in rounds: m pairs are waited for, then one bet is placed on the mean
    payoff of the next m, by a witness that has seen neither. For m-dependent streams this is a fair game; for others it
    is one up to an autocorrelation of about 0.05. What was won before a memory was found does not count. While
    the memory is too long to be measured in the history, no bets are made.

    A fixed reference sample that is compared with one batch after another is not a stream, and is refused: give each
    batch a part of it, or use `drift`. Batches
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
class MonitorState(Summarized):
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
    memory : float
        Number of observations after which the streams have forgotten earlier ones: 0 if they are
        independent, inf if that takes longer than the history can tell.
    """

    monitor: Monitor
    batches: int = 0
    pairs: int = 0
    log_wealth: float = 0.0
    highest: float = 0.0
    path: tuple[float, ...] = field(default=(), repr=False)
    memory: float = 0.0
    bet: _Bet = field(default_factory=lambda: _Bet(), repr=False)
    held: tuple[Any, Any] | None = field(default=None, repr=False)
    learnt: int = field(default=0, repr=False)
    measured: int = field(default=0, repr=False)
    round: _Round = field(default_factory=lambda: _Round(), repr=False)
    latest: tuple[Any, Any] | None = field(default=None, repr=False)

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
        state = replace(self, batches=self.batches + 1, latest=(x, y))
        groups = _groups(count(x), count(y))
        while groups:
            block = groups[: state._pairs_at_once()]
            state = state._after_block(x, y, block)
            groups = groups[len(block) :]
        return replace(state, path=(*state.path, state.log_wealth))

    @property
    def seen(self) -> int:
        """Number of observations in the witness."""
        return 0 if self.held is None else sum(count(s) for s in self.held)

    @property
    def cautions(self) -> tuple[str, ...]:
        """A caution, where observations depend on those before them."""
        if self.memory == 0:
            return ()
        if self.memory == inf:
            return (
                "Caution: observations depend on those before them, for longer than the last "
                f"{count(self.held[0]) if self.held else 0:,} of a stream can tell. No bets are made: take a longer history, "
                "or monitor the errors of forecasts."
                + (" Do not trust the alarm." if self.alarmed else ""),
            )
        return (
            f"Caution: observations depend on those up to {self.memory:.0f} before them. One bet is on the mean of "
            f"{self.memory:.0f} pairs, after {self.memory:.0f} that are waited for: differences are found later.",
        )

    def summary(self) -> str:
        """What was found so far, in plain words."""
        verdict = "The streams differ" if self.alarmed else "No difference of the streams was found"
        found = (
            f"{verdict} (level {self.monitor.level:g}, p = {self.pvalue:.2g}; {self.batches:,} batches, "
            f"bets on {self.pairs:,} pairs, wealth {self.wealth:.3g})."
        )
        return "\n".join((*self.cautions, found))

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
            "memory": None if self.memory == inf else int(self.memory),
            "cautions": list(self.cautions),
        }

    # ---- private ----------------------------------------------------------------------

    def _pairs_at_once(self) -> int:
        """Number of pairs until the witness is learnt again."""
        if self.held is None:  # nothing to bet with yet
            return _PAIRS_BEFORE_BETTING
        if 0 < self.memory < inf:
            return 2 * int(self.memory) - self.round.pairs
        return int(np.clip(self.seen // 8, _PAIRS_BEFORE_BETTING // 2, _MAX_PAIRS_PER_WITNESS))

    def _after_block(self, x: Any, y: Any, groups: list[tuple[slice, slice]]) -> MonitorState:
        """State after some pairs that are judged by one witness."""
        if 0 < self.memory < inf and self.held is not None:
            return self._after_part_of_round(x, y, groups)
        state = self
        if self.held is not None and self.memory == 0:
            payoffs = _payoffs(self.monitor.kernel, self.held, x, y, groups)
            state = state._staked(payoffs, len(groups))
        state = state._learnt(_both_rows(x, y, groups))
        unchecked = state.alarmed and not self.alarmed
        state = state._remeasured(at_once=unchecked)
        if self.memory > 0 or state.memory == 0 or self.alarmed:
            return state
        # What was won as if the observations were independent does not count.
        return replace(state, log_wealth=min(state.log_wealth, 0.0), highest=0.0, bet=_Bet())

    def _after_part_of_round(
        self, x: Any, y: Any, groups: list[tuple[slice, slice]]
    ) -> MonitorState:
        """State after pairs of streams with a memory: some are waited for, then one bet is on the mean of as many."""
        length = int(self.memory)
        counted = groups[max(length - self.round.pairs, 0) :]
        payoffs = _payoffs(self.monitor.kernel, self.held, x, y, counted) if counted else ()
        part = self.round.extended(_both_rows(x, y, groups), len(groups), float(np.sum(payoffs)))
        if part.pairs < 2 * length:
            return replace(self, round=part)
        state = replace(self, round=_Round())._staked([part.payoff / length], length)
        return state._learnt(part.rows)._remeasured()

    def _remeasured(self, at_once: bool = False) -> MonitorState:
        """State with a new memory: at once, or when pairs have doubled in number, or the whole history is new."""
        due = self.measured + min(max(self.measured, MIN_ROWS_FOR_MEMORY), self.monitor.history)
        if self.held is None or not (at_once or self.learnt >= due):
            return self
        memory = streams_memory(*self.held, self.monitor.kernel, alarmed=at_once)
        return replace(self, memory=memory, measured=self.learnt)

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
        refuse_repeated(self.latest, (x, y))
        return x, y

    def _learnt(self, rows: tuple[Any, Any]) -> MonitorState:
        """State with more observations in the history."""
        learnt = self.learnt + min(count(sample) for sample in rows)
        if self.held is None:
            return replace(self, held=rows, learnt=learnt)
        first, second = (_latest(s, self.monitor.history) for s in _stacked_both(self.held, rows))
        return replace(self, held=(first, second), learnt=learnt)

    def _staked(self, payoffs: Sequence[float] | np.ndarray, pairs: int) -> MonitorState:
        """State after bets with these payoffs, which so many pairs gave."""
        wealth, highest, bet = self.log_wealth, self.highest, self.bet
        for payoff in payoffs:
            wealth += float(np.log1p(bet.share * payoff))
            highest = max(highest, wealth)
            bet = bet.after(payoff)
        return replace(self, log_wealth=wealth, highest=highest, bet=bet, pairs=self.pairs + pairs)


@dataclass(frozen=True, eq=False)
class _Round:
    """Part of a round of streams with a memory: its observations, the number of pairs and the sum of payoffs."""

    rows: Any = None
    pairs: int = 0
    payoff: float = 0.0

    def extended(self, rows: tuple[Any, Any], pairs: int, payoff: float) -> _Round:
        """The round with more pairs."""
        together = rows if self.rows is None else _stacked_both(self.rows, rows)
        return _Round(together, self.pairs + pairs, self.payoff + payoff)


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
    if kernel is None and constant_rows(
        reduce(stacked, held)
    ):  # no bandwidth, nothing to bet on yet
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


def _both_rows(x: Any, y: Any, groups: list[tuple[slice, slice]]) -> tuple[Any, Any]:
    """The observations of consecutive groups in both streams."""
    return _rows(x, [g[0] for g in groups]), _rows(y, [g[1] for g in groups])


def _stacked_both(old: Any, new: Any) -> tuple[Any, Any]:
    """Earlier and later observations of both streams."""
    return stacked(old[0], new[0]), stacked(old[1], new[1])


def _described(sample: Any) -> str:
    """What two batches of a stream must have in common, in words."""
    if isinstance(sample, Table):
        return f"a data frame with columns {', '.join(sorted(sample.columns.names))}"
    width = f" of {sample.shape[1]} columns" if is_array(sample) and sample.ndim == 2 else ""
    return f"{type(sample).__name__}{width}"


def _latest(sample: Any, number: int) -> Any:
    size = count(sample)
    return sample if size <= number else taken(sample, np.arange(size - number, size))
