"""Sources of data in files of tables, Parquet and CSV, which are read part by part with pyarrow."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from mercer import validate
from mercer.frames import PANDAS_INDEX
from mercer.learn.landmarks.batch_source import Batch, Source, rows_of_batch
from mercer.learn.landmarks.csv_rows import CsvTable, csv_stream
from mercer.row_streams import ParquetRows, RowPart, RowStream, runs_of_groups


class FileSource(Source):
    """Files with the same columns, of which one or several are to be predicted from others."""

    path: str | Path
    target: str | Sequence[str] | None
    columns: Sequence[str] | None

    @abstractmethod
    def _names(self) -> list[str]:
        """Names of all columns."""

    @abstractmethod
    def _row_parts(self, names: tuple[str, ...], rows: int) -> Iterator[RowPart]:
        """Parts of the rows, with these columns, of so many rows at least but for the last of a file."""

    def batches(self) -> Iterator[Batch]:
        for part in self.parts():
            yield from part.batches()

    def parts(self) -> Sequence[Source]:
        """Runs of rows, of at least a batch each."""
        targets, features = self._targets_and_features()
        size, flat = rows_of_batch(8 * len(features)), isinstance(self.target, str)
        parts = self._row_parts((*features, *targets), size)
        return [_WithTarget(part, features, targets, flat) for part in parts]

    def _sample_names(self) -> list[str]:
        """The columns of a sample, for a test."""
        if self.target is not None:
            raise ValueError(f"a test takes a sample: leave target={self.target!r} out")
        known = self._names()
        names = _without_index(known) if self.columns is None else list(self.columns)
        _refuse_missing(self.path, names, known)
        return names

    def _targets_and_features(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        if self.target is None:
            raise ValueError(
                f"which column is to be predicted? {type(self).__name__}({str(self.path)!r}, "
                'target="...")'
            )
        known = self._names()
        targets = [self.target] if isinstance(self.target, str) else list(self.target)
        names = [n for n in _without_index(known) if n not in targets]
        features = names if self.columns is None else list(self.columns)
        repeated = [n for n in features if n in targets]
        if repeated:
            raise ValueError(f"{repeated[0]!r} is the target, so it cannot be among the columns")
        _refuse_missing(self.path, [*features, *targets], known)
        return tuple(targets), tuple(features)


@dataclass(frozen=True)
class Parquet(FileSource):
    """A Parquet file, or several, read batch by batch with pyarrow.

    Row groups are read side by side by threads, or by the workers of a cluster, which then need the same path.

    Parameters
    ----------
    path : str or Path
        A file, a folder of files, or a pattern such as ``"2024/*.parquet"``.
    target : str, sequence of str or None
        Column to predict, or several. None: a sample without a target, for hypothesis tests.
    columns : sequence of str, optional
        Columns to predict from, or of the sample; None: all others, but for an index that pandas stored in the file.
    """

    path: str | Path
    target: str | Sequence[str] | None = None
    columns: Sequence[str] | None = None

    def arrow_dataset(self) -> Any:
        """The sample as a dataset of pyarrow, which tests read into memory."""
        names = self._sample_names()
        import pyarrow

        data = self._dataset()
        return data.replace_schema(pyarrow.schema([data.schema.field(name) for name in names]))

    def _names(self) -> list[str]:
        return self._dataset().schema.names

    def _row_parts(self, names: tuple[str, ...], rows: int) -> Iterator[RowPart]:
        for fragment in self._dataset().get_fragments():
            for groups, _ in runs_of_groups(fragment, rows):
                yield ParquetRows(fragment.path, fragment.filesystem, groups, names)

    def _dataset(self) -> Any:
        arrow = _arrow_datasets("Parquet")
        path = _checked(self.path)
        one = Path(path).exists()
        return arrow.dataset(path if one else _matching(path, "a Parquet"), format="parquet")


@dataclass(frozen=True)
class CSV(FileSource):
    """A CSV file, or several, read part by part with pyarrow.

    Tidy files in UTF-8: a first line with the names of the columns, a row in every other line, numbers with a decimal
    point, and whatever holds the separator in quotation marks. A column has numbers, truth values or text by the
    first megabyte; a value that does not fit is an error that names the file and the rows. Integers become float64.
    Every pass begins with a search for the ends of rows, at about the speed of the disk, and threads or the workers
    of a cluster then read parts side by side. A file that is read often is better converted to Parquet first:
    ``pyarrow.parquet.write_table(pyarrow.csv.read_csv("x.csv"), "x.parquet")``.

    Parameters
    ----------
    path : str or Path
        A file, or a pattern such as ``"2024/*.csv"``, whose files have the same columns in the same order.
    target : str, sequence of str or None
        Column to predict, or several. None: a sample without a target, for hypothesis tests.
    columns : sequence of str, optional
        Columns to predict from, or of the sample; None: all others.
    separator : str
        Between the values of a row.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.learn import NystromRidge
    >>> x = np.random.default_rng(0).uniform(-3, 3, size=(2_000, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sine.csv"
    ...     table = np.column_stack([x, np.sin(x)])
    ...     np.savetxt(path, table, delimiter=",", header="x,y", comments="")
    ...     ridge = NystromRidge(RBF(1.0), 1e-3, landmarks=50, random_state=0).fit(CSV(path, "y"))
    >>> ridge.function_
    Function(RBF(bandwidth=1.0), 50 points)
    """

    path: str | Path
    target: str | Sequence[str] | None = None
    columns: Sequence[str] | None = None
    separator: str = ","

    def __post_init__(self) -> None:
        if not (isinstance(self.separator, str) and len(self.separator) == 1):
            raise ValueError(f"separator must be one character, got {self.separator!r}")

    def row_stream(self) -> RowStream:
        """The sample in parts."""
        names = tuple(self._sample_names())
        return csv_stream(self._tables(), names)

    def _names(self) -> list[str]:
        return list(self._tables()[0].names)

    def _row_parts(self, names: tuple[str, ...], rows: int) -> Iterator[RowPart]:
        yield from csv_stream(self._tables(), names, rows).parts

    def _tables(self) -> list[CsvTable]:
        _arrow_datasets("CSV")
        path = _checked(self.path)
        if Path(path).is_dir():
            raise ValueError(f"path is a folder, {path}: use a pattern, such as '{path}/*.csv'")
        files = [path] if Path(path).is_file() else _matching(path, "a CSV")
        first, *others = (CsvTable.opened(file, self.separator) for file in files)
        return [first, *(other.like(first) for other in others)]


@dataclass(frozen=True)
class _WithTarget(Source):
    """Rows of a file, in batches of points and what is to be predicted."""

    rows: RowPart
    features: tuple[str, ...]
    targets: tuple[str, ...]
    flat: bool  # whether y has one dimension

    def batches(self) -> Iterator[Batch]:
        for batch in self.rows.chunks(rows_of_batch(8 * len(self.features))):
            y = [batch.column(name).to_numpy(zero_copy_only=False) for name in self.targets]
            numbers = y[0] if self.flat else np.stack(y, axis=1)
            yield batch.select(list(self.features)), numbers, None


def _without_index(names: Sequence[str]) -> list[str]:
    """The names of columns but for an index that pandas stored among them, as pandas reads the file, too."""
    return [name for name in names if not PANDAS_INDEX.fullmatch(name)]


def _refuse_missing(path: str | Path, names: Sequence[str], known: Sequence[str]) -> None:
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(f"no column {missing[0]!r} in {Path(path).name}: use {', '.join(known)}")


def _checked(path: Any) -> str:
    if not isinstance(path, str | Path):
        raise TypeError(f"path must be a path, got {validate.shown(path)}")
    return str(path)


def _matching(pattern: str, kind: str) -> list[str]:
    files = sorted(glob(pattern))
    if not files:
        raise FileNotFoundError(f"no file {pattern!r}: give the path of {kind} file")
    return files


def _arrow_datasets(kind: str) -> Any:
    try:
        import pyarrow.dataset
    except ImportError:
        raise ImportError(f"{kind} needs pyarrow: pip install 'mercer[frames]'") from None
    return pyarrow.dataset
