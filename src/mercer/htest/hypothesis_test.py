"""The base class of hypothesis tests: a frozen configuration with a statistic and a test."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from mercer.htest.foreign_keywords import NamedArguments, in_our_words

if TYPE_CHECKING:
    from mercer.htest.result import Result


class HypothesisTest(metaclass=NamedArguments):
    """A frozen configuration: reusable, printable, comparable. What a call learns, it returns.

    Subclasses name their samples and options: `test(x, y, *, rng=None)` of two samples or variables,
    `test(x, *, rng=None)` of one. (A signature of `*samples: Any, **options: Any` is compatible with
    all of these.)
    """

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Let `test` say how arguments under the names of other packages are called here."""
        super().__init_subclass__(**keywords)
        test = cls.__dict__.get("test")
        if test is not None and not getattr(test, "__isabstractmethod__", False):
            type.__setattr__(cls, "test", in_our_words(test, cls.__name__))

    @abstractmethod
    def statistic(self, *samples: Any, **options: Any) -> float:
        """The test statistic of these samples."""

    @abstractmethod
    def test(self, *samples: Any, **options: Any) -> Result:
        """The statistic and its p-value; `rng=` seeds whatever is random."""

    def verdict(self, rejected: bool) -> str | None:
        """What a rejection (or none) means, where the words of the result do not fit; None: they do."""
        return None

    @property
    def reads_parts(self) -> bool:
        """Whether samples that are not in memory, and too large for it, are read part by part."""
        return False

    @property
    def for_series(self) -> bool:
        """Whether the p-value allows for rows that depend on those before them: with blocks of signs."""
        return getattr(getattr(self, "null", None), "block", 1) != 1
