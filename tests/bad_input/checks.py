"""What every refusal owes the reader, and what every call owes its arguments."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

from mercer.backend import is_array, to_numpy
from mercer.errors import MemoryBudgetError

OURS = (ValueError, TypeError, MemoryBudgetError)  # NoRule is a TypeError
REMEDY = re.compile(
    r"\b(must|needs?|needed|drop|impute|fill|call|try|use|divide|reshape|give|hand in|turn|leave|"
    r"rescale|convert|subtract|move|detach|take|ask|rename)\b"
)


def says(error: BaseException, names: tuple[str, ...]) -> None:
    """The message is mercer's own, names the argument, and says what is needed or what to do."""
    text = str(error)
    raised_by = Path([*traceback.walk_tb(error.__traceback__)][-1][0].f_code.co_filename)
    assert "mercer" in raised_by.parts, f"{raised_by} raised: {text}"
    assert any(re.search(rf"(?<![\w.'\"]){re.escape(n)}(?![\w'\"])", text) for n in names), text
    assert REMEDY.search(text), f"no remedy: {text}"


def numbers(result: Any) -> Iterator[np.ndarray]:
    """All numbers of a result, as float64 arrays."""
    for part in result if isinstance(result, tuple) else (result,):
        yield np.asarray(to_numpy(part) if is_array(part) else part, dtype=np.float64)


def unchanged(call: Any, samples: Sequence[Any]) -> Any:
    """The result of the call, which must leave its arguments as they are."""
    before = [fingerprint(s) for s in samples]
    try:
        return call(*samples)
    finally:
        assert [fingerprint(s) for s in samples] == before, "an argument was written into"


def fingerprint(x: Any) -> Any:
    """What tells whether an object was written into."""
    if isinstance(x, np.ndarray):
        hidden = fingerprint(x.mask) if isinstance(x, np.ma.MaskedArray) else None
        values = repr(x.tolist()) if x.dtype.kind == "O" else x.tobytes()
        return x.dtype, x.shape, x.strides, x.flags.writeable, values, hidden
    if hasattr(x, "is_meta"):  # a tensor
        values = "" if x.is_meta or x.is_sparse else repr(x.tolist())
        return x.dtype, tuple(x.shape), x._version, x.requires_grad, x.grad is None, values
    if isinstance(x, pd.DataFrame | pd.Series | pd.Index):
        if isinstance(x, pd.Index):
            return repr(x)
        return repr(x.to_numpy().tolist()), str(x.to_numpy().dtype), [list(axis) for axis in x.axes]
    if isinstance(x, pl.DataFrame | pl.Series | pa.Table | pa.ChunkedArray | pa.Array):
        return type(x), repr(x.to_dict(as_series=False) if isinstance(x, pl.DataFrame) else x)
    if scipy.sparse.issparse(x):
        return x.shape, x.nnz, x.toarray().tobytes()
    if isinstance(x, memoryview):
        return x.tobytes()
    if isinstance(x, list | tuple) and any(is_array(v) for v in x):
        return [fingerprint(v) for v in x]
    if is_array(x):
        return x.dtype, x.shape, to_numpy(x).tobytes()
    return repr(x)
