"""The `mercer` command."""

from __future__ import annotations

from typing import Annotated

import typer

import mercer
from mercer.cli.causal_graph import graph
from mercer.cli.demo import demo
from mercer.cli.doctor import doctor
from mercer.cli.drift import drift
from mercer.cli.goodness import goodness
from mercer.cli.independence import independence
from mercer.cli.information import information
from mercer.cli.power import power
from mercer.cli.two_sample import two_sample

app = typer.Typer(
    name="mercer",
    help="Kernel methods on points and on probability distributions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for _command in (
    two_sample,
    independence,
    information,
    graph,
    goodness,
    drift,
    power,
    demo,
    doctor,
):
    app.command()(_command)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"mercer {mercer.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; `mercer --help` lists what it can do."""
    app()


__all__ = ["app", "main"]


def __dir__() -> list[str]:
    return __all__
