"""Samples that are read part by part give the results of samples in memory, up to rounding."""

from __future__ import annotations

import pickle
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer import row_streams
from mercer.errors import MemoryBudgetError, NoRule
from mercer.gram.blockwise_permutations import BlockwisePermutations
from mercer.gram.resampling_weights import Resamples
from mercer.gram.stream_sums import ColumnMoments, drawn_by_hash
from mercer.htest import (
    FSSD,
    ME,
    MMD,
    NFSIC,
    SCF,
    UME,
    BlockMMD,
    Energy,
    Hotelling,
    LinearMMD,
    MaxMMD,
    MMDAgg,
    MMDFuse,
    Permutation,
)
from mercer.htest.dependence import nfsic
from mercer.htest.samples import landmark_mmd, location_tests, shuffled_buckets
from mercer.kernels import RBF, Laplace, Linear
from mercer.learn import Parquet
from mercer.rkhs import Gaussian, Uniform

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6_000, 2))
Y = RNG.normal([0.0, 0.05], size=(4_500, 2))
TOLERANCE = 1e-9  # of statistics: sums in another order, and differences of means that cancel
NAMES = ["a", "b"]
KINDS = ["npy", "parquet", "dataset", "dask array", "dask frame", "zarr"]


def frame(x: np.ndarray) -> Any:
    return pd.DataFrame(x, columns=NAMES)


def source(x: np.ndarray, kind: str, folder: Path, name: str) -> Any:
    """The same rows, but not in memory."""
    path = folder / name
    if kind == "npy":
        np.save(path.with_suffix(".npy"), x)
        return np.load(path.with_suffix(".npy"), mmap_mode="r")
    if kind in ("parquet", "dataset"):
        import pyarrow.dataset
        import pyarrow.parquet

        table = pa.Table.from_pandas(frame(x))
        pyarrow.parquet.write_table(table, path, row_group_size=1_100 + 100 * len(name))
        return Parquet(path) if kind == "parquet" else pyarrow.dataset.dataset(path)
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        array = zarr.open(str(path), mode="w", shape=x.shape, chunks=(1_000, 2), dtype="f8")
        array[:] = x
        return array
    if kind == "dask array":
        return pytest.importorskip("dask.array").from_array(x, chunks=(1_300 + len(name), 1))
    pytest.importorskip("dask")
    return pytest.importorskip("dask.dataframe").from_pandas(frame(x), npartitions=3)


@pytest.fixture(autouse=True)
def always_in_parts(monkeypatch: pytest.MonkeyPatch):
    """Stream samples however small they are, in several chunks of each part."""
    monkeypatch.setattr(row_streams, "_SHARE_IN_MEMORY", 2**50)
    monkeypatch.setattr(row_streams, "_MAX_CHUNK_ROWS", 400)
    monkeypatch.setattr(row_streams, "_MIN_CHUNK_ROWS", 400)
    monkeypatch.setattr(shuffled_buckets, "_SHARE_OF_BUCKET", 2**15)  # 64 KiB
    for module in (location_tests, nfsic):
        monkeypatch.setattr(module, "MIN_ROWS_TO_HASH", 1_000)


