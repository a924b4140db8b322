"""StreamedLearner learners stay inside the memory budget, measured in a fresh process."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MIB = 2**20


@pytest.mark.memory
def test_a_memory_map_is_streamed():
    pytest.importorskip("psutil")
    n = 100_000
    command = [sys.executable, "-m", "benchmarks.suites.ridge", "streamed", str(n)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    limit = (
        1.25 * 512 * MIB + 24 * MIB
    )  # what is promised of a budget of 512 MiB, on any number of cores
    assert 8 * n * 1000 > limit  # kernel values of all points and landmarks
    assert found["growth"] < limit
