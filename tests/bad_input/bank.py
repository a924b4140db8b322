"""The bank: everything people hand in for numbers, made from a plain sample, and what it is worth.

`make` turns a plain float64 sample, (n, d) or (n,), into the input; `twin` gives the numbers it
holds as a plain float64 array again. The kind says what a door owes it:

    clothes     the numbers of the sample in other clothes: accepted, the result that of the twin
    values      other numbers: treated as the twin is, accepted or refused
    text        labels: refused, but by doors that take labels
    categories  a data frame with a column of labels: refused, but by doors that take them
    objects     a sequence of things: refused, but doors of objects may take it
    invalid     refused by every door
"""

from __future__ import annotations

import array
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

from tests.support.arrays import INSTALLED, torch

Make = Callable[[np.ndarray], Any]
LARGE = 2**53 + 1  # float64 has no such number
LABELS = [*"rsrtsrtr"] * 4


@dataclass(frozen=True)
class Input:
    name: str
    kind: str
    make: Make
    twin: Make | None = None
    single: bool = False  # has the precision of float32, or less


# ---- ways into other libraries ----------------------------------------------------------------


def names(x: np.ndarray) -> list[str]:
    return [*"abcdefghij"[: x.shape[1]]]


def pandas(x: np.ndarray, dtype: Any = None, index: Any = None) -> Any:
    if x.ndim == 1:
        return pd.Series(x, dtype=dtype, index=index, name="a")
    return pd.DataFrame(x, columns=names(x), dtype=dtype, index=index)


def polars(x: np.ndarray, dtype: Any = None) -> Any:
    if x.ndim == 1:
        return pl.Series("a", x, dtype=dtype)
    return pl.DataFrame([pl.Series(c, v, dtype=dtype) for c, v in zip(names(x), x.T, strict=True)])


def arrow(x: np.ndarray) -> Any:
    return pa.chunked_array([x]) if x.ndim == 1 else pa.table(dict(zip(names(x), x.T, strict=True)))


def strict(x: np.ndarray, device: str = "CPU_DEVICE") -> Any:
    return array_api_strict.asarray(x.copy(), device=array_api_strict.Device(device))


def same(x: np.ndarray) -> np.ndarray:
    return x


def wide(x: np.ndarray) -> np.ndarray:
    return x if x.ndim == 2 else x[:, None]


def with_column(x: np.ndarray, **columns: Any) -> pd.DataFrame:
    """A frame whose last column is another."""
    frame = pandas(wide(x))
    (name, values), *_ = columns.items()
    return frame.drop(columns=frame.columns[-1]).assign(**{name: values(len(frame))})


def put(x: np.ndarray, value: Any, place: int = 0) -> np.ndarray:
    """A copy with another value in the first or last place."""
    x = x.astype(np.result_type(x, type(value)) if not isinstance(value, str | None) else object)
    x.flat[place] = value
    return x


def quiet_matrix(x: np.ndarray) -> np.matrix:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        return np.asmatrix(x)


def unaligned(x: np.ndarray) -> np.ndarray:
    raw = np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:]
    return raw.view(np.float64).reshape(x.shape)


def read_only(x: np.ndarray) -> np.ndarray:
    x = x.copy()
    x.flags.writeable = False
    return x


class Subclass(np.ndarray):
    """As libraries with units and names derive them."""


# ---- the same numbers in other clothes --------------------------------------------------------

