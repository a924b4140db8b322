"""One progress bar for a job, shown if the job is long."""

from __future__ import annotations

import numpy as np
import pytest

import mercer
from mercer.gram import progress
from mercer.gram.threads import in_order
from mercer.htest import KSD


@pytest.fixture
def drawn(monkeypatch):
    """The displays that were started, with every description they showed."""
    displays: list[list[str]] = []

    def show(self, name):
        displays.append([name])
        self._task = 0
        return _Display(displays[-1])

    monkeypatch.setattr(progress.Bar, "_shown", show)
    return displays


class _Display:
    def __init__(self, names):
        self.names = names

    def update(self, task, *, description, completed, total):
        assert 0 <= completed <= total
        self.names.append(description)

    def stop(self):
        pass


def _inner(task):
    return sum(in_order(lambda i: i, range(task), parallel=False, what="inner"))


def test_work_of_less_than_a_second_shows_nothing(drawn):
    with mercer.config(progress=True):
        assert list(in_order(_inner, range(5), parallel=False)) == [0, 0, 1, 3, 6]
    assert drawn == []


def test_one_bar_names_the_steps_of_a_job_and_not_their_insides(drawn, monkeypatch):
    for name in ("_SECONDS_BEFORE_SHOWN", "_SECONDS_OF_A_STEP", "_SECONDS_BETWEEN_UPDATES"):
        monkeypatch.setattr(progress, name, 0.0)
    with mercer.config(progress=True), progress.job(), progress.job():
        list(in_order(_inner, range(5), parallel=False, what="first"))
        list(in_order(_inner, range(5), parallel=True, what="second"))
    assert drawn == [["first"] * 6 + ["second"] * 5]


def test_columns_of_a_model_are_a_step(drawn, monkeypatch):
    """They took longer than the refits, whose bar stood at 100% meanwhile."""
    for name in ("_SECONDS_BEFORE_SHOWN", "_SECONDS_OF_A_STEP", "_SECONDS_BETWEEN_UPDATES"):
        monkeypatch.setattr(progress, name, 0.0)
    x = np.random.default_rng(0).normal(size=(40, 3))
    result = KSD(lambda z: -z).test(x, rng=0)
    with mercer.config(progress=True), progress.job():
        result.columns()
    assert drawn == [["misfit of columns"] * 4]


def test_the_bar_leaves_before_results_are_written(monkeypatch):
    monkeypatch.setattr(progress, "_SECONDS_BEFORE_SHOWN", 0.0)
    with mercer.config(progress=True), progress.job() as bar:
        list(in_order(_inner, range(5), parallel=False, what="reading [a]"))
        assert bar._display is not None
        progress.hide()
        assert bar._display is None
