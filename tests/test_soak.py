"""The soak finds what leaks, and nothing where nothing does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import mercer
from mercer.gram import Gram
from mercer.kernels import RBF
from tests import soak
from tests.soak import Soak, page
from tests.support.soak_calls import Call, calls


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Little patience; no forks and interrupts, which would strike the runner of the tests."""
    monkeypatch.setattr(soak, "_PATIENCE", 0.2)
    monkeypatch.setattr(soak, "_SHARES", {"one by one": 0.7, "together": 0.3})
    before = mercer.settings()
    with threadpool_limits(2, user_api="blas"):
        yield
    mercer.config(memory=before.memory, threads=before.threads, progress=before.progress)


def run(thunk, *, seconds: float = 0.5, name: str = "it") -> soak.Record:
    return Soak([Call(name, lambda rng: thunk)], seed=0).run(seconds / 60)


def test_honest_calls_pass():
    x = np.random.default_rng(0).standard_normal((600, 2))
    record = run(lambda: Gram(RBF(), x).sum(), seconds=1)
    assert record.failures == []
    assert "No failure" in page(record, 0.05, 0)


INTERRUPTED = """
import numpy as np
from tests import soak
from mercer.gram import Gram
from mercer.kernels import RBF
soak._SHARES = {"one by one": 0.3, "interrupted": 0.7}
x = np.random.default_rng(0).standard_normal((1200, 2))
known = [soak.Call("sum", lambda rng: lambda: Gram(RBF(), x).sum())]
record = soak.Soak(known, seed=0).run(3 / 60)
print(record.failures, record.interrupts.total() > 0)
"""


def test_interrupts_leave_nothing_behind():
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.stdout.split("\n")[-2:] == ["[] True", ""], done.stderr


def test_a_changed_blas_is_found():
    before = soak.State.now()
    if set(before.blas) != {2}:
        pytest.skip("the threads of this BLAS cannot be set")
    threadpool_limits(1, user_api="blas")
    assert any("BLAS" in found for found in soak.leaks(before))


def test_changed_settings_are_found():
    before = soak.State.now()
    mercer.config(threads=11)
    assert any("settings" in found for found in soak.leaks(before))


def test_a_thread_that_stays_is_found():
    over = threading.Event()

    def leak() -> None:
        threading.Thread(target=over.wait, name=f"left {time.monotonic()}").start()

    try:
        assert any("left" in failure for failure in run(leak).failures)
    finally:
        over.set()


def test_an_error_is_found():
    def fails() -> None:
        raise ZeroDivisionError

    assert any("ZeroDivisionError" in failure for failure in run(fails).failures)


@pytest.mark.parametrize(("mib", "fails"), [(0.0, False), (1.0, False), (20.0, True)])
def test_memory_that_grows_is_found(mib, fails):
    soaked = Soak([], seed=0)
    soaked.record.memory = [(float(i), 300.0 + mib * i) for i in range(30)]
    soaked.judge_memory()
    assert bool(soaked.record.failures) is fails


def test_memory_is_measured():
    before = soak._resident()
    if before == 0:
        pytest.skip("the system does not tell")
    kept = np.ones(2**23)  # 64 MiB
    assert soak._resident() > before + 0.8 * kept.nbytes / 2**20


def test_every_test_learner_and_feature_map_can_be_called():
    names = {call.name.partition(".")[2] for call in calls() if "." in call.name}
    assert {"MMD", "KCI", "KSD", "FSSD", "SVC", "KernelRidge", "Nystrom"} <= names