CLOTHES: dict[str, Make] = {
    "plain": same,
    "longdouble": lambda x: x.astype(np.longdouble),
    "big-endian": lambda x: x.astype(">f8"),
    "read-only": read_only,
    "fortran": lambda x: np.asfortranarray(x),
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "unaligned": unaligned,
    "subclass": lambda x: x.view(Subclass),
    "masked, nothing hidden": lambda x: np.ma.masked_array(x, mask=False),
    "lists": lambda x: x.tolist(),
    "tuples": lambda x: tuple(map(tuple, x)) if x.ndim == 2 else tuple(x),
    "list of arrays": lambda x: list(x),
    "list of tensors": lambda x: list(torch.tensor(x)),
    "memoryview": lambda x: memoryview(x.copy()),
    "pandas": pandas,
    "pandas, index of strings": lambda x: pandas(x, index=[f"row {i}" for i in range(len(x))]),
    "pandas, numbered columns": lambda x: pd.DataFrame(x) if x.ndim == 2 else pd.Series(x),
    "pandas, nullable": lambda x: pandas(x, "Float64"),
    "pandas, sparse": lambda x: pandas(x, pd.SparseDtype(float)),
    "pandas, Arrow inside": lambda x: pandas(x, pd.ArrowDtype(pa.float64())),
    "polars": polars,
    "Arrow": arrow,
    "Arrow, several chunks": lambda x: (
        pa.chunked_array([x[:2], x[2:]])
        if x.ndim == 1
        else pa.concat_tables([arrow(x[:2]), arrow(x[2:])])
    ),
    "Arrow, a batch": lambda x: (
        pa.array(x) if x.ndim == 1 else pa.record_batch(dict(zip(names(x), x.T, strict=True)))
    ),
    "torch": lambda x: torch.tensor(x),
    "torch, with gradient": lambda x: torch.tensor(x, requires_grad=True),
    "torch, strided": lambda x: torch.tensor(np.repeat(x, 2, axis=0))[::2],
    "strict": strict,
    "strict, other device": lambda x: strict(x, "device1"),
}


def rounded(dtype: Any) -> Make:
    return lambda x: x.astype(dtype).astype(np.float64)


def half(x: np.ndarray) -> np.ndarray:
    return torch.tensor(x).bfloat16().double().numpy()


SINGLE: dict[str, tuple[Make, Make]] = {
    "float32": (lambda x: x.astype(np.float32), rounded(np.float32)),
    "float32, big-endian": (lambda x: x.astype(">f4"), rounded(np.float32)),
    "float16": (lambda x: x.astype(np.float16), rounded(np.float16)),
    "pandas, float16": (lambda x: pandas(x, np.float16), rounded(np.float16)),
    "pandas, float32": (lambda x: pandas(x, np.float32), rounded(np.float32)),
    "polars, float32": (lambda x: polars(x, pl.Float32), rounded(np.float32)),
    "torch, float32": (lambda x: torch.tensor(x).float(), rounded(np.float32)),
    "torch, float16": (lambda x: torch.tensor(x).half(), rounded(np.float16)),
    "torch, bfloat16": (lambda x: torch.tensor(x).bfloat16(), half),
    "strict, float32": (lambda x: strict(x.astype(np.float32)), rounded(np.float32)),
}


# ---- other numbers: what the twin is worth, they are worth ------------------------------------


def whole(x: np.ndarray) -> np.ndarray:
    return np.round(x)


def counts(x: np.ndarray) -> np.ndarray:
    return np.abs(np.round(x))


def truth(x: np.ndarray) -> np.ndarray:
    return (x > np.median(x)).astype(np.float64)


def line(x: np.ndarray) -> np.ndarray:
    """The first column, as numbers on the line."""
    return x if x.ndim == 1 else x[:, 0]


def mixed(x: np.ndarray) -> np.ndarray:
    x = wide(x).copy()
    x[:, 0] = counts(x[:, 0])
    return x


