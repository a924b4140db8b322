"""Damaged files and files that swell are refused in one line; whole ones of every kind are read."""

import gzip
import io
import json
import struct

import numpy as np
import pytest

pytest.importorskip("pyarrow")

import mercer
from mercer.cli.exits import Refused
from mercer.cli.read import read
from mercer.cli.table import Selection
from tests.fuzz_files import FAILURES, Worker, fuzz, report, row_counts
from tests.support.damaged_files import ORIGINALS, ROWS, as_arrow, as_parquet, table_of

COLUMNS = table_of(np.random.default_rng(0))


def refused(name: str, memory: str = "2GiB") -> str:
    with mercer.config(memory=memory), pytest.raises((Refused, mercer.MemoryBudgetError)) as caught:
        read(name, Selection())
    assert str(caught.value).startswith(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    with Worker(tmp_path_factory.mktemp("worker")) as made:
        yield made


# ---- all kinds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    ("kind", "number"), [(k, i) for k in ORIGINALS for i in range(len(ORIGINALS[k]))]
)
def test_whole_files_are_read(put, kind, number, pack):
    whole = ORIGINALS[kind][number](COLUMNS)
    assert read(put(pack(whole), "a"), Selection()).rows == ROWS
    assert ROWS in row_counts(whole)


def test_sixty_damaged_files():
    found, _ = fuzz(60, seed=3)
    assert not any(counts[word] for counts in found.values() for word in FAILURES), report(found)
    assert all(counts.total() == 12 for counts in found.values())


@pytest.mark.slow
def test_two_thousand_damaged_files():
    found, peak = fuzz(2000, seed=20)
    assert not any(counts[word] for counts in found.values() for word in FAILURES), report(found)
    assert peak < 400


# ---- NPY ----------------------------------------------------------------------------------------


def npy(header: str, values: bytes = bytes(8 * 180), version: bytes = b"\x01\x00") -> bytes:
    form = "<H" if version == b"\x01\x00" else "<I"
    return b"\x93NUMPY" + version + struct.pack(form, len(header)) + header.encode() + values


def header(shape: str = "(60, 3)", descr: str = "'<f8'", order: str = "False") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize(
    "data",
    [
        npy(header("(6, 3)")),
        npy(header("(600, 3)")),
        npy(header("(60, 3)"), bytes(8 * 180 + 1)),
        npy(header("(60, 3)"), bytes(8 * 180 - 1)),
        npy(header("(60, -3)")),
        npy(header("(60.0, 3)")),
        npy(header("(True, 180)")),
        npy(header("60")),
        npy(header("((60, 3)")),
        npy(header(descr="'<f9'")),
        npy(header(descr="('<f8', (3,))", shape="(60,)")),
        npy(header(descr="[('a',)]")),
        npy(header(order="None")),
        npy("[1, 2"),
        npy("1 + + 2"),
        npy("{'shape': (60, 3)}"),
        npy("(" * 5000),
        npy("-" * 9000 + "1"),
        npy("{{}: 1}"),
        npy("x" * 20_000, version=b"\x02\x00"),
        npy(header(), version=b"\x07\x00"),
        npy(header())[:40],
        npy(header())[:9],
        npy(header())[:7],
        npy(header()).replace(b"60", b"6\xff"),
        npy(header(), version=b"\x03\x00").replace(b"60", b"6\xff"),
    ],
)
def test_a_damaged_npy_file_gets_one_line(put, data, pack):
    assert "damaged NPY file (" in refused(put(pack(data), "a.npy"))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (npy(header(descr="'|O'")), "Python objects"),
        (npy(header("(2, 30, 3)")), "shape (2, 30, 3)"),
        (npy(header("()"), bytes(8)), "shape ()"),
        (npy(header("(0, 3)"), b""), "an empty array"),
        (npy(header("(60,)", "'<U0'"), b""), "an empty array"),
        (npy(header(descr="{}"), b""), "an empty array"),
        (npy(header("(60, 3)", "'<M8[s]'")), "values of type datetime64"),
        (npy(header("(60,)", "[('a', '<f8', (3,))]")), "values of type float64[3]"),
        (npy(header("(180,)", "'|S8'"), b"\xe9" * 1440), "not text"),
        (npy(header("(180,)", "'<U2'"), b"\x00\xd8\x00\x00" * 360), "not text"),
        (npy(header("(180,)", "'<U2'"), b"\xff" * 1440), "not text"),
    ],
)
def test_an_npy_file_of_other_things_gets_one_line(put, data, told):
    assert told in refused(put(data, "a.npy"))


