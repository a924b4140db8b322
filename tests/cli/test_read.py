"""Files of every kind are read the same, and every bad one is refused in one line."""

import gzip
import io
import lzma
import os
import threading
import zipfile

import numpy as np
import pytest

import mercer
from mercer.cli.exits import Refused
from mercer.cli.match import matched
from mercer.cli.read import read
from mercer.cli.table import LabelColumn, Selection

TEXT = "height,city\n1.5,Rome\n1.75,Oslo\n1.6,Rome\n"


ALL = Selection()


def refused(name: str, selection: Selection = ALL) -> str:
    with pytest.raises(Refused) as caught:
        read(name, selection)
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def check_people(file) -> None:
    assert list(file.columns) == ["height", "city"]
    np.testing.assert_array_equal(file.columns["height"].values, [1.5, 1.75, 1.6])
    city = file.columns["city"]
    assert [city.levels[c] for c in city.codes] == ["Rome", "Oslo", "Rome"]


# ---- the kinds of files -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.replace(",", "\t"),
        TEXT.replace(",", ";"),
        TEXT.replace(",", ";").replace(".", ","),  # as in much of Europe
        TEXT.replace("\n", "\r\n"),
        "\ufeff" + TEXT,
        TEXT.replace(",", ", "),
        TEXT.replace("Rome", '"Rome"').replace("1.5", '"1.5"'),
        TEXT + "\n\n",
        "\n" + TEXT.replace("\n", "\n\n"),
        TEXT.rstrip("\n"),
    ],
)
def test_text_of_many_habits(put, text):
    check_people(read(put(text), Selection()))


@pytest.mark.parametrize(
    ("name", "pack"), [("a.csv.gz", gzip.compress), ("a.csv.xz", lzma.compress), ("a", None)]
)
def test_packed_text(put, name, pack):
    if pack is None:
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as archive:
            archive.writestr("inside.csv", TEXT)
        check_people(read(put(held.getvalue(), "a.zip"), Selection()))
    else:
        check_people(read(put(pack(TEXT.encode()), name), Selection()))


@pytest.mark.parametrize("kind", ["parquet", "feather", "stream", "dictionary"])
def test_columnar_files(put, tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.feather as feather
    import pyarrow.parquet as parquet

    table = pa.table({"height": [1.5, 1.75, 1.6], "city": ["Rome", "Oslo", "Rome"]})
    put("", "a.bin")
    path = str(tmp_path / "a.bin")
    if kind == "parquet":
        parquet.write_table(table, path)
    elif kind == "feather":
        feather.write_feather(table, path, compression="zstd")
    else:
        if kind == "dictionary":
            table = table.set_column(1, "city", table.column("city").dictionary_encode())
        with pa.ipc.new_stream(path, table.schema) as out:
            out.write_table(table)
    check_people(read("a.bin", Selection()))


def test_columnar_kinds_of_values(put, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    put("", "a.parquet")
    table = pa.table(
        {
            "flag": [True, False, None],
            "count": pa.array([1, None, 3], pa.int32()),
            "single": pa.array([0.5, 1.5, 2.5], pa.float32()),
            "nothing": pa.nulls(3),
            "word": ["a", None, ""],
        }
    )
    parquet.write_table(table, "a.parquet")
    found = read("a.parquet", Selection()).columns
    np.testing.assert_array_equal(found["flag"].values, [1, 0, np.nan])
    np.testing.assert_array_equal(found["count"].values, [1, np.nan, 3])
    assert found["single"].values.dtype == np.float32
    assert found["nothing"].missing().all()
    assert found["word"].missing().tolist() == [False, True, True]
    named = read("a.parquet", Selection(categories=frozenset({"count"}))).columns["count"]
    assert isinstance(named, LabelColumn)
    assert named.levels == ("1", "3")


def test_parquet_without_pyarrow_says_what_to_install(put, monkeypatch):
    import sys

    from mercer.cli.exits import WrongUse

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(WrongUse, match="pip install 'mercer\\[frames\\]'"):
        read(put(b"PAR1abcd", "a.parquet"), Selection())


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u1", "?"])
def test_npy_is_an_array(put, dtype):
    put("")
    np.save("a.npy", np.eye(3, dtype=dtype))
    file = read("a.npy", Selection())
    assert file.array
    assert list(file.columns) == ["x1", "x2", "x3"]
    (sample, _) = matched([file, file], None, [])
    assert sample.points.dtype == (np.float32 if dtype == "f4" else np.float64)
    np.testing.assert_array_equal(sample.points, np.eye(3))


def test_npy_with_fields_and_npz(put):
    put("")
    people = np.array(
        [(1.5, "Rome"), (1.75, "Oslo"), (1.6, "Rome")], [("height", "f8"), ("city", "U9")]
    )
    np.save("a.npy", people)
    check_people(read("a.npy", Selection()))
    np.savez_compressed("a.npz", people)
    check_people(read("a.npz", Selection()))


def test_a_pipe_is_read_as_a_file_is(put, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(TEXT.encode()))))
    check_people(read("-", Selection()))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_read_once(put, tmp_path):
    put("")
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(TEXT))
    writer.start()
    check_people(read("pipe", Selection()))
    writer.join()


