"""Options that several commands share; their values are checked before any file is read."""

from __future__ import annotations

import codecs
import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer

import mercer
from mercer.cli.byte_source import PIPE
from mercer.cli.exits import WrongUse
from mercer.cli.match import Missing
from mercer.cli.test_names import KernelName, TestName


def _positive(value: float | None) -> float | None:
    if value is not None and not 0 < value < float("inf"):
        raise typer.BadParameter(f"must be a positive number, got {value:g}")
    return value


def _area(value: float | None) -> float | None:
    if value is not None and not 0.5 <= value <= 1:
        raise typer.BadParameter(
            "must be between 0.5 (a classifier that guesses) and 1 (a classifier that is never wrong), "
            f"got {value:g}"
        )
    return value


def _share(value: float | None) -> float | None:
    if value is not None and not 0 < value <= 1:
        raise typer.BadParameter(f"must be between 0 and 1, got {value:g}")
    return value


def probability(value: float) -> float:
    """`value`, if it is strictly between 0 and 1."""
    if not 0 < value < 1:
        raise typer.BadParameter(f"must be between 0 and 1, got {value:g}")
    return value


def _separator(value: str | None) -> str | None:
    names = {"tab": "\t", "\\t": "\t", "space": " "}
    value = value if value is None else names.get(value, value)
    if value is not None and (len(value) != 1 or value in '"\n\r'):
        raise typer.BadParameter(f"must be one character, tab or space, got {value!r}")
    return value


def _mark(value: str | None) -> str | None:
    value = " " if value == "space" else value
    if value is not None and value not in (".", ",", "'", " "):
        raise typer.BadParameter(f"must be . , ' or space, got {value!r}")
    return value


def _encoding(value: str | None) -> str | None:
    try:
        return value if value is None else codecs.lookup(value).name
    except LookupError:
        raise typer.BadParameter(f"Python knows no encoding {value!r}") from None


def _text_kernel(value: str | None) -> str | None:
    if value is None:
        return None
    word, _, length = value.partition(":")
    known = word in ("spectrum", "subsequence")
    if value == "words":
        return value
    if not known or (":" in value and not (length.isdecimal() and 1 <= int(length) <= 20)):
        raise typer.BadParameter(
            "must be words, or spectrum or subsequence, perhaps with a length of 1 to 20 as in spectrum:5, got "
            f"{value!r}"
        )
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
    str,
    typer.Argument(
        metavar="A", help="CSV, TSV, Parquet, Arrow or NPY file (also compressed); - is stdin."
    ),
]
Only = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="CSV, TSV, Parquet, Arrow or NPY file (also compressed); - is stdin."
    ),
]
Second = Annotated[str, typer.Argument(metavar="B", help="File to compare with A.")]
SecondOrNone = Annotated[
    str | None, typer.Argument(metavar="B", help="File to compare with A.", show_default=False)
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Compare two groups of rows of one file: those of the two levels of this column.",
    ),
]
Levels = Annotated[
    list[str] | None,
    typer.Option(help="With --by: the two levels to compare, where the column has more: a,b."),
]
Paired = Annotated[
    str | None,
    typer.Option(
        "--paired",
        metavar="KEY",
        help="Rows are pairs, as before and after a treatment: those with the same value of this column, which names the "
        "unit. rows: row i of one sample belongs to row i of the other. With A alone, two columns of it, before,after, "
        "which are compared row by row.",
    ),
]
Test = Annotated[TestName, typer.Option(help="Test to run; auto chooses one for the data.")]
Kernel_ = Annotated[KernelName | None, typer.Option("--kernel", help="Kernel for numeric columns.")]
Bandwidth = Annotated[
    float | None,
    typer.Option(
        callback=_positive,
        help="Bandwidth of the kernel, in standard deviations of each column (NPY: in data units).",
    ),
]
Level = Annotated[float, typer.Option(callback=probability, help="Significance level.")]
Resamples = Annotated[
    int | None,
    typer.Option(
        min=1, help="Number of permutations or bootstrap samples (default: chosen by the test)."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Random seed; the same seed gives the same answer.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns", "-c", help="Columns to use: a,b,c, or repeat the option, one column each time."
    ),
]
Categories = Annotated[
    list[str] | None,
    typer.Option(help="Columns whose numbers are categories, such as codes."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(help="Columns to leave out: a,b,c, or repeat the option, one column each time."),
]
Separator = Annotated[
    str | None,
    typer.Option(
        "--sep", callback=_separator, help="Separator of values in text files: , ; | tab or space."
    ),
]
Decimal = Annotated[
    str | None, typer.Option(callback=_mark, help="Decimal sign of numbers in text files: . or ,")
]
Thousands = Annotated[
    str | None,
    typer.Option(callback=_mark, help="Separator of thousands in text files: , . ' or space."),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        callback=_encoding, help="Encoding of text files, such as latin-1 (default: utf-8)."
    ),
]
NotAvailable = Annotated[
    list[str] | None,
    typer.Option("--na", help="More words for missing values, such as -999; repeat for each."),
]
MissingValues = Annotated[
    Missing | None,
    typer.Option(
        "--missing",
        help="drop: leave out rows with missing values; impute: fill in the median over all files, "
        "or the label (missing).",
    ),
]
Json = Annotated[
    str | None,
    typer.Option(
        "--json", metavar="FILE", help="Write JSON to this file; - prints it instead of the text."
    ),
]
Report = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write an HTML report with plots to this file."),
]
Memory = Annotated[
    str | None,
    typer.Option(callback=_bytes, help="Memory limit, such as 512MiB (default: 2GiB)."),
]
All = Annotated[
    bool, typer.Option("--all", help="Show all columns or pairs in the table, not only the first.")
]
Series = Annotated[
    bool | None,
    typer.Option(
        "--series/--no-series",
        help="Rows are in the order of time and depend on earlier ones: the p-value allows for that. With --time or "
        "--difference the dependence is detected from the rows.",
    ),
]
Difference = Annotated[
    bool,
    typer.Option(
        "--difference",
        help="Use the changes from each row to the next in the order of time, for values that wander or have "
        "a trend.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Column of times (dates or numbers): rows are sorted by it, and it is not compared.",
    ),
]
Text = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COLUMN",
        help="Compare the texts of this column (of JSON lines: of this field; of .txt files: lines, each line a text) by their substrings; by words with --text-kernel words.",
    ),
]
TextKernel = Annotated[
    str | None,
    typer.Option(
        "--text-kernel",
        callback=_text_kernel,
        help="Compare texts by their words (words), or by spectrum (substrings) or subsequence (with gaps), with a length "
        "as in spectrum:5 (default: substrings of 1 to 3 characters at several scales).",
    ),
]
SeriesOf = Annotated[
    str | None,
    typer.Option(
        "--series-of",
        metavar="ID,TIME[,VALUE...]",
        help="Observations are whole series, in a long table: columns of the name of the series, of the time and of "
        "the values (none: all others). files: each file of a folder or pattern is a series.",
    ),
]
Gate = Annotated[
    bool, typer.Option("--gate", help="Exit with code 1 if the test rejects (for CI jobs).")
]
MinEffect = Annotated[
    float | None,
    typer.Option(
        callback=_area,
        help="With --gate: how often a classifier must tell the samples apart to fail (0.5 to 1).",
    ),
]
MinMisfit = Annotated[
    float | None,
    typer.Option(
        "--min-effect",
        callback=_share,
        help="With --gate: how often a classifier must tell data from model to fail (0.5 to 1), or the "
        "smallest relative discrepancy of models without draws (0 to 1).",
    ),
]
MinShare = Annotated[
    float | None,
    typer.Option(
        "--min-effect",
        callback=_share,
        help="With --gate: smallest share of variation explained that fails (0 to 1).",
    ),
]


