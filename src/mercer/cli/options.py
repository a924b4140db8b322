"""The options that several commands share, their values checked before anything is read."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from enum import StrEnum
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

import mercer
from mercer.cli.byte_source import PIPE
from mercer.cli.exits import WrongUse
from mercer.cli.match import Missing


class TestName(StrEnum):
    """The tests, by the names the command gives them."""

    __test__ = False  # not one of pytest's

    AUTO = "auto"
    MMD = "mmd"
    MMDAGG = "mmdagg"
    MMDFUSE = "mmdfuse"
    MAXMMD = "maxmmd"
    LINEAR = "linear"
    BLOCK = "block"
    CROSS = "cross"
    ENERGY = "energy"
    ME = "me"
    SCF = "scf"
    UME = "ume"
    HOTELLING = "hotelling"


class KernelName(StrEnum):
    """The kernels with a bandwidth, by the names the command gives them."""

    RBF = "rbf"
    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"
    MATERN = "matern"
    CAUCHY = "cauchy"
    RATIONAL = "rational-quadratic"
    IMQ = "imq"


def _positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"must be a positive number, got {value:g}")
    return value


def probability(value: float) -> float:
    """A number strictly between 0 and 1."""
    if not 0 < value < 1:
        raise typer.BadParameter(f"must be between 0 and 1, got {value:g}")
    return value


def _bytes(value: str | None) -> str | None:
    if value is not None:
        try:
            with mercer.config(memory=value):
                pass
        except ValueError as problem:
            raise typer.BadParameter(str(problem)) from None
    return value


First = Annotated[
    str, typer.Argument(metavar="A", help="CSV, TSV, Parquet, Arrow, NPY; - is a pipe.")
]
Only = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV, TSV, Parquet, Arrow, NPY; - is a pipe.")
]
Second = Annotated[str, typer.Argument(metavar="B", help="The other file.")]
Test = Annotated[TestName, typer.Option(help="The test; auto chooses by the data.")]
Kernel_ = Annotated[KernelName | None, typer.Option("--kernel", help="Of the columns of numbers.")]
Bandwidth = Annotated[
    float | None,
    typer.Option(callback=_positive, help="In standard deviations of each column; NPY: as is."),
]
Level = Annotated[float, typer.Option(callback=probability, help="Of the test.")]
Resamples = Annotated[
    int | None, typer.Option(min=1, help="Permutations; the test's own if left out.")
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same answer.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", "-c", help="Use these only: a,b,c, or the option several times."),
]
Categories = Annotated[
    list[str] | None, typer.Option(help="Columns of numbers that are labels, such as codes.")
]
MissingValues = Annotated[
    Missing | None,
    typer.Option(
        "--missing",
        help="drop rows with missing values, or impute: medians of all files, and a label of its own.",
    ),
]
Json = Annotated[
    str | None,
    typer.Option("--json", metavar="FILE", help="Write JSON; - writes it to stdout, alone."),
]
Report = Annotated[
    Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page with pictures.")
]
Memory = Annotated[
    str | None, typer.Option(callback=_bytes, help="Limit, such as 512MiB; 2GiB if left out.")
]
Gate = Annotated[bool, typer.Option("--gate", help="End with exit code 1 if the samples differ.")]
MinEffect = Annotated[
    float | None,
    typer.Option(callback=_positive, help="With --gate: only from this standardized distance on."),
]

MinMisfit = Annotated[
    float | None,
    typer.Option(
        "--min-effect",
        callback=_positive,
        help="With --gate: only from this relative discrepancy on.",
    ),
]

MinCorrelation = Annotated[
    float | None,
    typer.Option(
        "--min-effect", callback=_positive, help="With --gate: only from this correlation on."
    ),
]


def listed(given: Sequence[str] | None) -> tuple[str, ...]:
    """Names of columns from `a,b,c`, or from the option given several times.

    One use of the option may hold several names; with several uses each is one name.
    """
    if not given:
        return ()
    names = given[0].split(",") if len(given) == 1 else given
    found = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not found:
        raise WrongUse("--columns, --categories, --x, --y and --given need names of columns")
    return found


def on_terminal() -> bool:
    """Whether someone looks at stderr, where progress is shown."""
    return bool(sys.stderr.isatty())


def settings(memory: str | None) -> dict[str, Any]:
    """For `mercer.config`."""
    given = {} if memory is None else {"memory": memory}
    return {"progress": on_terminal(), **given}


def gated(gate: bool, min_effect: float | None) -> None:
    """--min-effect needs --gate."""
    if min_effect is not None and not gate:
        raise WrongUse("--min-effect says when --gate closes: give --gate too")


def one_pipe(paths: Sequence[str]) -> None:
    """Standard input can be read once."""
    if sum(path == PIPE for path in paths) > 1:
        raise WrongUse("only one of the files can be - (standard input)")


def writable(*paths: Any, inputs: Sequence[Any] = ()) -> None:
    """Refuse outputs that cannot be written, or that would replace an input or each other."""
    outputs = [path for path in paths if path is not None and str(path) != PIPE]
    for path in outputs:
        folder = Path(path).resolve().parent
        if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise WrongUse(f"{path} cannot be written: no such folder, or no right to write there")
        if any(str(read) != PIPE and _same_file(path, read) for read in inputs):
            raise WrongUse(f"{path} is one of the input files; write to another file")
    for path, other in combinations(outputs, 2):
        if _same_file(path, other):
            raise WrongUse(f"two outputs would be written to {path}; give each its own file")


def _same_file(first: Any, second: Any) -> bool:
    """Whether two paths lead to one file, through links or in another spelling; devices do not count."""
    try:
        if os.path.samefile(first, second):
            return os.path.isfile(first)
    except OSError:  # one of them does not exist yet
        pass
    real = [os.path.normcase(os.path.realpath(path)) for path in (first, second)]
    return real[0] == real[1] and not os.path.exists(real[0])


def drawable(*packages: str) -> None:
    """Refuse pictures and reports where the packages for them are missing, before the work."""
    for package in packages:
        if find_spec(package) is None:
            raise WrongUse(f"this needs {package}: pip install 'mercer[report]'")


def write(path: Any, text: str) -> None:
    """A whole file or none: written beside its place, then moved."""
    place = Path(path)
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        if place.exists() and not place.is_file():  # a device or a pipe
            place.write_text(text, encoding="utf-8")
            return
        beside.write_text(text, encoding="utf-8")
        beside.replace(place)
    except OSError as problem:
        beside.unlink(missing_ok=True)
        raise WrongUse(f"{path} cannot be written: {problem.strerror}") from None
