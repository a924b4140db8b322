"""Arrays of real numbers from arrays, tensors, data frames and nested lists, and why others are refused."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from mercer import frames
from mercer.backend import (
    Array,
    is_array,
    is_held,
    is_jax,
    is_numpy,
    is_symbolic,
    is_torch,
    namespace,
    to_numpy,
)

BAGS_HINT = (
    " (bags of points need a kernel on distributions, such as MeanMap(RBF(1.0)); for time series use Series.of(...), or "
    "Series.from_channels_first(...) if channels come before time)"
)
_REMEDIES = {
    "c": "take .real, or pass .real and .imag as columns",
    "U": "for categories use a data frame or Delta(); for text make vectors; else .astype(float)",
    "S": "convert it with .astype(float)",
    "M": "subtract a date and divide by a unit, such as numpy.timedelta64(1, 'D')",
    "m": "divide it by a unit, such as numpy.timedelta64(1, 's')",
    "V": "pass its fields as columns, see numpy.lib.recfunctions.structured_to_unstructured",
}


def real(x: object, name: str) -> Array:
    """Array of float32 or float64, of any shape, not yet checked for NaN."""
    if (type(x) is np.ndarray and x.dtype == np.float64) or is_symbolic(x):
        return x  # pyright: ignore[reportReturnType]
    array = _array(x, name)
    return _real_array(array, name) if is_numpy(array) else _real_tensor(array, name)


def is_bag(item: Any) -> bool:
    """Whether an item stands for many points: a distribution, or a table of numbers."""
    if is_array(item):
        return item.ndim > 1
    if isinstance(item, list | tuple):
        return any(isinstance(v, list | tuple) or getattr(v, "ndim", 0) > 0 for v in item[:1])
    return hasattr(item, "sample")


def _array(x: Any, name: str) -> Array:
    """`x` as an array of NumPy or another library, of any dtype."""
    if type(x).__module__.partition(".")[0] == "scipy":
        raise TypeError(f"{name} is a sparse array: call .toarray() first")
    frames.refuse_masked(x, name)
    if is_array(x):
        return (
            to_numpy(x) if is_jax(x) else x
        )  # results are built in place, which JAX does not allow
    if isinstance(x, list | tuple):
        return _stacked([to_numpy(row) if is_jax(row) else row for row in x], name)
    data = None if isinstance(x, type | str | bytes | Real) else frames.numbers(x, name)
    if data is not None:
        return data
    if isinstance(x, Real | Sequence) and not isinstance(x, str | bytes):
        return np.asarray(x)
    if hasattr(x, "__array__") and not isinstance(x, type):
        return np.asarray(x)
    raise TypeError(
        f"{name} must be an array of numbers, a data frame or a nested list, got {type(x).__name__}"
    )


def _stacked(rows: Sequence[Any], name: str) -> Array:
    """One array from a list of numbers, lists or arrays."""
    if rows and all(is_array(row) for row in rows):
        shapes = {tuple(row.shape) for row in rows}
        if len(shapes) > 1:
            raise ValueError(
                f"{name} is ragged, its rows have shapes {sorted(shapes)[:3]}: "
                f"every point needs the same number of values{BAGS_HINT if is_bag(rows[0]) else ''}"
            )
        if len({type(row) for row in rows}) == 1 and not is_numpy(rows[0]):
            return namespace(*rows).stack(list(rows))
    try:
        return np.asarray(rows)
    except ValueError:
        bags = any(is_bag(row) for row in rows)
        raise ValueError(
            f"{name} is ragged: every point needs the same number of values{BAGS_HINT * bags}"
        ) from None
    except (TypeError, RuntimeError):  # tensors that require gradients, or on other devices
        raise TypeError(f"{name} must be one tensor, got a list of tensors: stack them") from None


def _real_array(x: np.ndarray, name: str) -> np.ndarray:
    if x.dtype.kind == "O":
        kinds = sorted({type(v).__name__ for v in x.ravel()[:1000]})
        if any(hasattr(v, "sample") for v in x.ravel()[:1000]):
            raise TypeError(
                f"{name} must hold real numbers, got {', '.join(kinds)}: distributions need a kernel on "
                "distributions, such as MeanMap(RBF(1.0))"
            )
        if kinds == ["int"] and np.max(abs(x)) > 2**53:
            raise ValueError(f"{name} has integers beyond 2**53: {frames.ROUNDED}")
        raise TypeError(
            f"{name} must hold real numbers, got dtype object with {', '.join(kinds)} inside: "
            "drop or impute missing values, and convert the array with .astype(float)"
        )
    if x.dtype.kind not in "fiub":
        remedy = _REMEDIES.get(x.dtype.kind, "convert it to numbers first")
        raise TypeError(f"{name} must hold real numbers, got dtype {x.dtype}: {remedy}")
    frames.refuse_inexact_integers(x, name)
    single = x.dtype.kind == "f" and x.dtype.itemsize <= 4
    with np.errstate(over="ignore"):  # an overflow becomes an infinity, which `finite` refuses
        return np.asarray(x, dtype=np.float32 if single else np.float64)


def _real_tensor(x: Any, name: str) -> Array:
    if not is_held(x):
        raise TypeError(
            f"{name} must be a dense tensor with data, got {x.layout} on {x.device}: "
            "call .to_dense(), or move it to a device that holds data"
        )
    if is_torch(x) and x.device.type == "mps":
        raise TypeError(
            f"{name} must be on a device with float64, got {x.device}: pass .cpu() of it"
        )
    xp = namespace(x)
    if xp.isdtype(x.dtype, "complex floating"):
        raise TypeError(f"{name} must hold real numbers, got dtype {x.dtype}: {_REMEDIES['c']}")
    if x.dtype in (xp.float32, xp.float64):
        return x
    if xp.isdtype(x.dtype, "integral"):
        frames.refuse_inexact_integers(to_numpy(x), name)
    return xp.astype(x, xp.float32 if xp.isdtype(x.dtype, "real floating") else xp.float64)
