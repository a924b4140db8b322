"""Checks of user input. Messages say what was needed, what came and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from mercer.backend import (
    Array,
    ArrayT,
    array_like,
    astype,
    device,
    double,
    is_array,
    is_numpy,
    is_torch,
    namespace,
    needs_grad,
    scalar,
    to_numpy,
)
from mercer.errors import shown as shown
from mercer.real_arrays import BAGS_HINT, is_bag
from mercer.real_arrays import real as real

EXTREME = 1e150  # squares of larger parameters, or of their inverses, overflow float64
_MAX_NUMBERS_SQUARED = 10_000  # up to which a dot product takes one BLAS thread


def positive(name: str, value: object) -> None:
    """Require a positive number whose square does not overflow float64."""
    real_value = _real(name, value, "a positive number")
    if not 1 / EXTREME <= real_value <= EXTREME:
        limits = f" between {1 / EXTREME:g} and {EXTREME:g}" if real_value > 0 else ""
        raise ValueError(f"{name} must be a positive number{limits}, got {value!r}")


def non_negative(name: str, value: object) -> None:
    """Require a finite number that is not negative."""
    if not 0 <= _real(name, value, "a non-negative number") <= EXTREME:
        raise ValueError(f"{name} must be a non-negative number, got {value!r}")


def number(name: str, value: object) -> None:
    """Require a finite real number."""
    if not abs(_real(name, value, "a number")) <= EXTREME:
        raise ValueError(f"{name} must be a finite number, got {value!r}")


def between(name: str, value: object, low: float, high: float) -> None:
    """Require a number strictly between `low` and `high`."""
    if not low < _real(name, value, f"a number between {low:g} and {high:g}") < high:
        raise ValueError(f"{name} must be between {low:g} and {high:g}, got {value!r}")


def whole(name: str, value: object, least: int = 1) -> None:
    """Require an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, got {shown(value)}")
    if int(value) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    if int(value) > 2**53:
        raise ValueError(f"{name} must be a whole number of at most 2**53, got a larger number")


def _real(name: str, value: object, needed: str) -> float:
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be {needed}, got {shown(value)}")
    try:
        real_value = float(value)
    except OverflowError:
        raise ValueError(f"{name} must be {needed}, got one that overflows float64") from None
    if math.isnan(real_value):
        raise ValueError(f"{name} must be {needed}, got {value!r}")
    return real_value


