"""Tasks on other workers, in batches of about a second; answers in the order of the tasks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import monotonic
from typing import Any

from mercer.gram.cluster.shipped_work import BatchAnswers, PackedWork, SentWork, packed

_BATCH_SECONDS = 1.0  # hides the few milliseconds in which a scheduler handles a task
_BATCHES_PER_SLOT = 3  # waiting for each thread of a worker, so that it never waits for the client
_ATTEMPTS = 5  # of a batch whose worker was lost
_POLL_SECONDS = 0.5  # between looks at workers that may be gone
# A batch is given to a second worker, too, when it takes so many times as long as batches do, and at least so long.
_LATE_FACTOR, _LATE_SECONDS = 8.0, 20.0
# Copies of a late batch that are sent at equal intervals. Each further one waits twice as long as the one before: all of them
# may be with a worker that stopped, where another was only slow.
_PROMPT_COPIES = 3
_RECENT = 100  # batches whose durations tell how long batches take


# Seconds of work on the threads of this process from which workers elsewhere are asked: to pack and send the work
# takes some tens of milliseconds, and small problems should not get slower by a cluster.
MIN_SECONDS_TO_SEND = 0.5


def worth_sending(seconds: float, tasks_done: int) -> bool:
    """Whether work that would take so long here, judged by the tasks done, is sent to other workers."""
    return seconds > MIN_SECONDS_TO_SEND or (MIN_SECONDS_TO_SEND == 0 and tasks_done == 0)


class Workers(ABC):
    """Workers in other processes; `lost` are the errors that say that one of them is gone."""

    lost: tuple[type[BaseException], ...] = ()

    @property
    @abstractmethod
    def slots(self) -> int:
        """Tasks that run at the same time."""

    @abstractmethod
    def send(self, work: PackedWork) -> SentWork:
        """Give the work to the workers, with those of its arrays that they do not have yet."""

    @abstractmethod
    def submit(self, work: SentWork, tasks: Sequence[Any]) -> Any:
        """A future of the answers to these tasks."""

    def avoid(self, late: Any) -> bool:
        """Give no more work to the worker of a late batch; whether that changes who gets work."""
        return False

    @abstractmethod
    def forget(self) -> None:
        """Send all arrays again with the next work: a worker that had them was lost."""

    def result(self, future: Any, timeout: float) -> BatchAnswers:
        """The answers of a batch; raises TimeoutError where they are not there in so many seconds."""
        return future.result(timeout=timeout)

    @abstractmethod
    def check(self) -> None:
        """Raise where nothing will ever be answered."""

    def cancel(self, futures: Sequence[Any]) -> None:
        """Drop what has not begun."""
        for future in futures:
            future.cancel()


def in_batches(
    workers: Workers, work: Callable[[Any], Any], tasks: Sequence[Any], seconds: float, room: int
) -> Iterator[Any]:
    """work(task) for every task, in the order of the tasks.

    `seconds` is what one task takes at first guess, and `room` the number of answers that may wait in memory. A batch
    whose worker was lost is sent again, and one that is very late is given to a second worker; answers that
    have arrived are kept.
    """
    if not tasks:
        return
    run = _Run(workers, packed(work), seconds)
    waiting: deque[_Outstanding] = deque()
    position = arrived = 0
    try:
        while position < len(tasks) or waiting:
            while position < len(tasks) and run.has_room(len(waiting), position - arrived, room):
                size = run.batch_size(len(tasks) - position, room)
                waiting.append(run.start(tasks[position : position + size]))
                position += size
            arrived += len(waiting[0].tasks)
            yield from run.answers(waiting.popleft())
    finally:
        workers.cancel([future for batch in waiting for future in batch.futures])


@dataclass
class _Outstanding:
    """A batch on its way: its tasks, its futures (several where the first is late), and when the last was sent."""

    tasks: Sequence[Any]
    futures: list[Any]
    since: float
    attempts: int = 1


@dataclass
class _Run:
    """One pass over the tasks."""

    workers: Workers
    work: PackedWork
    seconds: float  # of one task
    durations: list[float] = field(default_factory=list)  # of batches

    def __post_init__(self) -> None:
        self.sent = self.workers.send(self.work)

    def has_room(self, batches: int, tasks: int, room: int) -> bool:
        """Whether another batch may be sent, beside so many batches and tasks on their way."""
        return not batches or (batches < _BATCHES_PER_SLOT * self.workers.slots and tasks < room)

    def batch_size(self, left: int, room: int) -> int:
        """Tasks of the next batch: about a second of them, fewer towards the end."""
        slots = self.workers.slots
        share = -(-left // (2 * slots))
        return max(min(int(_BATCH_SECONDS / max(self.seconds, 1e-6)), share, room // slots), 1)

    def start(self, tasks: Sequence[Any]) -> _Outstanding:
        """Send a batch."""
        return _Outstanding(tasks, [self.workers.submit(self.sent, tasks)], monotonic())

    def answers(self, batch: _Outstanding) -> Iterator[Any]:
        """The answers of a batch, as soon as they are there."""
        arrived = self._arrived(batch)
        done = max(len(arrived.answers), 1)
        self.seconds = (self.seconds + arrived.seconds / done) / 2
        self.durations.append(monotonic() - batch.since)
        yield from arrived.answers
        if arrived.error is not None:
            raise arrived.error

    def _arrived(self, batch: _Outstanding) -> BatchAnswers:
        """The first result among the futures of a batch; sends it again where a worker was lost."""
        while True:
            for future in batch.futures:
                try:
                    return self.workers.result(future, _POLL_SECONDS / len(batch.futures))
                except TimeoutError:
                    continue
                except self.workers.lost as problem:
                    self._send_again(batch, future, problem)
                    break
            self.workers.check()
            if self._late(batch):
                if self.workers.avoid(batch.futures[-1]):
                    self._send_all()  # arrays may be where nothing answers
                batch.futures.append(self.workers.submit(self.sent, batch.tasks))
                batch.since = monotonic()

    def _send_again(self, batch: _Outstanding, future: Any, problem: BaseException) -> None:
        self.workers.check()
        batch.futures.remove(future)
        if batch.futures:
            return
        if batch.attempts >= _ATTEMPTS:
            raise RuntimeError(
                f"{len(batch.tasks)} tasks were lost with their worker {_ATTEMPTS} times; do the workers "
                "have enough memory? Their own logs say why they ended"
            ) from problem
        self._send_all()
        batch.attempts += 1
        batch.futures.append(self.workers.submit(self.sent, batch.tasks))
        batch.since = monotonic()

    def _send_all(self) -> None:
        """Send the work with all of its arrays again."""
        self.workers.forget()
        self.sent = self.workers.send(self.work)

    def _late(self, batch: _Outstanding) -> bool:
        usual = median(self.durations[-_RECENT:]) if self.durations else _BATCH_SECONDS
        doublings = max(len(batch.futures) + 1 - _PROMPT_COPIES, 0)
        return monotonic() - batch.since > max(_LATE_FACTOR * usual, _LATE_SECONDS) * 2**doublings
