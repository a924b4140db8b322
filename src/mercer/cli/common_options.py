"""Option groups that several commands share, and the decorator that turns them into options."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import wraps
from typing import Any, get_type_hints

from mercer.cli import options
from mercer.cli.exits import WrongUse
from mercer.cli.groups import Grouping
from mercer.cli.match import FileSample, Missing
from mercer.cli.number_style import MISSING_WORDS, TextFormat
from mercer.cli.paired_rows import Pairing, TwoColumns
from mercer.cli.read import read
from mercer.cli.streamed_files import streamed_files
from mercer.cli.table import File, Selection
from mercer.cli.test_names import TestName
from mercer.cli.test_registry import TwoSampleChoice


@dataclass(frozen=True)
class DataOptions:
    """Options of every command that tests files: kernel, resampling, columns and limits."""

    kernel: options.Kernel_ = None
    bandwidth: options.Bandwidth = None
    resamples: options.Resamples = None
    seed: options.Seed = 0
    categories: options.Categories = None
    exclude: options.Exclude = None
    missing: options.MissingValues = None
    na: options.NotAvailable = None
    sep: options.Separator = None
    decimal: options.Decimal = None
    thousands: options.Thousands = None
    encoding: options.Encoding = None
    memory: options.Memory = None

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of `mercer.config`."""
        return options.settings(self.memory)

    @property
    def ordered_by(self) -> str | None:
        """Column of times by which rows are sorted."""
        return None

    def read(self, *paths: str, columns: Sequence[str] = ()) -> Iterator[File]:
        """Read the files one by one; `columns` selects some of their columns."""
        selection = self.selection(columns)
        return (read(path, selection, progress=options.on_terminal()) for path in paths)

    def selection(self, columns: Sequence[str]) -> Selection:
        """Columns to read, and what they hold."""
        time = self.ordered_by
        if time is not None and time in (*columns, *options.column_names(self.exclude)):
            raise WrongUse(f"--time {time} cannot be one of the columns to use or to exclude")
        return Selection(
            tuple(columns),
            frozenset(options.column_names(self.categories)),
            frozenset(options.column_names(self.exclude)),
            self.text_format,
            time,
        )

    @property
    def text_format(self) -> TextFormat:
        """How text files are written."""
        if self.decimal is not None and self.decimal == self.thousands:
            raise WrongUse(f"--decimal and --thousands cannot both be {self.decimal!r}")
        missing = MISSING_WORDS | frozenset(self.na or ())
        return TextFormat(self.sep, self.decimal, self.thousands, self.encoding, missing)

    def line(
        self, command: str, paths: Sequence[str], lists: Mapping[str, Sequence[str]], **more: Any
    ) -> str:
        """Command line that repeats the run; `lists` and `more` are options of the command itself."""
        words = ["mercer", command, *paths]
        categories = sorted(options.column_names(self.categories))
        repeated = {"categories": categories, "exclude": options.column_names(self.exclude)}
        for name, values in {**lists, **repeated, "na": self.na or ()}.items():
            words += [word for value in values for word in (f"--{name}", value)]
        single = {
            "kernel": self.kernel, "bandwidth": self.bandwidth, **more,
            "resamples": self.resamples, "seed": self.seed, "missing": self.missing,
            "sep": self.sep, "decimal": self.decimal, "thousands": self.thousands,
            "encoding": self.encoding, "memory": self.memory, "time": self.ordered_by,
        }  # fmt: skip
        pairs = ((f"--{name}", str(value)) for name, value in single.items() if value is not None)
        return shlex.join([*words, *(word for pair in pairs for word in pair)])


@dataclass(frozen=True)
class TwoSampleOptions(DataOptions):
    """Options of every command that compares samples: the data options, test and columns."""

    test: options.Test = TestName.AUTO
    columns: options.Columns = None

    @property
    def choice(self) -> TwoSampleChoice:
        """The test that these options choose."""
        return TwoSampleChoice(
            self.kernel, self.bandwidth, self.resamples, self.seed, test=self.test
        )

    @property
    def streamable(self) -> bool:
        """Whether rows can be read in parts: in the order of the file, and one by one."""
        return self.missing is not Missing.IMPUTE

    def streams(self, *paths: str, notes: list[str]) -> tuple[FileSample, ...] | None:
        """The files as streams, where they are too large for memory and the test can read them part by part.

        Where few rows are without missing values, and others are left out, those are read.
        """
        possible = self.choice.streams and self.streamable
        selection = self.selection(options.column_names(self.columns))
        drop = self.missing is Missing.DROP
        return streamed_files(paths, selection, streams=possible, drop=drop, notes=notes)

    def samples(self, *paths: str) -> Iterator[File]:
        """Read the files one by one, with the selected columns."""
        return self.read(*paths, columns=options.column_names(self.columns))

    def command_line(self, command: str, paths: Sequence[str], **more: Any) -> str:
        """Command line that repeats the run; `more` are options of the command itself."""
        test = None if self.test is TestName.AUTO else self.test
        lists = {"columns": options.column_names(self.columns)}
        return self.line(command, paths, lists, test=test, **more)


@dataclass(frozen=True)
class TimedOptions(DataOptions):
    """Options of commands that can sort rows by a column of times."""

    time: options.Time = None

    @property
    def ordered_by(self) -> str | None:
        """Column of times by which rows are sorted."""
        return self.time


@dataclass(frozen=True)
class SeriesOptions(TimedOptions):
    """Options of commands whose rows may be in the order of time."""

    series: options.Series = None
    difference: options.Difference = False

    def line(
        self, command: str, paths: Sequence[str], lists: Mapping[str, Sequence[str]], **more: Any
    ) -> str:
        """Command line that repeats the run; `lists` and `more` are options of the command itself."""
        series = {None: "", True: " --series", False: " --no-series"}[self.series]
        return (
            super().line(command, paths, lists, **more) + series + " --difference" * self.difference
        )


