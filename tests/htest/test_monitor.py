"""Monitoring: a fair game under the null hypothesis, whatever is looked at and when."""

import json
from dataclasses import replace
from itertools import product
from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.htest import Monitor
from mercer.htest.stream_memory import streams_memory
from mercer.kernels import RBF
from mercer.rkhs import Empirical, witness
from tests.support.sequential_level import assert_level


def watch(monitor, rng, batches, n, m, shift=0.0, from_batch=0):
    """The states after each batch."""
    state, seen = monitor, []
    for t in range(batches):
        y = rng.normal(size=(m, 2))
        y[:, 0] += shift * (t >= from_batch)
        state = state.update(rng.normal(size=(n, 2)), y)
        seen.append(state)
    return seen


# ---- the game -----------------------------------------------------------------------------


def test_the_game_is_fair():
    # Under the null hypothesis each pair may as well be swapped: over all swaps the wealth is
    # what it was, exactly, although bets follow what was won before.
    rng = np.random.default_rng(0)
    before = watch(Monitor(kernel=RBF(1.0)), rng, 3, 15, 15)[-1]
    x, y = rng.normal(size=(4, 2)), rng.normal(2.0, 1.0, size=(4, 2))
    wealths = []
    for swap in product([False, True], repeat=4):
        chosen = np.array(swap)[:, None]
        after = before.update(np.where(chosen, y, x), np.where(chosen, x, y))
        wealths.append(after.wealth)
    assert np.ptp(wealths) > 0.01
    assert_allclose(np.mean(wealths), before.wealth, rtol=1e-12)


def test_payoffs_are_differences_of_the_clipped_witness():
    rng = np.random.default_rng(1)
    kernel = RBF(1.0)
    first = rng.normal(size=(10, 2)), rng.normal(1.0, 1.0, size=(10, 2))
    state = Monitor(kernel=kernel).update(*first)
    assert state.pairs == 0  # the first pairs are only learnt from
    assert state.wealth == 1
    x, y = rng.normal(size=(3, 2)), rng.normal(size=(3, 2))
    after = state.update(x, y)
    w = witness(kernel, *first)
    past = np.concatenate([w(s) for s in first])
    middle, reach = (past.max() + past.min()) / 2, np.ptp(past)
    payoff = np.diff([np.clip((w(s) - middle) / reach, -0.5, 0.5) for s in (y, x)], axis=0)[0]
    share, curvature, wealth = 0.0, 1.0, 0.0
    for v in payoff:  # online Newton steps, Shekhar and Ramdas 2023, definition 4
        wealth += log(1 + share * v)
        z = -v / (1 + share * v)
        curvature += z**2
        share = min(max(share - 2 / (2 - log(3)) * z / curvature, 0.0), 0.5)
    assert after.pairs == 3
    assert_allclose(after.log_wealth, wealth, rtol=1e-9)


def test_states_do_not_change():
    rng = np.random.default_rng(2)
    state = watch(Monitor(), rng, 2, 20, 20)[-1]
    x, y = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    one, two = state.update(x, y), state.update(x, y)
    assert (one.log_wealth, one.batches) == (two.log_wealth, 3)
    assert state.batches == 2
    with pytest.raises(AttributeError):
        state.batches = 5


def test_the_highest_wealth_is_kept():
    rng = np.random.default_rng(3)
    states = watch(Monitor(), rng, 12, 20, 20, shift=1.5)
    states = states + watch_on(states[-1], rng, 12)
    values = [s.pvalue for s in states]
    assert values == sorted(values, reverse=True)
    assert states[-1].alarmed
    assert len(states[-1].path) == 24
    assert_allclose(states[-1].path[-1], states[-1].log_wealth)


def watch_on(state, rng, batches):
    seen = []
    for _ in range(batches):
        state = state.update(rng.normal(size=(20, 2)), rng.normal(size=(20, 2)))
        seen.append(state)
    return seen


def test_batches_of_any_size():
    rng = np.random.default_rng(4)
    state: Any = Monitor()
    for n, m in [(1, 3), (7, 2), (40, 5), (1, 1), (3, 100), (25, 25)]:
        state = state.update(rng.normal(size=(n, 2)), rng.normal(size=(m, 2)))
    assert state.batches == 6
    assert state.pairs == 1 + 2 + 5 + 1 + 3 + 25 - 1  # the first batch is learnt from
    assert all(np.isfinite(state.path))


def test_all_in_one_batch_works_too():
    rng = np.random.default_rng(5)
    state = Monitor().update(rng.normal(size=(300, 2)), rng.normal(1.0, 1.0, size=(200, 2)))
    assert state.pairs == 190
    assert state.alarmed


