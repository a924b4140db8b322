"""Kernels on series equal their definitions, compiled and in NumPy."""

from __future__ import annotations

from functools import cache
from itertools import pairwise, product
from math import exp, log

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    RBF,
    CyclicShift,
    DynamicTimeWarping,
    GlobalAlignment,
    Linear,
    Series,
    Signature,
    SoftDTW,
    facts,
)
from mercer.kernels.base import Kernel
from mercer.kernels.series import alignment_engine, goursat_loops


def walks(seed, lengths, channels=2, scale=0.5):
    rng = np.random.default_rng(seed)
    return [scale * np.cumsum(rng.normal(size=(n, channels)), axis=0) for n in lengths]


LENGTHS = (1, 2, 3, 5, 8, 4, 7, 1, 6, 9)
X, Y = walks(0, LENGTHS), walks(1, LENGTHS[::-1])


@pytest.fixture(params=["compiled", "NumPy"])
def engine(request, monkeypatch):
    """Both roads: every loop compiled, or none."""
    if request.param == "compiled":
        pytest.importorskip("numba")
        monkeypatch.setattr(alignment_engine, "_MIN_CELLS", 0)
    else:
        monkeypatch.setattr(alignment_engine, "has_compiler", lambda: False)
        monkeypatch.setattr(goursat_loops, "has_compiler", lambda: False)
    return request.param


def alignments(n, m):
    """All alignments of series of lengths n and m, as lists of cells."""

    @cache
    def to(i, j):
        if i < 0 or j < 0:
            return []
        if i == j == 0:
            return [((0, 0),)]
        before = [*to(i - 1, j), *to(i, j - 1), *to(i - 1, j - 1)]
        return [(*path, (i, j)) for path in before]

    return to(n - 1, m - 1)


def over_alignments(x, y, local, gather):
    values = [[local(a, b, i - j) for j, b in enumerate(y)] for i, a in enumerate(x)]
    return gather([[values[i][j] for i, j in path] for path in alignments(len(x), len(y))])


def products(terms):
    return sum(np.prod(path) for path in terms)


def alignment(s, width=None):
    def local(a, b, gap):
        weight = 1 if width is None else max(0, 1 - abs(gap) / width)
        k = weight * exp(-np.sum((a - b) ** 2) / (2 * s * s))
        return k / (2 - k)

    return lambda x, y: over_alignments(x, y, local, products)


def soft(gamma):
    return lambda x, y: over_alignments(
        x, y, lambda a, b, gap: exp(-np.sum((a - b) ** 2) / gamma), products
    )


def warping(s, window=99):
    def local(a, b, gap):
        return np.sum((a - b) ** 2) if abs(gap) <= window else np.inf

    def least(terms):
        return exp(-min(sum(path) for path in terms) / (2 * s * s))

    return lambda x, y: over_alignments(x, y, local, least)


@pytest.mark.parametrize(
    ("kernel", "naive"),
    [
        (GlobalAlignment(0.7), alignment(0.7)),
        (GlobalAlignment(0.7, triangular=3), alignment(0.7, 3)),
        (GlobalAlignment(0.7, triangular=1), alignment(0.7, 1)),
        (SoftDTW(0.3), soft(0.3)),
        (DynamicTimeWarping(0.7), warping(0.7)),
        (DynamicTimeWarping(0.7, window=1), warping(0.7, 1)),
        (DynamicTimeWarping(0.7, window=0), warping(0.7, 0)),
    ],
    ids=lambda case: repr(case) if isinstance(case, Kernel) else "naive",
)
def test_alignment_kernels_enumerate_alignments(kernel, naive, engine):
    short = [series for series in X if len(series) < 7]
    expected = np.array([[naive(x, y) for y in Y if len(y) < 7] for x in short])
    assert_allclose(kernel(short, [y for y in Y if len(y) < 7]), expected, rtol=1e-12)
    assert_allclose(kernel(X)[np.ix_(range(3), range(3))], kernel(X[:3]), rtol=1e-13)


def logs_of_alignment(x, y, s):
    """The recursion in logarithms of extended precision."""
    wide = np.longdouble
    table = np.full((len(x) + 1, len(y) + 1), -np.inf, dtype=wide)
    table[0, 0] = 0
    for i, j in product(range(len(x)), range(len(y))):
        r = wide(np.sum((x[i] - y[j]) ** 2)) / (2 * s * s)
        before = np.logaddexp(np.logaddexp(table[i, j], table[i, j + 1]), table[i + 1, j])
        table[i + 1, j + 1] = before - r - np.log(2 - np.exp(-r))
    return table[-1, -1]


