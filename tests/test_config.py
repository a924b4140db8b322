"""One context for memory, threads, executor and progress."""

from __future__ import annotations

import pytest

import mercer


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
