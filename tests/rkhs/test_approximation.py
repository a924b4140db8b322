"""Coefficients, Parseval, Sobolev norms, and errors of approximation at their known rates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.rkhs import (
    CosineBasis,
    FourierBasis,
    HaarBasis,
    LegendreBasis,
    Quadrature,
    Series,
    TensorBasis,
    expand,
)

FINE = Quadrature.legendre(0, 1, 16, panels=3 * 2**9)  # has an edge at 1/3
SMOOTH = [FourierBasis(), CosineBasis(), LegendreBasis()]


def tent(x):
    return np.abs(x - 1 / 3) + 0.5 * x  # a kink at 1/3, where FINE has an edge


def periodic_tent(x):
    return np.abs(x - 0.5)


def step(x):
    return np.where(x < 1 / 3, 1.0, 0.0)


def slope(errors, start, stop):
    """The exponent of the power law that errors follow between two numbers of terms."""
    n = np.arange(start, stop)
    return np.polyfit(np.log(n), np.log(errors[start:stop]), 1)[0]


@pytest.mark.parametrize("basis", [*SMOOTH, HaarBasis(), LegendreBasis(-2, 5)], ids=repr)
def test_a_series_gives_back_its_coefficients(basis):
    c = np.random.default_rng(0).normal(size=19)
    assert_allclose(expand(Series(basis, c), basis, 19).coefficients, c, atol=1e-12)


def test_a_series_in_two_dimensions_gives_back_its_coefficients():
    basis = TensorBasis(FourierBasis(), LegendreBasis(-1, 1))
    c = np.random.default_rng(0).normal(size=23)
    assert_allclose(expand(Series(basis, c), basis, 23).coefficients, c, atol=1e-12)


@pytest.mark.parametrize("basis", [*SMOOTH, HaarBasis()], ids=repr)
def test_parseval(basis):
    c = np.random.default_rng(1).normal(size=12)
    series = Series(basis, c)
    by_integral = (
        FINE.integrate(lambda x: series(x) ** 2)
        if basis != HaarBasis()
        else (basis.quadrature(12).integrate(lambda x: series(x) ** 2))
    )
    assert_allclose(series.norm() ** 2, by_integral, rtol=1e-12)


@pytest.mark.parametrize("basis", [*SMOOTH, HaarBasis()], ids=repr)
def test_errors_by_parseval_are_errors_by_integration(basis):
    whole = expand(tent, basis, 300, quadrature=FINE)
    norm2 = float(FINE.integrate(lambda x: tent(x) ** 2))
    rest = max(norm2 - whole.norm() ** 2, 0)  # what 300 terms miss
    for n in (1, 4, 20):
        for part, error in [
            (whole.linear(n), whole.linear_errors()[n]),
            (whole.best(n), whole.best_errors()[n]),
        ]:
            exact = FINE.integrate(lambda x, part=part: (tent(x)[:, 0] - part(x)) ** 2)
            assert_allclose(error**2 + rest, exact, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("basis", [*SMOOTH, HaarBasis()], ids=repr)
def test_best_terms_are_never_worse_and_bessel_holds(basis):
    series = expand(tent, basis, 64, quadrature=FINE)
    linear, best = series.linear_errors(), series.best_errors()
    assert linear.shape == best.shape == (65,)
    assert np.all(best <= linear * (1 + 1e-12))
    assert np.all(np.diff(linear) <= 0)
    assert_allclose([linear[0], best[0]], series.norm(), rtol=1e-12)
    assert linear[64] == best[64] == 0
    assert series.norm() ** 2 <= FINE.integrate(lambda x: tent(x) ** 2) * (1 + 1e-12)


def test_best_takes_the_largest_and_the_earlier_of_equals():
    series = Series(CosineBasis(), [1.0, -3.0, 2.0, 2.0])
    assert_allclose(series.best(2).coefficients, [0, -3, 2, 0])
    assert_allclose(series.linear(2).coefficients, [1, -3])


# ---- rates --------------------------------------------------------------------------------


def test_fourier_is_spectral_for_an_analytic_periodic_function():
    series = expand(lambda x: np.exp(np.sin(2 * np.pi * x)), FourierBasis(), 41)
    errors = series.linear_errors()
    # coefficients are modified Bessel numbers I_k(1) ~ 1 / (2^k k!): faster than any geometric rate
    assert errors[21] < 1e-9 * errors[0]
    assert errors[11] < 1e-4 * errors[0]


@pytest.mark.parametrize(
    ("basis", "function", "rate"),
    [
        (FourierBasis(), periodic_tent, -1.5),  # continuous, kinked: c_j ~ j^-2
        (FourierBasis(), lambda x: x, -0.5),  # not periodic: c_j ~ 1/j
        (CosineBasis(), lambda x: np.exp(x), -1.5),  # smooth, f' != 0 at the ends: c_j ~ j^-2
        (CosineBasis(), lambda x: x**2 * (1 - x) ** 2, -3.5),  # f' = 0 there, f''' is not: j^-4
        (LegendreBasis(), tent, -1.5),
        (HaarBasis(), lambda x: np.exp(x), -1.0),  # Lipschitz: one over the number of pieces
        (HaarBasis(), step, -0.5),
    ],
)
def test_linear_rates(basis, function, rate):
    series = expand(function, basis, 1024, quadrature=FINE)
    errors = series.linear_errors()
    assert_allclose(slope(errors, 16, 256), rate, atol=0.12)


def test_legendre_is_spectral_for_an_analytic_function():
    errors = expand(np.exp, LegendreBasis(), 24).linear_errors()
    assert errors[12] < 1e-12 * errors[0]


def test_non_linear_beats_linear_at_a_jump():
    # one Haar function per level sees the jump at 1/3: best n terms leave about 2^(-n/2)
    rule = Quadrature.legendre(0, 1, 2, panels=3 * 2**12)
    series = expand(step, HaarBasis(), 2**10, quadrature=rule)
    assert np.sum(np.abs(series.coefficients) > 1e-12) == 11
    assert_allclose(slope(series.linear_errors(), 8, 256), -0.5, atol=0.12)
    best = series.best_errors()
    assert_allclose(np.diff(np.log2(best[1:8])), -0.5, atol=0.2)
    assert best[10] < series.linear_errors()[256]


def test_rates_in_two_dimensions_see_the_dimension():
    # coefficients j^-2 l^-2: a frequency ball of n functions leaves about n^(-3/4) = n^(-1.5/2)
    basis = TensorBasis(FourierBasis(), FourierBasis())
    errors = expand(
        lambda x: np.abs(x[:, 0] - 0.5) + np.abs(x[:, 1] - 0.5),
        basis,
        400,
        quadrature=Quadrature.tensor(*[Quadrature.legendre(0, 1, 12, panels=12)] * 2),
    ).linear_errors()
    assert_allclose(slope(errors, 20, 200), -0.75, atol=0.15)


# ---- Sobolev norms ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("basis", "weight"),
    [
        (FourierBasis(-1, 2), lambda x: 1.0),
        (CosineBasis(-1, 2), lambda x: 1.0),
        (LegendreBasis(-1, 2), lambda x: (x + 1) * (2 - x)),
    ],
    ids=["Fourier", "Cosine", "Legendre"],
)
def test_the_first_sobolev_norm_is_an_integral(basis, weight):
    series = Series(basis, np.random.default_rng(3).normal(size=9))
    h = 1e-5
    rule = Quadrature.legendre(-1 + 2 * h, 2 - 2 * h, 32, panels=4)

    def energy(x):
        derivative = (series(x + h) - series(x - h)) / (2 * h)
        return series(x) ** 2 + weight(x[:, 0]) * derivative**2

    assert_allclose(series.sobolev_norm(1) ** 2, rule.integrate(energy), rtol=1e-3)


@pytest.mark.parametrize("basis", [*SMOOTH, HaarBasis(0, 3)], ids=repr)
def test_sobolev_balls_bound_the_linear_error(basis):
    series = Series(basis, np.random.default_rng(4).normal(size=30) / np.arange(1, 31) ** 2)
    assert_allclose(series.sobolev_norm(0), series.norm(), rtol=1e-14)
    for s in (0.3, 1.0, 2.5):
        bound = series.sobolev_norm(s) * (1 + basis.frequencies(30) ** 2) ** (-s / 2)
        assert np.all(series.linear_errors()[:30] <= bound * (1 + 1e-12))


# ---- doors --------------------------------------------------------------------------------


def test_functions_may_give_columns_integers_and_tensors():
    torch = pytest.importorskip("torch")
    basis = HaarBasis()
    want = expand(lambda x: 1.0 * (x[:, 0] < 0.5), basis, 4).coefficients
    assert_allclose(expand(lambda x: np.where(x < 0.5, 1, 0), basis, 4).coefficients, want)
    rule = basis.quadrature(4)
    rule = Quadrature(torch.tensor(rule.nodes), torch.tensor(rule.weights))
    got = expand(lambda x: (x < 0.5).double(), basis, 4, quadrature=rule)
    assert isinstance(got.coefficients, np.ndarray)
    assert_allclose(got.coefficients, want, atol=1e-15)
    assert got(torch.tensor([0.1, 0.9])).dtype == torch.float32


def test_refusals_say_what_was_needed():
    with pytest.raises(ValueError, match=r"one number per point, shape \(\d+,\), got \(2,"):
        expand(lambda x: np.zeros((2, 3)), CosineBasis(), 3)
    with pytest.raises(ValueError, match=r"one number per point, shape \(48,\), got \(\)"):
        expand(lambda x: 1.0, CosineBasis(), 3)
    with pytest.raises(ValueError, match="NaN"):
        expand(lambda x: x[:, 0] * np.nan, CosineBasis(), 3)
    with pytest.raises(TypeError, match="basis must be a basis"):
        expand(np.exp, "cosine", 3)
    with pytest.raises(TypeError, match="quadrature must be a Quadrature"):
        expand(np.exp, CosineBasis(), 3, quadrature=8)
    with pytest.raises(ValueError, match="must have 1 columns"):
        expand(
            lambda x: x[:, 0],
            CosineBasis(),
            3,
            quadrature=Quadrature.tensor(FINE.legendre(0, 1, 2), FINE.legendre(0, 1, 2)),
        )
    series = Series(CosineBasis(), [1.0, 2.0])
    with pytest.raises(ValueError, match="n must be at most 2"):
        series.best(3)
    with pytest.raises(ValueError, match=r"shape \(n,\)"):
        Series(CosineBasis(), [[1.0]])
    with pytest.raises(TypeError, match="s must be a number"):
        series.sobolev_norm("1")
    assert repr(series) == "Series(CosineBasis(a=0.0, b=1.0), 2 terms)"
