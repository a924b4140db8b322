"""Stein kernels: the derivatives of autograd, mean zero under the model, no d arrays of n x n."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.backend import array_like, namespace
from mercer.errors import NoRule
from mercer.gram import Gram
from mercer.kernels import (
    RBF,
    Binomial,
    Cauchy,
    Constant,
    Exponential,
    ExponentialDot,
    InverseMultiquadric,
    Kernel,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Select,
    Stein,
    Tensor,
    radial_form,
)
from mercer.kernels.jets import jets
from tests.support.arrays import LIBRARIES, to_numpy, torch
from tests.support.zoo import ZOO


def smooth(kernel: Kernel) -> bool:
    form = radial_form(kernel)
    return form is not None and form.curvature is not None


def known(kernel: Kernel) -> bool:
    """Whether its derivatives are, though it is no function of the distance alone."""
    return jets(kernel) is not None and not isinstance(kernel, Select | Stein)


KERNELS = [
    *dict.fromkeys(e.kernel for e in ZOO if smooth(e.kernel)),
    RBF(0.8) + InverseMultiquadric(1.5, 0.3),
    RBF(2.0) * Cauchy(1.5),
    0.3 * RBF(0.5) + 0.7 * RBF(2.0) + 0.1 * RationalQuadratic(1.0, 2.0),
    (RBF(1.1) + 0.5) ** 3,
    Matern(2.5, 1.5) * RBF(3.0) + Constant(1.0),
    InverseMultiquadric(1.0).scaled(0.5).normalized(),
]
OTHERS = [  # no functions of the distance
    *dict.fromkeys(e.kernel for e in ZOO if not smooth(e.kernel) and known(e.kernel)),
    RBF(1.2).scaled((0.5, 2.0, -1.0)),
    RBF(0.8).select((0, 2)) + 0.5 * InverseMultiquadric(1.0).select(1),
    RBF(0.8).select((0, 2)) * InverseMultiquadric(1.0).scaled((1.0, 0.3, 2.0)),
    Tensor(RBF(1.0), Cauchy(2.0), Polynomial(2, 1.0)),
    Tensor(RBF(1.0), InverseMultiquadric(0.7), widths=(2, 1)) ** 2,
    (0.1 * Linear() + RBF(1.0)).exp(0.5),
    2 * Polynomial(3, 0.5) * RBF(1.5) + Linear(((2.0, 1.0, 0.0), (1.0, 2.0, 0.0), (0.0, 0.0, 1.0))),
    (Polynomial(1, 2.0) + Constant(1.0)) ** 0 + ExponentialDot(0.2).select((2, 0)),
]
TRACEABLE = [k for k in KERNELS if not isinstance(k, Matern) or k.nu - 0.5 in range(11)]
PRECISION = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.3], [0.0, 0.3, 0.8]])


def score(x):
    """Of a distribution that is neither Gaussian nor a product; any library and width."""
    xp, d = namespace(x), x.shape[1]
    matrix = array_like(PRECISION[:d, :d], x)
    return -(x @ matrix) - 0.5 * xp.tanh(x) - x / (1 + xp.sum(x * x, axis=1)[:, None])


def points(d, n, seed):
    return np.random.default_rng(seed).normal(size=(n, d))


def by_autograd(kernel, x, y):
    """The definition, pair by pair: gradients and the trace of the mixed second derivatives."""
    out = np.empty((len(x), len(y)))
    for i, j in np.ndindex(out.shape):
        a = torch.tensor(x[i : i + 1], requires_grad=True)
        b = torch.tensor(y[j : j + 1], requires_grad=True)
        value = kernel.paired(a, b).sum() + 0 * (a.sum() * b.sum())
        (of_x, of_y) = torch.autograd.grad(value, (a, b), create_graph=True)
        trace = sum(
            torch.autograd.grad(of_x[0, c], b, retain_graph=True)[0][0, c]
            for c in range(a.shape[1])
        )
        s, t = score(a), score(b)
        whole = (s * t).sum() * value + (s * of_y).sum() + (t * of_x).sum() + trace
        out[i, j] = whole.detach()
    return out


@pytest.mark.parametrize(
    ("kernel", "d"),
    [*((k, d) for k in TRACEABLE for d in (1, 3)), *((k, 3) for k in OTHERS)],
    ids=repr,
)
def test_it_is_what_autograd_says(kernel, d):
    x, y = points(d, 5, 0), points(d, 4, 1)
    if isinstance(kernel, Binomial):
        x, y = 0.2 * x, 0.2 * y  # in the unit ball
    expected, k = by_autograd(kernel, x, y), Stein(kernel, score)
    size = max(np.abs(expected).max(), 1e-3)
    assert_allclose(k(x, y), expected, rtol=0, atol=1e-10 * size)
    assert_allclose(k.paired(x[:4], y), np.diag(expected[:4]), rtol=0, atol=1e-10 * size)


def test_kernels_that_torch_cannot_trace_agree_with_differences():
    """Matern of any smoothness, whose Bessel function is SciPy's."""
    x, y, h = points(2, 4, 0), points(2, 3, 1), 1e-3
    for kernel in [k for k in KERNELS if k not in TRACEABLE]:
        k, s, t = kernel.pairwise, score(x), score(y)
        whole = s @ t.T * k(x, y)
        for c in range(2):
            e = h * np.eye(2)[c]
            whole += s[:, c : c + 1] * (k(x, y + e) - k(x, y - e)) / (2 * h)
            whole += t[:, c] * (k(x + e, y) - k(x - e, y)) / (2 * h)
            mixed = k(x + e, y + e) - k(x + e, y - e) - k(x - e, y + e) + k(x - e, y - e)
            whole += mixed / (4 * h * h)
        assert_allclose(Stein(kernel, score)(x, y), whole, atol=2e-5)