VALUES: dict[str, tuple[Make, Make]] = {
    "int64": (lambda x: whole(x).astype(np.int64), whole),
    "int8": (lambda x: whole(x).astype(np.int8), whole),
    "uint64": (lambda x: counts(x).astype(np.uint64), counts),
    "bool": (lambda x: truth(x).astype(bool), truth),
    "list of ints": (lambda x: whole(x).astype(int).tolist(), whole),
    "list of bools": (lambda x: truth(x).astype(bool).tolist(), truth),
    "pandas, nullable ints": (lambda x: pandas(whole(x), "Int64"), whole),
    "pandas, bool": (lambda x: pandas(truth(x), bool), truth),
    "polars, decimals": (lambda x: polars(whole(x)).cast(pl.Decimal(10, 2)), whole),
    "polars, mixed dtypes": (lambda x: polars(mixed(x)).cast({"a": pl.UInt8}), mixed),
    "torch, int32": (lambda x: torch.tensor(whole(x)).int(), whole),
    "torch, bool": (lambda x: torch.tensor(truth(x)).bool(), truth),
    "strict, int64": (lambda x: strict(whole(x).astype(np.int64)), whole),
    "strict, bool": (lambda x: strict(truth(x).astype(bool)), truth),
    "matrix": (quiet_matrix, np.atleast_2d),
    "1-d": (line, line),
    "array.array": (lambda x: array.array("d", line(x)), line),
    "pandas Index": (lambda x: pd.Index(line(x)), line),
    "polars Series": (lambda x: pl.Series(line(x)), line),
    "Arrow array": (lambda x: pa.array(line(x)), line),
    "range": (lambda x: range(len(x)), lambda x: np.arange(float(len(x)))),
    "one point": (lambda x: x[:1], lambda x: x[:1]),
    "equal points": (lambda x: np.repeat(x[:1], len(x), axis=0),) * 2,
    "equal points, a view": (lambda x: np.broadcast_to(x[:1], x.shape),) * 2,
    "duplicates": (lambda x: np.concatenate([x[:3], x[:3], x[6:]]),) * 2,
    "zeros": (np.zeros_like, np.zeros_like),
    "negative zero": (lambda x: put(x, -0.0), lambda x: put(x, 0.0)),
    "1e-200": (lambda x: x * 1e-200,) * 2,
    "subnormal": (lambda x: x * 1e-310,) * 2,
    "1e-30, float32": (lambda x: (x * 1e-30).astype(np.float32),) * 2,
    "1e60": (lambda x: x * 1e60,) * 2,
    "1e120": (lambda x: x * 1e120,) * 2,
    "1e17, float32": (lambda x: (x * 1e17).astype(np.float32),) * 2,
    "shifted by 1e8": (lambda x: x + 1e8,) * 2,
}


# ---- no numbers -------------------------------------------------------------------------------