def test_frames_words_and_numbers_on_the_line():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(6)
    state: Any = Monitor()
    for _ in range(12):
        x = pd.DataFrame({"v": rng.normal(size=20), "town": rng.choice(["a", "b"], 20)})
        y = pd.DataFrame({"town": rng.choice(["b", "c"], 15), "v": rng.normal(size=15)})
        state = state.update(x, y)
    assert state.alarmed
    state = Monitor().update(rng.normal(size=30), rng.normal(size=30))
    assert state.update(rng.normal(size=30), rng.normal(size=20)).pairs == 40
    lengths = RBF(1.0).transformed(lambda w: np.array([float(len(v)) for v in w])[:, None])
    state = Monitor(kernel=lengths)
    for _ in range(6):
        state = state.update(
            list(rng.choice(["a", "bb"], 15)), list(rng.choice(["ddd", "cccc"], 15))
        )
    assert state.alarmed


def test_constant_streams_are_no_reason_to_bet():
    state: Any = Monitor()
    for _ in range(5):
        state = state.update(np.ones((10, 1)), np.ones((10, 1)))
    assert state.wealth == 1
    for _ in range(5):
        state = state.update(np.ones((10, 1)), np.zeros((10, 1)))
    assert state.alarmed


def test_a_constant_witness_is_nothing_to_bet_on():
    rng, kernel = np.random.default_rng(4), RBF(0.7)
    x = rng.normal(size=(10, 2))
    y = x[rng.permutation(10)]  # the same points, so that all the witness sees is rounding
    assert 0 < np.ptp(witness(kernel, x, y)(x)) < 1e-15
    state = Monitor(kernel=kernel).update(x, y).update(x[:4], x[:4] + 3.0)
    assert state.pairs == 4
    assert state.log_wealth == 0


def test_a_batch_of_strangers_is_refused_at_once():
    x = np.ones((3, 2))
    with pytest.raises(TypeError, match="x must hold real numbers"):
        Monitor(kernel=RBF(1.0)).update(["a", "b"], x)  # too few to bet on


def test_an_array_may_meet_a_frame():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(30, 2)), rng.normal(0.7, 1.0, size=(30, 2))
    frame = pd.DataFrame(y, columns=["a", "b"])
    plain = Monitor(kernel=RBF(1.0)).update(x, y)
    assert_allclose(Monitor(kernel=RBF(1.0)).update(x, frame).log_wealth, plain.log_wealth)
    both = Monitor(kernel=RBF(1.0)).update(frame, x)
    assert_allclose(both.log_wealth, Monitor(kernel=RBF(1.0)).update(y, x).log_wealth)


def test_refusals():
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        Monitor(level=0.0)
    with pytest.raises(ValueError, match="history must be a whole number of at least 2"):
        Monitor(history=1)
    x = np.ones((5, 2))
    with pytest.raises(ValueError, match="x must have at least one point"):
        Monitor().update(x[:0], x)
    with pytest.raises(ValueError, match="y has NaN"):
        Monitor().update(x, x * np.nan)
    with pytest.raises(TypeError, match="streams have no weights"):
        Monitor().update(Empirical(x), x)
    state = Monitor().update(x, x)
    with pytest.raises(TypeError, match="before, ndarray of 2 columns, got ndarray of 3 columns"):
        state.update(np.ones((5, 3)), np.ones((5, 3)))
    with pytest.raises(ValueError, match="same number of columns"):
        state.update(x, np.ones((5, 3)))
    with pytest.raises(TypeError, match="x must be of the kind it was before"):
        state.update(*(pd.DataFrame(x, columns=["a", "b"]),) * 2)


def test_a_state_is_told_in_numbers():
    rng = np.random.default_rng(7)
    held = watch(Monitor(), rng, 3, 10, 10)[-1].to_dict()
    assert json.loads(json.dumps(held, allow_nan=False))["batches"] == 3


# ---- calibration --------------------------------------------------------------------------


def false_alarms(streams, batches, n, m, kernel, seed):
    rng = np.random.default_rng(seed)
    return np.mean(
        [watch(Monitor(kernel=kernel), rng, batches, n, m)[-1].alarmed for _ in range(streams)]
    )


def test_false_alarms_are_rare_at_any_time():
    # `alarmed` remembers the highest wealth of the whole stream, after every pair
    assert_level(lambda seed: false_alarms(1, 8, 12, 12, RBF(1.5), seed=seed) == 1)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(20, 20), (30, 7), (3, 3)])
@pytest.mark.parametrize("kernel", [None, RBF(1.0)], ids=repr)
def test_false_alarms_are_rare_at_length(n, m, kernel):
    streams = 400
    found = false_alarms(streams, 25, n, m, kernel, seed=9)
    assert found <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / streams)


def test_differences_are_found_early_and_late():
    rng = np.random.default_rng(10)
    early = watch(Monitor(), rng, 25, 20, 20, shift=0.7)
    assert early[-1].alarmed
    late = watch(Monitor(), rng, 30, 20, 20, shift=1.0, from_batch=15)
    assert not late[14].alarmed
    assert late[-1].alarmed


# ---- streams with a memory ----------------------------------------------------------------


