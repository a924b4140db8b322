"""The RKHS as a Hilbert space: values, the reproducing property, laws of algebra and geometry."""

from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.kernels import RBF, Energy, Laplace, Linear, Polynomial, Tensor
from mercer.rkhs import Function
from tests.support.letters import Letters

RNG = np.random.default_rng(0)
KERNELS = [
    RBF(0.7),
    Laplace(1.3),
    Energy(),
    Polynomial(2),
    RBF(0.5) + 2 * Linear(),
    Tensor(RBF(1.0), Laplace(2.0), widths=(1, 2)),
]


def function(kernel, n=40, seed=0, columns=()):
    rng = np.random.default_rng(seed)
    return Function(kernel, rng.normal(size=(n, 3)), rng.normal(size=(n, *columns)))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_values_are_the_sum(kernel):
    f, x = function(kernel), RNG.normal(size=(17, 3))
    assert_allclose(f(x), kernel(x, f.points) @ f.weights, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_reproducing_property(kernel):
    f = function(kernel)
    for x in RNG.normal(size=(5, 1, 3)):
        section = Function(kernel, x, [1.0])
        assert_allclose(f.inner(section), f(x)[0], rtol=1e-10)
        assert_allclose(section.norm2(), kernel.diag(x)[0], rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_vector_space_laws(kernel):
    f, g, h = (function(kernel, n, seed=n) for n in (10, 20, 30))
    x = RNG.normal(size=(9, 3))
    close = {"rtol": 1e-9, "atol": 1e-9}
    assert_allclose((f + g)(x), f(x) + g(x), **close)
    assert_allclose((f - g)(x), f(x) - g(x), **close)
    assert_allclose((f + (g + h))(x), ((f + g) + h)(x), **close)
    assert_allclose((2.5 * f)(x), 2.5 * f(x), **close)
    assert_allclose((f * np.float64(2))(x), 2 * f(x), **close)
    assert_allclose((np.float64(2) * f)(x), 2 * f(x), **close)
    assert_allclose((f / 4)(x), f(x) / 4, **close)
    assert_allclose((-f)(x), -f(x), **close)
    assert_allclose(sum([f, g, h])(x), f(x) + g(x) + h(x), **close)
    assert_allclose((3 * (f - g))(x), (3 * f - 3 * g)(x), **close)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_inner_product_laws(kernel):
    f, g, h = (function(kernel, n, seed=n) for n in (10, 20, 30))
    close = {"rtol": 1e-9, "atol": 1e-8}
    assert_allclose(f.inner(g), g.inner(f), **close)
    assert_allclose((2 * f + h).inner(g), 2 * f.inner(g) + h.inner(g), **close)
    assert_allclose(f.inner(f), f.norm2(), **close)
    assert_allclose(f.norm() ** 2, f.norm2(), **close)
    assert_allclose((f + g).norm2() + (f - g).norm2(), 2 * f.norm2() + 2 * g.norm2(), **close)
    assert abs(f.inner(g)) <= f.norm() * g.norm() * (1 + 1e-12)
    assert isinstance(f.inner(g), float)
    assert isinstance(f.norm(), float)
    assert isinstance(f.norm2(), float)


def test_the_norm_bounds_the_values():
    f, x = function(RBF(1.0)), RNG.normal(size=(200, 3))
    assert np.max(np.abs(f(x))) <= f.norm()  # |f(x)| <= |f| sqrt(k(x, x))


def test_functions_of_the_same_points_add_their_weights():
    x = RNG.normal(size=(30, 2))
    f, g = Function(RBF(1.0), x, RNG.normal(size=30)), Function(RBF(1.0), x, RNG.normal(size=30))
    assert (f + g).points is f.points
    assert_allclose((f + g).weights, f.weights + g.weights)
    assert (f - f).norm() == 0


def test_the_norm_is_never_negative_however_small():
    x = np.concatenate([np.zeros((5, 2)), np.full((5, 2), 1e-9)])
    f = Function(RBF(1.0), x, [1.0, -1.0] * 5)
    assert f.norm2() >= 0
    assert f.norm() < 1e-6


def test_large_functions_never_hold_the_matrix():
    n = 3000
    f = function(RBF(1.0), n)
    x = RNG.normal(size=(n, 3))
    with mercer.config(memory="16MiB"):
        values, norm2 = f(x), f.norm2()
    want = np.concatenate(
        [RBF(1.0)(x[i : i + 500], f.points) @ f.weights for i in range(0, n, 500)]
    )
    assert_allclose(values, want, rtol=1e-8, atol=1e-8)
    assert_allclose(norm2, f.weights @ f(f.points), rtol=1e-9)


# ---- several functions --------------------------------------------------------------------


def test_several_functions_are_columns():
    f, g = function(RBF(1.0), columns=(4,)), function(RBF(1.0), 15, seed=1, columns=(2,))
    x = RNG.normal(size=(7, 3))
    singles = [f[j] for j in range(4)]
    assert f(x).shape == (7, 4)
    assert_allclose(f(x), np.stack([s(x) for s in singles], axis=1), rtol=1e-12)
    assert_allclose(f.norm(), [s.norm() for s in singles], rtol=1e-12)
    assert_allclose(f.norm2(), f.norm() ** 2, rtol=1e-12)
    assert f.inner(g).shape == (4, 2)
    assert_allclose(f.inner(g)[3, 1], f[3].inner(g[1]), rtol=1e-10)
    assert_allclose(f[3].inner(g), f.inner(g)[3], rtol=1e-10)
    assert_allclose(f.inner(g[1]), f.inner(g)[:, 1], rtol=1e-10)
    assert_allclose(np.diag(f.inner(f)), f.norm2(), rtol=1e-10)
    assert_allclose((f + 2 * f)(x), 3 * f(x), rtol=1e-12)
    assert f[1:3](x).shape == (7, 2)
    assert len(list(f)) == 4


def test_several_functions_refuse_what_does_not_match():
    several = function(RBF(1.0), columns=(2,))
    with pytest.raises(ValueError, match="same number of functions on both sides"):
        several + function(RBF(1.0))
    with pytest.raises(TypeError, match="this is a single function"):
        function(RBF(1.0))[0]


# ---- points of every kind -----------------------------------------------------------------


def test_torch_gives_the_same_numbers():
    torch = pytest.importorskip("torch")
    f = function(Laplace(1.0))
    t = Function(Laplace(1.0), torch.tensor(f.points), torch.tensor(f.weights))
    x = RNG.normal(size=(6, 3))
    got = t(torch.tensor(x))
    assert isinstance(got, torch.Tensor)
    assert_allclose(got.numpy(), f(x), rtol=1e-12)
    assert_allclose(t.norm(), f.norm(), rtol=1e-12)
    assert_allclose((t + 2 * t).inner(t), 3 * f.norm2(), rtol=1e-12)
    assert isinstance(Function(RBF(1.0), torch.rand(3, 2), [1, 2, 3]).weights, torch.Tensor)


def test_arrays_of_the_strict_standard_give_the_same_numbers():
    xp = pytest.importorskip("array_api_strict")
    f, x = function(Energy(), columns=(2,)), RNG.normal(size=(6, 3))
    for device in (xp.Device("CPU_DEVICE"), xp.Device("device1")):
        points, weights = (xp.asarray(a, device=device) for a in (f.points, f.weights))
        g = Function(Energy(), points, weights)
        values = (g - 3 * g)(xp.asarray(x, device=device))
        assert values.device == device
        for got, want in [(values, -2 * f(x)), (g.norm(), f.norm()), (g.inner(g), f.inner(f))]:
            assert_allclose(
                np.asarray(xp.asarray(got, device=xp.Device("CPU_DEVICE"))), want, rtol=1e-10
            )


def test_float32_stays_float32_and_sums_are_float64():
    f = function(RBF(1.0), 300)
    single = Function(RBF(1.0), f.points.astype(np.float32), f.weights.astype(np.float32))
    assert single(f.points.astype(np.float32)).dtype == np.float32
    assert_allclose(single.norm2(), f.norm2(), rtol=1e-5)
    assert_allclose(single.inner(single), f.norm2(), rtol=1e-4)


def test_points_may_be_anything_a_kernel_takes():
    f = Function(Letters(), ["abc", "bcd"], [1.0, 2.0])
    g = Function(Letters(), ["xa"], [1.0])
    assert_allclose(f(["ab", "d", "z"]), [1 * 2 + 2 * 1, 2, 0])
    assert_allclose(f.inner(g), 1)
    assert_allclose((f + g)(["a"]), [1 + 1])
    assert (f + g).points == ["abc", "bcd", "xa"]
    assert_allclose(f.norm2(), 3 + 2 * 2 * 2 + 4 * 3)


def test_tuples_of_samples():
    kernel = Tensor(RBF(1.0), Letters())
    f = Function(kernel, (np.array([0.0, 1.0]), ["ab", "bc"]), [1.0, -1.0])
    want = 1.0 * 1 - np.exp(-0.5) * 2
    assert_allclose(f((np.array([0.0]), ["bc"])), [want])
    g = f + Function(kernel, (np.array([0.0]), ["bc"]), [1.0])
    assert_allclose(g.norm2(), f.norm2() + 2 * want + 2)


def test_points_that_cannot_be_joined_say_so():
    @dataclass(frozen=True)
    class Odd:
        words: tuple

        def __len__(self):
            return len(self.words)

        def __getitem__(self, rows):
            return Odd(self.words[rows])

        def __iter__(self):
            return iter(self.words)

    @dataclass(frozen=True)
    class OnOdd(Letters):
        def accept(self, x, name="x"):
            return x

    f, g = (Function(OnOdd(), Odd(("ab", w)), [1.0, 1.0]) for w in "cd")
    assert_allclose(f(Odd(("a",))), [1.0])
    with pytest.raises(TypeError, match="Odd and Odd cannot be joined"):
        f + g


def test_frames_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    values, weights = RNG.normal(size=(12, 2)), RNG.normal(size=12)
    kernel = RBF(0.8).select("age") * Laplace(1.0).select("size")
    frame = pd.DataFrame(values, columns=["age", "size"])
    f = Function(kernel, frame, weights)
    turned = pl.DataFrame({"size": values[:, 1], "age": values[:, 0]})
    plain = RBF(0.8).select(0) * Laplace(1.0).select(1)
    want = plain(values, values) @ weights
    assert f.columns.names == ("age", "size")
    assert f.kernel == kernel
    for x in (frame, turned, values):
        assert_allclose(f(x), want, rtol=1e-12)
    g = Function(kernel, turned, weights)
    assert_allclose(g(frame), want, rtol=1e-12)
    assert_allclose(f.inner(g), f.norm2(), rtol=1e-12)
    assert_allclose((f + g)(turned), 2 * want, rtol=1e-12)
    assert_allclose((-f)(turned), -want, rtol=1e-12)
    with pytest.raises(ValueError, match="same columns"):
        f(frame.rename(columns={"age": "years"}))
    other = frame.assign(extra=1.0)
    with pytest.raises(ValueError, match=r"only one has \['extra'\]"):
        f + Function(kernel, other, weights)


# ---- doors --------------------------------------------------------------------------------


def test_refusals_say_why():
    f = function(RBF(1.0))
    with pytest.raises(ValueError, match="both functions must have the same kernel"):
        f + function(RBF(2.0))
    with pytest.raises(ValueError, match="both functions must have the same kernel"):
        f.inner(function(Laplace(1.0)))
    with pytest.raises(TypeError, match=r"use f.inner\(g\)"):
        f * f
    with pytest.raises(TypeError, match="other must be a Function"):
        f.inner(3)
    with pytest.raises(TypeError, match="unsupported"):
        f + 1
    with pytest.raises(TypeError, match="unsupported"):
        f - "f"
    with pytest.raises(TypeError, match="multiply"):
        f * [2]
    with pytest.raises(TypeError, match="unsupported"):
        f / f
    with pytest.raises(ValueError, match="by zero"):
        f / 0
    with pytest.raises(ValueError, match="a factor must be"):
        f * float("nan")
    with pytest.raises(
        ValueError, match=r"weights must have shape \(40,\) or \(40, k\), got \(39,\)"
    ):
        Function(RBF(1.0), f.points, f.weights[1:])
    with pytest.raises(ValueError, match="NaN"):
        Function(RBF(1.0), [0.0, np.nan], [1.0, 1.0])
    with pytest.raises(TypeError, match="kernel must be a kernel"):
        Function("rbf", [0.0], [1.0])
    with pytest.raises(ValueError, match="same number of columns"):
        f(np.zeros((2, 2)))
    with pytest.raises(FrozenInstanceError):
        f.weights = 0


def test_repr_is_short():
    assert repr(function(RBF(1.0))) == "Function(RBF(bandwidth=1.0), 40 points)"
    several = function(RBF(1.0), columns=(3,))
    assert repr(several) == "Function(RBF(bandwidth=1.0), 3 functions, 40 points)"
