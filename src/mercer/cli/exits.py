"""How the command ends: one line and a number for everything that can happen."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, TypeVar

import typer

from mercer.errors import MemoryBudgetError, NoRule

DONE, DIFFER, WRONG_USE, REFUSED, TOO_LARGE, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

Command = TypeVar("Command", bound=Callable[..., Any])


class Refused(Exception):
    """The data cannot be used; the message names the file, the column and the row."""


class WrongUse(Exception):
    """The options do not go together; the message says which would."""


def guarded(command: Command) -> Command:
    """The command, ending with one line on stderr and its exit code whatever happens."""

    @wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except KeyboardInterrupt:
            stop(INTERRUPTED, "interrupted")
        except Exception as problem:
            stop(*_judged(problem))

    return run  # type: ignore[return-value]


def stop(code: int, message: str) -> NoReturn:
    """Say why on stderr, and end."""
    say(f"mercer: {message}")
    raise typer.Exit(code)


def say(message: str) -> None:
    """A line of diagnostics: on stderr, so that results stay alone on stdout."""
    _written(message, sys.stderr)


def tell(text: str) -> None:
    """A result: on stdout. A reader that has gone away is no error, and no change of verdict."""
    _written(text, sys.stdout)


def _judged(problem: Exception) -> tuple[int, str]:
    """The exit code and the line for what was raised."""
    text = one_line(str(problem)) or type(problem).__name__
    if isinstance(problem, Refused):
        return REFUSED, text
    if isinstance(problem, MemoryBudgetError):
        return TOO_LARGE, text
    if isinstance(problem, MemoryError):
        return TOO_LARGE, f"{text}: out of memory; choose --columns, or fewer rows"
    missing = isinstance(problem, ImportError) and "pip install" in text
    if isinstance(problem, WrongUse | NoRule) or missing:
        return WRONG_USE, text
    if isinstance(problem, ValueError) and _raised_by_mercer(problem):
        return REFUSED, text
    say("".join(traceback.format_exception(problem)).rstrip())
    return BUG, "this is a bug in mercer; please report it with the lines above"


def _raised_by_mercer(problem: Exception) -> bool:
    """Whether the last frame is mercer's own: it refused. NumPy's complaint would be a bug."""
    last = problem.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    name = last.tb_frame.f_globals.get("__name__", "") if last is not None else ""
    return str(name).startswith("mercer.")


def one_line(text: str) -> str:
    """The text on one line, with nothing in it that moves a terminal's cursor."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _written(text: str, stream: Any) -> None:
    try:
        print(text, file=stream, flush=True)
    except UnicodeEncodeError:  # a terminal that knows only ASCII
        plain = text.encode(stream.encoding or "ascii", "backslashreplace")
        print(plain.decode(stream.encoding or "ascii"), file=stream, flush=True)
    except BrokenPipeError:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, stream.fileno())
