"""Fitted learners in files: arrays and JSON in one archive, without pickle."""

from __future__ import annotations

import io
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

import mercer
from mercer.features.kernel_estimator import VersionedEstimator
from mercer.learn.machines.kernel_search import KernelSearchCV
from mercer.learn.model_document import Reader, Writer

FORMAT = 1  # of the file; a higher one is refused
_DOCUMENT = "model.json"
_KIND = "mercer model"
_DATE = (1980, 1, 1, 0, 0, 0)  # of all members, so that equal models make equal files
_DAMAGE = (
    zipfile.BadZipFile, zlib.error, ValueError, KeyError, TypeError, IndexError, AttributeError, OverflowError, EOFError,
    MemoryError, RecursionError, NotImplementedError, RuntimeError, OSError, UnicodeError,
)  # fmt: skip  # what zipfile, json, NumPy and wrong states raise


def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write an estimator of mercer to a file that `load` reads, without pickle; returns the path.

    The file is a zip archive of arrays (NPY) and a JSON document with the parameters and what was learnt. It holds
    kernels, also those on strings, graphs and other objects, bags and tensors of torch; predictions are the same
    bit by bit, but at the very array that a model was fitted to: it computes half of a symmetric matrix there,
    which rounds differently. Functions of your own (`FromCallable`, a measure of `MRMR`) cannot be stored and are
    refused, here.

    Parameters
    ----------
    model : estimator
        An estimator of `mercer.learn` or `mercer.features`, fitted or not.
    path : path of the file
        Replaced if it exists.

    Examples
    --------
    >>> import tempfile
    >>> from mercer.learn import KernelRidge, load
    >>> model = KernelRidge().fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 4.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = load(save(model, f"{folder}/squares.mercer"))
    >>> bool((again.predict([[1.5]]) == model.predict([[1.5]])).all())
    True
    """
    if not isinstance(model, VersionedEstimator):
        raise TypeError(
            f"model must be an estimator of mercer, such as KernelRidge(), got {type(model).__name__}: pipelines of "
            "scikit-learn are stored by skops or joblib"
        )
    writer = Writer()
    plain = writer.plain(model, type(model).__name__)
    document = {"kind": _KIND, "format": FORMAT, "mercer": mercer.__version__, "model": plain}
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
            _add(archive, _DOCUMENT, json.dumps(document, allow_nan=False).encode())
            for number, array in enumerate(writer.arrays):
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, array, allow_pickle=False)
                _add(archive, _member(number), buffer.getvalue())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    return target


def load(path: str | os.PathLike[str]) -> Any:
    """Read an estimator that `save` wrote.

    Nothing in the file is run: arrays are read without pickle, and only classes of mercer's estimators, kernels and
    points are made, none of which is imported by name from the file. A file that is damaged, that holds anything else, or
    that a newer version wrote, is refused with ValueError. A file of another version of mercer gives the warning
    `InconsistentVersion`.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            document = json.loads(archive.read(_DOCUMENT))
            _check_format(document, path)
            numbers = sum(name.endswith(".npy") for name in archive.namelist())
            arrays = [_array(archive, number) for number in range(numbers)]
        model = Reader(arrays).value(document["model"])
    except (FileNotFoundError, PermissionError, IsADirectoryError):
        raise
    except _NewerFormat as problem:
        raise ValueError(str(problem)) from None
    except _DAMAGE as problem:
        reason = str(problem) or type(problem).__name__
        raise ValueError(
            f"{path}: not a model file of mercer, or a damaged one ({reason[:200]})"
        ) from None
    if not isinstance(model, VersionedEstimator):
        raise ValueError(f"{path}: holds a {type(model).__name__}, not an estimator of mercer")
    if isinstance(model, KernelSearchCV) and hasattr(model, "cv_results_"):
        model.scorer_ = check_scoring(model.estimator, model.scoring)
    return model


class _NewerFormat(Exception):
    """The file was written by a newer version."""


def _check_format(document: Any, path: Any) -> None:
    if not isinstance(document, dict) or document.get("kind") != _KIND:
        raise ValueError("no document of a model")
    if not isinstance(document["format"], int) or document["format"] > FORMAT:
        raise _NewerFormat(
            f"{path}: format {document['format']} of mercer {document.get('mercer')}, and this is mercer "
            f"{mercer.__version__}, which reads format {FORMAT}: pip install --upgrade mercer"
        )


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, _DATE), content, zipfile.ZIP_DEFLATED)


def _member(number: int) -> str:
    return f"arrays/{number}.npy"


def _array(archive: zipfile.ZipFile, number: int) -> np.ndarray:
    """An array of the archive, whose checksum zipfile compares; its header must not promise more than there is."""
    content = io.BytesIO(archive.read(_member(number)))
    version = np.lib.format.read_magic(content)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    shape, _, dtype = read_header(content)
    if dtype.hasobject or int(np.prod(shape, dtype=object)) * dtype.itemsize > len(
        content.getvalue()
    ):
        raise ValueError(f"array {number} is not what its header says")
    content.seek(0)
    return np.lib.format.read_array(content, allow_pickle=False)
