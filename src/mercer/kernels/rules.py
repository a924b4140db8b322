"""Rules: functions defined case by case on types, for properties that only some kernels have."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any, TypeVar

from mercer.errors import NoRule

Case = TypeVar("Case", bound=Callable[..., Any])


class Rule:
    """A function defined case by case on the types of its leading arguments.

    A case for a class also applies to its subclasses, unless they have their own. Where several cases
    apply, the first argument decides, then the second (lexicographic order).

    Parameters
    ----------
    power : str
        The quantity that the rule computes, for the message of `NoRule`.
    instead : str
        What to do where there is no case, for the same message.
    arguments : int
        The number of leading arguments that select the case.

    Examples
    --------
    >>> double = Rule("double", "add it to itself")
    >>> @double(int)
    ... def _(n):
    ...     return 2 * n
    >>> double.apply(True)  # a bool is an int
    2
    >>> double.apply("ab")
    Traceback (most recent call last):
    ...
    mercer.errors.NoRule: no double of str: add it to itself
    """

    def __init__(self, power: str, instead: str, arguments: int = 1) -> None:
        self.power = power
        self.instead = instead
        self.arguments = arguments
        self.cases: dict[tuple[type, ...], Callable[..., Any]] = {}

    def __call__(self, *types: type) -> Callable[[Case], Case]:
        """Register the decorated function as the case for these types."""
        if len(types) != self.arguments or not all(isinstance(t, type) for t in types):
            raise TypeError(f"a case of {self!r} needs {self.arguments} types, got {types!r}")
        if types in self.cases:
            raise ValueError(f"{self!r} already has a case for {_names(types)}")

        def register(case: Case) -> Case:
            self.cases[types] = case
            return case

        return register

    def find(self, *arguments: Any) -> Callable[..., Any]:
        """The case for these arguments; `NoRule`, with what to do instead, where there is none."""
        types = tuple(type(a) for a in arguments)
        for candidate in product(*(t.__mro__ for t in types)):
            if candidate in self.cases:
                return self.cases[candidate]
        raise NoRule(f"no {self.power} of {_names(types)}: {self.instead}")

    def apply(self, *arguments: Any, **keywords: Any) -> Any:
        """The value of the case for these arguments."""
        return self.find(*arguments[: self.arguments])(*arguments, **keywords)

    def __repr__(self) -> str:
        return f"Rule({self.power!r})"


def _names(types: tuple[type, ...]) -> str:
    return " and ".join(t.__name__ for t in types)
