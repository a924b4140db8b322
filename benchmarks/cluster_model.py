"""What a cluster would take: mercer's own scheduling of batches on simulated workers.

Batches, their sizes and the order of their answers come from `mercer.gram.cluster.in_batches`; only the clock is
simulated. A message takes `latency` seconds and its bytes over `bandwidth`, and a task `seconds` on one slot.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer.gram.cluster import in_batches
from mercer.gram.cluster.batches import Workers
from mercer.gram.cluster.shipped_work import BatchAnswers, PackedWork, SentWork


@dataclass(frozen=True)
class Network:
    """Latency of a message in seconds, and bytes per second between client and workers."""

    latency: float = 2e-3
    bandwidth: float = 1e9


@dataclass
class SimulatedCluster(Workers):
    """Workers that take time and do nothing."""

    threads: int
    seconds: float  # of one task on one thread
    answer_bytes: int  # of one task
    points_bytes: int  # of all points
    machines: int
    network: Network = field(default_factory=Network)
    now: float = 0.0
    sent_bytes: int = 0

    def __post_init__(self) -> None:
        self._free = [0.0] * self.threads  # when each thread has nothing more to do
        heapq.heapify(self._free)

    @property
    def slots(self) -> int:
        return self.threads

    def send(self, work: PackedWork) -> SentWork:
        """Points reach the machines in a binary tree: every machine that has them passes them on."""
        rounds = max(self.machines, 1).bit_length()
        self.now += rounds * (self.network.latency + self.points_bytes / self.network.bandwidth)
        self.sent_bytes += self.points_bytes * self.machines
        return SentWork(work.key, None, ())

    def submit(self, work: SentWork, tasks: Sequence[Any]) -> Any:
        begin = max(heapq.heappop(self._free), self.now + self.network.latency)
        end = begin + self.seconds * len(tasks)
        heapq.heappush(self._free, end)
        return _Arrival(self, end, tasks)

    def forget(self) -> None:
        """No simulated worker is lost."""

    def check(self) -> None:
        """The simulated scheduler lives."""

    def cancel(self, futures: Sequence[Any]) -> None:
        """Nothing is left."""


@dataclass(frozen=True)
class _Arrival:
    """Answers that arrive at a simulated time, one message after the other at the client."""

    cluster: SimulatedCluster
    end: float
    tasks: Sequence[Any]

    def result(self, timeout: float | None = None) -> BatchAnswers:
        cluster = self.cluster
        transfer = len(self.tasks) * cluster.answer_bytes / cluster.network.bandwidth
        cluster.now = max(cluster.now, self.end + cluster.network.latency) + transfer
        return BatchAnswers([None] * len(self.tasks), cluster.seconds * len(self.tasks))


def makespan(cluster: SimulatedCluster, tasks: int) -> float:
    """Seconds until all answers have arrived."""
    for _ in in_batches(cluster, _nothing, range(tasks), cluster.seconds, tasks):
        pass
    return cluster.now


def permutation_test(
    n: int, d: int, permutations: int, pairs_per_second: float, threads: int, machines: int
) -> tuple[float, int]:
    """Predicted seconds and bytes of an exact MMD permutation test on a cluster.

    `pairs_per_second` is the measured rate of one thread with that many permutations.
    """
    stripes = -(-n // 480)
    seconds = n * n / 2 / stripes / pairs_per_second
    cluster = SimulatedCluster(
        threads, seconds, 8 * (n // 2 + permutations), 8 * n * d, machines, Network()
    )
    return makespan(cluster, stripes), cluster.sent_bytes


def _nothing(_: Any) -> None:
    return None