@pytest.mark.parametrize("bandwidth", [0.02, 1.0, 30.0])
def test_long_series_neither_overflow_nor_underflow(bandwidth):
    """Values from e^-100,000 to e^+200 and beyond, which the normalised kernel never forms."""
    x = walks(3, (80, 60), scale=1.0)
    kernel = GlobalAlignment(bandwidth)
    points = kernel.accept(x)
    logs = kernel.log_pairwise(points, points)
    expected = [[float(logs_of_alignment(a, b, bandwidth)) for b in x] for a in x]
    assert_allclose(logs, expected, rtol=1e-13, atol=1e-12)
    normalized = kernel.normalized()(x)
    assert_allclose(np.diag(normalized), 1.0, rtol=1e-13)
    assert np.all(normalized <= 1 + 1e-12)


def test_length_1000():
    x = np.random.default_rng(0).normal(size=(3, 1000, 1))
    values = GlobalAlignment(20.0).normalized()(x)
    assert np.linalg.eigvalsh(values)[0] > 0
    assert 0.3 < values[0, 1] < 0.9
    with pytest.raises(ValueError, match=r"use \.normalized\(\)"):
        GlobalAlignment(20.0)(x)


def test_dynamic_time_warping_is_not_positive_definite():
    """What `facts` says has a witness."""
    rng = np.random.default_rng(2)
    x = [rng.integers(0, 2, size=n).astype(float) for n in rng.integers(2, 7, size=40)]
    assert np.linalg.eigvalsh(DynamicTimeWarping(1.0)(x))[0] < -0.1
    assert np.linalg.eigvalsh(GlobalAlignment(1.0).normalized()(x))[0] > -1e-12


# ---- signatures -----------------------------------------------------------------------------------


def tensors(points, level):
    """Iterated integrals of a piecewise linear path: products of exp(dx), as full tensors."""
    sums = [np.array(1.0)] + [np.zeros((points.shape[1],) * m) for m in range(1, level + 1)]
    for dx in np.diff(points, axis=0):
        powers = [np.array(1.0)]
        for m in range(1, level + 1):
            powers.append(np.multiply.outer(powers[-1], dx) / m)
        sums = [
            sum(np.multiply.outer(sums[k], powers[m - k]) for k in range(m + 1))
            for m in range(level + 1)
        ]
    return sums


def inner(x, y, level):
    return sum(np.sum(a * b) for a, b in zip(tensors(x, level), tensors(y, level), strict=True))


def test_signature_up_to_a_level():
    """Explicit features, dynamic programming on increments and full tensors agree."""
    expected = np.array([[inner(x, y, 4) for y in Y] for x in X])
    size = np.sqrt(np.outer([inner(x, x, 4) for x in X], [inner(y, y, 4) for y in Y]))
    assert_allclose(Signature(4)(X, Y) / size, expected / size, atol=1e-13)
    assert_allclose(Signature(4, base=Linear())(X, Y) / size, expected / size, atol=1e-12)
    features = Signature(2).features(X)
    assert_allclose(features[5, 3:], tensors(X[5], 2)[2].ravel(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [0.02, 0.6])
def test_untruncated_signature(scale, engine):
    """High levels of the truncated one, where steps are small; the tensors decay as 1 / m!."""
    x, y = walks(5, (1, 4, 3), scale=scale), walks(6, (2, 3, 1), scale=scale)
    kernel, high = Signature(None), Signature(18, base=Linear())
    size = np.sqrt(np.outer(np.diag(high(x)), np.diag(high(y))))
    assert_allclose(kernel(x, y) / size, high(x, y) / size, atol=1e-12)
    lifted = Signature(None, base=RBF(2.0)), Signature(14, base=RBF(2.0))
    assert_allclose(lifted[0](x, y), lifted[1](x, y), rtol=1e-11, atol=1e-11)


def test_signatures_do_not_see_speed():
    """Inserted and repeated points, and a shift of all of them, change nothing; a reversed path does."""
    slow = [np.concatenate([x[:1], *(np.linspace(a, b, 5)[1:] for a, b in pairwise(x))]) for x in X]
    for kernel in (Signature(3), Signature(None), Signature(3, base=Linear())):
        values = kernel(X)
        size = np.sqrt(np.outer(np.diag(values), np.diag(values)))
        assert_allclose(kernel(slow, X) / size, values / size, atol=1e-11)
        assert_allclose(kernel([s + 5.0 for s in slow], X) / size, values / size, atol=1e-10)
        assert abs(kernel([X[4]], [X[4][::-1]])[0, 0] / kernel([X[4]])[0, 0] - 1) > 0.1


def test_one_step_is_a_bessel_function():
    """<S, S> of a line of length h is sum h^(2m) / m!^2 = I_0(2 h): long steps are cut, short ones exact."""
    from scipy.special import i0

    lengths = np.array([1e-3, 0.1, 1.0, 2.9, 10.0, 150.0])
    values = [Signature(None)([[[0.0], [h]]])[0, 0] for h in lengths]
    assert_allclose(values, i0(2 * lengths), rtol=1e-12)


def test_cyclic_shifts():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 6, 2)), rng.normal(size=(3, 6, 2))
    kernel = CyclicShift(RBF(2.0))
    expected = [
        [np.mean([exp(-np.sum((a - np.roll(b, s, axis=0)) ** 2) / 8) for s in range(6)]) for b in y]
        for a in x
    ]
    assert_allclose(kernel(x, y), expected, rtol=1e-12)
    assert_allclose(kernel(np.roll(x, 2, axis=1), y), expected, rtol=1e-12)
    with pytest.raises(TypeError, match="base must be a function of distances"):
        CyclicShift(RBF(1.0).scaled([1.0, 2.0]))
    with pytest.raises(ValueError, match="of one length"):
        kernel(x, y[:, :4])