def agree(here: Any, there: Any) -> None:
    np.testing.assert_allclose(there.statistic, here.statistic, rtol=TOLERANCE, atol=1e-14)
    np.testing.assert_allclose(there.pvalue, here.pvalue, rtol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("test", [ME(RBF(1.0)), SCF(), LinearMMD()], ids=lambda t: type(t).__name__)
def test_two_samples_from_everywhere(test: Any, kind: str, tmp_path: Path):
    frames = kind in ("parquet", "dataset", "dask frame")
    x, y = (frame(X), frame(Y)) if frames else (X, Y)
    there = test.test(source(X, kind, tmp_path, "x"), source(Y, kind, tmp_path, "second"), rng=3)
    agree(test.test(x, y, rng=3), there)
    assert there.sizes == (len(X), len(Y))
    assert any("read part by part" in note for note in there.notes)


@pytest.mark.parametrize(
    "test", [ME(), UME(), UME(RBF(0.7), locations=X[:4]), SCF(1.5), BlockMMD(block=40)], ids=repr
)
def test_two_samples_beside_one_in_memory(test: Any, tmp_path: Path):
    agree(test.test(X, Y, rng=5), test.test(source(X, "npy", tmp_path, "x"), Y, rng=5))
    here, there = test.statistic(X, Y), test.statistic(source(X, "npy", tmp_path, "x"), Y)
    np.testing.assert_allclose(there, here, rtol=TOLERANCE)


@pytest.mark.parametrize("kind", ["npy", "parquet", "dask array"])
@pytest.mark.parametrize("unbiased", [True, False])
def test_quadratic_test_by_pairs_of_blocks(kind: str, unbiased: bool, tmp_path: Path):
    """Labellings are the same; permuted statistics are in float32, and none is that near to the observed one."""
    x, y = X[:900], Y[:700]
    test = MMD(RBF(1.3), unbiased=unbiased, null=Permutation(199))
    first, second = (source(s, kind, tmp_path, n) for s, n in ((x, "x"), (y, "other")))
    here, there = test.test(x, y, rng=4), test.test(first, second, rng=4)
    np.testing.assert_allclose(there.statistic, here.statistic, rtol=1e-9)
    np.testing.assert_allclose(there.null, here.null, atol=3e-7)  # of kernel values up to 1
    assert there.pvalue == here.pvalue
    np.testing.assert_allclose(test.statistic(first, second), here.statistic, rtol=1e-9)


QUADRATIC = [
    Energy(1.5, null=Permutation(99)),
    MMDFuse([RBF(0.5), Laplace(2.0)], null=Permutation(99)),
    MaxMMD(null=Permutation(99)),
    MMDAgg([RBF(0.5), Linear()], null=Permutation(99)),
    MMDAgg(null=Permutation(99)),
]


@pytest.mark.parametrize("kind", ["npy", "parquet"])
@pytest.mark.parametrize("test", QUADRATIC, ids=repr)
def test_several_kernels_by_pairs_of_blocks(test: Any, kind: str, tmp_path: Path):
    """Statistics that are ranks of resampled ones are those of float32, as in the test above."""
    x, y = (
        1e4 + X[:700],
        1e4 + 1.1 * Y[:500],
    )  # far from the origin, where values of linear kernels lose digits
    here = test.test(*((frame(x), frame(y)) if kind == "parquet" else (x, y)), rng=4)
    there = test.test(*(source(s, kind, tmp_path, n) for s, n in ((x, "x"), (y, "other"))), rng=4)
    close = {"rtol": 1e-4} if isinstance(test, MMDAgg) else {"rtol": 1e-8}
    np.testing.assert_allclose(there.statistic, here.statistic, **close)
    assert abs(there.pvalue - here.pvalue) < 0.011  # one of 100 scores may change its place
    assert there.sizes == (700, 500)


class Fixed(Resamples):
    """Labellings that were drawn elsewhere."""

    table = np.array([-1.0, 1.0])
    shape = 0, 0

    def __init__(self, codes: np.ndarray) -> None:
        self.codes, self.shape = codes, codes.shape[::-1]

    def group(self, number: int) -> np.ndarray:
        codes = self.codes[64 * number : 64 * (number + 1)]
        return np.concatenate([codes, np.zeros((64 - len(codes), codes.shape[1]), np.uint8)])


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_landmarks_with_the_same_labellings(
    kind: str, paired: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    y = Y if not paired else np.concatenate([Y, Y[:1_500]])
    test, null = MMDAgg(landmarks=20), Permutation(79, paired=paired)
    sources = source(X, kind, tmp_path, "x"), source(y, kind, tmp_path, "other")
    streams = row_streams.streamed(*sources)
    assert streams is not None
    there = test._in_parts(streams, np.random.default_rng(7)).discrepancies
    found = there.resampled(null, slice(0, 80), 5)
    labels = BlockwisePermutations.drawn((len(X), len(y)), 79, 5, paired=paired)
    codes = labels.codes(slice(0, len(X) + len(y)), slice(0, 80))
    monkeypatch.setattr(landmark_mmd, "labellings", lambda *_: Fixed(codes))
    samples = (frame(X), frame(y)) if kind == "parquet" else (X, y)
    here = test._in_memory(*samples, np.random.default_rng(7)).discrepancies
    expected = here.resampled(null, slice(0, 80), 5)
    # roots of the smallest eigenvalues of landmarks multiply the rounding of float32 sums by up to 3,000
    np.testing.assert_allclose(found, expected, atol=1e-3 * expected.max())
    there._be_precise()
    here._be_precise()
    found, expected = (d.resampled(null, slice(0, 80), 5) for d in (there, here))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    again = there.resampled(null, slice(64, 80), 5)
    np.testing.assert_allclose(again, found[:, 64:], rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "n", "name"), [("parquet", 2_100, "MMDAgg with"), ("zarr", 600, "MMDAgg was")]
)
def test_default_test_of_samples_beyond_memory(kind: str, n: int, name: str, tmp_path: Path):
    first, second = X[:n], Y[: n - 50] + 0.3  # six to ten standard errors
    x, y = (source(s, kind, tmp_path, n) for s, n in ((first, "x"), (second, "other")))
    result = mercer.two_sample(x, y, resamples=49, rng=0)
    assert result.notes[0].startswith(name)
    assert any("read part by part" in note for note in result.notes)
    assert result.sizes == (n, n - 50)
    assert result.pvalue == 0.02
    asked = mercer.two_sample(x, y, kernel=RBF(1.0), resamples=49, rng=0)
    expected = MMD(RBF(1.0)).statistic(first, second)
    np.testing.assert_allclose(asked.statistic, expected, rtol=TOLERANCE)
    in_memory = mercer.two_sample(x, y, test=Hotelling(), rng=0)
    assert in_memory.pooled.n == n


def test_default_kernel_of_numbers_and_categories(tmp_path: Path):
    import pyarrow.parquet

    codes = RNG.integers(0, 3, size=len(X))
    data = frame(X).assign(b=10 * X[:, 1], group=np.array(["u", "v", "w"])[codes], constant=1.0)
    for name, rows in (("first", slice(0, 3_000)), ("second", slice(3_000, None))):
        pyarrow.parquet.write_table(
            pa.Table.from_pandas(data[rows]), tmp_path / name, row_group_size=700
        )
    places = data[["a", "b", "group", "constant"]].iloc[:3]
    test = ME(locations=places)
    there = test.test(Parquet(tmp_path / "first"), Parquet(tmp_path / "second"))
    here = test.test(data[:3_000], data[3_000:])
    agree(here, there)
    assert str(here.kernel)[:60] == str(there.kernel)[:60]


@pytest.mark.parametrize("kind", ["npy", "parquet"])
@pytest.mark.parametrize("test", [NFSIC(), NFSIC(RBF(2.0), RBF(1.5), ridge=0.01)], ids=repr)
def test_independence(test: Any, kind: str, tmp_path: Path):
    y = np.column_stack([0.03 * X[:, 0] ** 2 + RNG.normal(size=len(X)), RNG.normal(size=len(X))])
    frames = kind == "parquet"
    here = test.test(frame(X) if frames else X, frame(y) if frames else y, rng=1)
    there = test.test(source(X, kind, tmp_path, "x"), source(y, kind, tmp_path, "other"), rng=1)
    agree(here, there)
    assert there.size == len(X)


@pytest.mark.parametrize("kind", ["npy", "dask frame"])
def test_goodness_of_fit(kind: str, tmp_path: Path):
    test = FSSD(Gaussian([0.0, 0.0], 1.05))
    x = frame(X) if kind == "dask frame" else X
    here, there = test.test(x, rng=2), test.test(source(X, kind, tmp_path, "x"), rng=2)
    agree(here, there)
    assert there.size == len(X)
    bounded = FSSD(Uniform([-6.0, -6.0], [6.0, 6.0]), locations=3)
    agree(bounded.test(X, rng=0), bounded.test(source(X, "npy", tmp_path, "x"), rng=0))


def test_what_cannot_be_done_in_one_pass_is_refused(tmp_path: Path):
    x, y = source(X, "npy", tmp_path, "x"), source(Y, "npy", tmp_path, "y")
    with pytest.raises(NoRule, match="Permutation"):
        ME(RBF(1.0), null=Permutation(99)).test(x, y)
    with pytest.raises(ValueError, match="same number of observations, got 6000 and 4500"):
        NFSIC().test(x, y)
    many = np.lib.format.open_memmap(tmp_path / "z.npy", "w+", np.float64, (1_200_000, 1))
    with mercer.config(memory="16MiB"), pytest.raises(MemoryBudgetError, match="use ME"):
        LinearMMD(RBF(1.0)).test(many, many[:100])


def test_narrow_kernels_of_streams_get_a_note(tmp_path: Path):
    result = NFSIC(RBF(0.05), RBF(0.05), locations=2).test(
        source(X, "npy", tmp_path, "x"), source(X, "npy", tmp_path, "y"), rng=0
    )
    assert any("approximate, because only about" in note for note in result.notes)


def test_missing_values_in_a_later_part_are_refused(tmp_path: Path):
    wrong = X.copy()
    wrong[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ME(RBF(1.0)).test(source(wrong, "npy", tmp_path, "x"), Y)


# ---- streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_parts_are_read_by_who_needs_them(kind: str, tmp_path: Path):
    stream = row_streams.stream_of(source(X, kind, tmp_path, "x"))
    assert stream is not None
    assert (len(stream), stream.width) == X.shape
    sent = pickle.dumps(stream.parts[0])
    if kind in ("npy", "parquet", "dataset", "zarr"):
        assert len(sent) < 2_000  # the place of the rows, not the rows
    first = pickle.loads(sent)
    rows = np.concatenate([np.asarray(frame_values(c)) for c in first.chunks(123)])
    np.testing.assert_array_equal(rows, X[: stream.lengths[0]])
    middle = [frame_values(c) for c in stream.between(1_500, 4_003, 250)]
    np.testing.assert_array_equal(np.concatenate(middle), X[1_500:4_003])


def frame_values(chunk: Any) -> np.ndarray:
    if hasattr(chunk, "to_pandas"):
        chunk = chunk.to_pandas()
    return np.asarray(chunk)


def test_views_of_maps_travel_with_their_rows(tmp_path: Path):
    view = source(X, "npy", tmp_path, "x")[100:200]
    stream = row_streams.stream_of(view)
    assert stream is not None
    (part,) = pickle.loads(pickle.dumps(stream.parts))
    np.testing.assert_array_equal(np.concatenate(list(part.chunks(30))), X[100:200])


def test_pairs_of_rows_that_are_cut_differently(tmp_path: Path):
    streams = [
        row_streams.stream_of(source(X, kind, tmp_path, "x")) for kind in ("parquet", "dask array")
    ]
    seen = 0
    for part in row_streams.row_pairs(*streams):  # pyright: ignore[reportArgumentType]
        for first, second in part.chunks(99):
            np.testing.assert_array_equal(frame_values(first), second)
            seen += len(second)
    assert seen == len(X)


def test_small_samples_are_read_into_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(row_streams, "_SHARE_IN_MEMORY", 8)
    x = source(X, "npy", tmp_path, "x")
    assert row_streams.streamed(x) is None
    with mercer.config(memory="16MiB"):
        assert row_streams.streamed(np.asarray(x)) is None
        assert row_streams.streamed(*[x] * 24) is not None  # 2.2 MiB, of 2


def test_rows_drawn_by_hash_depend_on_the_set_of_values_alone():
    copies = np.concatenate([X[:500], X[:200], X[:500]])
    shuffled = RNG.permutation(copies)
    a = drawn_by_hash(iter([copies[:7], copies[7:]]), 20, 3)
    b = drawn_by_hash(iter(np.array_split(shuffled, 9)), 20, 3)
    np.testing.assert_array_equal(a, b)
    assert len(np.unique(a, axis=0)) == 20
    few = np.repeat(X[:4], 1000, axis=0)
    assert len(drawn_by_hash(iter([few]), 20, 3)) == 4


def test_rows_drawn_by_hash_are_uniform():
    values = np.arange(100.0)[:, None]
    draws = np.concatenate([drawn_by_hash(iter([values]), 10, seed) for seed in range(500)])
    counts = np.bincount(draws[:, 0].astype(int), minlength=100)  # 50 each, sd 6.7
    assert 20 < counts.min() <= counts.max() < 85  # 4.5 and 5.2 standard deviations


def test_moments_of_columns_and_of_constant_ones():
    """A sum of rows one by one makes 0.1 vary by 1e-15, more than the rounding of a value."""
    values = np.column_stack([X, np.full(len(X), 0.1)])
    parts = [ColumnMoments.of(part, (False,) * 3) for part in np.array_split(values, 7)]
    moments = reduce(add, parts)
    np.testing.assert_allclose(moments.means, values.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.deviations[:2], X.std(axis=0), rtol=1e-12)
    assert moments.deviations[2] == 0
