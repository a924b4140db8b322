"""Workers of a Dask cluster: those that die, stop or are late, other versions, and schedulers that are gone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import mercer
from mercer.gram.cluster import batches, current_client, in_batches, workers_of
from mercer.gram.cluster.dask_workers import DaskWorkers
from mercer.gram.cluster.shipped_work import SentWork

POINTS = np.random.default_rng(0).normal(size=(5_000, 4))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=":0"
    ) as local:
        yield local


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    import distributed

    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


@dataclass(frozen=True)
class Slow:
    """Work that takes a while."""

    points: np.ndarray

    def __call__(self, k: int) -> float:
        time.sleep(0.05)
        return float(self.points[k].sum())


def test_a_killed_worker_changes_nothing(client: Any):
    wanted = [float(row.sum()) for row in POINTS[:60]]
    found = []
    for k, answer in enumerate(in_batches(workers_of(client), Slow(POINTS), range(60), 0.2, 50)):
        found.append(answer)
        if k == 3:
            victim = next(iter(client.run(os.getpid).values()))
            os.kill(victim, 9)
    assert found == wanted
    client.wait_for_workers(2, timeout=30)


def test_the_current_client_is_found(client: Any):
    assert current_client() is None
    with client.as_current():
        assert current_client() is client
    assert list(client.gather(client.submit(lambda: [current_client() is None]))) == [True]


def test_versions_of_what_was_imported_are_compared(client: Any, monkeypatch: pytest.MonkeyPatch):
    """An editable installation keeps the metadata of the version that it was made from."""
    before = mercer.__version__
    monkeypatch.setattr(mercer, "__version__", "9.9")
    client.run(exec, "import mercer; mercer.__version__ = '9.9'")
    try:
        DaskWorkers(client)._refuse_other_versions()
    finally:
        client.run(exec, f"import mercer; mercer.__version__ = {before!r}")
    with pytest.raises(RuntimeError, match="the client mercer 9.9"):
        DaskWorkers(client)._refuse_other_versions()


def test_another_version_is_refused_by_name(client: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mercer, "__version__", "9.9")
    with pytest.raises(
        RuntimeError, match=r"worker tcp://.* has mercer .*, the client mercer 9\.9"
    ):
        list(in_batches(workers_of(client), Slow(POINTS), range(5), 0.5, 50))


def test_a_scheduler_that_is_gone_is_an_error(client: Any):
    workers = workers_of(client)
    client.close()
    with pytest.raises(ConnectionError, match="closed"):
        workers.check()


def test_a_stopped_worker_does_not_stop_the_rest(client: Any, monkeypatch: pytest.MonkeyPatch):
    """It may hold the only copy of an array, or an answer that it does not send."""
    monkeypatch.setattr(batches, "_LATE_SECONDS", 2.0)
    monkeypatch.setattr(batches, "_LATE_FACTOR", 0.0)
    monkeypatch.setattr(batches, "_POLL_SECONDS", 0.05)
    client.wait_for_workers(2, timeout=30)
    victim = next(iter(client.run(os.getpid).values()))
    answers = []
    try:
        for k, answer in enumerate(
            in_batches(workers_of(client), Slow(POINTS), range(60), 0.2, 50)
        ):
            answers.append(answer)
            if k == 3:
                os.kill(victim, signal.SIGSTOP)
    finally:
        os.kill(victim, signal.SIGCONT)
    assert answers == [float(row.sum()) for row in POINTS[:60]]


class TwoWorkers:
    """A client of two workers, of which the first has stopped: it takes no arrays."""

    status = "running"

    def __init__(self) -> None:
        self.working = "slow"

    def nthreads(self) -> dict[str, int]:
        return {"stopped": 1, "slow": 1}

    def processing(self) -> dict[str, list[str]]:
        return {self.working: ["late"]}

    def who_has(self, futures: Any) -> dict[str, list[str]]:
        return {"late": []}

    def sync(self, function: Any, array: Any, workers: Any, callback_timeout: float) -> Any:
        if workers == ["stopped"]:
            raise TimeoutError
        return workers


def test_a_slow_worker_gets_work_again_where_the_other_has_stopped():
    pytest.importorskip("distributed")
    client, late = TwoWorkers(), SimpleNamespace(key="late")
    workers = DaskWorkers(client)
    assert workers.avoid(late)
    assert workers._not_slow() == ["stopped"]
    assert workers._scatter(POINTS) == ["slow"]  # after the stopped one did not take them
    client.working = "slow"
    assert workers.avoid(late)
    client.working = "stopped"
    assert workers.avoid(late)
    assert workers._not_slow() == ["slow"]


def test_a_wait_that_dask_cancels_goes_on():
    pytest.importorskip("distributed")
    client = TwoWorkers()
    workers = DaskWorkers(client)

    def result(timeout: float) -> None:
        raise UnboundLocalError  # of distributed.utils.sync

    with pytest.raises(TimeoutError):
        workers.result(SimpleNamespace(result=result), 0.1)


def test_a_caller_that_stops_cancels_the_tasks_on_the_cluster(client: Any):
    answers = in_batches(workers_of(client), Slow(POINTS), range(500), 0.2, 500)
    next(answers)
    answers.close()  # as an interrupt does
    deadline = time.monotonic() + 10
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.processing().values())


class ClosedAtSubmit:
    """A client whose scheduler dies between a look at its status and the next call."""

    status = "running"

    def nthreads(self):
        return {"worker": 1}

    def submit(self, *_, **__):
        self.status = "closed"
        raise RuntimeError("Client is closed")


def test_a_scheduler_that_dies_before_a_batch_is_sent_is_an_error():
    pytest.importorskip("distributed")
    client = ClosedAtSubmit()
    workers = DaskWorkers(client)
    with pytest.raises(ConnectionError, match="scheduler cannot be reached"):
        workers.submit(SentWork("key", None, ()), [0])


def test_a_scheduler_that_dies_in_the_middle_is_an_error():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0"
        ) as local,
        distributed.Client(local, set_as_default=False) as client,
    ):
        answers = in_batches(workers_of(client), Slow(POINTS), range(500), 0.2, 500)
        next(answers)
        local.close()
        with pytest.raises(ConnectionError, match="scheduler cannot be reached"):
            list(answers)