@pytest.mark.parametrize("kernel", [*KERNELS, *OTHERS], ids=repr)
def test_the_diagonal_is_that_of_the_matrix(kernel):
    x, k = points(3, 6, 0), Stein(kernel, score)
    x = 0.2 * x if isinstance(kernel, Binomial) else x
    size = max(k.diag(x).max(), 1e-3)
    assert_allclose(k.diag(x), np.diag(k.pairwise(x, x.copy())), rtol=0, atol=1e-9 * size)
    assert_allclose(k.diag(x), k.paired(x, x), rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("d", [1, 5])
@pytest.mark.parametrize("kernel", [RBF(1.5), InverseMultiquadric(1.0), Matern(3.5, 2.0)], ids=repr)
def test_its_mean_under_the_model_is_zero(kernel, d):
    """E k_p(X, y) = 0 at every y, within 4.5 standard errors; under another model it is not."""
    x, y = points(d, 200_000, 3), points(d, 6, 4)
    values = Stein(kernel, lambda v: -v).pairwise(x, y)
    errors = values.std(axis=0) / np.sqrt(len(x))
    assert np.all(np.abs(values.mean(axis=0)) < 4.5 * errors)
    wrong = Stein(kernel, lambda v: -v + 0.5).pairwise(x, y)
    assert np.any(np.abs(wrong.mean(axis=0)) > 10 * errors)


@pytest.mark.parametrize(
    "kernel",
    [RBF(1.2).scaled((0.5, 2.0, -1.0)), Polynomial(2, 1.0) * RBF(2.0), Tensor(*[RBF(1.0)] * 3)],
    ids=repr,
)
def test_so_is_that_of_kernels_of_other_kinds(kernel):
    x, y = points(3, 100_000, 3), points(3, 6, 4)
    values = Stein(kernel, lambda v: -v).pairwise(x, y)
    assert np.all(np.abs(values.mean(axis=0)) < 4.5 * values.std(axis=0) / np.sqrt(len(x)))


def test_other_ways_to_the_same_kernel():
    """A product over columns is the kernel of all of them; equal factors are one."""
    x, y, whole = points(3, 7, 0), points(3, 5, 1), Stein(RBF(1.5), score)
    for kernel in (
        Tensor(*[RBF(1.5)] * 3),
        RBF(1.5).select((2, 0)) * RBF(1.5).select(1),
        RBF(3.0).scaled((2.0, 2.0, -2.0)),
        RBF(1.0).scaled((2.0, 1.0, 1.0)).scaled((1 / 3.0, 2 / 3.0, 2 / 3.0)),
    ):
        assert_allclose(Stein(kernel, score)(x, y), whole(x, y), rtol=0, atol=1e-11)
    gram = Gram(Stein(Tensor(*[RBF(1.5)] * 3), score), points(3, 900, 2))
    assert_allclose(gram.sum(), Gram(whole, points(3, 900, 2)).sum(), rtol=1e-9)
    with pytest.raises(ValueError, match="derivatives need distinct columns"):
        Stein(RBF().select((0, 0)), score)(x)


def test_it_is_linear_in_the_kernel():
    x, a, b = points(3, 9, 0), RBF(0.7), InverseMultiquadric(2.0)
    whole = Stein(2 * a + 0.5 * b, score)(x)
    assert_allclose(whole, 2 * Stein(a, score)(x) + 0.5 * Stein(b, score)(x), rtol=1e-11)


def test_a_constant_kernel_leaves_the_scores():
    x = points(3, 5, 0)
    assert_allclose(Stein(Constant(2.0), score)(x), 2 * score(x) @ score(x).T, rtol=1e-12)


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library(library):
    x, y, k = points(3, 7, 0), points(3, 5, 1), Stein(InverseMultiquadric(1.0), score)
    a, b = LIBRARIES[library](x), LIBRARIES[library](y)
    assert_allclose(to_numpy(k(a, b)), k(x, y), rtol=1e-12, atol=1e-13)
    narrow = k(*(LIBRARIES[library](v.astype(np.float32)) for v in (x, y)))
    assert str(narrow.dtype).endswith("float32")
    assert_allclose(to_numpy(narrow), k(x, y), rtol=0, atol=2e-5 * np.abs(k(x, y)).max())


def test_far_off_data():
    """A model and its data a million away: the same numbers."""
    x, far = np.round(points(3, 8, 0) * 2**20) / 2**20, 2.0**20
    near = Stein(RBF(1.0), lambda v: -v)(x)
    away = Stein(RBF(1.0), lambda v: far - v)(x + far)
    assert_allclose(away, near, rtol=0, atol=1e-9)


def test_gram_tiles_are_the_kernel_and_scores_are_taken_once():
    x, calls = points(2, 1500, 0), []

    def counted(v):
        calls.append(len(v))
        return score(v)

    k = Stein(RBF(1.0), counted)
    gram = Gram(k, x)
    calls.clear()
    v = np.random.default_rng(0).normal(size=1500)
    product = gram @ v
    assert sum(calls) <= 1500  # at most once more, for the diagonal
    assert_allclose(product, k.pairwise(x, x) @ v, rtol=1e-9, atol=1e-9)
    other = points(2, 40, 1)
    assert_allclose(Gram(k, x, other).dense(), k.pairwise(x, other), rtol=1e-9, atol=1e-11)


def test_no_d_arrays_of_n_by_n():
    n, d = 400, 50
    x, k = points(d, n, 0), Stein(RBF(5.0), lambda v: -v)
    tracemalloc.start()
    k.pairwise(x, x[:, :])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 12 * n * n * 8  # some arrays of n x n, far from 50


@pytest.mark.parametrize(
    "kernel",
    [Exponential(1.0), Matern(1.5), Laplace(), RBF() * Laplace(), Tensor(RBF(), Matern(1.5))],
    ids=repr,
)
def test_kernels_that_are_not_smooth_enough(kernel):
    with pytest.raises(NoRule, match="a Stein kernel needs two derivatives"):
        Stein(kernel, score)


def test_wrong_scores():
    x = points(3, 4, 0)
    with pytest.raises(TypeError, match="score must be a function"):
        Stein(RBF(), 3.0)
    for wrong, error, message in [
        (lambda v: v[:, 0], ValueError, r"score\(x\) must have the shape of x, \(4, 3\)"),
        (lambda v: v[:2], ValueError, r"got \(2, 3\)"),
        (lambda v: np.full(v.shape, np.nan), ValueError, r"score\(x\) has NaN"),
        (lambda v: torch.tensor(v), TypeError, "must be arrays of the same library"),
        (lambda v: "scores", TypeError, r"score\(x\) must"),
    ]:
        with pytest.raises(error, match=message):
            Stein(RBF(), wrong)(x)
