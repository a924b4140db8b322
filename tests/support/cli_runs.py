"""The command, run in this process."""

from __future__ import annotations

from typing import Any

from typer.testing import CliRunner

import mercer


def run(*arguments: str, code: int = 0, **more: Any) -> Any:
    """What it said and how it ended, which must be with this code and never with a traceback."""
    done = CliRunner().invoke(mercer.cli.app, list(arguments), **more)
    assert done.exit_code == code, (done.stdout, done.stderr, done.exception)
    assert "Traceback" not in done.stderr
    return done


def refused(*arguments: str, code: int) -> str:
    """The one line on stderr."""
    done = run(*arguments, code=code)
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("mercer: ")
    return lines[0]
