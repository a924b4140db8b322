"""Mixed sources are recovered; the Amari index says so; grouping finds what brute force finds."""

from __future__ import annotations

import os
import warnings
from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA, FastICA

from mercer import NotConverged
from mercer.info import mutual_information
from mercer.kernels import RBF, median_bandwidth
from mercer.learn import ISA, amari_index
from mercer.learn.separation.grouping import grouped
from mercer.rkhs import dhsic, hsic

# Whether ICA converges within its rounds depends on rounding, and so on the processor.
pytestmark = pytest.mark.filterwarnings("ignore::mercer.errors.NotConverged")


def sources(n: int, rng: np.random.Generator) -> np.ndarray:
    """A ring, a parabola, and a sphere: dimensions 2, 2 and 3, columns correlated or not."""
    angle, t = rng.uniform(0, 2 * np.pi, n), rng.uniform(-1, 1, n)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    curve = np.stack([t, t**2], axis=1)
    ball = rng.normal(size=(n, 3))
    ball /= np.linalg.norm(ball, axis=1, keepdims=True)
    return np.hstack([ring, curve, ball])


# ---- separation -------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_sources_are_recovered(seed):
    rng = np.random.default_rng(seed)
    s, mixing = sources(4000, rng), rng.normal(size=(7, 7))
    isa = ISA((2, 2, 3), random_state=seed).fit(s @ mixing.T + 5.0)
    found = isa.components_ @ mixing
    assert amari_index(found, (2, 2, 3)) < 0.05
    assert amari_index(np.linalg.qr(rng.normal(size=(7, 7)))[0], (2, 2, 3)) > 0.3  # chance
    assert [len(columns) for columns in isa.subspaces_] == [2, 2, 3]


def test_each_source_is_known_from_its_subspace():
    """Every true source is a linear map of the columns of one subspace."""
    rng = np.random.default_rng(3)
    s, mixing = sources(4000, rng), rng.normal(size=(7, 7))
    isa = ISA((2, 2, 3), random_state=0).fit(s @ mixing.T)
    y = isa.transform(s @ mixing.T)
    for columns in ([0, 1], [2, 3], [4, 5, 6]):
        true = s[:, columns] - s[:, columns].mean(axis=0)
        left = [
            np.sum((true - y[:, g] @ np.linalg.lstsq(y[:, g], true)[0]) ** 2) / np.sum(true**2)
            for g in isa.subspaces_
        ]
        assert min(left) < 0.01
        assert sorted(left)[1] > 0.9


def test_ordinary_ica():
    rng = np.random.default_rng(0)
    s, mixing = rng.uniform(-1, 1, (3000, 4)), rng.normal(size=(4, 4))
    assert amari_index(ISA(1, random_state=0).fit(s @ mixing.T).components_ @ mixing) < 0.05


def test_transforms():
    rng = np.random.default_rng(0)
    x = sources(500, rng) @ rng.normal(size=(7, 7)).T + 3.0
    isa = ISA((3, 2, 2), random_state=0).fit(x)
    y = isa.transform(x)
    assert_allclose(y.mean(axis=0), 0, atol=1e-10)
    assert_allclose(np.cov(y.T, bias=True), np.eye(7), atol=1e-10)
    assert_allclose(isa.inverse_transform(y), x, atol=1e-9)
    assert_array_equal(np.concatenate(isa.subspaces_), np.arange(7))
    assert isa.get_feature_names_out().tolist() == [f"isa{i}" for i in range(7)]


def test_more_columns_than_sources():
    rng = np.random.default_rng(1)
    s, mixing = sources(3000, rng)[:, :4], rng.normal(size=(9, 4))
    x = s @ mixing.T
    isa = ISA((2, 2), random_state=0).fit(x)
    assert isa.components_.shape == (4, 9)
    assert amari_index(isa.components_ @ mixing, 2) < 0.05
    assert_allclose(isa.inverse_transform(isa.transform(x)), x, atol=1e-9)
    assert len(ISA(3, random_state=0).fit(x).subspaces_) == 2  # 3 + 1 of the 4 directions there are


def test_dependence_is_unbiased_hsic():
    rng = np.random.default_rng(0)
    x = sources(400, rng) @ rng.normal(size=(7, 7)).T
    isa = ISA((2, 2, 3), random_state=0).fit(x)
    y = isa.transform(x).T
    for i, j in ((0, 1), (0, 5), (6, 3)):
        kernels = [RBF(median_bandwidth(y[k])) for k in (i, j)]
        expected = hsic(*kernels, y[i], y[j], unbiased=True)
        assert_allclose(isa.dependence_[i, j], expected, atol=1e-5)


