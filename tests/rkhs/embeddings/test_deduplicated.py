"""Distributions that are the same, or rest on the same points: the same numbers as one by one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mercer
from mercer.gram import Gram
from mercer.kernels import RBF, Delta, Kernel, Linear
from mercer.rkhs import Bags, Empirical, Gaussian, MeanMap
from mercer.rkhs.embeddings.batch import DistributionBatch
from mercer.rkhs.embeddings.deduplicated import Histograms, Repeated

KERNELS = [MeanMap(RBF(0.8)), RBF(0.5).on(MeanMap(RBF(0.8))), MeanMap(Linear()).normalized()]


@pytest.fixture
def kinds() -> list:
    """Distributions of several kinds, and which of them the rows are."""
    rng = np.random.default_rng(0)
    found = [rng.normal(size=(n, 2)) for n in (3, 8, 1)]
    return [
        *found,
        Gaussian([0.0, 1.0], [1.0, 2.0]),
        Empirical(found[1], rng.dirichlet(np.ones(8))),
    ]


@pytest.fixture
def index() -> np.ndarray:
    return np.random.default_rng(1).integers(0, 5, size=60)


@pytest.fixture
def histograms() -> list[Empirical]:
    rng = np.random.default_rng(2)
    words = rng.normal(size=(12, 3))
    table = rng.dirichlet(np.full(12, 0.3), size=70)
    table[:, 5] = 0
    return [Empirical(words, row / row.sum()) for row in table]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_repeats_are_rows_of_the_matrix_of_all(kernel: Kernel, kinds, index):
    rows = [kinds[i] for i in index]
    assert isinstance(kernel.accept(rows), Repeated)
    once = kernel(kinds)
    assert_allclose(kernel(rows), once[np.ix_(index, index)], rtol=1e-12)
    assert_allclose(kernel(rows, kinds), once[index], rtol=1e-12)
    assert_allclose(kernel(kinds, rows), once[:, index], rtol=1e-12)
    gram = Gram(kernel, rows)
    assert_allclose(gram.diagonal(), np.diagonal(once)[index], rtol=1e-12)
    points = kernel.accept(rows)
    turned = points.taken(np.arange(60)[::-1])
    assert_allclose(kernel.paired(points, turned), once[index, index[::-1]], rtol=1e-12)
    assert_allclose(kernel.paired(points[:5], kernel.accept(kinds)), once[index[:5], range(5)])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_histograms_are_weighted_samples(kernel: Kernel, histograms):
    assert isinstance(kernel.accept(histograms), Histograms)
    bags = Bags.of(histograms)
    assert isinstance(kernel.accept(bags), DistributionBatch)
    slow = kernel(bags)
    assert_allclose(kernel(histograms), slow, rtol=1e-10)
    assert_allclose(kernel(histograms[:9], bags), slow[:9], rtol=1e-10)
    assert_allclose(kernel(bags, histograms[:9]), slow[:, :9], rtol=1e-10)
    assert_allclose(Gram(kernel, histograms).diagonal(), np.diagonal(slow), rtol=1e-10)
    points = kernel.accept(histograms)
    turned = points.taken(np.arange(70)[::-1])
    assert_allclose(kernel.paired(points, turned), np.diagonal(slow[:, ::-1]), rtol=1e-10)


def test_without_weights_all_words_count_the_same():
    words = np.random.default_rng(3).normal(size=(6, 2))
    found = MeanMap(RBF(1.0))([Empirical(words), Empirical(words, np.eye(6)[2])])
    matrix = RBF(1.0)(words)
    assert_allclose(found, [[matrix.mean(), matrix[:, 2].mean()], [matrix[2].mean(), 1.0]])


def test_cached_tiled_and_pickled_are_the_same(kinds, histograms):
    rng = np.random.default_rng(4)
    kernel = RBF(0.5).on(MeanMap(RBF(1.0)))
    many = [kinds[i] for i in rng.integers(0, 5, size=1100)]
    for rows in (many, histograms * 10, [histograms[i] for i in range(70)]):
        v = rng.normal(size=len(rows))
        cached = Gram(kernel, rows)
        with mercer.config(memory="16MiB"):
            tiled = Gram(kernel, rows)
            assert (tiled._cached is None) == (len(rows) > 1000)
            assert_allclose(tiled @ v, cached @ v, rtol=1e-10, atol=1e-10)
        assert_array_equal(pickle.loads(pickle.dumps(cached)) @ v, cached @ v)


def test_words_may_be_objects_or_rows_of_a_frame(histograms):
    pd = pytest.importorskip("pandas")
    labels, table = list("abcdefghijkl"), np.stack([h.weights for h in histograms])
    found = MeanMap(Delta())([Empirical(labels, w) for w in table])
    assert_allclose(found, table @ table.T, rtol=1e-12)
    frame = pd.DataFrame(histograms[0].points, columns=list("xyz"))
    found = MeanMap(RBF(1.0))([Empirical(frame, w) for w in table[:5]])
    assert_allclose(found, MeanMap(RBF(1.0))(histograms[:5]), rtol=1e-12)


def test_a_large_table_is_not_made():
    words = np.arange(900.0)[:, None]
    rows = [Empirical(words) for _ in range(700)]
    assert isinstance(MeanMap(RBF(1.0)).accept(rows), Histograms)
    with mercer.config(memory="16MiB"):  # a quarter of it is less than the table
        assert isinstance(MeanMap(RBF(1.0)).accept(rows), DistributionBatch)


def test_few_repeats_are_left_as_they_are(kinds):
    assert isinstance(MeanMap(RBF(1.0)).accept([*kinds, kinds[0]]), DistributionBatch)


def test_tensors(histograms):
    torch = pytest.importorskip("torch")
    words = torch.asarray(histograms[0].points)
    for rows in ([Empirical(words, h.weights) for h in histograms], [words, words]):
        plain = [Empirical(words.numpy(), getattr(h, "weights", None)) for h in rows]
        found = MeanMap(RBF(1.0))(rows)
        assert isinstance(found, torch.Tensor)
        assert_allclose(found.numpy(), MeanMap(RBF(1.0))(plain), rtol=1e-12)


def test_messages_name_the_first_of_repeats():
    good, bad = np.zeros((2, 2)), np.array([[np.nan, 0.0]])
    with pytest.raises(ValueError, match=r"x\[3\].*NaN"):
        MeanMap(RBF(1.0))([good, good, good, bad, bad, good])
    with pytest.raises(ValueError, match="at least one distribution, got none"):
        MeanMap(RBF(1.0))([])
