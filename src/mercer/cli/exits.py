"""Exit codes of the command, and the line on stderr that goes with each."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn, ParamSpec, TypeVar

import typer

from mercer.errors import MemoryBudgetError, NoRule
from mercer.gram import progress

DONE, DIFFER, WRONG_USE, REFUSED, TOO_LARGE, BUG, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class Refused(Exception):
    """Data that cannot be used; the message names the file, the column and the row."""


class WrongUse(Exception):
    """Options that do not work together; the message says which would."""


def guarded(command: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
    """`command`, with every exception turned into one line on stderr and an exit code."""

    @wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Returned:
        try:
            with progress.job():
                return command(*args, **kwargs)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except KeyboardInterrupt:
            stop(INTERRUPTED, "interrupted")
        except Exception as problem:
            stop(*_classified(problem))

    return run


def stop(code: int, message: str) -> NoReturn:
    """Print the message on stderr, and exit with this code."""
    say(f"mercer: {message}")
    raise typer.Exit(code)


def say(message: str) -> None:
    """Print a line of diagnostics on stderr; stdout is for results only."""
    _written(message, sys.stderr)


def tell(text: str) -> None:
    """Print a result on stdout. A closed pipe is no error and does not change the exit code."""
    _written(text, sys.stdout)


def _classified(problem: Exception) -> tuple[int, str]:
    """Exit code and message of an exception."""
    text = one_line(str(problem)) or type(problem).__name__
    if isinstance(problem, Refused):
        return REFUSED, text
    if isinstance(problem, MemoryBudgetError):
        return TOO_LARGE, text
    if isinstance(problem, MemoryError):
        return TOO_LARGE, f"{text}: out of memory; select --columns, or use fewer rows"
    missing = isinstance(problem, ImportError) and "pip install" in text
    if isinstance(problem, WrongUse | NoRule) or missing:
        return WRONG_USE, text
    if isinstance(problem, ValueError) and _raised_by_mercer(problem):
        return REFUSED, text
    say("".join(traceback.format_exception(problem)).rstrip())
    return BUG, "this is a bug in mercer; please report it with the lines above"


def _raised_by_mercer(problem: Exception) -> bool:
    """Whether mercer itself raised the exception; one raised inside NumPy is a bug of mercer."""
    last = problem.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    name = last.tb_frame.f_globals.get("__name__", "") if last is not None else ""
    return str(name).startswith("mercer.")


def one_line(text: str) -> str:
    """`text` on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _written(text: str, stream: Any) -> None:
    progress.hide()
    try:
        print(text, file=stream, flush=True)
    except UnicodeEncodeError:  # a terminal that cannot show all characters
        plain = text.encode(stream.encoding or "ascii", "backslashreplace")
        print(plain.decode(stream.encoding or "ascii"), file=stream, flush=True)
    except BrokenPipeError:
        devnull = os.open(os.devnull, os.O_WRONLY)
        os.dup2(devnull, stream.fileno())
