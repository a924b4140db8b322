"""The scoreboard: its arithmetic on times that are known, losses that are shown, and a run in small."""

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.scoreboard import board as boards
from benchmarks.scoreboard import contests, growth, page, picture, tables
from benchmarks.scoreboard.contest import MODULES, OURS
from benchmarks.scoreboard.measure import Extrapolated, Repeated, best, clock, warm
from benchmarks.scoreboard.run_contest import _expected
from tests.support.studies import program


class Hand:
    """A clock that only moves when a call says so."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time

    def spend(self, seconds: float) -> float:
        self.time += seconds
        return seconds


def board(**seconds: float) -> boards.Board:
    """A board with a single contest of two sizes, at which all take as long."""
    name = "SVC fit"
    cells = [
        {
            "n": n,
            "d": d,
            "seconds": seconds,
            "memory": dict.fromkeys(seconds, 2**20),
            "rounds": 1,
            "scaled": [],
            "agreement": {},
            "errors": {},
        }
        for n in (2000, 20_000)
        for d in (2, 20)
    ]
    first = {"n": 1000, "d": 20, "first": 1.0, "second": 0.5}
    record = {"name": name, "work": "", "cells": cells, "stopped": [], "first_call": first}
    return boards.Board(False, "avx2", 1.0, {}, {name: record}, {"tests": {}})


# ---- times ----------------------------------------------------------------------------------


def test_time_of_all_resamples_follows_from_a_few():
    hand = Hand()
    call = lambda resamples: hand.spend(0.5 + 0.02 * resamples)  # noqa: E731
    assert Extrapolated(call, 11, 999).seconds(hand) == pytest.approx(0.5 + 0.02 * 999)
    # and the decision how many are enough
    slow = warm(call, 999, hand)
    assert slow.scaled
    assert slow.seconds == pytest.approx(0.5 + 0.02 * 999)


def test_quick_resampling_is_done_in_full():
    hand = Hand()
    done = warm(lambda resamples: hand.spend(1e-4 * resamples), 999, hand)
    assert not done.scaled
    assert done.seconds == pytest.approx(1e-4 * 999)


def test_the_best_round_counts_and_the_first_call_of_quick_ones_does_not():
    hand = Hand()
    spent = iter([0.9, *np.linspace(0.2, 0.1, 50)])
    contender = warm(lambda: hand.spend(next(spent)), 0, hand)
    seconds, rounds = best({"a": contender}, hand)
    assert rounds >= 2
    assert seconds["a"] < 0.2


def test_batches_give_the_time_of_a_single_call():
    hand = Hand()
    assert Repeated(lambda: hand.spend(0.25), 8).seconds(hand) == pytest.approx(0.25)


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
def test_growth_is_the_power_of_n(power):
    assert growth.exponent({n: 1e-6 * n**power for n in (200, 1000, 2000, 5000)}) == power
    costs = [(1000, 1e-9 * 1000**power), (2000, 1e-9 * 2000**power)]
    assert _expected(costs, 5000) == pytest.approx(1e-9 * 5000**power)


def test_growth_is_that_of_the_larger_sizes():
    seconds = {n: 1.0 + 1e-6 * n**2 for n in (50, 200)} | {n: n**2.0 for n in (1000, 2000, 5000)}
    assert growth.exponent(seconds) == 2.0
    assert growth.exponent({50: 1.0}) is None


# ---- what is shown --------------------------------------------------------------------------


def test_losses_are_shown_first_and_break_promises():
    measured = board(mercer=2.0, **{"scikit-learn": 1.0})
    losses = tables.tables(measured)[0]
    assert len(losses.rows) == 4
    assert {row["ratio"] for row in losses.rows} == {0.5}
    bars = tables.bars(measured)
    assert [bar.holds for bar in bars] == [False] * len(bars)
    assert {bar.seen for bar in bars} == {0.5}


def test_promises_hold_where_they_are_kept():
    bars = tables.bars(board(mercer=1.0, **{"scikit-learn": 4.0}))
    assert [bar.holds for bar in bars if "first call" not in bar.promise] == [True] * 3
    assert [bar.holds for bar in bars if "first call" in bar.promise] == [False]  # 0.5 s more


def test_peers_beyond_the_promise_do_not_break_it():
    bars = tables.bars(board(mercer=1.0, **{"scikit-learn": 4.0, "scikit-learn-intelex": 0.5}))
    assert all(bar.holds for bar in bars if "first call" not in bar.promise)


def test_answers_that_differ_are_shown():
    measured = board(mercer=1.0, **{"scikit-learn": 4.0})
    measured.contests["SVC fit"]["cells"][0]["agreement"] = {"scikit-learn": "apart by 3"}
    assert "apart by 3" in str(tables.tables(measured)[1].rows)


def test_the_picture_has_every_cell(tmp_path):
    path = tmp_path / "board.svg"
    picture.save(board(mercer=2.0, **{"scikit-learn": 1.0}), path)
    text = path.read_text(encoding="utf-8")
    assert text.count(">0.50<") == 4
    assert "in 0 of 4 cells" in text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.0021, ".002"),
        (0.0123, "0.01"),
        (0.999, "1.00"),
        (1.5, "1.50"),
        (3.14, "3.1"),
        (42.4, "42"),
        (1234, "1.2k"),
    ],
)
def test_ratios_are_short(ratio, text):
    assert picture.number(ratio) == text


def test_the_page_is_on_the_site_and_shows_what_is_on_record():
    text = (page.DOCS / "scoreboard.md").read_text(encoding="utf-8")
    for processor in page.PROCESSORS:
        recorded = (page.RESULTS / f"scoreboard_{processor}.json").exists()
        assert (f"_static/scoreboard_{processor}.svg" in text) == recorded
        assert (page.STATIC / f"scoreboard_{processor}.svg").exists() == recorded
    assert "\nscoreboard\n" in (page.DOCS / "index.md").read_text(encoding="utf-8")


# ---- contests -------------------------------------------------------------------------------


def test_contests_have_known_peers_and_names_to_choose_by():
    everything = contests.CONTESTS.values()
    assert {peer.library for contest in everything for peer in contest.peers} == set(MODULES)
    assert all(contest.work and contest.peers for contest in everything)
    assert {c.name for c in contests.chosen(("svc", "hsic"))} >= {
        "SVC fit",
        "OneClassSVC fit",
        "HSIC",
    }
    assert contests.chosen(("nothing of the kind",)) == []


@pytest.mark.parametrize("kind", growth.KINDS)
def test_every_entry_of_the_zoos_has_data_to_grow_with(kind):
    calls = growth.entries(kind)
    assert len(calls) >= 40
    for prepare in calls.values():
        prepare(100)


def test_bags_are_fitted_as_bags():
    calls = growth.entries("learners")
    (name,) = (name for name in calls if name.startswith("OneClassSMM"))
    record = growth.measured(calls[name], clock(True), 50)
    assert record["ended"] == ""
    assert list(record["seconds"]) == ["50"]


@pytest.mark.parametrize(
    ("told", "name"), [("Haswell", "avx2"), ("Zen", "avx2"), ("SkylakeX", "avx512")]
)
def test_records_are_named_after_the_processor_that_libraries_see(told, name, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", told)
    assert boards.file_name() == f"scoreboard_{name}"


def test_a_contest_is_run_and_recorded(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    options = ("--quick", "--shared", "--only", "kernel matrix", "--results", str(tmp_path))
    program("benchmarks", "scoreboard", *options)
    data = json.loads(Path(tmp_path, "scoreboard_avx2-quick.json").read_text(encoding="utf-8"))
    (record,) = data["raw"]["contests"].values()
    assert [(cell["n"], cell["d"]) for cell in record["cells"]] == [
        (n, d) for d in (2, 20) for n in (50, 200)
    ]
    for cell in record["cells"]:
        assert cell["errors"] == {}
        assert cell["agreement"] == {"scikit-learn": "yes"}
        assert set(cell["seconds"]) == {OURS, "scikit-learn"}
        assert min(cell["seconds"].values()) > 0