@dataclass(frozen=True)
class ComparisonOptions(SeriesOptions, TwoSampleOptions):
    """Options of commands that test samples, which may be time series."""

    @property
    def streamable(self) -> bool:
        """Whether rows can be read in parts: in the order of the file, and one by one."""
        return super().streamable and not self.difference

    @property
    def choice(self) -> TwoSampleChoice:
        """The test that these options choose."""
        return replace(super().choice, series=bool(self.series))


@dataclass(frozen=True)
class SampleOptions(ComparisonOptions):
    """Options of commands that compare samples of rows, texts or series."""

    text: options.Text = None
    text_kernel: options.TextKernel = None
    series_of: options.SeriesOf = None
    by: options.By = None
    levels: options.Levels = None
    paired: options.Paired = None

    @property
    def grouping(self) -> Grouping | None:
        """Column that says to which sample a row of the only file belongs."""
        if self.by is None:
            return None
        return Grouping(self.by, options.column_names(self.levels), texts=self.text is not None)

    @property
    def pairing(self) -> Pairing | None:
        """What makes rows of both samples pairs; with --series and its like it is refused."""
        if self.paired is None:
            return None
        for option in ("series", "time", "difference"):
            if getattr(self, option):
                raise WrongUse(
                    f"--{option} is about the order of rows, and --paired compares rows within pairs: leave one out (a column "
                    "of times with --exclude)"
                )
        return Pairing(self.paired)

    @property
    def choice(self) -> TwoSampleChoice:
        """The test that these options choose."""
        return replace(super().choice, paired=self.pairing is not None)

    @property
    def streamable(self) -> bool:
        """Whether rows can be read in parts: in the order of the file, and one by one."""
        return super().streamable and self.pairing is None

    def paths(self, a: str, b: str | None) -> tuple[str, ...]:
        """The files to read: two, or one with --by."""
        if self.levels and self.by is None:
            raise WrongUse("--levels names levels of the column of --by: give --by too")
        if b is None and self.by is None:
            TwoColumns(self._pair_of_columns)
            if self.columns:
                raise WrongUse("--paired names the two columns of the file: leave out --columns")
        if b is not None and self.by is not None:
            raise WrongUse(
                f"--by compares groups of rows of one file, and there are two: {a} and {b}"
            )
        return (a,) if b is None else (a, b)

    def selection(self, columns: Sequence[str]) -> Selection:
        """Columns to read, and what they hold."""
        if self.by is not None and self.by == self.paired:
            raise WrongUse(
                f"--by {self.by} tells the samples apart, and --paired the units within both: name two columns"
            )
        selection = super().selection(columns)
        for role in (self.grouping, self.pairing):
            selection = selection if role is None else role.selected(selection)
        return selection

    def samples(self, *paths: str) -> Iterator[File]:
        """Read the files one by one, or the groups of rows of one file."""
        if len(paths) == 1 and self.by is None:
            pair = TwoColumns(self._pair_of_columns)
            (file,) = replace(self, paired=None).read(*paths, columns=pair.names)
            return iter(pair.samples(file))
        files = super().samples(*paths)
        return files if self.grouping is None else iter(self.grouping.samples(next(files)))

    def streams(self, *paths: str, notes: list[str]) -> tuple[FileSample, ...] | None:
        """The files as streams, where they are too large for memory; two columns of one file are read."""
        alone = len(paths) == 1 and self.by is None
        return None if alone else super().streams(*paths, notes=notes)

    @property
    def _pair_of_columns(self) -> tuple[str, ...]:
        """The columns that --paired names, where there is one file without groups of rows."""
        return options.column_names(None if self.paired is None else [self.paired])

    def line(
        self, command: str, paths: Sequence[str], lists: Mapping[str, Sequence[str]], **more: Any
    ) -> str:
        """Command line that repeats the run; `lists` and `more` are options of the command itself."""
        words = {"text": self.text, "text-kernel": self.text_kernel, "series-of": self.series_of}
        lists = {**lists, "levels": options.column_names(self.levels)}
        return super().line(command, paths, lists, **more, **words, by=self.by, paired=self.paired)


def expanded(command: Callable[..., Any]) -> Callable[..., Any]:
    """`command` with each dataclass parameter replaced by one option per field.

    typer reads the signature of a function: the result has that of the separate options, and
    builds the dataclasses before it calls `command`.
    """
    hints = get_type_hints(command, include_extras=True)
    parameters = inspect.signature(command).parameters.values()
    groups = {p.name: hints[p.name] for p in parameters if is_dataclass(hints[p.name])}
    flat: list[inspect.Parameter] = []
    for parameter in parameters:
        if parameter.name in groups:
            flat += _field_parameters(groups[parameter.name])
        else:
            flat.append(parameter.replace(annotation=hints[parameter.name]))

    @wraps(command)
    def run(**arguments: Any) -> Any:
        for name, group in groups.items():
            arguments[name] = group(**{f.name: arguments.pop(f.name) for f in fields(group)})
        return command(**arguments)

    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in flat]
    run.__dict__["__signature__"] = inspect.Signature(keyword_only)
    run.__annotations__ = {p.name: p.annotation for p in flat} | {"return": None}
    return run


def _field_parameters(group: type) -> Iterator[inspect.Parameter]:
    """Fields of a dataclass as keyword-only parameters."""
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    for option in fields(group):
        yield inspect.Parameter(
            option.name, kind, default=_default(option), annotation=hints[option.name]
        )


def _default(option: Field[Any]) -> Any:
    return inspect.Parameter.empty if option.default is MISSING else option.default