# ---- the container --------------------------------------------------------------------------------


def test_layouts():
    """Lists, arrays with time first, channels first, and padding are the same series."""
    rng = np.random.default_rng(0)
    grid = rng.normal(size=(4, 7, 3))
    series = Series.of(grid)
    assert series == Series.of(list(grid)) == Series.from_channels_first(grid.transpose(0, 2, 1))
    assert series == Series.from_channels_first([g.T for g in grid])
    padded = grid.copy()
    padded[1, 4:] = np.nan
    ragged = Series.from_padded(padded)
    assert ragged.lengths.tolist() == [7, 4, 7, 7]
    assert ragged == Series.of([grid[0], grid[1, :4], *grid[2:]])
    assert Series.of(grid[:, :, 0]) == Series.of(grid[:, :, :1])  # (n, T): one channel
    assert_allclose(GlobalAlignment(1.0)(ragged), GlobalAlignment(1.0)(list(ragged)))
    assert_allclose(series[1:3][0], grid[1])
    assert series[[3, 0]] == Series.of(grid[[3, 0]])
    with pytest.raises(ValueError, match=r"series 1 of x has NaN.*Series\.from_padded"):
        Series.of(padded)
    with pytest.raises(ValueError, match="same number of channels"):
        GlobalAlignment(1.0)(grid, grid[:, :, :2])
    with pytest.raises(ValueError, match="series 2 of x is empty"):
        Series.of([grid[0], grid[1], np.zeros((0, 3))])


def test_long_table():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"id": list("babab"), "t": [2, 1, 1, 0, 3], "u": [1.0, 2, 3, 4, 5], "v": 0.0}
    )
    series = Series.from_frame(frame, "id", "t")
    assert [s[:, 0].tolist() for s in series] == [[3, 1, 5], [4, 2]]
    assert Series.from_frame(frame.drop(columns="t"), "id")[0][:, 0].tolist() == [1, 3, 5]
    with pytest.raises(ValueError, match="no column 'time'"):
        Series.from_frame(frame, "id", "time")


def test_peer():
    """tslearn's kernel is the same, normalised, with Gaussians of the same bandwidth."""
    metrics = pytest.importorskip("tslearn.metrics")
    expected = [[metrics.gak(x, y, sigma=0.7) for y in Y] for x in X]
    assert_allclose(GlobalAlignment(0.7).normalized()(X, Y), expected, rtol=1e-10)
    assert_allclose(
        -2 * log(DynamicTimeWarping(1.0)(X[4:5], Y[4:5])[0, 0]), metrics.dtw(X[4], Y[4]) ** 2
    )


@pytest.mark.parametrize("gamma", [0.5, 8.0])
def test_soft_warping_is_not_definite(gamma):
    """Normalised, the matrix of 120 short series has an eigenvalue of -5e-4, far beyond rounding."""
    values = np.sqrt(gamma / 50) * np.arange(3)
    series = [np.array(s) for size in (1, 2, 3, 4) for s in product(values, repeat=size)]
    matrix = SoftDTW(gamma).normalized()(series)
    assert np.linalg.eigvalsh(matrix)[0] < -1e-4
    assert facts(SoftDTW(gamma)).positive_definite is False
