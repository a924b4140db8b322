"""HSIC of variables that are read part by part: statistics of variables in memory, and permutations within blocks."""

from __future__ import annotations

import pickle
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom

import mercer
from mercer import row_streams
from mercer.errors import MemoryBudgetError
from mercer.gram import block_shifts
from mercer.gram.block_shifts import block_rows, most_block_rows, strip_rows
from mercer.gram.cluster import batches
from mercer.htest import HSIC, FourierHSIC, Gamma, NystromHSIC, Permutation
from mercer.htest.dependence import streamed_feature_hsic
from mercer.htest.dependence.streamed_hsic import StreamedHSIC
from mercer.htest.dependence.streamed_variables import streamed_variables
from mercer.htest.dependence.sums.cyclic_permutations import CyclicPermutations
from mercer.kernels import RBF, Energy, Laplace, Linear
from mercer.learn import Parquet
from mercer.rkhs import hsic

RNG = np.random.default_rng(0)
X = RNG.normal(size=(203, 2))
Y = np.column_stack([X[:, 0] ** 2, RNG.normal(size=len(X))]) + RNG.normal(size=X.shape)
KERNELS = RBF(1.3), Laplace(2.0)


@pytest.fixture(autouse=True)
def always_in_parts(monkeypatch: pytest.MonkeyPatch):
    """Stream variables however few rows they have, in several chunks and strips."""
    monkeypatch.setattr(row_streams, "_SHARE_IN_MEMORY", 2**50)
    monkeypatch.setattr(row_streams, "_MAX_CHUNK_ROWS", 90)
    monkeypatch.setattr(row_streams, "_MIN_CHUNK_ROWS", 90)
    monkeypatch.setattr(block_shifts, "_STRIP_ROWS", 64)
    monkeypatch.setattr(streamed_feature_hsic, "_STRIP_ROWS", 64)


def mapped(x: np.ndarray, folder: Path, name: str = "x") -> Any:
    np.save(folder / f"{name}.npy", x)
    return np.load(folder / f"{name}.npy", mmap_mode="r")


def evidence_of(x: Any, y: Any, kernels: Any = KERNELS, unbiased: bool = False) -> StreamedHSIC:
    streams = row_streams.streamed(x, y)
    assert streams is not None
    return StreamedHSIC(streamed_variables(kernels, streams), unbiased)


# ---- statistics -----------------------------------------------------------------------------------


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("resamples", [16, 202, 500], ids=["blocks", "one block", "three orders"])
def test_permuted_statistics_are_those_of_these_permutations(
    resamples: int, unbiased: bool, tmp_path: Path
):
    null, seed = Permutation(resamples), 7
    evidence = evidence_of(mapped(X, tmp_path), mapped(Y, tmp_path, "y"), KERNELS, unbiased)
    values = evidence.permuted(null, null.columns, seed)
    assert len(values) == resamples + 1
    orders = CyclicPermutations(len(X), null, seed, block_rows(len(X), resamples + 1, len(X)))
    some = slice(0, 17)
    expected = [hsic(*KERNELS, X, Y[order], unbiased=unbiased) for order in orders.orders(some)]
    assert_allclose(values[some], expected, rtol=1e-10, atol=1e-14)
    assert_allclose(evidence.observed, expected[0], rtol=1e-10)