def column_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Column names from `a,b,c`, or from an option that was repeated.

    A single value may hold several names; of repeated values each is one name, commas included.
    """
    if not values:
        return ()
    words = values[0].split(",") if len(values) == 1 else values
    names = tuple(dict.fromkeys(word.strip() for word in words if word.strip()))
    if not names:
        raise WrongUse("--columns, --categories, --x, --y and --given need column names")
    return names


def on_terminal() -> bool:
    """Whether stderr, where progress is shown, is a terminal."""
    return bool(sys.stderr.isatty())


def settings(memory: str | None) -> dict[str, Any]:
    """Arguments of `mercer.config`."""
    limit = {} if memory is None else {"memory": memory}
    return {"progress": on_terminal(), **limit}


def check_gate(gate: bool, min_effect: float | None) -> None:
    """Refuse --min-effect without --gate."""
    if min_effect is not None and not gate:
        raise WrongUse("--min-effect has no effect without --gate: give --gate too")


def check_one_pipe(paths: Sequence[str]) -> None:
    """Refuse standard input as two files: it can be read only once."""
    if sum(path == PIPE for path in paths) > 1:
        raise WrongUse("only one file can be - (standard input)")


def check_outputs(*paths: Any, inputs: Sequence[Any] = ()) -> None:
    """Refuse outputs that cannot be written, or that would replace an input or each other."""
    outputs = [path for path in paths if path is not None and str(path) != PIPE]
    for path in outputs:
        folder = Path(path).resolve().parent
        if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise WrongUse(f"{path} cannot be written: no such folder, or no permission")
        if any(str(file) != PIPE and _same_file(path, file) for file in inputs):
            raise WrongUse(f"{path} is one of the input files; write to another file")
    for path, other in combinations(outputs, 2):
        if _same_file(path, other):
            raise WrongUse(f"two outputs would be written to {path}; give them different files")


def _same_file(first: Any, second: Any) -> bool:
    """Whether two paths name one regular file, through links or in another spelling."""
    try:
        if os.path.samefile(first, second):
            return os.path.isfile(first)
    except OSError:  # one of them does not exist yet
        pass
    real = [os.path.normcase(os.path.realpath(path)) for path in (first, second)]
    return real[0] == real[1] and not os.path.exists(real[0])


def check_report_packages(report: Path | None) -> None:
    """Refuse --report before the work if a package that it needs is missing."""
    if report is not None:
        check_packages("matplotlib", "jinja2")


def check_packages(*packages: str) -> None:
    """Refuse plots and reports before the work if a package is missing."""
    for package in packages:
        if find_spec(package) is None:
            raise WrongUse(f"this needs {package}: pip install 'mercer[report]'")


def write(path: Any, text: str) -> None:
    """Write a file completely or not at all: first under a temporary name, then renamed."""
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        if target.exists() and not target.is_file():  # a device or a pipe
            target.write_text(text, encoding="utf-8")
            return
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(target)
    except OSError as problem:
        temporary.unlink(missing_ok=True)
        raise WrongUse(f"{path} cannot be written: {problem.strerror}") from None
