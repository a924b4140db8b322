"""Files of real data sets, checked against the SHA-256 sums in `registry.txt`.

The environment variable `MERCER_DATA` names the folder that holds them.
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
    """Path of the file of this name, such as ``usps/usps.h5``, after a check of its SHA-256 sum."""
    file = present(name)
    expected, actual = registry()[name], _sha256(file)
    if actual != expected:
        raise ValueError(
            f"{name} in {os.environ['MERCER_DATA']} is not the expected file (SHA-256 "
            f"{actual[:12]}..., expected {expected[:12]}...): download it again"
        )
    return file


def present(name: str) -> Path:
    """Path of the file of this name, without a check of its sum; the caller checks its content."""
    folder = os.environ.get("MERCER_DATA")
    if not folder:
        raise FileNotFoundError(
            f"{name} was not found: mercer ships no data sets; set the environment variable "
            "MERCER_DATA to a folder that holds them"
        )
    file = Path(folder) / name
    if not file.is_file():
        raise FileNotFoundError(
            f"{name} is not in the folder that MERCER_DATA names ({folder}): put it there, or name "
            "another folder"
        )
    return file


@cache
def registry() -> dict[str, str]:
    """SHA-256 sums by file name."""
    text = files("mercer.datasets").joinpath("registry.txt").read_text(encoding="ascii")
    return dict(line.split() for line in text.splitlines())


def listed(prefix: str) -> list[str]:
    """Names of the registered files that begin with `prefix`, sorted."""
    return sorted(name for name in registry() if name.startswith(prefix))


def lines(name: str) -> tuple[str, ...]:
    """Lines of a text file, decompressed if its name ends in .gz."""
    data = path(name).read_bytes()
    text = (gzip.decompress(data) if name.endswith(".gz") else data).decode("utf-8")
    return tuple(text.removesuffix("\n").replace("\r\n", "\n").split("\n"))


def arrays(name: str) -> dict[str, np.ndarray]:
    """Arrays of an .npz file; pickled objects are not loaded."""
    with np.load(path(name), allow_pickle=False) as archive:
        return dict(archive)


def matlab(name: str) -> dict[str, np.ndarray]:
    """Variables of a .mat file."""
    from scipy.io import loadmat

    return {k: v for k, v in loadmat(path(name)).items() if not k.startswith("__")}


def columns(name: str, delimiter: str = ",") -> dict[str, np.ndarray]:
    """Columns of a table with a header: float64 if all values are numbers, else text.

    A column without a name holds row numbers and is dropped.
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