def test_several_orders_of_blocks_where_memory_is_short(tmp_path: Path):
    null, seed, n = Permutation(99), 3, len(X)
    evidence = evidence_of(mapped(X, tmp_path), mapped(Y, tmp_path, "y"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(block_shifts, "_SHARE", 2**21)  # of 2 GiB: as few rows as there may be
        block = block_rows(n, 100, most_block_rows(4))
        values = evidence.permuted(null, null.columns, seed)
    assert block < 17
    orders = CyclicPermutations(n, null, seed, block).orders(null.columns)
    expected = [hsic(*KERNELS, X, Y[order]) for order in orders]
    assert_allclose(values, expected, rtol=1e-10)


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("kernels", [(None, None), (Energy(), Linear())], ids=repr)
def test_statistics_are_those_in_memory(kernels: Any, unbiased: bool, tmp_path: Path):
    test = HSIC(*kernels, unbiased=unbiased, null=Permutation(19))
    x, y = 1e4 + X, Y - 1e4  # far from the origin, where linear kernels lose digits
    here = test.test(x, y, rng=1)
    sources = mapped(x, tmp_path), mapped(y, tmp_path, "y")
    there = test.test(*sources, rng=1)
    assert_allclose(there.statistic, here.statistic, rtol=1e-9)
    assert_allclose(test.statistic(*sources), here.statistic, rtol=1e-9)
    assert there.size == len(X)
    assert any("read part by part" in note for note in there.notes)


def test_as_many_permutations_as_rows_are_those_in_memory(tmp_path: Path):
    """One block of all rows: all circular shifts of one random order."""
    test = HSIC(*KERNELS, null=Permutation(299))
    x, y = RNG.normal(size=(2, 120, 1))
    here, there = test.test(x, y, rng=4), test.test(mapped(x, tmp_path), y, rng=4)
    assert_allclose(there.null, here.null, rtol=1e-9)
    assert there.pvalue == here.pvalue


def test_columns_with_names_and_categories(tmp_path: Path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frames = (
        pd.DataFrame({"a": X[:, 0], "group": np.where(X[:, 1] > 0, "high", "low")}),
        pd.DataFrame({"b": 100 * Y[:, 0], "c": Y[:, 1]}),
    )
    for name, frame in zip("xy", frames, strict=True):
        frame.to_parquet(tmp_path / name, row_group_size=70)
    test = HSIC(null=Permutation(19))
    there = test.test(Parquet(tmp_path / "x"), Parquet(tmp_path / "y"), rng=0)
    assert_allclose(there.statistic, test.test(*frames, rng=0).statistic, rtol=1e-9)
    assert [v.label for v in there.variables] == ["a, group", "b, c"]


def test_dask_arrays_beside_an_array(tmp_path: Path):
    da = pytest.importorskip("dask.array")
    expected = hsic(*KERNELS, X, Y)
    assert_allclose(HSIC(*KERNELS).statistic(da.from_array(X, (61, 1)), Y), expected, rtol=1e-9)


# ---- features -------------------------------------------------------------------------------------


def in_parts(test: Any, x: Any, y: Any) -> Any:
    """The evidence of a test by features."""
    return test._read(x, y, row_streams.streamed(x, y), np.random.default_rng(1))[0]


@pytest.mark.parametrize("resamples", [16, 202, 500], ids=["blocks", "one block", "three orders"])
@pytest.mark.parametrize(
    "test", [NystromHSIC(*KERNELS, landmarks=9), FourierHSIC(*KERNELS, frequencies=4)]
)
def test_features_in_blocks(test: Any, resamples: int, tmp_path: Path):
    """Statistics from the features of all rows at once, with the same permutations."""
    null, seed = Permutation(resamples), 7
    evidence = in_parts(test, mapped(3 + X, tmp_path), mapped(Y, tmp_path, "y"))
    values = evidence.permuted(null, null.columns, seed)
    assert len(values) == resamples + 1
    both, maps = evidence.both, evidence._maps
    origins = [variable.origin for variable in both.variables]
    z, w = (m(p - o) for m, p, o in zip(maps, (3 + X, Y), origins, strict=True))
    z = z - z.mean(axis=0)
    orders = CyclicPermutations(len(X), null, seed, block_rows(len(X), resamples + 1, len(X)))
    some = slice(0, 17)
    expected = [np.sum((z.T @ w[order]) ** 2) / len(X) ** 2 for order in orders.orders(some)]
    assert_allclose(values[some], expected, rtol=1e-10)
    assert_allclose(evidence.observed, expected[0], rtol=1e-10)


def test_features_of_parts_are_those_in_memory(tmp_path: Path):
    """Frequencies do not depend on the rows, nor do landmarks that are all different values."""
    x, y = mapped(X, tmp_path), mapped(Y, tmp_path, "y")
    fourier = FourierHSIC()
    assert_allclose(fourier.statistic(x, y), fourier.statistic(X, Y), rtol=1e-9)
    few = np.round(X), np.round(Y)
    sources = mapped(few[0], tmp_path, "u"), mapped(few[1], tmp_path, "v")
    everywhere = NystromHSIC(*KERNELS, landmarks=len(X)).statistic(*sources)
    assert_allclose(everywhere, hsic(*KERNELS, *few), rtol=1e-7)  # small eigenvalues are divided by


@pytest.mark.parametrize("kind", [HSIC, NystromHSIC])
def test_a_constant_depends_on_nothing(kind: Any, tmp_path: Path):
    test, constant = kind(*KERNELS, null=Permutation(19)), mapped(np.ones((203, 2)), tmp_path)
    for pair in ((constant, Y), (X, constant)):
        result = test.test(*pair, rng=0)
        assert (result.statistic, result.pvalue) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("n", "name"), [(203, "HSIC was chosen"), (2_003, "NystromHSIC was chosen")]
)
def test_default_test_of_variables_beyond_memory(n: int, name: str, tmp_path: Path):
    x = RNG.normal(size=(n, 2))
    sources = mapped(x, tmp_path), mapped(x[:, :1] ** 2, tmp_path, "y")
    result = mercer.independence(*sources, resamples=59, rng=0)
    assert result.notes[0].startswith(name)
    assert any("read part by part" in note for note in result.notes)
    assert result.size == n
    assert result.pvalue == 1 / 60
    asked = mercer.independence(*sources, kernel=RBF(1.0), resamples=19, rng=0)
    assert_allclose(asked.statistic, hsic(RBF(1.0), RBF(1.0), x, x[:, :1] ** 2), rtol=1e-9)
    in_memory = mercer.independence(*sources, test=HSIC(null=Gamma()), rng=0)
    assert in_memory.rows is None


# ---- p-values ---------------------------------------------------------------------------------------


def test_permutations_are_a_group(tmp_path: Path):
    """Data that were permuted by one of the permutations have the same statistics, in another order."""
    null, seed, n = Permutation(19), 5, 160
    x, y = X[:n], Y[:n]
    first = mapped(x, tmp_path)
    values = evidence_of(first, mapped(y, tmp_path, "y")).permuted(null, null.columns, seed)
    order = CyclicPermutations(n, null, seed, block_rows(n, 20, n)).orders(slice(7, 8))[0]
    moved = evidence_of(first, mapped(y[order], tmp_path, "moved"))
    again = moved.permuted(null, null.columns, seed)
    assert_allclose(again[0], values[7], rtol=1e-10)
    assert_allclose(np.sort(again), np.sort(values), rtol=1e-10)


@pytest.mark.parametrize(("kind", "runs"), [("independent", 80), ("sorted", 80), ("dependent", 20)])
def test_level_and_power(kind: str, runs: int, tmp_path: Path):
    """Rows that are sorted, and so alike within a block, keep the level: their order is drawn."""
    test, n = HSIC(RBF(1.0), RBF(1.0), null=Permutation(19)), 64
    rng, rejections = np.random.default_rng(2), 0
    for run in range(runs):
        x, y = rng.normal(size=(2, n, 1))
        if kind == "sorted":
            x.sort(axis=0)
        if kind == "dependent":
            y = x + y
        rejections += test.test(mapped(x, tmp_path), y, rng=run).rejects()
    low, high = binom.interval(0.9999, runs, 0.05)
    if kind == "dependent":
        assert rejections > 0.9 * runs  # correlation 0.7: 7 standard errors
    else:
        assert low <= rejections <= high


def test_dependence_in_sorted_rows_is_seen(tmp_path: Path):
    """In the order of the file, shifts by a few rows would leave the dependence as it is."""
    x = np.sort(RNG.normal(size=(200, 1)), axis=0)
    result = HSIC(RBF(1.0), RBF(1.0), null=Permutation(19)).test(mapped(x, tmp_path), x**3, rng=0)
    assert result.pvalue == 0.05
    assert np.max(result.null) < result.statistic / 4


def test_rounding_does_not_break_ties(tmp_path: Path):
    """All pairings of a variable of two values in equal shares have one of few statistics."""
    x, y = np.repeat([[0.0], [1.0]], 10, axis=0), np.tile([[0.0], [1.0]], (10, 1))
    result = HSIC(RBF(1.0), RBF(1.0), null=Permutation(39)).test(mapped(x, tmp_path), y, rng=0)
    assert result.pvalue == 1.0  # the observed one is 0, the smallest


# ---- engine -----------------------------------------------------------------------------------------


class _Elsewhere(Executor):
    """Runs work as another process would: what it gets, and what it answers, was pickled."""

    def submit(self, fn: Any, /, *args: Any, **keywords: Any) -> Future[Any]:
        future: Future[Any] = Future()
        call, values = pickle.loads(pickle.dumps((fn, args)))
        future.set_result(pickle.loads(pickle.dumps(call(*values, **keywords))))
        return future


@pytest.mark.parametrize("kind", [HSIC, NystromHSIC, FourierHSIC])
def test_threads_and_other_processes_do_not_change_the_answer(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(batches, "MIN_SECONDS_TO_SEND", 0)
    x, y, test = mapped(X, tmp_path), mapped(Y, tmp_path, "y"), kind(null=Permutation(59))
    with mercer.config(threads=1):
        one = test.test(x, y, rng=0)
    for executor in (ThreadPoolExecutor(2), _Elsewhere()):
        with executor, mercer.config(executor=executor):
            assert_array_equal(test.test(x, y, rng=0).null, one.null)


@pytest.mark.parametrize("n", [4, 57, 1_009, 23_456, 1_234_577])
@pytest.mark.parametrize("shifts", [2, 100, 1_000, 10_000])
@pytest.mark.parametrize("width", [2, 20_000])
def test_blocks_leave_few_rows_and_fit_into_memory(n: int, shifts: int, width: int):
    block = block_rows(n, shifts, most_block_rows(width))
    assert 1 <= block <= n
    assert n % block <= max(n / 100, n // block)
    assert block >= min(shifts, n) or 8 * 2 * (2 * block) ** 2 > 2**29 or width > 2
    assert 2 * 8 * width * block <= 2**29 or block <= 16
    assert strip_rows(block, width) % block == 0


def test_missing_values_in_a_later_part_are_refused(tmp_path: Path):
    wrong = Y.copy()
    wrong[-1, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        HSIC(*KERNELS).test(mapped(X, tmp_path), mapped(wrong, tmp_path, "y"))


def test_samples_of_different_sizes_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match="same number of observations, got 203 and 100"):
        HSIC().test(mapped(X, tmp_path), Y[:100])


@pytest.mark.parametrize("null", [Gamma(), Permutation(99, blocks=["a", "b"] * 600_000)])
def test_nulls_that_need_all_rows_at_once_are_refused_beyond_memory(null: Any):
    da = pytest.importorskip("dask.array")
    x, test = da.zeros((1_200_000, 2)), HSIC(*KERNELS, null=null)
    assert not test.reads_parts
    with mercer.config(memory="16MiB"), pytest.raises(MemoryBudgetError, match="in memory"):
        test.test(x, x)


def test_orders_of_more_rows_than_fit_into_memory_are_refused(tmp_path: Path):
    many = np.lib.format.open_memmap(tmp_path / "z.npy", "w+", np.float64, (100_000, 1))
    for call in (HSIC(*KERNELS).test, HSIC(*KERNELS).statistic):
        with mercer.config(memory="16MiB"), pytest.raises(MemoryBudgetError, match="use NFSIC"):
            call(many, many)


def test_products_of_many_features_are_refused(tmp_path: Path):
    x = np.arange(3_000.0)[:, None]
    with mercer.config(memory="16MiB"), pytest.raises(MemoryBudgetError, match="use fewer"):
        NystromHSIC(landmarks=3_000).test(mapped(x, tmp_path), x)