TEXT: dict[str, Make] = {
    "text": lambda x: np.array([f"{v:.1f}" for v in line(x)]),
    "list of text": lambda x: LABELS[: len(x)],
    "text as objects": lambda x: np.array(LABELS[: len(x)], dtype=object),
}
CATEGORIES: dict[str, Make] = {
    "pandas, strings": lambda x: with_column(x, c=lambda n: LABELS[:n]),
    "pandas, categories": lambda x: with_column(x, c=lambda n: pd.Categorical(LABELS[:n])),
    "polars, categories": lambda x: pl.DataFrame(
        {"a": line(x), "b": pl.Series(LABELS[: len(x)], dtype=pl.Categorical)}
    ),
    "Arrow, dictionary": lambda x: pa.table(
        {"a": line(x), "b": pa.array(LABELS[: len(x)]).dictionary_encode()}
    ),
}
OBJECTS: dict[str, Make] = {
    "datetimes": lambda x: np.arange(len(x)).astype("datetime64[D]"),
    "durations": lambda x: np.arange(len(x)).astype("timedelta64[s]"),
    "structured": lambda x: np.array([(1.0, 2.0)] * len(x), dtype="f8,f8"),
    "bytes array": lambda x: np.array([b"1.0"] * len(x)),
    "objects that are numbers": lambda x: x.astype(object),
    "objects with None": lambda x: put(x, None),
    "Decimals": lambda x: [Decimal(str(v)) for v in line(x)],
    "Fractions": lambda x: [Fraction(v) for v in line(x)],
    "list with None": lambda x: [None, *line(x).tolist()],
    "list of dicts": lambda x: [{"a": v} for v in line(x)],
    "list of sets": lambda x: [{v} for v in line(x)],
    "list of complex": lambda x: [v + 1j for v in line(x)],
    "numbers and text": lambda x: [*line(x).tolist(), "a"],
    "huge ints": lambda x: [10**30] * len(x),
    "ragged arrays": lambda x: [np.ones(1), *(np.ones(2) for _ in x[1:])],
    "ragged tensors": lambda x: [
        torch.ones(1 + (i == 0), requires_grad=True) for i, _ in enumerate(x)
    ],
    "ragged objects": lambda x: np.array([[1.0], *([1.0, 2.0] for _ in x[1:])], dtype=object),
    "text of two shapes": lambda x: ["a", ["b", "c"]],
    "list of empty lists": lambda x: [[] for _ in x],
}
INVALID: dict[str, Make] = {
    "NaN": lambda x: put(x, np.nan),
    "NaN in the last place": lambda x: put(x, np.nan, -1),
    "all NaN": lambda x: np.full_like(x, np.nan),
    "infinity": lambda x: put(x, np.inf),
    "minus infinity": lambda x: put(x, -np.inf, -1),
    "NaN, float32": lambda x: put(x, np.nan).astype(np.float32),
    "infinity, float16": lambda x: put(x, np.inf).astype(np.float16),
    "NaN in a list": lambda x: put(x, np.nan).tolist(),
    "no points": lambda x: x[:0],
    "no columns": lambda x: np.empty((len(x), 0)),
    "empty list": lambda x: [],
    "0-d": lambda x: np.array(1.0),
    "number": lambda x: 1.0,
    "NumPy number": lambda x: np.float64(1.0),
    "True": lambda x: True,
    "None in an array": lambda x: np.array(None),
    "text, 0-d": lambda x: np.array("a"),
    "no text": lambda x: np.array([], dtype=str),
    "3-d": lambda x: wide(x)[:, :, None],
    "lists in lists in lists": lambda x: wide(x)[:, :, None].tolist(),
    "ragged": lambda x: [[1.0], *([1.0, 2.0] for _ in x[1:])],
    "complex": lambda x: x + 0j,
    "1e200": lambda x: x * 1e200 + 1e200,
    "1e30, float32": lambda x: (x * 1e30 + 1e30).astype(np.float32),
    "longdouble beyond float64": lambda x: x.astype(np.longdouble) + np.longdouble("1e4000"),
    "uint64 beyond 2**53": lambda x: np.full(x.shape, LARGE, dtype=np.uint64),
    "int64 beyond -2**53": lambda x: np.full(x.shape, -(2**63), dtype=np.int64),
    "list of ints beyond 2**53": lambda x: [LARGE] * len(x),
    "string": lambda x: "1.0 2.0",
    "bytes": lambda x: b"1.0 2.0",
    "dict": lambda x: {"a": line(x).tolist()},
    "set": lambda x: set(line(x).tolist()),
    "generator": lambda x: (v for v in line(x)),
    "map": lambda x: map(float, line(x)),
    "function": lambda x: np.sin,
    "class": lambda x: np.ndarray,
    "sparse matrix": lambda x: scipy.sparse.csr_matrix(wide(x)),
    "sparse array": lambda x: scipy.sparse.coo_array(wide(x)),
    "masked": lambda x: np.ma.masked_array(x, mask=x == x.flat[0]),
    "pandas, NaN": lambda x: pandas(put(x, np.nan)),
    "pandas, infinity": lambda x: pandas(put(x, np.inf)),
    "pandas, NA": lambda x: pandas(put(x, np.nan)).astype("Float64"),
    "pandas, NA in strings": lambda x: with_column(x, c=lambda n: [None, *LABELS][:n]),
    "pandas, objects": lambda x: pandas(wide(x).astype(object)),
    "pandas, complex": lambda x: pandas(x + 0j),
    "pandas, dates": lambda x: with_column(x, c=lambda n: pd.date_range("2000", periods=n)),
    "pandas, two columns of one name": lambda x: pd.DataFrame(
        np.hstack([wide(x)[:, :1]] * 2), columns=["a", "a"]
    ),
    "pandas, no rows": lambda x: pandas(x[:0]),
    "pandas, no columns": lambda x: pd.DataFrame(index=range(len(x))),
    "pandas, ints beyond 2**53": lambda x: pandas(np.full(x.shape, LARGE)),
    "polars, null": lambda x: polars(put(x, np.nan)).fill_nan(None),
    "polars, NaN": lambda x: polars(put(x, np.nan)),
    "polars, lists": lambda x: pl.DataFrame({"a": [[v] for v in line(x)]}),
    "polars, lazy": lambda x: polars(wide(x)).lazy(),
    "Arrow, null": lambda x: pa.table({"a": [None, *line(x)[1:].tolist()]}),
    "Arrow array, null": lambda x: pa.array([None, *line(x)[1:].tolist()]),
    "torch, NaN": lambda x: torch.tensor(put(x, np.nan)),
    "torch, complex": lambda x: torch.tensor(x + 0j),
    "torch, sparse": lambda x: torch.tensor(x).to_sparse(),
    "torch, no memory": lambda x: torch.tensor(x, device="meta"),
    "torch, ints beyond 2**53": lambda x: torch.full(x.shape, LARGE),
    "torch, no points": lambda x: torch.tensor(x[:0]),
    "strict, complex": lambda x: strict(x + 0j),
    "strict, infinity": lambda x: strict(put(x, np.inf)),
}