def test_components_are_grouped_by_any_measure():
    rng = np.random.default_rng(0)
    s, mixing = sources(1000, rng)[:, :4], rng.normal(size=(4, 4))
    isa = ISA(2, measure=mutual_information, random_state=0).fit(s @ mixing.T)
    assert amari_index(isa.components_ @ mixing, 2) < 0.1
    y = isa.transform(s @ mixing.T).T
    assert_allclose(isa.dependence_[2, 1], mutual_information(y[1], y[2]), rtol=0.01, atol=0.01)
    with pytest.raises(TypeError, match="measure must be a function of two variables"):
        ISA(2, measure="hsic").fit(s)


@pytest.mark.parametrize("measure", [None, lambda x, y: float(abs(np.corrcoef(x**2, y**2)[0, 1]))])
def test_the_objective_is_the_least_of_all_groupings(measure):
    """The sum over pairs of different subspaces, by brute force; no grouping of the components has less."""
    rng = np.random.default_rng(4)
    s, mixing = sources(800, rng)[:, :4], rng.normal(size=(4, 4))
    isa = ISA(2, measure=measure, random_state=0).fit(s @ mixing.T)
    d = isa.dependence_
    values = [
        sum(d[i, j] for i in pair for j in range(4) if j not in pair)
        for pair in ((0, 1), (0, 2), (0, 3))
    ]
    assert_allclose(isa.objective_, values[0], rtol=1e-9, atol=1e-15)
    assert values[0] == min(values)
    assert ISA(4, random_state=0).fit(s).objective_ == 0.0
    # the joint objective J(W) is smaller for the sources than for components in other groups
    y = isa.transform(s @ mixing.T)
    joint = [
        dhsic([RBF(1.0), RBF(1.0)], [y[:, pair], y[:, np.setdiff1d(range(4), pair)]])
        for pair in ([0, 1], [0, 2], [0, 3])
    ]
    assert joint[0] < 0.2 * min(joint[1:])


def test_one_subspace_and_another_ica():
    rng = np.random.default_rng(0)
    s, mixing = sources(2000, rng)[:, :4], rng.normal(size=(4, 4))
    assert len(ISA(9).fit(s @ mixing.T).subspaces_) == 1
    ica = FastICA(fun_args={"alpha": 1.5}, random_state=0)
    other = ISA(2, ica=ica).fit(s @ mixing.T)
    assert amari_index(other.components_ @ mixing, 2) < 0.05
    assert not hasattr(ica, "components_")  # what is handed in stays as it is


def test_seeds():
    rng = np.random.default_rng(0)
    x = sources(2000, rng) @ rng.normal(size=(7, 7)).T
    one, other = (ISA((2, 2, 3), random_state=4).fit(x) for _ in range(2))
    assert_array_equal(one.components_, other.components_)


def test_directions_that_move(monkeypatch):
    """Gaussian sources have no directions; a ring has none inside, which does no harm."""
    rng = np.random.default_rng(0)
    monkeypatch.setattr("mercer.learn.separation.isa._ICA_ROUNDS", 20)  # after 1,000 chance decides
    with pytest.warns(NotConverged, match="still changed after 20 iterations"):
        ISA(1, random_state=0).fit(rng.normal(size=(500, 10)))
    monkeypatch.undo()
    s, mixing = sources(1500, rng)[:, [0, 1, 4, 5, 6]], rng.normal(size=(5, 5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ISA((2, 3), random_state=0).fit(s @ mixing.T)


@pytest.mark.skipif(not os.environ.get("MERCER_DATA"), reason="MERCER_DATA names no folder")
@pytest.mark.parametrize(
    ("letters", "n"),
    [(6, 2000), (26, 5000), pytest.param(50, 20_000, marks=pytest.mark.slow)],
)
def test_letters(letters, n):
    """Sources that are uniform on letters, mixed at random: the Amari index is below 5%."""
    from mercer.datasets import fetch_letters

    rng = np.random.default_rng(0)
    pictures = rng.permutation(fetch_letters().images)[:letters]
    parts = [np.argwhere(picture) for picture in pictures]
    s = np.hstack([p[rng.integers(len(p), size=n)] + rng.uniform(size=(n, 2)) for p in parts])
    mixing = rng.normal(size=(2 * letters, 2 * letters))
    isa = ISA(2, random_state=0).fit(s / s.std(axis=0) @ mixing.T)
    assert amari_index(isa.components_ @ mixing, 2) < 0.05


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((2, 6), "sizes add up to 8, but X has only 7"),
        ((), "sizes must name at least one"),
        ((2, 0), "sizes must be a whole number of at least 1"),
        (2.0, "sizes must be a whole number"),
        ("22", "sizes must be a whole number"),
    ],
)
def test_wrong_sizes(sizes, message):
    x = sources(50, np.random.default_rng(0))
    with pytest.raises((ValueError, TypeError), match=message):
        ISA(sizes).fit(x)