def autoregression(rng, n, a):
    x = rng.normal(size=(n, 1))
    for t in range(1, n):
        x[t] += a * x[t - 1]
    return x


def test_the_memory_of_streams():
    rng = np.random.default_rng(11)
    x, y = rng.normal(size=(2, 300, 1))
    short, long = (autoregression(rng, 300, a) for a in (0.5, 0.9))
    changed = np.where(np.arange(300)[:, None] < 200, y, y + 2.0)
    assert streams_memory(x, y, None) == 0
    assert streams_memory(x, changed, None) == 0  # a change in one stream is no memory
    assert 1 <= streams_memory(x, short, None) <= 8  # 0.5^5 = 0.03
    assert streams_memory(long, short, RBF(1.0)) > streams_memory(x, short, RBF(1.0))
    assert streams_memory(*np.cumsum([x, y], axis=1), None) == np.inf  # random walks
    assert streams_memory(x[:9], np.ones((40, 1)), None) == 0  # too few, and all equal


def test_the_game_of_streams_with_a_memory_is_fair():
    """Three pairs are waited for, three make one bet: over both ways to swap these the wealth is what it was."""
    rng = np.random.default_rng(12)
    before = watch(Monitor(kernel=RBF(1.0)), rng, 6, 15, 15, shift=0.5)[-1]
    state = replace(before, memory=3.0, measured=10**6)
    waited, (x, y) = rng.normal(5.0, 1.0, size=(2, 3, 2)), rng.normal(size=(2, 3, 2))
    resting = state.update(*waited)
    assert (resting.log_wealth, resting.pairs) == (state.log_wealth, state.pairs)
    after, swapped = resting.update(x, y), resting.update(y, x)
    assert after.wealth != swapped.wealth
    assert_allclose((after.wealth + swapped.wealth) / 2, state.wealth, rtol=1e-12)
    assert (after.pairs - state.pairs, after.seen - state.seen) == (3, 12)
    one_by_one = state
    for a, b in zip(np.concatenate([waited[0], x]), np.concatenate([waited[1], y]), strict=True):
        one_by_one = one_by_one.update(a[None], b[None])
    assert_allclose(one_by_one.log_wealth, after.log_wealth, rtol=1e-12)


def test_autocorrelated_streams_give_few_alarms_and_a_caution():
    """Bets on single pairs gave false alarms in eight of eight streams of AR(0.9)."""
    alarms, rng = 0, np.random.default_rng(13)
    for _ in range(6):
        x, y = (autoregression(rng, 320, 0.8) for _ in range(2))
        state = Monitor()
        for t in range(0, 320, 40):
            state = state.update(x[t : t + 40], y[t : t + 40])
        alarms += state.alarmed
        assert state.memory > 3
        assert state.summary().startswith("Caution: observations depend on those")
    assert alarms <= 1
    assert state.to_dict()["cautions"] == list(state.cautions)


def test_walks_are_not_bet_on():
    x, y = np.cumsum(np.random.default_rng(14).normal(size=(2, 200, 1)), axis=1)
    state = Monitor().update(x[:100], y[:100])
    after = state.update(x[100:], y[100:])
    assert state.memory == np.inf
    assert after.pairs == state.pairs
    assert "No bets are made" in after.summary()
    assert after.to_dict()["memory"] is None


def test_a_summary_of_independent_streams_has_no_caution():
    state = watch(Monitor(), np.random.default_rng(15), 4, 20, 20)[-1]
    assert state.summary().startswith("No difference of the streams was found (level 0.05, p = ")
    assert state.cautions == ()


# ---- a reference that is used again ---------------------------------------------------------


@pytest.mark.parametrize("made", [np.asarray, pd.DataFrame], ids=["array", "frame"])
@pytest.mark.parametrize("side", [0, 1])
def test_a_batch_that_came_before_is_refused(made, side):
    """With one reference of 40 rows for 25 batches of its law, 18 of 30 monitors gave an alarm at level 0.05."""
    rng = np.random.default_rng(0)
    reference, *batches = (made(rng.normal(size=(40, 3))) for _ in range(4))
    state: Any = Monitor()
    for part in batches[:2]:  # new rows on either side may follow
        state = state.update(part, made(rng.normal(size=(40, 3))))
    pairs = [[reference, b] if side == 0 else [b, reference] for b in batches]
    state = state.update(*pairs[0])
    with pytest.raises(
        ValueError, match="must have new observations, got the rows of the batch before"
    ):
        state.update(*pairs[1])


def test_equal_batches_of_few_values_may_be_chance():
    rng = np.random.default_rng(0)
    state: Any = Monitor()
    coins = np.tile([[0.0], [1.0]], (10, 1))
    for _ in range(3):
        state = state.update(coins, rng.normal(size=(20, 1)))
        state = state.update(np.ones((20, 1)), rng.normal(size=(20, 1)))
    assert state.batches == 6