def test_wide_text_in_an_npy_file_counts_its_bytes(put):
    name = put(gzip.compress(npy(header("(4,)", "'<U2000000'"), bytes(32_000_000))), "a.npy.gz")
    assert "the limit is 16 MiB" in refused(name, memory="16MiB")


def test_names_of_fields_beyond_latin1(put):
    out = io.BytesIO()
    np.lib.format.write_array(out, np.array([(1.0,), (2.0,)], [("größe→", "f8")]), version=(3, 0))
    assert list(read(put(out.getvalue(), "a.npy"), Selection()).columns) == ["größe→"]


# ---- Arrow --------------------------------------------------------------------------------------


def test_a_damaged_offset_does_not_end_the_process(put, worker, tmp_path):
    data = as_arrow(COLUMNS, "file")
    place = data.index(np.cumsum([0, *(len(c.encode()) for c in COLUMNS["city"][:3])], dtype="i4"))
    for bad in (2**31 - 1, -(2**30), 2**28):
        broken = data[: place + 8] + struct.pack("<i", bad) + data[place + 12 :]
        put(broken, "a.arrow")
        answer = worker.run(["independence", str(tmp_path / "a.arrow")])
        assert answer != "crash"
        assert answer[0] == 3
        assert "a.arrow: not an Arrow file, or a damaged one" in answer[2]


def test_a_footer_that_leaves_out_a_batch_is_noticed(put):
    import pyarrow as pa

    data = as_arrow(COLUMNS, "file")
    assert pa.ipc.open_file(pa.BufferReader(data)).num_record_batches == 3
    (length,) = struct.unpack("<i", data[-10:-6])
    footer, tried = len(data) - 10 - length, 0
    for place in range(footer, len(data) - 10, 4):
        if data[place : place + 4] == struct.pack("<I", 3):
            broken = data[:place] + struct.pack("<I", 2) + data[place + 4 :]
            try:
                kept = pa.ipc.open_file(pa.BufferReader(broken)).num_record_batches
            except pa.ArrowException:
                continue
            if kept == 2:
                tried += 1
                told = refused(put(broken, "a.arrow"))
                assert "3 batches of rows, but its footer lists 2" in told
    assert tried


def test_a_stream_that_was_cut_between_batches_is_noted(put):
    data = as_arrow(COLUMNS, "stream")
    whole = read(put(data, "a.arrows"), Selection())
    assert whole.notes == ()
    cut = read(put(data[:-8], "a.arrows"), Selection())
    assert "the stream has no end marker; rows may be missing" in cut.notes[0]
    assert "it ends within" in refused(put(data[:-30], "a.arrows"))
    assert "bytes follow the end of the stream" in refused(put(data + data, "a.arrows"))


def test_text_in_dictionaries_and_views(put):
    import pyarrow as pa

    words = ["Rome", None, "a town with a name longer than twelve letters", "", "Rome"]
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        for table in (pa.table({"w": pa.array(words).cast(kind)}),):
            out = io.BytesIO()
            with pa.ipc.new_stream(out, table.schema) as writer:
                writer.write_table(table, max_chunksize=2)
            column = read(put(out.getvalue(), "a"), Selection()).columns["w"]
            assert [None if c < 0 else column.levels[c] for c in column.codes] == [
                word or None for word in words
            ]


def test_the_row_of_a_rounded_integer_counts_missing_values(put):
    import pyarrow as pa
    import pyarrow.parquet as pq

    put("", "a.parquet")
    pq.write_table(pa.table({"id": pa.array([None, 1, None, 2**60])}), "a.parquet")
    assert "row 4: 1152921504606846976 is beyond" in refused("a.parquet")


def test_impossible_counts_of_views_are_not_believed():
    from mercer.cli.arrow_layout import _places

    spans = [(2, 1), (2, 0)]
    assert list(_places(5, [1], spans, {0})) == [0, 1, 2]
    for count in (2**60, -(2**60), 2):
        assert list(_places(5, [count], spans, {0})) == [0, 1, 2, 3, 4]