# Two samples, and for how many columns they fit: one column of a frame needs no name.
COLUMN_PAIRS: dict[str, tuple[Make, Make, Callable[[int], bool]]] = {
    "array and pandas": (same, pandas, lambda d: True),
    "lists and polars": (lambda x: x.tolist(), polars, lambda d: True),
    "Arrow and pandas": (arrow, pandas, lambda d: True),
    "columns in another order": (pandas, lambda y: pandas(y)[names(y)[::-1]], lambda d: True),
    "float32 and float64": (lambda x: x.astype(np.float32), same, lambda d: True),
    "tensors of two precisions": (
        lambda x: torch.tensor(x).float(),
        lambda y: torch.tensor(y),
        lambda d: True,
    ),
    "a column more": (same, lambda y: np.hstack([y, y[:, :1]]), lambda d: False),
    "a column less": (same, lambda y: y[:, 1:], lambda d: False),
    "other names": (pandas, lambda y: pandas(y).rename(columns={"a": "other"}), lambda d: d == 1),
    "numbers and categories": (
        pandas,
        lambda y: pandas(y).assign(a=LABELS[: len(y)]),
        lambda d: False,
    ),
    "NumPy and torch": (same, lambda y: torch.tensor(y), lambda d: False),
    "torch and pandas": (lambda x: torch.tensor(x), pandas, lambda d: False),
    "strict and torch": (strict, lambda y: torch.tensor(y), lambda d: False),
    "two devices": (strict, lambda y: strict(y, "device1"), lambda d: False),
}
POINT_PAIRS: dict[str, Make] = {
    "a point less": lambda y: y[:-1],
    "a point more": lambda y: np.concatenate([y, y[:1]]),
}

if "torch" not in INSTALLED:  # the same bank without tensors
    for inputs in (CLOTHES, SINGLE, VALUES, OBJECTS, INVALID, COLUMN_PAIRS):
        for name in [name for name in inputs if "torch" in name or "tensor" in name]:
            del inputs[name]

BANK = [
    *(Input(name, "clothes", make, same) for name, make in CLOTHES.items()),
    *(Input(name, "clothes", make, twin, single=True) for name, (make, twin) in SINGLE.items()),
    *(
        Input(name, "values", make, twin, single="float32" in name)
        for name, (make, twin) in VALUES.items()
    ),
    *(Input(name, "text", make) for name, make in TEXT.items()),
    *(Input(name, "categories", make) for name, make in CATEGORIES.items()),
    *(Input(name, "objects", make) for name, make in OBJECTS.items()),
    *(Input(name, "invalid", make) for name, make in INVALID.items()),
]