# ---- what columns hold ------------------------------------------------------------------------


def test_a_header_of_numbers_is_data(put):
    file = read(put("1,2\n3,4\n5,6\n"), Selection())
    assert list(file.columns) == ["x1", "x2"]
    assert file.rows == 3
    assert "no header" in file.notes[0]


@pytest.mark.parametrize("cells", [1, 2, 5, 1000])
@pytest.mark.parametrize("other", ["", ",0"])
def test_words_late_in_a_column_make_all_of_it_labels(put, monkeypatch, cells, other):
    monkeypatch.setattr("mercer.cli.text_header._BATCH_CELLS", cells)
    rows = [f"{i % 7}{other}\n" for i in range(300)] + [f"late{i % 5}{other}\n" for i in range(200)]
    column = read(put(f"code{other}\n" + "".join(rows)), Selection(columns=("code",))).columns[
        "code"
    ]
    assert isinstance(column, LabelColumn)
    assert set(column.levels) == {*map(str, range(7)), *(f"late{i}" for i in range(5))}
    assert len(column.codes) == 500


def test_a_few_words_among_numbers_are_a_mistake(put):
    name = put("age,x\n" + "".join(f"{i},1\n" for i in range(40)) + "forty,2\n")
    assert refused(name).startswith(
        "a.csv, column 'age', row 41 (line 42): 'forty' is not a number"
    )
    column = read(name, Selection(categories=frozenset({"age"}))).columns["age"]
    assert isinstance(column, LabelColumn)
    assert read(name, Selection(columns=("x",))).rows == 41


def test_numbers_with_underscores_are_words(put):
    assert isinstance(read(put("a\n1_000\n2_000\n"), Selection()).columns["a"], LabelColumn)


@pytest.mark.parametrize("token", ["", "NA", "NaN", "null", "#N/A"])
def test_what_counts_as_missing(put, token):
    file = read(put(f"a,b\n1,u\n{token},{token}\n3,v\n"), Selection())
    assert file.columns["a"].missing().tolist() == [False, True, False]
    assert file.columns["b"].missing().tolist() == [False, True, False]


def test_a_blank_line_between_the_rows_of_one_column_is_missing(put):
    assert read(put("a\n1\n\n3\n\n"), Selection()).columns["a"].missing().tolist() == [
        False,
        True,
        False,
    ]


def test_columns_are_chosen_before_they_are_judged(put):
    name = put("index,,a,a,id\n" + "".join(f"{i},{i},{i},{i},{10**19 + i}\n" for i in range(5)))
    assert list(read(name, Selection(columns=("index",))).columns) == ["index"]
    assert "no column 'c'" in refused(name, Selection(columns=("c",)))


# ---- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "a.csv: the file is empty"),
        ("\n \n", "a.csv: the file is empty"),
        ("a,b\n", "a.csv: a header but no rows"),
        ("a,b\n1,2\n3\n", "a.csv, row 2 (line 3): 1 values, but the header has 2"),
        ("a,b\n1,2\n\n3,4,5\n", "a.csv, row 2 (line 4): 3 values, but the header has 2"),
        ("a,a\n1,2\n", "a.csv: duplicate column name 'a' (columns 1 and 2): rename one"),
        (",a\n7,2\n", "a.csv: column 1 has no name and is not the number of the row"),
        ('a,b\n1,"2\n3,4\n', "a.csv, line 2: unexpected end of data; is a quotation mark missing?"),
        ('a,b\n1,"2" x\n', "a.csv, line 2:"),
        (
            "id\n1\n12345678901234567890\n",
            "a.csv, column 'id', row 2 (line 3): 12345678901234567890",
        ),
        (b"a,b\n1,2\n3,caf\xe9\n", "a.csv, line 3: byte 0xe9 at position 6 is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "a.csv: this is UTF-16"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "a.csv: this is a binary file"),
        (bytes(range(256)) * 40, "a.csv: this is a binary file"),
        (b"a,b\n1,\x00\n", "a.csv, line 2: a zero byte"),
        (b"\x1f\x8b\x08\x00junk", "a.csv: the archive is damaged"),
        (gzip.compress(TEXT.encode() * 99, mtime=0)[:-20], "a.csv: the archive is damaged"),
        (b"PK\x03\x04junk", "a.csv: the archive is damaged"),
        (b"PAR1 and then junk", "a.csv: not a Parquet file, or a damaged one"),
        (b"ARROW1 and then junk", "a.csv: not an Arrow file, or a damaged one"),
        (b"\x93NUMPY\x01\x00junk", "a.csv: damaged NPY file"),
        (b"\x80\x04\x95pickle", "a.csv: this is a pickle"),
        (b"SQLite format 3\x00", "a.csv: this is an SQLite database"),
        ("x" * 200_000, "a.csv, line 1: field larger than field limit"),
    ],
)
def test_bad_files_get_one_line(put, content, told):
    name = put(content)
    assert refused(name).startswith(told)


