"""Progress bar on stderr: one for a whole job, with a line that says what the job is doing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, TypeVar

Answer = TypeVar("Answer")

_SECONDS_BEFORE_SHOWN = 1.0  # of a job: a bar that appears and vanishes sooner is a flicker
_SECONDS_OF_A_STEP = 0.5  # from which a step is named; shorter ones could not be read
_SECONDS_BETWEEN_UPDATES = 0.05  # twice as often as the display is drawn


class Bar:
    """The bar of a job; it appears when the job has taken a second."""

    def __init__(self) -> None:
        self._started, self._updated = monotonic(), 0.0
        self._display: Any = None
        self._task: Any = None

    def steps(self, answers: Iterator[Answer], total: int, what: str) -> Iterator[Answer]:
        """The same answers; the bar shows how many of them have been computed."""
        began = monotonic()
        for done, answer in enumerate(answers, start=1):
            self.advance(what, done / total, began)
            yield answer

    def advance(self, what: str, share: float, began: float) -> None:
        """Show the share of the step `what` that is done; the step began at that time."""
        now = monotonic()
        if (
            now - self._started < _SECONDS_BEFORE_SHOWN
            or now - self._updated < _SECONDS_BETWEEN_UPDATES
        ):
            return
        self._updated = now
        name = what.replace("[", r"\[")  # no markup of rich
        if self._display is None:
            self._display = self._shown(name)
        if now - began >= _SECONDS_OF_A_STEP:
            self._display.update(self._task, description=name, completed=share, total=1.0)

    def close(self) -> None:
        """Remove the bar from the terminal; the next step of a long job shows it again."""
        if self._display is not None:
            self._display.stop()
            self._display = None

    def _shown(self, name: str) -> Any:
        from rich.console import Console
        from rich.progress import Progress

        console = Console(stderr=True)
        display = Progress(console=console, transient=True, redirect_stdout=False)
        self._task = display.add_task(name, total=None)
        display.start()
        return display


_current: ContextVar[Bar | None] = ContextVar("mercer_progress_bar", default=None)


@contextmanager
def job() -> Iterator[Bar]:
    """One bar for everything inside that shows progress; inside another job, the bar of that one."""
    around = _current.get()
    if around is not None:
        yield around
        return
    bar = Bar()
    token = _current.set(bar)
    try:
        yield bar
    finally:
        _current.reset(token)
        bar.close()


def hide() -> None:
    """Remove the bar of the job from the terminal before something else is written to it."""
    bar = _current.get()
    if bar is not None:
        bar.close()


def shown(answers: Iterator[Answer], total: int, what: str) -> Iterator[Answer]:
    """The same answers, counted by the bar of the job, or by a bar of their own outside of jobs."""
    around = _current.get()
    bar = Bar() if around is None else around
    try:
        yield from bar.steps(answers, total, what)
    finally:
        if around is None:
            bar.close()
