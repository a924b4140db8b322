"""CSV files as samples beyond memory: the rows of pandas whatever the line ends, and errors that name file and rows."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import mercer
from mercer.htest import ME
from mercer.kernels import RBF, Delta
from mercer.learn import CSV, KernelPCA, NystromRidge, NystromSVC
from mercer.learn.landmarks import csv_rows
from mercer.row_streams import stream_of, streamed

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
RNG = np.random.default_rng(0)
N, NAMES = 24_000, list("abcdefghijkl")
FRAME = pd.DataFrame(RNG.normal(size=(N, len(NAMES))), columns=NAMES)
KIND = np.where(RNG.random(N) < 0.5, "red, or so", 'a "blue"\none')
LABELS = np.where(FRAME["a"] > 0.5, "high", "low")
BUDGET = "16MiB"  # the smallest; the numbers take 2.2 MiB, more than an eighth of it


def written(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files with the same columns, with different ends of lines."""
    folder = tmp_path_factory.mktemp("csv")
    whole = FRAME.assign(kind=KIND, y=LABELS, number=FRAME["a"] + FRAME["b"])
    whole[:9_000].to_csv(folder / "1.csv", index=False)
    whole[9_000:].to_csv(folder / "2.csv", index=False, lineterminator="\r\n")
    return folder


TEXTS = {
    "line feeds": "n,s\n1,a\n2,b\n3,c\n",
    "no last line feed": "n,s\n1,a\n2,b\n3,c",
    "carriage returns": "n,s\r\n1,a\r\n2,b\r\n\r\n3,c\r\n",
    "blank lines": "n,s\n\n1,a\n\n\n2,b\n3,c\n\n",
    "quotes": 'n,s\n1,"a\n\n""x"", y"\n2,"b\r\n"\n3,c\n',
    "byte order mark": "\ufeffn,s\n1,a\n2,b\n3,c\n",
    "integers and then others": "n,s\n1,a\n2.5,b\n-3e2,c\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
@pytest.mark.parametrize("scanned", [1, 2, 5, 1000])
def test_parts_have_the_rows_of_pandas(text: str, scanned: int, tmp_path: Path, monkeypatch):
    """Whatever the number of bytes that are searched at a time for the ends of lines."""
    monkeypatch.setattr(csv_rows, "_SCANNED_BYTES", scanned)
    path = written(tmp_path / "t.csv", text)
    tables = [csv_rows.CsvTable.opened(path, ",")]
    expected = pd.read_csv(path)
    for rows in (1, 2, 3):
        stream = csv_rows.csv_stream(tables, ("s", "n"), rows)
        assert stream.lengths == {1: (1, 1, 1), 2: (2, 1), 3: (3,)}[rows]
        chunks = [chunk.to_pandas() for part in stream.parts for chunk in part.chunks(1)]
        found = pd.concat(chunks, ignore_index=True)
        pd.testing.assert_frame_equal(found[["n", "s"]], expected, check_dtype=False)


def test_parts_of_many_files_are_places(folder: Path):
    with mercer.config(memory=BUDGET):
        source = CSV(folder / "*.csv", columns=[*NAMES, "kind"])
        stream = stream_of(source)
        assert stream is not None
        assert streamed(source) is not None
    assert len(stream) == N
    assert len(stream.parts) > 4
    sent = pickle.dumps(stream.parts[-1])
    assert len(sent) < 2_000
    (rows,) = pickle.loads(sent).chunks(N)
    found = rows.to_pandas()
    expected = FRAME.assign(kind=KIND)[N - len(found) :].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected)  # 17 digits


def test_learners_of_files(folder: Path):
    kernel = RBF(4.0).select(NAMES) * (Delta() + 1.0).select("kind")
    frame = FRAME.assign(kind=KIND)
    given = {"landmarks": frame[::1_200]}
    svc, ridge = NystromSVC(kernel, **given), NystromRidge(kernel, 1.0, **given)
    expected = svc.fit(frame, LABELS).decision_function(frame[:50])
    with mercer.config(memory=BUDGET):
        svc.fit(CSV(folder / "*.csv", "y", [*NAMES, "kind"]))
        found = svc.decision_function(frame[:50])
    np.testing.assert_array_equal(svc.classes_, ["high", "low"])
    np.testing.assert_allclose(found, expected, atol=1e-9)
    numbers = frame["a"] + frame["b"]
    expected = ridge.fit(frame, numbers).predict(frame[:50])
    found = ridge.fit(CSV(folder / "*.csv", "number", [*NAMES, "kind"])).predict(frame[:50])
    # normal equations of condition up to 1e6 times the rounding of float64
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_samples_of_files(folder: Path):
    x, y = (CSV(folder / f"{k}.csv", columns=NAMES) for k in (1, 2))
    test, pca = ME(RBF(4.0)), KernelPCA(2, kernel=RBF(4.0), landmarks=20, random_state=0)
    wanted = test.test(FRAME[:9_000], FRAME[9_000:], rng=0).statistic
    variances = pca.fit(FRAME[:9_000]).eigenvalues_
    assert test.test(x, y, rng=0).statistic == pytest.approx(wanted, rel=1e-9)  # in memory
    with mercer.config(memory=BUDGET):
        found = test.test(x, y, rng=0)
        assert found.sizes == (9_000, N - 9_000)
        np.testing.assert_allclose(pca.fit(x).eigenvalues_, variances, rtol=1e-9)


