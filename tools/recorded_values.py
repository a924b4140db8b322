"""Results as texts that are equal where and only where the numbers are equal bit by bit."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

LEADING = 4  # values of an array that are shown, to see how far a difference goes
SHORT = 8  # longer lists of numbers are recorded as an array
DEPTH = 8  # levels of objects within objects
CODE = re.compile(r"\w+\(.*\)", re.DOTALL)  # the repr of a kernel, which holds its bandwidth
INPUTS = {"test", "parameters", "sample", "samples", "variables"}  # not results
TIMES = {"elapsed_seconds", "fit_time_", "refit_time_"}
QUESTIONS = ("effect", "points", "columns", "locations", "better", "rejecting", "features")


def scalar_text(value: Any) -> str:
    """A number exactly and, in brackets, as people read it."""
    if isinstance(value, np.generic) and value.dtype not in (np.float64, np.bool_, np.int64):
        return f"{value.dtype} {value!s} {value.tobytes().hex()}"
    value = value.item() if isinstance(value, np.generic) else value
    return f"{value.hex()} ({value!r})" if isinstance(value, float) else repr(value)


def array_text(array: np.ndarray) -> str:
    """Type, shape, a hash of all values, and the first of them."""
    leading = ", ".join(scalar_text(v) for v in array.reshape(-1)[:LEADING])
    if array.dtype == object:
        content = repr(array.tolist()).encode()
    else:
        content = np.ascontiguousarray(array).tobytes()
    digest = hashlib.sha256(f"{array.dtype}{array.shape}".encode() + content).hexdigest()
    return f"{array.dtype}{array.shape} sha256 {digest[:24]} [{leading}]"


def quantities(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Names and texts of all numbers in a value, whatever it consists of.

    Sentences are left out: their wording may change. Texts that are code, such as the repr of a
    kernel that was chosen, stay.
    """
    if value is None or depth > DEPTH:
        return
    if isinstance(value, str):
        if CODE.fullmatch(value) and " at 0x" not in value:
            yield name, value
    elif isinstance(value, bool | int | float | complex | np.generic):
        yield name, scalar_text(value)
    elif isinstance(value, np.ndarray):
        yield name, array_text(value)
    elif _is_row_of_numbers(value):
        yield name, array_text(np.asarray(value))
    else:
        for key, member in _members(value, depth):
            if key not in INPUTS | TIMES and not key.startswith("_"):
                yield from quantities(member, f"{name}.{key}" if name else key, depth + 1)


def _is_row_of_numbers(value: Any) -> bool:
    plain = isinstance(value, list | tuple) and len(value) > SHORT
    return plain and all(isinstance(v, int | float | np.generic) for v in value)


def _members(value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """What an object consists of, by name."""
    from mercer.htest import Result
    from mercer.kernels import Kernel

    if isinstance(value, Kernel):
        yield "kernel", repr(value)
    elif isinstance(value, Result):
        yield from answers(value) if depth == 0 else value.to_dict().items()
    elif isinstance(value, Mapping):
        yield from ((str(key), member) for key, member in value.items())
    elif hasattr(value, "_asdict"):
        yield from value._asdict().items()
    elif isinstance(value, list | tuple | set | frozenset):
        ordered = sorted(value) if isinstance(value, set | frozenset) else value
        yield from ((str(i), member) for i, member in enumerate(ordered))
    elif hasattr(value, "to_dict") and not isinstance(value, type):
        yield from value.to_dict().items()
        yield from _fields(value)
    elif hasattr(value, "to_numpy"):  # data frames, series
        yield "values", value.to_numpy()
    elif is_dataclass(value) and not isinstance(value, type):
        yield from _fields(value)
    elif type(value).__module__.startswith("mercer"):
        yield from getattr(value, "__dict__", {}).items()


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    yield from ((f"field {f.name}", getattr(value, f.name)) for f in fields(value))


def answers(result: Any) -> Iterator[tuple[str, Any]]:
    """What a result of a hypothesis test says when it is asked everything."""
    yield from result.to_dict().items()
    yield "exact", (result.statistic, result.pvalue, result.observed)
    yield "null distribution", result.null
    for name in ("distances", "pvalues", "separate", "kernels", "fitted", "discrepancies"):
        yield name, getattr(result, name, None)
    for name in QUESTIONS:
        if callable(method := getattr(result, name, None)):
            yield (
                f"{name}()",
                attempt(lambda m=method, n=name: m(rng=0) if n == "features" else m()),
            )


def attempt(call: Any) -> Any:
    """What a call returns, or the type of the exception it raises."""
    try:
        return call()
    except Exception as error:
        return f"{type(error).__name__}()"