# ---- Parquet ------------------------------------------------------------------------------------


def test_row_counts_that_contradict_each_other_are_noticed(put):
    """Counts in a footer are variable-length integers: field header 0x16, then twice the number."""
    data = as_parquet(COLUMNS, compression="none")
    (length,) = struct.unpack("<i", data[-8:-4])
    footer, caught = len(data) - 8 - length, 0
    for place in range(footer, len(data) - 9):
        if data[place : place + 2] in (b"\x16\x32", b"\x16\x78", b"\x16\x14"):  # 25, 60, 10
            broken = data[: place + 1] + b"\x0c" + data[place + 2 :]
            try:
                assert read(put(broken, "a.parquet"), Selection()).rows == ROWS
            except Refused:
                caught += 1
    assert caught >= 3


def test_damaged_statistics_do_not_end_the_process(put, worker, tmp_path):
    """A histogram with a number too few: pyarrow's metadata objects abort when they are asked."""
    data = as_parquet(COLUMNS, compression="none")
    (length,) = struct.unpack("<i", data[-8:-4])
    body, footer = data[: -8 - length], data[-8 - length : -8]
    histogram = b"\x26\x00\x32"  # a list of two integers, 0 and 25
    if histogram not in footer:
        pytest.skip("this pyarrow writes no histograms")
    footer = footer.replace(histogram, b"\x16\x32", 1)
    put(body + footer + struct.pack("<i", len(footer)) + b"PAR1", "a.parquet")
    answer = worker.run(["independence", str(tmp_path / "a.parquet")])
    assert answer != "crash"
    assert answer[0] == 3


# ---- files that swell -----------------------------------------------------------------------------


def list_column(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    offsets = pa.array([0, 4_000_000], pa.int32())
    zeros = pa.ListArray.from_arrays(offsets, pa.array(np.zeros(4_000_000)))
    table = pa.table({"a": [1.0], "values": zeros})
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for _ in range(6):
            writer.write_table(table)


def long_text(path, kind):
    import pyarrow as pa
    import pyarrow.parquet as pq

    places = pa.array(np.arange(400) // 399, pa.int8())
    words = pa.DictionaryArray.from_arrays(places, pa.array(["x" * 10**6, "y"]))
    table = pa.table({"a": np.arange(400.0) % 7, "word": words})
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind == "prefixed":
        table = table.set_column(1, "word", table.column("word").cast(pa.string()))
        pq.write_table(
            table, path, use_dictionary=False, column_encoding={"word": "DELTA_BYTE_ARRAY"}
        )
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)


def zeros(path):
    import pyarrow as pa

    table = pa.table({"a": np.zeros(40_000_000)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table)


@pytest.mark.memory
@pytest.mark.parametrize(
    ("make", "code"),
    [
        (list_column, 3),
        (lambda path: long_text(path, "parquet"), 0),
        (lambda path: long_text(path, "arrow"), 0),
        (lambda path: long_text(path, "prefixed"), 0),
        (zeros, 4),
    ],
)
def test_a_file_that_swells_stays_within_the_memory_limit(worker, tmp_path, make, code):
    rng = np.random.default_rng(0)
    (tmp_path / "small.csv").write_text("a,b\n" + "".join(f"{x},1\n" for x in rng.normal(size=40)))
    before = worker.run(["independence", str(tmp_path / "small.csv"), "--resamples", "9"])[-1]
    path = tmp_path / "big"
    make(path)
    assert path.stat().st_size < 3_000_000
    done = worker.run(
        ["independence", str(path), "--memory", "64MiB", "--resamples", "9", "--json", "-"]
    )
    assert done[0] == code, done
    if code == 0:
        assert json.loads(done[1])["file"]["rows"] == 400
    assert done[-1] - before < 64 << 10  # KiB


def test_a_header_of_a_million_columns_is_over_a_small_limit(put):
    name = put(gzip.compress(b"," * 10**6 + b"\n1\n"), "a.csv.gz")
    assert "1,000,001 columns" in refused(name, memory="16MiB")