WRONG = {
    "no rows": (b"a,b\n", "must have rows below the names"),
    "empty": (b"", "must have a different name for every column, got none"),
    "names": (b"a,a\n1,2\n", "a different name for every column, got 'a', 'a'"),
    "no name": (b"a,\n1,2\n", "a different name for every column, got 'a', ''"),
    "gzip": (b"\x1f\x8b\x08", "is compressed: decompress it"),
    "latin": (b"gr\xfc\xdfe\n1\n", "is not in UTF-8"),
    "ragged": (b"a,b\n1,2\n3\n", r"w.csv.*Expected 2 columns, got 1"),
    "quote": (b'a,b\n1,2\n3,"x\n4,5\n', "a quotation mark after byte 8 is never closed"),
    "large": (b"a,b\n1,2\n9007199254740993,4\n", r"rows 1 to 2: column 'a' has integers beyond 2"),
    "missing": (b"a,b\n1,2\n,4\n3,5\n", r"missing values \(a: 1\)"),
    "dates": (b"a,b\n1,2020-01-01\n2,2020-01-02\n", "column 'b' of .* holds dates"),
}


@pytest.mark.parametrize("case", WRONG)
def test_files_that_are_not_tidy(case: str, tmp_path: Path):
    data, message = WRONG[case]
    path = written(tmp_path / "w.csv", data)
    with pytest.raises((ValueError, TypeError), match=message):
        ME(RBF(1.0)).test(CSV(path), np.zeros((5, 2)), rng=0)


@pytest.mark.parametrize("head", range(8, 40))
def test_types_are_those_of_whole_rows(head: int, tmp_path: Path, monkeypatch):
    """A first megabyte that ended among line feeds in quotation marks was cut there, and refused."""
    monkeypatch.setattr(csv_rows, "_HEAD_BYTES", head)
    path = written(tmp_path / "t.csv", 's,n\na,1\n"b\n\nb\n",2\n"c\nc",3\n')
    assert csv_rows.CsvTable.opened(path, ",").kinds == ("string", "integer")


def test_the_last_line_counts_without_a_line_feed(tmp_path: Path):
    path = written(tmp_path / "t.csv", "n,s\n1,2\n2,word")
    assert csv_rows.CsvTable.opened(path, ",").kinds == ("integer", "string")


def test_a_word_among_numbers_is_named(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(csv_rows, "_HEAD_BYTES", 8)
    path = written(tmp_path / "w.csv", "a,b\n1,2\n3,4\n5,six\n")
    message = r"w.csv, rows 1 to 3: .*invalid value 'six'.* mend the file, leave the column out"
    with pytest.raises(ValueError, match=message):
        NystromRidge(RBF(1.0)).fit(CSV(path, "b"))


def test_what_is_wrong_with_the_source(tmp_path: Path):
    first = written(tmp_path / "1.csv", "a,b\n1,2\n")
    written(tmp_path / "2.csv", "b,a\n1,2\n")
    with pytest.raises(ValueError, match="must have the same columns in the same order"):
        stream_of(CSV(tmp_path / "*.csv"))
    with pytest.raises(ValueError, match=r"path is a folder, .*: use a pattern"):
        stream_of(CSV(tmp_path))
    with pytest.raises(FileNotFoundError, match="give the path of a CSV file"):
        stream_of(CSV(tmp_path / "*.tsv"))
    with pytest.raises(ValueError, match="separator must be one character"):
        CSV(first, separator="::")
    with pytest.raises(ValueError, match="no column 'z' in 1.csv: use a, b"):
        stream_of(CSV(first, columns=["z"]))
    with pytest.raises(ValueError, match=r"which column is to be predicted\? CSV"):
        NystromRidge(RBF(1.0)).fit(CSV(first))
    with pytest.raises(TypeError, match=r"X is a path: use fit\(CSV"):
        NystromRidge(RBF(1.0)).fit(first)
    stream = stream_of(CSV(first))
    assert stream is not None
    written(tmp_path / "1.csv", "a,b\n\n\n\n")
    with pytest.raises(ValueError, match="read the file again if it has changed"):
        list(stream.parts[0].chunks(10))
