"""Mercer expansions against eigenpairs that are known, and against their defining equations."""

from math import factorial

import numpy as np
import pytest
from numpy.polynomial.hermite import hermval
from numpy.testing import assert_allclose

from mercer.kernels import RBF, Brownian, Kernel, Laplace, Linear, Polynomial
from mercer.rkhs import Quadrature, mercer_expansion
from tests.support.letters import Letters

GRID = np.linspace(0, 1, 21)


def up_to_sign(got, want):
    return got * np.sign(np.sum(got * want, axis=0))


def hermite_eigenpairs(x, bandwidth, std, rank):
    """Of the Gaussian kernel under N(0, std^2): Rasmussen & Williams 2006, eqs. 4.39 and 4.40."""
    a, b = 1 / (4 * std**2), 1 / (2 * bandwidth**2)
    c = np.sqrt(a**2 + 2 * a * b)
    j = np.arange(rank)
    values = np.sqrt(2 * a / (a + b + c)) * (b / (a + b + c)) ** j
    bell = np.exp(-(c - a) * x**2) * (c / a) ** 0.25
    functions = [
        bell * hermval(np.sqrt(2 * c) * x, np.eye(rank)[k]) / np.sqrt(2.0**k * factorial(k))
        for k in j
    ]
    return values, np.stack(functions, axis=1)


# ---- known eigenpairs ---------------------------------------------------------------------


def test_brownian_motion():
    rank = 6
    expansion = mercer_expansion(Brownian(), Quadrature.legendre(0, 1, 400), rank)
    frequency = (np.arange(rank) + 0.5) * np.pi
    assert_allclose(expansion.eigenvalues, 1 / frequency**2, rtol=5e-4)  # a kink: order n^-2
    want = np.sqrt(2) * np.sin(GRID[:, None] * frequency)
    assert_allclose(expansion.eigenfunctions(GRID), want, atol=1e-3)  # signs: positive integrals
    assert_allclose(expansion.trace, 0.5, rtol=1e-12)  # the integral of t
    assert_allclose(expansion.tail, 0.5 - np.sum(1 / frequency**2), rtol=1e-3)


@pytest.mark.parametrize(("bandwidth", "std"), [(1.0, 1.0), (0.5, 2.0), (2.0, 0.7)])
def test_gaussian_kernel_under_a_gaussian(bandwidth, std):
    rank, x = 6, np.linspace(-2 * std, 2 * std, 25)
    values, functions = hermite_eigenpairs(x, bandwidth, std, rank)
    expansion = mercer_expansion(RBF(bandwidth), Quadrature.hermite(0, std, 500), rank)
    assert_allclose(expansion.eigenvalues, values, rtol=1e-8)
    got = expansion.eigenfunctions(x)
    assert_allclose(up_to_sign(got, functions), functions, atol=1e-6)
    assert_allclose(expansion.trace, 1, rtol=1e-12)


def test_gaussian_kernel_under_a_product():
    # eigenvalues of a product are products of eigenvalues
    rank, axis = 8, Quadrature.hermite(1.0, 0.8, 24)
    one = mercer_expansion(RBF(1.1), axis, 8).eigenvalues
    plane = mercer_expansion(RBF(1.1), Quadrature.tensor(axis, axis), rank)
    want = np.sort(np.outer(one, one).ravel())[::-1][:rank]
    assert_allclose(plane.eigenvalues, want, rtol=1e-9)
    assert_allclose(one[:4], hermite_eigenpairs(GRID, 1.1, 0.8, 4)[0], rtol=1e-7)


def test_a_sample_approaches_its_distribution():
    rng = np.random.default_rng(0)
    values, _ = hermite_eigenpairs(GRID, 1.0, 1.0, 4)
    x = rng.normal(size=3000)
    expansion = mercer_expansion(RBF(1.0), x, 4)
    assert_allclose(expansion.eigenvalues, values, atol=5 / np.sqrt(3000) * values[0])
    at = np.linspace(-1.5, 1.5, 9)
    want = hermite_eigenpairs(at, 1.0, 1.0, 2)[1]
    assert_allclose(up_to_sign(expansion.eigenfunctions(at)[:, :2], want), want, atol=0.15)


# ---- defining equations -------------------------------------------------------------------

CASES = [
    (RBF(0.4), Quadrature.legendre(-1, 2, 60), 8),
    (Laplace(1.0), Quadrature.legendre(0, 1, 40, panels=3), 10),
    (Brownian(), Quadrature.legendre(0, 1, 50).normalized(), 7),
    (RBF(1.0), Quadrature.tensor(Quadrature.hermite(0, 1, 12), Quadrature.legendre(0, 1, 9)), 9),
    (Polynomial(2), np.random.default_rng(1).normal(size=(50, 2)), 6),
    (Laplace(2.0), np.random.default_rng(2).normal(size=(70, 3)), 12),
]