def test_files_that_are_not_there(put, tmp_path):
    put("")
    assert refused("nowhere.csv") == "nowhere.csv: no such file"
    (tmp_path / "folder").mkdir()
    assert "folder" in refused("folder")


def test_a_name_cannot_move_the_cursor(put):
    assert "\x1b" not in refused("no\x1b[2Jwhere\n.csv")
    assert "\x1b" not in refused(put("a,a\x1b[2J,a\x1b[2J\n1,2,3\n"))


def test_a_million_columns(put):
    name = put(",".join(f"c{i}" for i in range(10**6)) + "\n" + ",".join("1" * 10**6) + "\n")
    assert "1,000,000 columns, more than the limit of 100,000" in refused(name)


def test_a_spreadsheet_and_an_archive_of_two(put):
    for inside, told in ((["[Content_Types].xml"], "Excel file"), (["a", "b"], "got 2")):
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w") as archive:
            for name in inside:
                archive.writestr(name, TEXT)
        assert told in refused(put(held.getvalue(), "a.zip"))


@pytest.mark.parametrize("kind", ["gz", "zip", "npz"])
def test_a_bomb_is_not_unpacked(put, kind):
    row = b"0,0,0,0,0,0,0,0\n"
    if kind == "gz":
        name = put(
            gzip.compress(b"a,b,c,d,e,f,g,h\n" + row * (400_000_000 // len(row) // 4)), "a.gz"
        )
    else:
        held = io.BytesIO()
        with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
            if kind == "npz":
                inner = io.BytesIO()
                np.save(inner, np.zeros((12_500_000 // 8, 8)))
                archive.writestr("arr_0.npy", inner.getvalue())
            else:
                archive.writestr("a.csv", b"a,b,c,d,e,f,g,h\n" + row * (100_000_000 // len(row)))
        name = put(held.getvalue(), "a.zip")
    assert os.path.getsize(name) < 400_000
    assert "the archive decompresses to more than" in refused(name)


def test_a_parquet_bomb_is_not_unpacked(put):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    put("", "a.parquet")
    parquet.write_table(pa.table({"a": np.zeros(20_000_000)}), "a.parquet")
    assert os.path.getsize("a.parquet") < 400_000
    assert "that decompress to 153 MiB" in refused("a.parquet")


@pytest.mark.parametrize("kind", ["text", "npy", "pipe"])
def test_the_memory_limit_is_kept(put, kind, monkeypatch):
    name = put("a,b,c\n" + "1,2,3\n" * 1_000_000) if kind == "text" else put("", "a.npy")
    if kind == "npy":
        np.save(name, np.zeros((1_000_000, 3)))
    elif kind == "pipe":
        name = "-"
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(Endless())))
    with mercer.config(memory="16MiB"), pytest.raises(mercer.MemoryBudgetError) as caught:
        read(name, Selection())
    message = str(caught.value)
    assert "16 MiB" in message
    assert "\n" not in message
    if kind == "text":
        assert "about 22.9 MiB" in message
        assert "699,050 rows fit" in message
    assert ("mmap_mode" in message) == (kind == "npy")


class Endless(io.RawIOBase):
    def readable(self):
        return True

    def readinto(self, buffer):
        buffer[:] = b"y\n" * (len(buffer) // 2) + b"y" * (len(buffer) % 2)
        return len(buffer)


def test_columns_of_times_and_lists_are_named(put):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    put("", "a.parquet")
    when = pa.array([0, 1], pa.timestamp("s"))
    parquet.write_table(pa.table({"a": [1, 2], "when": when}), "a.parquet")
    assert "column 'when': dates (timestamp" in refused("a.parquet")
    assert read("a.parquet", Selection(columns=("a",))).rows == 2
    parquet.write_table(pa.table({"id": [1, 2**60]}), "a.parquet")
    assert "column 'id', row 2: 1152921504606846976 is beyond 2^53" in refused("a.parquet")
