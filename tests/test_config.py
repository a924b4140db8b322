"""One context for memory, threads, executor and progress."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import replace
from importlib import import_module

import pytest

import mercer

config_module = import_module("mercer.config")  # mercer.config is the class


def test_settings_are_changed_inside_the_block_and_restored():
    before = mercer.settings()
    with mercer.config(memory="1GiB", threads=3) as inside:
        assert (inside.memory, inside.workers) == (2**30, 3)
        with mercer.config(progress=True):
            assert mercer.settings().memory == 2**30
        assert not mercer.settings().progress
    assert mercer.settings() == before


def test_a_plain_call_takes_effect_at_once():
    before = mercer.settings()
    change = mercer.config(threads=1)
    assert mercer.settings().threads == 1
    assert "threads=1" in repr(change)
    mercer.config(threads=before.threads)
    assert mercer.settings() == before


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512MiB", 512 * 2**20),
        ("2 GB", 2 * 10**9),
        ("0.5GiB", 2**29),
        (2**25, 2**25),
        ("33554432", 2**25),
    ],
)
def test_sizes(text, size):
    with mercer.config(memory=text):
        assert mercer.settings().memory == size


@pytest.mark.parametrize(
    "bad",
    [
        {"memory": "lots"},
        {"memory": "-1GiB"},
        {"memory": 5},
        {"memory": "1.2.3GiB"},
        {"memory": None},
        {"memory": True},
        {"threads": 0},
        {"threads": 1.5},
        {"threads": True},
        {"executor": 3},
        {"progress": "yes"},
    ],
)
def test_bad_settings_are_refused_and_leave_no_trace(bad):
    before = mercer.settings()
    with pytest.raises((ValueError, TypeError), match=next(iter(bad))):
        mercer.config(**bad)
    assert mercer.settings() == before


def seen_in_a_thread():
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(mercer.settings).result()


@pytest.fixture
def process():
    """The settings of the process; those that a test changes are put back."""
    before = mercer.settings()
    yield before
    mercer.config(memory=before.memory, threads=before.threads, progress=before.progress)


def test_a_plain_call_holds_for_every_thread(process):
    mercer.config(threads=3, memory="100MiB")
    assert seen_in_a_thread() == mercer.settings()
    assert seen_in_a_thread().threads == 3

    async def main() -> int | None:
        now = await asyncio.get_running_loop().run_in_executor(None, mercer.settings)
        return now.threads

    assert asyncio.run(main()) == 3


def test_a_plain_call_in_a_thread_holds_for_the_process(process):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: mercer.config(threads=5)).result()
    assert mercer.settings().threads == 5


def test_a_block_holds_for_its_context_alone(process):
    with mercer.config(threads=7):
        assert mercer.settings().threads == 7
        assert seen_in_a_thread() == process
        with ThreadPoolExecutor(1) as pool:
            carried = pool.submit(copy_context().run, mercer.settings).result()
        assert carried.threads == 7
    assert mercer.settings() == process


def test_a_plain_call_inside_a_block_ends_with_it(process):
    with mercer.config(threads=7):
        mercer.config(threads=8)
        with mercer.config(memory="64MiB"):
            assert mercer.settings().threads == 8
            mercer.config(threads=9)
            assert mercer.settings().threads == 9
        assert mercer.settings() == replace(process, threads=8)
        assert seen_in_a_thread() == process
    assert mercer.settings() == process


def test_one_object_serves_several_blocks(process):
    change = mercer.config(threads=7)
    assert seen_in_a_thread().threads == 7
    for _ in range(2):
        with mercer.config(memory="64MiB"), change as inside:
            assert inside == replace(process, memory=2**26, threads=7)
        assert mercer.settings() == process


def test_a_block_that_ends_with_an_error_is_undone(process):
    with pytest.raises(ZeroDivisionError), mercer.config(threads=7):
        raise ZeroDivisionError
    assert mercer.settings() == process


def test_blocks_in_many_threads_leave_the_process_as_it_was(process):
    def work(number: int) -> bool:
        ours = []
        for _ in range(200):
            with mercer.config(threads=number):
                ours.append(mercer.settings().threads == number)
        return all(ours)

    mercer.config(memory="100MiB")
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(work, range(1, 9)))
    finally:
        sys.setswitchinterval(interval)
    assert mercer.settings() == replace(process, memory=100 * 2**20)


def test_many_plain_calls_are_not_all_remembered(process):
    for number in range(1, 100):
        mercer.config(threads=number)
    assert mercer.settings().threads == 99
    assert len(config_module._process._calls) < 5