@pytest.mark.parametrize(("kernel", "measure", "rank"), CASES)
def test_laws(kernel, measure, rank):
    if not isinstance(measure, Quadrature):
        nodes, weights = measure, np.full(len(measure), 1 / len(measure))
    else:
        nodes, weights = measure.nodes, measure.weights
    expansion = mercer_expansion(kernel, measure, rank)
    values, phi = expansion.eigenvalues, expansion.eigenfunctions(nodes)
    assert np.all(np.diff(values) <= 1e-12)
    assert np.all(values > 0)
    # orthonormal in L2 of the measure, and sqrt(lambda) phi in the RKHS
    assert_allclose(phi.T @ (weights[:, None] * phi), np.eye(rank), atol=1e-8)
    norms = np.sqrt(values)
    inner = expansion.eigenfunctions.inner(expansion.eigenfunctions) * np.outer(norms, norms)
    assert_allclose(inner, np.eye(rank), atol=1e-8)
    # T phi = lambda phi, away from the nodes too
    x = nodes[:5] * 0.9 + 0.05
    assert_allclose(
        kernel(x, nodes) @ (weights[:, None] * phi), expansion.eigenfunctions(x) * values, atol=1e-9
    )
    # all eigenvalues add up to the trace; those left out to the tail
    scaled = np.sqrt(weights)[:, None] * kernel(nodes) * np.sqrt(weights)
    every = np.linalg.eigvalsh(scaled)[::-1]
    assert_allclose(values, every[:rank], rtol=1e-8)
    assert_allclose(expansion.trace, np.sum(every), rtol=1e-10)
    assert_allclose(expansion.tail, np.sum(every[rank:]), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("kernel", "measure", "rank"), CASES)
def test_features_give_the_truncated_kernel(kernel, measure, rank):
    nodes = measure.nodes if isinstance(measure, Quadrature) else measure
    expansion = mercer_expansion(kernel, measure, rank)
    x, y = nodes[:20] * 0.9 + 0.05, nodes[-10:]
    f = expansion.features(x)
    assert f.shape == (20, rank)
    assert_allclose(expansion.kernel(x), f @ f.T, atol=1e-10)
    assert_allclose(expansion.kernel(x, y), f @ expansion.features(y).T, atol=1e-10)
    rest = kernel(nodes) - expansion.kernel(nodes)  # what was left out is a kernel as well
    assert np.linalg.eigvalsh(rest)[0] > -1e-7
    assert isinstance(expansion.kernel, Kernel)


def test_all_terms_give_the_kernel():
    x = np.random.default_rng(3).normal(size=(30, 2))
    expansion = mercer_expansion(Laplace(1.0), x, 30)
    assert_allclose(expansion.kernel(x), Laplace(1.0)(x), atol=1e-10)
    assert expansion.tail < 1e-12
    smooth = mercer_expansion(RBF(1.0), Quadrature.legendre(0, 1, 40), 8)
    assert_allclose(smooth.kernel(GRID), RBF(1.0)(GRID), atol=1e-7)


def test_a_finite_kernel_has_finitely_many_terms():
    x = np.random.default_rng(4).normal(size=(50, 3))
    values = mercer_expansion(Linear(), x, 3).eigenvalues
    assert_allclose(values, np.linalg.eigvalsh(x.T @ x / 50)[::-1], rtol=1e-10)
    with pytest.raises(ValueError, match="only 3 eigenvalues .* use a rank of at most 3"):
        mercer_expansion(Linear(), x, 4)


# ---- points of every kind -----------------------------------------------------------------


def test_torch_and_float32():
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(5).normal(size=(40, 2))
    want = mercer_expansion(RBF(1.0), x, 5)
    got = mercer_expansion(RBF(1.0), torch.tensor(x), 5)
    assert_allclose(got.eigenvalues.numpy(), want.eigenvalues, rtol=1e-10)
    assert_allclose(got.features(torch.tensor(x)).numpy(), want.features(x), atol=1e-8)
    rule = Quadrature(torch.tensor(x), torch.full((40,), 1 / 40, dtype=torch.float64))
    same = mercer_expansion(RBF(1.0), rule, 5)
    assert_allclose(same.eigenvalues.numpy(), want.eigenvalues, rtol=1e-10)
    single = mercer_expansion(RBF(1.0), x.astype(np.float32), 5)
    assert single.features(x.astype(np.float32)).dtype == np.float32
    assert_allclose(single.eigenvalues, want.eigenvalues, rtol=1e-4)


def test_frames_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    x = np.random.default_rng(6).normal(size=(30, 2))
    frame = pd.DataFrame(x, columns=["a", "b"])
    got = mercer_expansion(RBF(1.0).select("b"), frame, 3)
    want = mercer_expansion(RBF(1.0), x[:, 1], 3)
    assert_allclose(got.eigenvalues, want.eigenvalues, rtol=1e-10)
    assert_allclose(got.features(frame[["b", "a"]]), want.features(x[:, 1]), atol=1e-8)


def test_words():
    words = ["ab", "bc", "abc", "d", "cd"]
    expansion = mercer_expansion(Letters(), words, 4)
    f = expansion.features(words)
    assert_allclose(f @ f.T, Letters()(words), atol=1e-10)  # four letters, four features


def test_refusals_say_what_was_needed():
    x = np.arange(5.0)
    with pytest.raises(ValueError, match="rank must be at most 5, the number of points, got 6"):
        mercer_expansion(Laplace(1.0), x, 6)
    with pytest.raises(ValueError, match="rank must be a whole number of at least 1"):
        mercer_expansion(Laplace(1.0), x, 0)
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        mercer_expansion("rbf", x, 2)
    with pytest.raises(ValueError, match="above rounding error, got rank 40"):
        mercer_expansion(RBF(1.0), Quadrature.legendre(0, 1, 60), 40)
    text = repr(mercer_expansion(Laplace(1.0), x, 2))
    assert text.startswith("MercerExpansion(Laplace(bandwidth=1.0), rank 2, ")
