"""Every check of what users hand in, and its message: what was needed, what came, what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from mercer.backend import Array, is_array, is_numpy, namespace, scalar

_EXTREME = 1e150  # squares of parameters beyond it, or of their inverses, leave float64


def positive(name: str, value: object) -> None:
    """A positive number whose square float64 can hold."""
    _real(name, value, "a positive number")
    if not 1 / _EXTREME <= float(value) <= _EXTREME:  # type: ignore[arg-type]
        limits = f" between {1 / _EXTREME:g} and {_EXTREME:g}" if float(value) > 0 else ""  # type: ignore[arg-type]
        raise ValueError(f"{name} must be a positive number{limits}, got {value!r}")


def non_negative(name: str, value: object) -> None:
    """A finite number that is not negative."""
    _real(name, value, "a non-negative number")
    if not 0 <= float(value) <= _EXTREME:  # type: ignore[arg-type]
        raise ValueError(f"{name} must be a non-negative number, got {value!r}")


def number(name: str, value: object) -> None:
    """A finite real number."""
    _real(name, value, "a number")
    if not abs(float(value)) <= _EXTREME:  # type: ignore[arg-type]
        raise ValueError(f"{name} must be a finite number, got {value!r}")


def between(name: str, value: object, low: float, high: float) -> None:
    """A number strictly between two others."""
    _real(name, value, f"a number between {low:g} and {high:g}")
    if not low < float(value) < high:  # type: ignore[arg-type]
        raise ValueError(f"{name} must be between {low:g} and {high:g}, got {value!r}")


def whole(name: str, value: object, least: int = 1) -> None:
    """An integer that is at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    if int(value) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def _real(name: str, value: object, needed: str) -> None:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {needed}, got {value!r}")
    if math.isnan(float(value)):
        raise ValueError(f"{name} must be {needed}, got {value!r}")