def test_what_cannot_be_done():
    x = sources(50, np.random.default_rng(0))
    with pytest.raises(ValueError, match="X must vary"):
        ISA().fit(np.ones((9, 2)))
    with pytest.raises(ValueError, match="ica must find 7 components"):
        ISA(ica=PCA(2)).fit(x)
    with pytest.raises(ValueError, match="X must have 7 columns"):
        ISA(random_state=0).fit(x).inverse_transform(x[:, :3])


# ---- the Amari index --------------------------------------------------------------------------


def by_loops(g: np.ndarray, sizes: list[int]) -> float:
    """The formula, entry by entry."""
    ends = np.cumsum([0, *sizes])
    m = len(sizes)
    blocks = np.array(
        [
            [
                np.linalg.norm(g[ends[i] : ends[i + 1], ends[j] : ends[j + 1]])
                / (sizes[i] * sizes[j])
                for j in range(m)
            ]
            for i in range(m)
        ]
    )
    total = sum(sum(row) / max(row) - 1 for row in [*blocks, *blocks.T])
    return total / (2 * m * (m - 1))


@pytest.mark.parametrize("sizes", [[1] * 6, [2, 2, 2], [3, 3], [1, 2, 3]], ids=str)
def test_amari_index(sizes):
    rng = np.random.default_rng(0)
    g = rng.normal(size=(6, 6))
    value = amari_index(g, sizes)
    assert_allclose(value, by_loops(g, sizes))
    assert 0 < value < 1
    assert_allclose(amari_index(1e-200 * g, sizes), value)
    assert_allclose(amari_index(g.T, sizes), value)
    inside = [np.linalg.qr(rng.normal(size=(d, d)))[0] for d in sizes]
    turned = np.zeros((6, 6))
    for start, part in zip(np.cumsum([0, *sizes[:-1]]), inside, strict=True):
        span = slice(start, start + len(part))
        turned[span, span] = part
    assert_allclose(amari_index(turned @ g @ turned.T, sizes), value)  # rotations do no harm
    assert_allclose(amari_index(turned, sizes), 0, atol=1e-12)


def test_amari_index_of_permutations_and_the_worst():
    blocks = np.eye(3)[[2, 0, 1]]
    assert amari_index(np.kron(blocks, np.ones((2, 2))), 2) == 0
    assert amari_index(np.kron(np.ones((3, 3)), [[1.0, -2.0], [0.5, 3.0]]), 2) == pytest.approx(1)
    assert amari_index(np.ones((4, 4)), 4) == 0  # one subspace cannot be wrong


@pytest.mark.parametrize(
    ("matrix", "sizes", "message"),
    [
        (np.ones((2, 3)), 1, "matrix must be square"),
        (np.ones((4, 4)), [1, 2], "sizes must add up to the 4 rows"),
        (np.zeros((4, 4)), 2, "rows or columns of zeros"),
        (np.full((2, 2), np.nan), 1, "matrix has NaN"),
    ],
)
def test_wrong_matrices(matrix, sizes, message):
    with pytest.raises(ValueError, match=message):
        amari_index(matrix, sizes)


# ---- grouping ---------------------------------------------------------------------------------


def inside(d: np.ndarray, groups: list[np.ndarray]) -> float:
    return sum(d[np.ix_(g, g)].sum() for g in groups)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (3, 3), (1, 2, 3), (4, 1, 1)], ids=str)
@pytest.mark.parametrize("seed", range(5))
def test_grouping_is_as_good_as_brute_force(sizes, seed):
    rng = np.random.default_rng(seed)
    d = rng.normal(size=(6, 6)) ** 2
    d += d.T
    found = grouped(d, sizes, rng=rng)
    assert [len(g) for g in found] == list(sizes)
    assert sorted(np.concatenate(found)) == list(range(6))
    ends = np.cumsum(sizes)[:-1]
    best = max(inside(d, np.split(np.array(p), ends)) for p in permutations(range(6)))
    assert inside(d, found) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(3))
def test_grouping_finds_blocks(seed):
    """Blocks of dependence among noise, hidden by a permutation."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(np.arange(20), 3))
    d = 0.3 * rng.uniform(size=(60, 60)) + (labels[:, None] == labels)
    found = grouped(d + d.T, (3,) * 20, rng=rng)
    assert all(len(set(labels[g])) == 1 for g in found)


def test_grouping_leaves_its_argument_alone():
    d = np.ones((4, 4))
    grouped(d, (2, 2), rng=np.random.default_rng(0))
    assert_array_equal(d, 1)
