"""Passes over a Gram matrix stay inside the memory budget, measured in a fresh process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MIB = 2**20
# BLAS buffers and what an allocator keeps, and for every thread its stack and tiles
SPARE = (64 + 4 * (os.cpu_count() or 1)) * MIB


def footprint(n: int, resamples: int, memory: str) -> dict:
    pytest.importorskip("psutil")
    command = [sys.executable, "-m", "benchmarks.footprint", str(n), "10", str(resamples), memory]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.memory
def test_permutation_null_stays_inside_the_budget():
    n, budget = 20_000, 32
    found = footprint(n, 600, f"{budget}MiB")
    assert 8 * n * n > 15 * (budget * MIB + SPARE)  # K itself would not fit by far
    assert found["growth"] < budget * MIB + SPARE
    assert found["mean"] > 0  # it did compute: K is positive definite
