"""Where real data sets are found, and whether they are the ones that mercer knows.

`MERCER_DATA` names a folder that holds them. Files are checked against the SHA-256 sums in
`registry.txt` before they are used.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import os
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np


def path(name: str) -> Path:
    """The checked file of this name, such as ``usps/usps.h5``."""
    found = present(name)
    known, seen = registry()[name], _sha256(found)
    if seen != known:
        raise ValueError(
            f"{name} in {os.environ['MERCER_DATA']} is not the file mercer knows (SHA-256 "
            f"{seen[:12]}..., expected {known[:12]}...): get it anew"
        )
    return found


def present(name: str) -> Path:
    """The file of this name, whose sum is not looked at; who reads it must look at what it holds."""
    folder = os.environ.get("MERCER_DATA")
    if not folder:
        raise FileNotFoundError(
            f"{name} is not here: mercer ships no data sets; set the environment variable "
            "MERCER_DATA to a folder that holds them"
        )
    found = Path(folder) / name
    if not found.is_file():
        raise FileNotFoundError(
            f"{name} is not in the folder that MERCER_DATA names ({folder}): put it there, or name "
            "another folder"
        )
    return found


@cache
def registry() -> dict[str, str]:
    """SHA-256 sums by file name."""
    text = files("mercer.datasets").joinpath("registry.txt").read_text(encoding="ascii")
    return dict(line.split() for line in text.splitlines())


def listed(prefix: str) -> list[str]:
    """The known files whose names begin so, in order."""
    return sorted(name for name in registry() if name.startswith(prefix))


def lines(name: str) -> tuple[str, ...]:
    """The lines of a text file, unpacked if its name ends in .gz."""
    data = path(name).read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8")
    return tuple(text.removesuffix("\n").replace("\r\n", "\n").split("\n"))


def arrays(name: str) -> dict[str, np.ndarray]:
    """The arrays of an .npz file; nothing pickled is loaded."""
    with np.load(path(name), allow_pickle=False) as found:
        return dict(found)


def matlab(name: str) -> dict[str, np.ndarray]:
    """The variables of a .mat file."""
    from scipy.io import loadmat

    return {k: v for k, v in loadmat(path(name)).items() if not k.startswith("__")}


def columns(name: str, delimiter: str = ",") -> dict[str, np.ndarray]:
    """The columns of a table with a header: float64 where all are numbers, else texts.

    A first column without a name holds row numbers and is left out.
    """
    text = io.StringIO("\n".join(lines(name)))
    rows = [row for row in csv.reader(text, delimiter=delimiter) if row]
    header, table = rows[0], list(zip(*rows[1:], strict=True))
    return {key: _typed(values) for key, values in zip(header, table, strict=True) if key}


def _typed(values: tuple[str, ...]) -> np.ndarray:
    try:
        return np.array(values, dtype=np.float64)
    except ValueError:
        return np.array(values, dtype=np.str_)


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
