"""Orthonormality, completeness, order and refusals of the bases of L2."""

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.rkhs import (
    CosineBasis,
    FourierBasis,
    HaarBasis,
    LegendreBasis,
    Quadrature,
    TensorBasis,
)

FAMILIES = [FourierBasis, CosineBasis, LegendreBasis, HaarBasis]
BASES = [family(*box) for family in FAMILIES for box in [(), (-2.0, 3.5)]] + [
    TensorBasis(FourierBasis(), HaarBasis(0, 2)),
    TensorBasis(CosineBasis(-1, 1), LegendreBasis(), FourierBasis(1, 4)),
    TensorBasis(TensorBasis(CosineBasis(), CosineBasis()), LegendreBasis()),
]
SIZES = [1, 2, 3, 17]


def inside(basis, n, seed=0):
    low, high = np.array(basis.box).T
    return low + (high - low) * np.random.default_rng(seed).uniform(size=(n, len(basis.box)))


@pytest.mark.parametrize("basis", BASES, ids=repr)
@pytest.mark.parametrize("n", SIZES)
def test_the_functions_are_orthonormal(basis, n):
    rule = basis.quadrature(n)
    values = basis(rule.nodes, n)
    assert_allclose(values.T @ (rule.weights[:, None] * values), np.eye(n), atol=1e-12)


@pytest.mark.parametrize("basis", [family(-2.0, 3.5) for family in FAMILIES], ids=repr)
def test_the_functions_are_orthonormal_by_an_unrelated_rule(basis):
    # midpoints on a dyadic grid: exact for Haar, spectral for Fourier, second order for the rest
    m, n = 2**15, 12
    x = -2 + 5.5 * (np.arange(m) + 0.5) / m
    values = basis(x, n)
    assert_allclose(values.T @ values * 5.5 / m, np.eye(n), atol=1e-6)


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_more_functions_keep_the_first_ones(basis):
    x = inside(basis, 20)
    assert_allclose(basis(x, 23)[:, :9], basis(x, 9), rtol=1e-15)


@pytest.mark.parametrize("basis", BASES, ids=repr)
def test_frequencies_start_at_zero_and_do_not_fall(basis):
    frequencies = basis.frequencies(40)
    assert frequencies.shape == (40,)
    assert frequencies[0] == 0
    assert np.all(np.diff(frequencies) >= -1e-12 * frequencies[1:])