def generator(rng: object, name: str = "rng") -> np.random.Generator:
    """NumPy generator from an int, a Generator or None; the global state is never used."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng()
    if isinstance(rng, Integral) and not isinstance(rng, bool):
        if int(rng) < 0:
            raise ValueError(f"{name} must be a non-negative int, a Generator or None, got {rng!r}")
        return np.random.default_rng(int(rng))
    raise TypeError(
        f"{name} must be an int, a numpy.random.Generator or None, got {shown(rng)}; "
        "use numpy.random.default_rng(seed)"
    )


def points(x: object, name: str = "x") -> Array:
    """Finite float array (n, d) of points from arrays, tensors, data frames and nested lists.

    One-dimensional input is n points on the line. float32 stays float32, float16 becomes float32,
    every other real dtype float64. The argument is not modified, but may be returned as it is.
    """
    return finite(matrix(real(x, name), name), name)


def points_or_objects(x: object, name: str = "x") -> Any:
    """Points from arrays and lists of numbers; sequences of other objects are returned unchanged."""
    if isinstance(x, np.ndarray) and x.dtype.kind not in "fiubc":
        if x.ndim == 0 or x.size == 0:
            raise ValueError(f"{name} must have at least one point, got an array {x.shape}")
        return x
    return x if holds_objects(x) else points(x, name)


def matrix(x: ArrayT, name: str) -> ArrayT:
    """Array (n, d) with n, d >= 1; one-dimensional input becomes one column."""
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim != 2:
        raise ValueError(
            f"{name} must be an array (points, dimensions), got shape {tuple(x.shape)}; reshape it"
            f"{BAGS_HINT * (x.ndim == 3)}"
        )
    if x.shape[0] == 0 or x.shape[1] == 0:
        raise ValueError(
            f"{name} must have at least one point and one dimension, got shape {tuple(x.shape)}"
        )
    return x


def finite(x: ArrayT, name: str) -> ArrayT:
    """`x`, unless it has NaN, infinities, or values whose squared distances overflow."""
    if 0 in x.shape or squares_are_small(x):
        return x
    xp = namespace(x)
    if is_numpy(x):
        largest = max(float(x.max()), -float(x.min()))
    else:
        largest = scalar(xp.max(xp.abs(x)))
    if math.isnan(largest) or math.isinf(largest):
        bad = ~xp.isfinite(x)
        flags = xp.astype(xp.any(bad, axis=-1) if x.ndim > 1 else bad, xp.int64)
        count, first = int(xp.sum(flags)), int(xp.argmax(flags))
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


def squares_are_small(x: Array) -> bool:
    """Whether the sum of all squares is far from overflow, so that every number is finite and small.

    One product of few numbers takes a quarter of the time of their largest and smallest.
    """
    if type(x) is not np.ndarray or x.size > _MAX_NUMBERS_SQUARED or x.dtype != np.float64:
        return False
    return float(np.vdot(x, x)) * x.size < EXTREME**2  # an overflow or NaN is not


def within(
    x: ArrayT, low: float, high: float, name: str, remedy: str, *, strict: bool = False
) -> ArrayT:
    """`x`, unless a value lies outside the domain of a kernel: `low` to `high`, ends included or not."""
    xp = namespace(x)
    smallest, largest = scalar(xp.min(x)), scalar(xp.max(x))
    if (low < smallest and largest < high) if strict else (low <= smallest and largest <= high):
        return x
    opening, closing = "(" if strict else "[", ")" if strict or math.isinf(high) else "]"
    raise ValueError(
        f"{name} must have values in {opening}{low:g}, {high:g}{closing}, "
        f"got values from {smallest:g} to {largest:g}: {remedy}"
    )


def representable(profile: Callable[[Array], Array], norms2: Array, name: str) -> None:
    """Require the profile of a dot-product kernel to be finite at every |x|^2, hence at every <x, y>."""
    xp = namespace(norms2)
    with np.errstate(over="ignore"):
        largest = xp.max(norms2)
        if not math.isfinite(scalar(profile(xp.reshape(largest, (1,)))[0])):
            raise ValueError(
                f"{name} has points of squared norm {scalar(largest):.3g}, at which the kernel "
                f"overflows {norms2.dtype}: divide the data by a constant first"
            )


def same_width(x: Array, y: Array, names: tuple[str, str] = ("x", "y")) -> None:
    """Require points of the same dimension in two samples."""
    if x.shape[1] != y.shape[1]:
        raise ValueError(
            f"{names[0]} and {names[1]} must have the same number of columns, "
            f"got {x.shape[1]} and {y.shape[1]}"
        )


def same_float(x: Array, y: Array) -> tuple[Array, Array]:
    """Both samples in float64, unless both are float32."""
    if x.dtype == y.dtype:
        return x, y
    return astype(x, double(x)), astype(y, double(y))


def same_library(x: Array, y: Array, names: tuple[str, str] = ("x", "y")) -> None:
    """Require arrays of one library and on one device."""
    if not (is_array(x) and is_array(y)) or is_numpy(x, y):
        return
    try:
        namespace(x, y)
    except TypeError:
        kinds = " and ".join(type(v).__module__.partition(".")[0] for v in (x, y))
        raise TypeError(
            f"{names[0]} and {names[1]} must be arrays of the same library, got {kinds}: "
            "convert one of them"
        ) from None
    if device(x) != device(y):
        raise ValueError(
            f"{names[0]} and {names[1]} must be on the same device, got {device(x)} and "
            f"{device(y)}: move one of them"
        )


def vectors(v: Any, n: int, like: Array, name: str) -> Array:
    """Finite vectors (n,) or (n, k), in the library and on the device of `like`."""
    v = real(v, name)
    if needs_grad(v) and not is_torch(like):
        raise TypeError(f"{name} requires gradients, which NumPy loses: detach it, or use tensors")
    if v.ndim not in (1, 2) or v.shape[0] != n or v.shape[-1] == 0:
        raise ValueError(f"{name} must have shape ({n},) or ({n}, k), got {tuple(v.shape)}")
    finite(v, name)
    single, xp = str(v.dtype).endswith("float32"), namespace(like)
    return array_like(v, like, dtype=xp.float32 if single else xp.float64)


def vector(v: Any, name: str) -> Array:
    """Finite vector (n,), n >= 1."""
    v = real(v, name)
    if v.ndim != 1 or v.shape[0] == 0:
        raise ValueError(f"{name} must have shape (n,), n >= 1, got {tuple(v.shape)}")
    return finite(v, name)


def labels(name: str, values: Any) -> tuple[Any, ...]:
    """Group labels as a tuple: hashable, none missing."""
    needed = f"{name} must be a sequence of labels, one for each observation"
    if is_array(values):
        values = to_numpy(values).tolist()
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"{needed}, got {shown(values)}")
    groups = tuple(values)
    for label in groups:
        try:
            hash(label)
            missing = label is None or bool(label != label)
        except TypeError:
            raise TypeError(f"{needed}; labels must be text or numbers, got {label!r}") from None
        if missing:
            raise ValueError(f"{needed}, got missing labels: give them a label of their own")
    if not groups:
        raise ValueError(f"{needed}, got none: pass None if there are no groups")
    return groups


def truth(name: str, value: object) -> None:
    """Require True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")


def instance(name: str, value: object, kind: type, needed: str) -> None:
    """Require an instance of `kind`; `needed` describes it in the message, `kind.remedy` what to do."""
    if not isinstance(value, kind):
        remedy: Any = getattr(kind, "remedy", lambda value: "")
        raise TypeError(f"{name} must be {needed}, got {shown(value)}{remedy(value)}")


def holds_objects(x: object) -> bool:
    """Whether a sequence holds objects other than numbers, judged by its first item."""
    if not isinstance(x, Sequence) or isinstance(x, str | bytes | memoryview) or len(x) == 0:
        return False
    if all(is_array(row) for row in x):  # bags, unless they are rows of one table
        return {row.ndim for row in x} != {1} or len({row.shape for row in x}) > 1
    first: Any = x[0]
    while isinstance(first, list | tuple) and first:
        first = first[0]
    return not isinstance(first, Real)


def holds_distributions(x: object) -> bool:
    """Whether a list holds bags of points or distributions, perhaps among vectors."""
    return isinstance(x, list | tuple) and any(is_bag(item) for item in x)
