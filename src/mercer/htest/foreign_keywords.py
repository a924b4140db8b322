"""Arguments under the names that other packages have for them, or too many: errors that say what mercer takes."""

from __future__ import annotations

import inspect
from abc import ABCMeta
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from mercer.htest.number_of_samples import other_number

Function = TypeVar("Function", bound=Callable[..., Any])

_RESAMPLES = (
    "reps", "n_permutations", "num_permutations", "n_perm", "permutations", "n_resamples",
    "num_resamples", "resamples", "n_boot",
)  # fmt: skip
_RANDOM = ("random_state", "seed", "random_seed")
_THREADS = ("n_jobs", "workers", "num_workers", "n_threads", "num_threads")
_KERNELS = ("compute_kernel", "compute_distance", "compute_distk", "metric")
_LEVELS = ("alpha", "p_val", "significance_level")
_FORMULAS = ("auto", "fast", "is_fast")
_GROUPS = ("by", "group", "groupby")
KEYWORDS = frozenset((*_RESAMPLES, *_RANDOM, *_THREADS, *_KERNELS, *_LEVELS, *_FORMULAS, *_GROUPS))


def foreign_keyword(
    where: str, given: Mapping[str, Any], known: set[str], test: str | None
) -> TypeError | None:
    """The error for the first argument that `where` does not know, but other packages do, under this name.

    `test` is the name of a class of tests, or None for a function such as `two_sample`.
    """
    name = next((word for word in given if word in KEYWORDS and word not in known), None)
    if name is None:
        return None
    return TypeError(f"{where} takes no {name!r}: {_advice(name, given[name], known, test)}")


def _advice(name: str, value: Any, known: set[str], test: str | None) -> str:
    """What to write instead."""
    if name in _RESAMPLES:
        number = value if isinstance(value, int) and not isinstance(value, bool) else 1000
        if "resamples" in known:
            return f"write resamples={number}"
        if test is None:
            example = "HSIC" if "frame" in known else "MMD"  # of pairs of columns, or of samples
            return f"give it to the null distribution of a test, as in test={example}(null=Permutation({number}))"
        return (
            f"the number of permutations belongs to the null distribution, {test}(null=Permutation({number})), where the "
            f"test has one; the functions two_sample and independence take resamples={number}"
        )
    if name in _RANDOM:
        seed = value if isinstance(value, int) and not isinstance(value, bool) else 0
        where = (
            ""
            if "rng" in known or test is None
            else " where the test is called, test(..., rng=...)"
        )
        return f"the seed is rng={seed}{where}"
    if name in _THREADS:
        return "the number of threads is a setting, mercer.config(threads=2), and all are used by default"
    if name in _KERNELS:
        return (
            "kernels are objects, as in kernel=RBF(1.0), and distances have Energy() of mercer.kernels; FromCallable makes "
            "one of a function of two arrays"
        )
    if name in _GROUPS:
        column = value if isinstance(value, str) else "group"
        return (
            "samples are handed in one by one; those of a data frame that holds both are "
            f"x, y = (rows.drop(columns={column!r}) for _, rows in frame.groupby({column!r}))"
        )
    if name in _LEVELS:
        if "level" in known:
            return "write level=0.05"
        return "the level belongs to the question, result.rejects(level=0.05)"
    return "a null distribution by a formula is null=Gamma() where the test has one; by default permutations are drawn"


def in_our_words(function: Function, test: str | None = None) -> Function:
    """The function, whose errors on an argument under a foreign name, or on one or three samples, say what to write."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return function
    known = {p.name for p in parameters}
    positional = [p.name for p in parameters if p.kind is not p.KEYWORD_ONLY]
    where = function.__name__ if test is None else f"{test}.{function.__name__}"

    @wraps(function)
    def run(*args: Any, **given: Any) -> Any:
        if not given.keys() <= known:
            problem = foreign_keyword(where, given, known, test)
            if problem is not None:
                raise problem
        problem = other_number(where, function.__module__, positional, args, given)
        if problem is not None:
            raise problem
        return function(*args, **given)

    return run  # type: ignore[return-value]


class NamedArguments(ABCMeta):
    """Class of classes of tests, which say how an argument of their constructor is called here."""

    if not TYPE_CHECKING:  # type checkers read the constructor of the class itself

        def __call__(cls, *args, **given):
            try:
                return super().__call__(*args, **given)
            except TypeError:
                known = set(inspect.signature(cls.__init__).parameters)
                problem = foreign_keyword(cls.__name__, given, known, cls.__name__)
                if problem is None:
                    raise
                raise problem from None

        @property
        def __signature__(cls):
            parameters = [*inspect.signature(cls.__init__).parameters.values()][1:]
            return inspect.Signature(parameters)