@pytest.mark.parametrize(
    ("family", "jth"),
    [
        (CosineBasis, lambda t, j: np.sqrt(2) * np.cos(np.pi * j * t)),
        (
            FourierBasis,
            lambda t, j: np.sqrt(2) * [np.sin, np.cos][j % 2](2 * np.pi * ((j + 1) // 2) * t),
        ),
    ],
)
def test_trigonometric_functions_by_their_formula(family, jth):
    x = inside(family(1, 3), 50)[:, 0]
    got = family(1, 3)(x, 8)
    assert_allclose(got[:, 0], 1 / np.sqrt(2), rtol=1e-15)
    for j in range(1, 8):
        assert_allclose(got[:, j], jth((x - 1) / 2, j) / np.sqrt(2), atol=1e-13)


def test_legendre_polynomials_are_numpys():
    x = np.linspace(-1, 1, 31)
    got = LegendreBasis(-1, 1)(x, 30)
    for j in range(30):
        want = np.sqrt(j + 0.5) * np.polynomial.Legendre.basis(j)(x)
        assert_allclose(got[:, j], want, atol=1e-13)


def test_haar_functions_by_their_definition():
    x = np.random.default_rng(1).uniform(size=400)
    got = HaarBasis()(x, 32)

    def psi(u):
        return 1.0 * ((u >= 0) & (u < 0.5)) - 1.0 * ((u >= 0.5) & (u < 1))

    for level in range(5):
        for k in range(2**level):
            want = 2 ** (level / 2) * psi(2**level * x - k)
            assert_allclose(got[:, 2**level + k], want, rtol=1e-15)


def test_haar_at_the_ends():
    values = HaarBasis(2, 3)([2.0, 3.0], 4)
    assert_allclose(values, [[1, 1, np.sqrt(2), 0], [1, -1, 0, -np.sqrt(2)]])


@pytest.mark.parametrize("basis", BASES[::2] + BASES[-3:], ids=repr)
def test_torch_and_strict_arrays_give_the_same(basis):
    torch = pytest.importorskip("torch")
    x = inside(basis, 13)
    want = basis(x, 10)
    got = basis(torch.tensor(x), 10)
    assert got.dtype == torch.float64
    assert_allclose(got.numpy(), want, atol=1e-14)
    assert_allclose(np.asarray(basis(array_api_strict.asarray(x), 10)), want, atol=1e-14)
    single = basis(x.astype(np.float32), 10)
    assert single.dtype == np.float32


@pytest.mark.parametrize("basis", [FourierBasis(), CosineBasis(), LegendreBasis(0, 2)], ids=repr)
def test_gradients_flow(basis):
    torch = pytest.importorskip("torch")
    x = torch.rand(5, 1, dtype=torch.float64, requires_grad=True)
    basis(x, 6).sum().backward()
    step = 1e-6
    moved = [basis(x.detach() + s, 6).sum(axis=1) for s in (step, -step)]
    assert_allclose(x.grad[:, 0], (moved[0] - moved[1]) / (2 * step), rtol=1e-5, atol=1e-6)


def test_products_are_products():
    basis = TensorBasis(FourierBasis(), LegendreBasis(-1, 1))
    x = inside(basis, 15)
    indices = basis.indices(25)
    want = (
        FourierBasis()(x[:, 0], 25)[:, indices[:, 0]]
        * LegendreBasis(-1, 1)(x[:, 1], 25)[:, indices[:, 1]]
    )
    assert_allclose(basis(x, 25), want, rtol=1e-13)


def test_products_come_by_increasing_frequency():
    basis = TensorBasis(CosineBasis(), CosineBasis(0, 2))
    indices = basis.indices(60)
    every = np.array([(i, j) for i in range(60) for j in range(60)])
    sizes = np.hypot(every[:, 0], every[:, 1] / 2)
    assert_allclose(np.hypot(indices[:, 0], indices[:, 1] / 2), np.sort(sizes)[:60], rtol=1e-12)
    assert len(np.unique(indices, axis=0)) == 60


def test_equal_frequencies_come_in_order():
    indices = TensorBasis(CosineBasis(0, 0.3), CosineBasis(0, 0.3)).indices(40).tolist()
    ring = [pair for pair in indices if pair[0] ** 2 + pair[1] ** 2 == 25]
    assert ring == [[0, 5], [3, 4], [4, 3], [5, 0]]


def test_refusals_say_what_to_do():
    with pytest.raises(ValueError, match=r"x must lie in \[0, 1\], got values from -0.5 to 0.5"):
        FourierBasis()([-0.5, 0.5], 3)
    with pytest.raises(ValueError, match="must have 1 columns"):
        CosineBasis()(np.zeros((3, 2)), 3)
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        HaarBasis()([0.5], 0)
    with pytest.raises(ValueError, match="needs a < b"):
        LegendreBasis(1, 1)
    with pytest.raises(ValueError, match="at least one basis"):
        TensorBasis()
    with pytest.raises(TypeError, match=r"bases\[1\] must be a basis"):
        TensorBasis(HaarBasis(), 3)


# ---- quadrature ---------------------------------------------------------------------------


@pytest.mark.parametrize("panels", [1, 3])
def test_legendre_is_exact_for_polynomials(panels):
    rule = Quadrature.legendre(-1, 3, 5, panels=panels)
    for degree in range(10):
        want = (3 ** (degree + 1) - (-1) ** (degree + 1)) / (degree + 1)
        assert_allclose(rule.integrate(lambda x, d=degree: x**d), want, rtol=1e-13)
    assert len(rule) == 5 * panels
    assert_allclose(rule.mass, 4)
    assert_allclose(rule.normalized().mass, 1)


def test_hermite_has_the_moments_of_the_normal():
    rule = Quadrature.hermite(2.0, 0.5, 6)
    centred = [float(rule.integrate(lambda x, p=p: (x - 2) ** p)) for p in range(7)]
    assert_allclose(centred, [1, 0, 0.25, 0, 3 / 16, 0, 15 / 64], atol=1e-13)


def test_large_hermite_rules_stay_finite():
    rule = Quadrature.hermite(0, 1, 600)
    assert_allclose(float(rule.integrate(lambda x: np.cos(3 * x))), np.exp(-4.5), rtol=1e-10)


def test_tensor_integrates_products():
    rule = Quadrature.tensor(
        Quadrature.legendre(0, 1, 4), Quadrature.hermite(1, 2, 5), Quadrature.legendre(-1, 1, 3)
    )
    assert rule.nodes.shape == (60, 3)
    got = rule.integrate(
        lambda x: np.stack([x[:, 0] * x[:, 1] ** 2 * x[:, 2] ** 2, x[:, 0]], axis=1)
    )
    assert_allclose(got, [0.5 * 5 * 2 / 3, 0.5 * 2], rtol=1e-13)


def test_quadrature_of_tensors():
    torch = pytest.importorskip("torch")
    rule = Quadrature(torch.rand(4, 2), torch.rand(4))
    square = Quadrature.tensor(rule, rule)
    assert square.nodes.shape == (16, 4)
    assert_allclose(square.mass, rule.mass**2, rtol=1e-6)


def test_quadrature_refusals():
    with pytest.raises(ValueError, match="non-negative and not all zero"):
        Quadrature([0.0, 1.0], [1.0, -1.0])
    with pytest.raises(ValueError, match="non-negative and not all zero"):
        Quadrature([0.0, 1.0], [0.0, 0.0])
    with pytest.raises(ValueError, match=r"weights must have shape \(2,\)"):
        Quadrature([0.0, 1.0], [[1.0], [1.0]])
    with pytest.raises(ValueError, match="needs a < b"):
        Quadrature.legendre(1, 0, 3)
    with pytest.raises(ValueError, match="std must be a positive number"):
        Quadrature.hermite(0, 0, 3)
    with pytest.raises(ValueError, match="at least one"):
        Quadrature.tensor()
    with pytest.raises(TypeError, match="a factor must be a Quadrature"):
        Quadrature.tensor(3)
    with pytest.raises(ValueError, match=r"function\(nodes\) must have shape \(3,\) or \(3, k\)"):
        Quadrature.legendre(0, 1, 3).integrate(lambda x: x[:2])
    assert repr(Quadrature.legendre(0, 2, 3)) == "Quadrature(3 nodes in 1 dimensions, mass 2)"