def generator(rng: object) -> np.random.Generator:
    """A NumPy generator from an int, a Generator or None; the global state is never touched."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    if isinstance(rng, Integral) and not isinstance(rng, bool):
        if int(rng) < 0:
            raise ValueError(f"rng must be a non-negative int, a Generator or None, got {rng!r}")
        return np.random.default_rng(int(rng))
    raise TypeError(
        f"rng must be an int, a numpy.random.Generator or None, got {rng!r}; "
        "use numpy.random.default_rng(seed)"
    )


def points(x: object, name: str = "x") -> Array:
    """A finite float array (n, d) of points from arrays, tensors and nested lists of numbers.

    One-dimensional input is n points on the line. float32 stays float32, float16 becomes float32,
    every other real dtype float64. The argument is never written into; it may be returned.
    """
    return finite(matrix(real(x, name), name), name)


def points_or_objects(x: object, name: str = "x") -> Any:
    """Points from arrays and lists of numbers; a sequence of anything else as it is."""
    first: Any = x
    while isinstance(first, list | tuple) and first:
        first = first[0]
    if isinstance(x, Sequence) and not isinstance(x, str | bytes) and not isinstance(first, Real):
        return x
    return points(x, name)


def real(x: object, name: str) -> Array:
    """An array of native float32 or float64, of any shape, not yet checked for NaN."""
    if type(x).__module__.partition(".")[0] == "scipy":
        raise TypeError(f"{name} is a sparse array: call .toarray() first")
    if isinstance(x, np.ma.MaskedArray):
        if np.ma.is_masked(x):
            raise ValueError(f"{name} has masked values: drop those rows or fill them first")
        x = x.data
    if is_array(x) and not isinstance(x, np.ndarray):
        return _real_tensor(x, name)
    if not isinstance(x, np.ndarray):
        x = _from_sequence(x, name)
    if x.dtype.kind == "O":
        raise TypeError(f"{name} has dtype object: numbers are needed, try x.astype(float)")
    if x.dtype.kind not in "fiub":
        raise TypeError(f"{name} must hold real numbers, got dtype {x.dtype}")
    single = x.dtype.kind == "f" and x.dtype.itemsize <= 4
    if x.dtype.kind in "iu" and x.dtype.itemsize == 8 and x.size and np.max(np.abs(x)) > 2**53:
        raise ValueError(f"{name} has integers beyond 2**53, which float64 cannot hold exactly")
    return np.asarray(x, dtype=np.float32 if single else np.float64)


def matrix(x: Array, name: str) -> Array:
    """An array (n, d) with n, d >= 1; one-dimensional input becomes one column."""
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim != 2:
        raise ValueError(
            f"{name} must be an array (points, dimensions), got shape {tuple(x.shape)}; reshape it"
        )
    if x.shape[0] == 0 or x.shape[1] == 0:
        raise ValueError(
            f"{name} must have at least one point and one dimension, got shape {tuple(x.shape)}"
        )
    return x


def finite(x: Array, name: str) -> Array:
    """Refuse NaN, infinities, and numbers whose squared distances overflow."""
    xp = namespace(x)
    largest = scalar(xp.max(xp.abs(x)))
    if math.isnan(largest) or math.isinf(largest):
        bad = ~xp.isfinite(x)
        rows = xp.any(bad, axis=-1) if x.ndim > 1 else bad
        count, first = (
            int(xp.sum(xp.astype(rows, xp.int64))),
            int(xp.argmax(xp.astype(rows, xp.int64))),
        )
        raise ValueError(
            f"{name} has NaN or infinite values in {count} of {x.shape[0]} points "
            f"(first: point {first}): drop those points or impute them first"
        )
    width = int(x.shape[1]) if x.ndim > 1 else 1
    limit = math.sqrt(float(xp.finfo(x.dtype).max) / (16 * width))
    if largest > limit:
        raise ValueError(
            f"{name} has values as large as {largest:.3g}, whose squares overflow {x.dtype}: "
            "divide the data by a constant first"
        )
    return x


def within(
    x: Array, low: float, high: float, name: str, remedy: str, *, strict: bool = False
) -> Array:
    """Every value from `low` to `high`, or strictly between them: the domain of a kernel."""
    xp = namespace(x)
    least, most = scalar(xp.min(x)), scalar(xp.max(x))
    if (low < least and most < high) if strict else (low <= least and most <= high):
        return x
    left, right = "(" if strict else "[", ")" if strict or math.isinf(high) else "]"
    raise ValueError(
        f"{name} must have values in {left}{low:g}, {high:g}{right}, "
        f"got values from {least:g} to {most:g}: {remedy}"
    )


def representable(profile: Callable[[Array], Array], norms2: Array, name: str) -> None:
    """The profile of a dot product must be finite at every |x|^2, and so at every <x, y>."""
    xp = namespace(norms2)
    with np.errstate(over="ignore"):
        top = xp.max(norms2)
        if not math.isfinite(scalar(profile(xp.reshape(top, (1,)))[0])):
            raise ValueError(
                f"{name} has points of squared length {scalar(top):.3g}, at which the kernel "
                f"overflows {norms2.dtype}: divide the data by a constant first"
            )


def same_width(x: Array, y: Array, names: tuple[str, str] = ("x", "y")) -> None:
    """Points of two samples must have the same dimension."""
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same number of columns, "
            f"got {x.shape[1]} and {y.shape[1]}"
        )


def same_library(x: Array, y: Array, names: tuple[str, str] = ("x", "y")) -> None:
    """Two samples must be arrays of one library."""
    if is_array(x) and is_array(y) and not is_numpy(x, y):
        try:
            namespace(x, y)
        except TypeError:
            kinds = f"{type(x).__module__} and {type(y).__module__}"
            raise TypeError(
                f"{names[0]} and {names[1]} must be arrays of the same library, got {kinds}"
            ) from None


def vectors(v: object, n: int, like: Array, name: str) -> Array:
    """Columns (n,) or (n, k) of the library and device of `like`, finite."""
    from mercer.backend import array_like

    v = real(v, name)
    if v.ndim not in (1, 2) or v.shape[0] != n or v.shape[-1] == 0:
        raise ValueError(f"{name} must have shape ({n},) or ({n}, k), got {tuple(v.shape)}")
    finite(v, name)
    return array_like(v, like, dtype=_float_of(v, like))


def instance(name: str, value: object, kind: type, needed: str) -> None:
    """`value` must be of a class; `needed` says it in words."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be {needed}, got {value!r}")


def _float_of(v: Array, like: Array) -> Any:
    xp = namespace(like)
    return xp.float32 if str(v.dtype).endswith("float32") else xp.float64


def _from_sequence(x: object, name: str) -> np.ndarray:
    if x is None or isinstance(x, str | bytes | dict | set) or not isinstance(x, Sequence | Real):
        raise TypeError(
            f"{name} must be an array of numbers, a data frame or a nested list, got {type(x).__name__}"
        )
    if isinstance(x, Sequence) and len(x) and all(is_array(row) for row in x):
        shapes = {tuple(row.shape) for row in x}  # type: ignore[attr-defined]
        if len(shapes) > 1:
            raise ValueError(f"{name} is ragged: its rows have shapes {sorted(shapes)[:3]}")
    try:
        array = np.asarray(x)
    except ValueError:
        raise ValueError(f"{name} is ragged: every point needs the same number of values") from None
    if array.dtype.kind == "O":
        raise TypeError(f"{name} must hold real numbers, got values that are not numbers")
    return array


def _real_tensor(x: Array, name: str) -> Array:
    xp = namespace(x)
    if xp.isdtype(x.dtype, "complex floating"):
        raise TypeError(f"{name} must hold real numbers, got dtype {x.dtype}")
    if x.dtype in (xp.float32, xp.float64):
        return x
    single = xp.isdtype(x.dtype, "real floating")
    return xp.astype(x, xp.float32 if single else xp.float64)
