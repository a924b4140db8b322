"""Files of every kind that the command reads, and what can happen to their bytes."""

from __future__ import annotations

import csv
import io
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

ROWS = 60
CITIES = ("Rome", "Oslo", "São Paulo")


# ---- whole files --------------------------------------------------------------------------------


def table_of(rng: np.random.Generator) -> dict[str, Any]:
    return {
        "height": rng.normal(size=ROWS).round(6),
        "count": rng.integers(0, 9, ROWS),
        "city": [CITIES[i] for i in rng.integers(0, 3, ROWS)],
    }


def as_text(columns: dict[str, Any], separator: str = ",", quoted: bool = False) -> bytes:
    out = io.StringIO()
    quoting = csv.QUOTE_NONNUMERIC if quoted else csv.QUOTE_MINIMAL
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return out.getvalue().encode()


def as_parquet(columns: dict[str, Any], **options: Any) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, row_group_size=25, **options)
    return out.getvalue()


def as_arrow(
    columns: dict[str, Any], kind: str, packed: str | None = None, city: str = ""
) -> bytes:
    import pyarrow as pa

    table, out = pa.table(columns), io.BytesIO()
    if city == "dictionary":
        table = table.set_column(2, "city", table.column("city").dictionary_encode())
    elif city == "view":
        table = table.set_column(2, "city", table.column("city").cast(pa.string_view()))
    options = pa.ipc.IpcWriteOptions(compression=packed)
    make = pa.ipc.new_file if kind == "file" else pa.ipc.new_stream
    with make(out, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=25)
    return out.getvalue()


def as_npy(columns: dict[str, Any], dtype: str = "f8", fortran: bool = False) -> bytes:
    out = io.BytesIO()
    if dtype == "fields":
        kinds = [("height", "f8"), ("count", "i8"), ("city", "U9")]
        values = np.array(list(zip(*columns.values(), strict=True)), dtype=kinds)
    else:
        values = np.array([columns["height"], columns["count"], columns["height"] ** 2]).T
        values = values.astype(dtype, order="F" if fortran else "C")
    np.save(out, values)
    return out.getvalue()


Maker = Callable[[dict[str, Any]], bytes]
ORIGINALS: dict[str, list[Maker]] = {
    "CSV": [
        as_text,
        lambda c: as_text(c, "\t"),
        lambda c: as_text(c, quoted=True),
        lambda c: as_text({"height": c["height"]}),
        lambda c: as_text({"city": c["city"]}),
    ],
    "Parquet": [
        as_parquet,
        lambda c: as_parquet(c, compression="zstd", write_page_checksum=True),
        lambda c: as_parquet(c, compression="none", use_dictionary=False),
        lambda c: as_parquet(c, use_dictionary=False, data_page_version="2.0",
                             column_encoding={"city": "DELTA_BYTE_ARRAY"}),
    ],
    "Arrow": [
        lambda c: as_arrow(c, "file"),
        lambda c: as_arrow(c, "file", "zstd", "dictionary"),
        lambda c: as_arrow(c, "stream", None, "dictionary"),
        lambda c: as_arrow(c, "stream", "lz4"),
        lambda c: as_arrow(c, "file", None, "view"),
    ],
    "NPY": [
        as_npy,
        lambda c: as_npy(c, "f4", fortran=True),
        lambda c: as_npy(c, "i2"),
        lambda c: as_npy(c, "fields"),
    ],
}  # fmt: skip


# ---- damage -------------------------------------------------------------------------------------


def flip(data: bytes, rng: np.random.Generator) -> bytes:
    bits = bytearray(data)
    first = int(rng.choice([64, 512, len(bits)]))  # headers more often than by chance
    for place in rng.integers(0, min(first, len(bits)), int(rng.choice([1, 1, 2, 8]))):
        bits[place] ^= 1 << int(rng.integers(8))
    return bytes(bits)


def flip_near_the_end(data: bytes, rng: np.random.Generator) -> bytes:
    return flip(data[::-1], rng)[::-1]  # where Parquet and Arrow files keep their footers


def truncate(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(len(data)))]


def truncate_a_little(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: -int(rng.integers(1, 17))]


def insert(data: bytes, rng: np.random.Generator) -> bytes:
    place = int(rng.integers(len(data) + 1))
    return data[:place] + rng.bytes(int(rng.choice([1, 2, 8, 100]))) + data[place:]


def append(data: bytes, rng: np.random.Generator) -> bytes:
    return data + (rng.bytes(int(rng.integers(1, 40))) if rng.random() < 0.5 else data)


def remove(data: bytes, rng: np.random.Generator) -> bytes:
    place = int(rng.integers(len(data)))
    return data[:place] + data[place + int(rng.choice([1, 2, 8, 64])) :]


def swap(data: bytes, rng: np.random.Generator) -> bytes:
    a, b, c = sorted(int(p) for p in rng.integers(0, len(data) + 1, 3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def blank_out(data: bytes, rng: np.random.Generator) -> bytes:
    place, length = int(rng.integers(len(data))), int(rng.choice([4, 16, 64]))
    filler = bytes([int(rng.choice([0, 255, 10, 44]))])
    return (data[:place] + filler * length + data[place + length :])[: len(data)]


def repeat(data: bytes, rng: np.random.Generator) -> bytes:
    a, b = sorted(int(p) for p in rng.integers(0, len(data) + 1, 2))
    return data[:b] + data[a:]


def other_number(data: bytes, rng: np.random.Generator) -> bytes:
    """Another length, shape or count: a small integer of the file, in binary or in digits, changed."""
    old, new = ROWS, int(rng.choice([0, 6, 30, 59, 61, 600, 2**31 - 1]))
    for form in ("<q", "<i"):
        if data.count(packed := struct.pack(form, old)) and rng.random() < 0.7:
            return data.replace(packed, struct.pack(form, new), int(rng.integers(1, 3)))
    return data.replace(str(old).encode(), str(new).encode(), 1)


def other_header(data: bytes, rng: np.random.Generator) -> bytes:
    """The beginning of a file of another kind, or a header of NPY with other contents."""
    if data.startswith(b"\x93NUMPY"):
        changes = [
            (b"'<f8'", b"'<f4'"), (b"'<f8'", b"'|O'"), (b"'<i2'", b"'<U2'"), (b"(60", b"((60"),
            (b"(60, 3)", b"(3, 60)"), (b"(60, 3)", b"(180,)"), (b"(60", b"(-60"), (b"{", b"["),
            (b"(60", b"(6 "), (b"False", b"True"), (b"shape", b"shope"), (b"'<f8'", b"'<M8'"),
        ]  # fmt: skip
        old, new = changes[int(rng.integers(len(changes)))]
        return data.replace(old, new, 1)
    heads = (b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff", b"\x93NUMPY\x01\x00", b"\x1f\x8b\x08\x00")
    head = heads[int(rng.integers(len(heads)))]
    return head + data[len(head) * int(rng.integers(2)) :]


DAMAGES = (
    flip, flip, flip, flip_near_the_end, flip_near_the_end, truncate, truncate_a_little, insert, append, remove, swap,
    blank_out, repeat, other_number, other_header,
)  # fmt: skip
