"""What is asked of every command that tests files: options said once, and handed on as one thing."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import wraps
from typing import Any, TypeVar, get_type_hints

from mercer.cli import options
from mercer.cli.options import TestName
from mercer.cli.read import read
from mercer.cli.table import File, Wanted
from mercer.cli.test_registry import Choice

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class Data:
    """What is asked of every test of files: by which kernel, on what, within which limits."""

    kernel: options.Kernel_ = None
    bandwidth: options.Bandwidth = None
    resamples: options.Resamples = None
    seed: options.Seed = 0
    categories: options.Categories = None
    missing: options.MissingValues = None
    memory: options.Memory = None

    @property
    def settings(self) -> dict[str, Any]:
        """For `mercer.config`."""
        return options.settings(self.memory)

    def read(self, *paths: str, columns: Sequence[str] = ()) -> Iterator[File]:
        """The files one by one, of their columns those that are wanted."""
        wanted = Wanted(tuple(columns), frozenset(options.listed(self.categories)))
        return (read(path, wanted, progress=options.on_terminal()) for path in paths)

    def line(
        self, command: str, paths: Sequence[str], lists: Mapping[str, Sequence[str]], **more: Any
    ) -> str:
        """The line that runs the same again; `lists` and `more` are options that are not among these."""
        words = ["mercer", command, *paths]
        for name, values in {
            **lists,
            "categories": sorted(options.listed(self.categories)),
        }.items():
            words += [word for value in values for word in (f"--{name}", value)]
        given = {
            "kernel": self.kernel, "bandwidth": self.bandwidth, **more,
            "resamples": self.resamples, "seed": self.seed, "missing": self.missing,
            "memory": self.memory,
        }  # fmt: skip
        said = ((f"--{name}", str(value)) for name, value in given.items() if value is not None)
        return shlex.join([*words, *(word for pair in said for word in pair)])


@dataclass(frozen=True)
class Asked(Data):
    """What is asked of every test of samples: beside the data, which test, on which columns."""

    test: options.Test = TestName.AUTO
    columns: options.Columns = None

    @property
    def choice(self) -> Choice:
        """The test that was asked for."""
        return Choice(self.test, self.kernel, self.bandwidth, self.resamples, self.seed)

    def samples(self, *paths: str) -> Iterator[File]:
        """The files one by one, of their columns those that were asked for."""
        return self.read(*paths, columns=options.listed(self.columns))

    def again(self, command: str, paths: Sequence[str], **more: Any) -> str:
        """The line that runs the same again; `more` are options that are not among these."""
        test = None if self.test is TestName.AUTO else self.test
        lists = {"columns": options.listed(self.columns)}
        return self.line(command, paths, lists, test=test, **more)


def expanded(command: Command) -> Command:
    """The command with the fields of its parameters that are dataclasses as options of its own."""
    hints = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters.values()
    groups = {p.name: hints[p.name] for p in own if is_dataclass(hints[p.name])}
    shown: list[inspect.Parameter] = []
    for parameter in own:
        if parameter.name in groups:
            shown += _options(groups[parameter.name])
        else:
            shown.append(parameter.replace(annotation=hints[parameter.name]))

    @wraps(command)
    def run(**given: Any) -> Any:
        for name, group in groups.items():
            given[name] = group(**{f.name: given.pop(f.name) for f in fields(group)})
        return command(**given)

    keyword_only = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in shown]
    run.__signature__ = inspect.Signature(keyword_only)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in shown} | {"return": None}
    return run  # type: ignore[return-value]


def _options(group: type) -> Iterator[inspect.Parameter]:
    """The fields of a dataclass as parameters."""
    hints = get_type_hints(group, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    for held in fields(group):
        yield inspect.Parameter(
            held.name, kind, default=_default(held), annotation=hints[held.name]
        )


def _default(held: Field[Any]) -> Any:
    return inspect.Parameter.empty if held.default is MISSING else held.default
