"""Every public name that takes data stays inside the memory budget, or refuses before it starts."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bad_input.public import NO_DATA
from tests.memory.cases import CASES

ROOT = Path(__file__).resolve().parents[2]
MIB = 2**20
# Held whatever the budget is: up to six tiles of 1.8 MiB for each of two threads (4 to 9 MiB were
# measured for passes over plain kernels), and freed arrays that the allocator keeps: up to 4 MiB each.
CONSTANT = 24 * MIB
PACKAGES = ("causal", "gram", "features", "rkhs", "htest", "learn")
BATCHES = 4  # processes; each loads the library once


def batches(slow: bool) -> list[list[str]]:
    names = [name for name, case in CASES.items() if case.slow == slow]
    return [names[i::BATCHES] for i in range(min(BATCHES, len(names)))]


def check(names: list[str]) -> None:
    if not os.access("/proc/self/clear_refs", os.W_OK):
        pytest.skip("peaks of memory are measured through /proc, which Linux has")
    command = [sys.executable, "-m", "benchmarks.memory_promise", *names]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = {told["name"]: told for told in map(json.loads, done.stdout.splitlines())}
    assert list(found) == names
    beyond = {
        name: f"{told['growth'] / MIB:.0f} MiB under {CASES[name].budget}"
        for name, told in found.items()
        if told["growth"] > 1.25 * CASES[name].bytes + CONSTANT
    }
    assert not beyond
    vague = [
        name for name, told in found.items() if told["refusal"] and ": " not in told["refusal"]
    ]
    assert not vague, "a refusal names what to do instead after a colon"


@pytest.mark.memory
@pytest.mark.parametrize("names", batches(slow=False), ids=lambda names: names[0])
def test_public_names_stay_inside_the_budget(names):
    check(names)


@pytest.mark.memory
@pytest.mark.slow
@pytest.mark.parametrize("names", batches(slow=True), ids=lambda names: names[0])
def test_large_samples_stay_inside_the_budget(names):
    check(names)


def test_no_public_name_is_forgotten():
    """A new name needs a line in tests/memory/*_cases.py, or in tests/bad_input/public.py."""
    covered = {f"mercer.{name.split(',')[0]}" for name in CASES}
    covered.add("mercer.features.FeatureMap")  # the base of the feature maps
    missing = []
    for package in PACKAGES:
        module = importlib.import_module(f"mercer.{package}")
        for name in module.__all__:
            value, full = getattr(module, name), f"mercer.{package}.{name}"
            if callable(value) and not inspect.isabstract(value):
                missing += [full] if full not in covered and full not in NO_DATA else []
    assert missing == []


def test_cases_are_of_public_names():
    for name in CASES:
        package, _, public = name.split(",")[0].partition(".")
        assert public in importlib.import_module(f"mercer.{package}").__all__, name
