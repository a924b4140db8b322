"""Measures of dependence: each against a dense road of plain NumPy and SciPy, and their doors."""

from __future__ import annotations

import re
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.errors import MemoryBudgetError
from mercer.gram import LazyMatrix
from mercer.kernels import RBF, Delta, Energy, Laplace, Linear, Sigmoid, median_bandwidth
from mercer.rkhs import cka, coco, dhsic, hsic, kcca, nocco

MEASURES = {
    "coco": coco,
    "kcca": lambda *a: kcca(*a, ridge=0.02),
    "nocco": lambda *a: nocco(*a, ridge=0.02),
    "cka": cka,
    "cka, unbiased": lambda *a: cka(*a, unbiased=True),
    "dhsic": lambda k, m, x, y: dhsic((k, m), (x, y)),
}
every_measure = pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
KERNELS = [
    (RBF(1.0), RBF(0.7)),
    (Laplace(1.0), Energy()),
    (Linear(), RBF(1.0)),
    (Energy(), Linear()),
]
every_pair = pytest.mark.parametrize("kernels", KERNELS, ids=str)


@pytest.fixture
def pairs():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(60, 2))
    return x, np.sin(2 * x[:, :1]) + 0.5 * rng.normal(size=(60, 1))


def centred(kernel, x):
    k = kernel(x)
    h = np.eye(len(k)) - 1 / len(k)
    return h @ k @ h


# ---- the dense roads ----------------------------------------------------------------------


def plain_dhsic(grams):
    n, m = len(grams[0]), len(grams)
    joint = np.prod(grams, axis=0).sum() / n**2
    split = np.prod([g.sum() for g in grams]) / n ** (2 * m)
    between = np.prod([g.sum(axis=1) for g in grams], axis=0).sum() / n ** (m + 1)
    return joint + split - 2 * between


@every_pair
def test_coco_is_the_largest_eigenvalue_of_the_product(kernels, pairs):
    k, m = (centred(kernel, x) for kernel, x in zip(kernels, pairs, strict=True))
    top = np.max(np.linalg.eigvals(k @ m).real)
    assert_allclose(coco(*kernels, *pairs), np.sqrt(top) / 60, rtol=1e-9)


@every_pair
def test_kcca_is_the_generalised_eigenvalue_problem(kernels, pairs):
    """[0 KL; LK 0] v = rho [K(K + n r I) 0; 0 L(L + n r I)] v, on the range of the matrices."""
    from scipy.linalg import block_diag, eigh

    ridge, roots = 0.02, []
    for kernel, x in zip(kernels, pairs, strict=True):
        values, vectors = np.linalg.eigh(centred(kernel, x))
        kept = values > 1e-7 * values.max()
        roots.append(vectors[:, kept] * np.sqrt(values[kept]))
    a, b = roots
    cross = a.T @ b
    left = np.block([[np.zeros((a.shape[1],) * 2), cross], [cross.T, np.zeros((b.shape[1],) * 2)]])
    right = block_diag(*(r.T @ r + 60 * ridge * np.eye(r.shape[1]) for r in roots))
    want = eigh(left, right, eigvals_only=True)[-1]
    assert_allclose(kcca(*kernels, *pairs, ridge=ridge), want, rtol=1e-6)


def test_kcca_is_the_dense_problem_of_the_papers(pairs):
    """The eigenvalue problem in the coefficients of the functions, its right side made definite."""
    from scipy.linalg import block_diag, eigh

    ridge, n = 0.05, 60
    k, m = centred(RBF(1.0), pairs[0]), centred(RBF(0.7), pairs[1])
    zero, eye = np.zeros((n, n)), np.eye(n)
    left = np.block([[zero, k @ m], [m @ k, zero]])
    right = block_diag(k @ (k + n * ridge * eye), m @ (m + n * ridge * eye)) + 1e-9 * np.eye(2 * n)
    want = eigh((left + left.T) / 2, (right + right.T) / 2, eigvals_only=True)[-1]
    assert_allclose(kcca(RBF(1.0), RBF(0.7), *pairs, ridge=ridge), want, rtol=1e-5)


def test_kcca_of_linear_kernels_is_the_canonical_correlation():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = x @ rng.normal(size=(3, 2)) + rng.normal(size=(200, 2))
    qx, qy = (np.linalg.qr(v - v.mean(axis=0))[0] for v in (x, y))
    want = np.linalg.svd(qx.T @ qy)[1]
    assert_allclose(kcca(Linear(), Linear(), x, y, ridge=1e-9), want[0], rtol=1e-6)
    assert_allclose(nocco(Linear(), Linear(), x, y, ridge=1e-9), np.sum(want**2), rtol=1e-6)


@every_pair
def test_nocco_is_the_trace_of_the_regularised_inverses(kernels, pairs):
    ridge, parts = 0.02, []
    for kernel, x in zip(kernels, pairs, strict=True):
        k = centred(kernel, x)
        parts.append(k @ np.linalg.inv(k + 60 * ridge * np.eye(60)))
    want = np.trace(parts[0] @ parts[1])
    assert_allclose(nocco(*kernels, *pairs, ridge=ridge), want, rtol=1e-8)


def test_nocco_comes_near_the_mean_square_contingency():
    """Of a Gaussian pair of correlation r it is r^2 / (1 - r^2), whatever the kernels."""
    rng, r = np.random.default_rng(0), 0.5
    x = rng.normal(size=1500)
    y = r * x + np.sqrt(1 - r**2) * rng.normal(size=1500)
    for kernel in (RBF(1.0), RBF(1.5)):
        assert nocco(kernel, kernel, x, y, ridge=1e-3) == pytest.approx(1 / 3, rel=0.25)


@pytest.mark.parametrize("ridge", [1e-2, 1e-4, 1e-10])
@pytest.mark.parametrize("widths", [(9, 8), (9, 1)], ids=str)
def test_full_rank_agrees_with_all_eigenvectors(widths, ridge):
    """By Cholesky factors and Lanczos, or by eigenvectors where the ridge is too small for them."""
    rng, n = np.random.default_rng(5), 150
    x, y = (rng.normal(size=(n, d)) for d in widths)
    y[:, 0] += x[:, 0] ** 2
    kernels, parts = (RBF(2.0), RBF(1.5)), []
    for kernel, points in zip(kernels, (x, y), strict=True):
        values, vectors = np.linalg.eigh(centred(kernel, points))
        parts.append((np.maximum(values, 0.0), vectors))
    shrunk = [(v * (e / (e + n * ridge))) @ v.T for e, v in parts]
    whole = [(v * e) @ v.T for e, v in parts]
    # The largest eigenvalue of a product of two matrices of norm 1 at most
    top = np.sqrt(np.max(np.linalg.eigvals(shrunk[0] @ shrunk[1]).real))
    assert_allclose(kcca(*kernels, x, y, ridge=ridge), top, rtol=1e-8)
    assert_allclose(nocco(*kernels, x, y, ridge=ridge), np.sum(shrunk[0] * shrunk[1]), rtol=1e-6)
    top = np.sqrt(np.max(np.linalg.eigvals(whole[0] @ whole[1]).real))
    assert_allclose(coco(*kernels, x, y), top / n, rtol=1e-9)


@every_pair
def test_cka_is_a_cosine(kernels, pairs):
    k, m = (centred(kernel, x) for kernel, x in zip(kernels, pairs, strict=True))
    want = np.sum(k * m) / np.linalg.norm(k) / np.linalg.norm(m)
    assert_allclose(cka(*kernels, *pairs), want, rtol=1e-9)
    unit = hsic(kernels[0], kernels[0], pairs[0], pairs[0], unbiased=True)
    unit *= hsic(kernels[1], kernels[1], pairs[1], pairs[1], unbiased=True)
    want = hsic(*kernels, *pairs, unbiased=True) / np.sqrt(unit)
    assert_allclose(cka(*kernels, *pairs, unbiased=True), want, rtol=1e-9)


def test_cka_of_a_variable_with_itself_is_one(pairs):
    for unbiased in (False, True):
        assert cka(Energy(), Energy(), pairs[0], pairs[0], unbiased=unbiased) == pytest.approx(1.0)
    assert cka(RBF(1.0), RBF(1.0), np.ones(9), np.arange(9.0)) == 0.0


# ---- many variables -----------------------------------------------------------------------


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_dhsic_is_its_formula(number):
    rng = np.random.default_rng(number)
    widths = (1, 3, 2, 1, 2)[:number]
    samples = [rng.normal(size=(25, d)) for d in widths]
    samples[-1][:, 0] += samples[0][:, 0]
    kernels = (RBF(1.0), Laplace(2.0), RBF(0.5), Linear(), Energy())[:number]
    want = plain_dhsic([k(x) for k, x in zip(kernels, samples, strict=True)])
    assert_allclose(dhsic(kernels, samples), want, rtol=1e-9)


def test_dhsic_is_a_distance_of_embeddings():
    """MMD of the sample and of all n^3 combinations of its values, by the product kernel."""
    rng = np.random.default_rng(1)
    x, y, z = rng.normal(size=(3, 6))
    index = np.stack(np.meshgrid(*[np.arange(6)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    split = np.stack([x[index[:, 0]], y[index[:, 1]], z[index[:, 2]]], axis=1)
    joint = np.stack([x, y, z], axis=1)
    product = RBF(1.0).select(0) * RBF(1.0).select(1) * RBF(1.0).select(2)
    want = mercer.rkhs.mmd2(product, joint, split, unbiased=False)
    assert_allclose(dhsic([RBF(1.0)] * 3, (x, y, z)), want, rtol=1e-9)


@every_pair
def test_dhsic_of_two_variables_is_hsic(kernels, pairs):
    assert dhsic(kernels, pairs) == hsic(*kernels, *pairs)


def test_dhsic_sees_what_pairs_do_not():
    rng = np.random.default_rng(0)
    a, b = rng.choice([-1.0, 1.0], size=(2, 400))
    k = RBF(1.0)
    together, apart = dhsic([k] * 3, (a, b, a * b)), dhsic([k] * 3, (a, b, rng.permutation(a * b)))
    assert together > 20 * apart
    assert max(hsic(k, k, a, a * b), hsic(k, k, b, a * b)) < 0.1 * together


def test_the_order_of_variables_does_not_matter():
    rng = np.random.default_rng(2)
    x, y, z = rng.normal(size=(30, 1)), rng.normal(size=(30, 2)), rng.normal(size=(30, 4))
    assert_allclose(dhsic(None, (x, y, z)), dhsic(None, (z, x, y)), rtol=1e-9)


# ---- laws of all, defaults, doors, libraries ----------------------------------------------


@every_measure
def test_symmetric_and_defaults(measure, pairs):
    x, y = pairs
    kernels = RBF(median_bandwidth(x)), RBF(median_bandwidth(y))
    want = measure(*kernels, x, y)
    assert measure(None, None, x, y) == want
    assert measure(None, kernels[1], x, y) == want
    assert_allclose(measure(*kernels[::-1], y, x), want, rtol=1e-9)
    order = np.random.default_rng(0).permutation(60)
    assert_allclose(measure(*kernels, x[order], y[order]), want, rtol=1e-8)
    assert_allclose(measure(None, None, 5 * x - 3, 7 * y), want, rtol=1e-7)  # each its own unit


@every_measure
def test_dependence_is_seen(measure):
    rng = np.random.default_rng(0)
    x = rng.normal(size=200)
    y = x**2 + 0.1 * rng.normal(size=200)
    assert measure(None, None, x, y) > 2 * measure(None, None, x, rng.permutation(y)) > -1


@every_measure
def test_full_rank_and_low_rank_agree_with_tiles(measure):
    """1,100 points are several tiles; a small budget takes the road of low rank only."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1100, 1))
    y = np.cos(x) + 0.3 * rng.normal(size=(1100, 1))
    want = measure(RBF(1.0), RBF(0.5), x, y)
    with mercer.config(memory="16MiB", threads=1):
        assert_allclose(measure(RBF(1.0), RBF(0.5), x, y), want, rtol=1e-8)


@pytest.mark.parametrize("measure", [coco, partial(kcca, ridge=0.01), partial(nocco, ridge=0.01)])
def test_low_rank_factors_need_no_pass_over_the_tiles(monkeypatch, measure):
    x = np.random.default_rng(0).normal(size=(2, 2000))
    expected = measure(RBF(1.0), RBF(1.0), *x)

    def refuse(matrix):
        raise AssertionError("a pass over all tiles, for factors of few columns")

    monkeypatch.setattr(LazyMatrix, "row_sums", refuse)
    assert measure(RBF(1.0), RBF(1.0), *x) == expected


def test_coco_beyond_the_budget_is_that_of_the_dense_matrices():
    """Tiles for two matrices of full rank, and for one beside a factor."""
    x = np.random.default_rng(0).normal(size=(800, 30))
    for y in (x[:, :20] ** 2, x[:, :1]):
        k, m = (centred(Laplace(5.0), v) for v in (x, y))
        want = np.sqrt(np.linalg.eigvals(k @ m).real.max()) / 800
        with mercer.config(memory="16MiB"):
            assert_allclose(coco(Laplace(5.0), Laplace(5.0), x, y), want, rtol=1e-8)


@pytest.mark.parametrize("name", ["kcca", "nocco"])
@pytest.mark.parametrize("columns", [1, 20])
def test_full_rank_beyond_the_budget_is_approximated_with_a_bound(name, columns):
    x = np.random.default_rng(0).normal(size=(800, 30))
    y = x[:, :columns] ** 2
    exact = MEASURES[name](Laplace(9.0), RBF(3.0), x, y)
    with (
        mercer.config(memory="16MiB"),
        pytest.warns(UserWarning, match=f"{name} of 800 points .* by at most") as caught,
    ):
        rough = MEASURES[name](Laplace(9.0), RBF(3.0), x, y)
    bound = float(re.findall(r"at most ([0-9.e+-]+)\.", str(caught[0].message))[0])
    assert 0 < exact - rough <= 1.05 * bound  # printed with two digits


@pytest.mark.parametrize("name", ["coco", "kcca", "nocco"])
def test_indefinite_kernels_beyond_the_budget_are_refused(name):
    x = np.random.default_rng(0).normal(size=(800, 3))
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(MemoryBudgetError, match=f"{name} needs dense"),
    ):
        MEASURES[name](Sigmoid(1.0, -1.0), RBF(1.0), x, x[:, :1])


@pytest.mark.parametrize("ridge", [1e-5, 1e-2, 1.0])
@pytest.mark.parametrize("measure", [kcca, nocco])
def test_factors_as_accurate_as_the_ridge_needs(measure, ridge):
    """Factors of few columns, and solves beside them, against eigenvalues of the dense matrices."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 6))
    y = x[:, :1] ** 2 + 0.2 * rng.normal(size=(300, 1))
    for kernels in ((RBF(3.0), RBF(1.0)), (RBF(50.0), RBF(1.0)), (RBF(3.0), Laplace(1.0))):
        shrunk = []
        for kernel, sample in zip(kernels, (x, y), strict=True):
            values, vectors = np.linalg.eigh(centred(kernel, sample))
            values = np.clip(values, 0, None)
            shrunk.append((vectors * (values / (values + 300 * ridge))) @ vectors.T)
        product = np.linalg.eigvals(shrunk[0] @ shrunk[1]).real
        want = np.sqrt(product.max()) if measure is kcca else product.sum()
        assert_allclose(measure(*kernels, x, y, ridge=ridge), want, rtol=1e-8)


@every_measure
def test_torch_and_float32_give_the_same(measure, pairs):
    torch = pytest.importorskip("torch")
    want = measure(None, RBF(1.0), *pairs)
    for convert, rtol in [
        (torch.tensor, 1e-9),
        (lambda a: a.astype(np.float32), 1e-3),
        (lambda a: torch.tensor(a, dtype=torch.float32), 1e-3),
    ]:
        got = measure(None, RBF(1.0), *(convert(v) for v in pairs))
        assert isinstance(got, float)
        assert_allclose(got, want, rtol=rtol)


@every_measure
def test_arrays_of_the_strict_standard(measure, pairs):
    xp = pytest.importorskip("array_api_strict")
    for device in (xp.Device("CPU_DEVICE"), xp.Device("device1")):
        x, y = (xp.asarray(v, device=device) for v in pairs)
        for kernels in ((RBF(1.0), RBF(0.7)), (Laplace(1.0), Energy())):
            assert_allclose(measure(*kernels, x, y), measure(*kernels, *pairs), rtol=1e-8)


@every_measure
def test_frames_and_labels(measure, pairs):
    pd = pytest.importorskip("pandas")
    x, y = pairs
    left = pd.DataFrame({"a": x[:, 0], "b": x[:, 1]})
    right = pd.DataFrame({"c": np.where(y[:, 0] > 0, "up", "down")})
    codes = np.where(y[:, 0] > 0, 1.0, 0.0)
    want = measure(RBF(1.0), Delta(), x[:, :1], codes)
    assert_allclose(measure(RBF(1.0).select("a"), Delta(), left, right), want, rtol=1e-9)


@every_measure
def test_refusals_say_what_was_needed(measure):
    x = np.arange(9.0)
    with pytest.raises(ValueError, match=r"x.* must have the same number of points, got 9 and 8"):
        measure(None, None, x, x[:8])
    with pytest.raises(ValueError, match="has NaN"):
        measure(None, None, x, x * np.nan)
    with pytest.raises(TypeError, match="must be a kernel"):
        measure("rbf", None, x, x)
    with pytest.raises(ValueError, match="all points of (y|x2) are equal"):
        measure(None, None, x, np.ones(9))


def test_other_refusals():
    x = np.arange(9.0)
    for measure in (kcca, nocco):
        with pytest.raises(ValueError, match="ridge must be a positive number, got 0"):
            measure(None, None, x, x, ridge=0.0)
    with pytest.raises(ValueError, match="cka needs at least 4 points in x, got 3"):
        cka(RBF(1.0), RBF(1.0), x[:3], x[:3], unbiased=True)
    with pytest.raises(ValueError, match="at least 2 variables, got 1"):
        dhsic(None, (x,))
    with pytest.raises(ValueError, match="kernels must have one entry per variable, 3, got 2"):
        dhsic((None, None), (x, x, x))
    with pytest.raises(TypeError, match="kernels must be a sequence"):
        dhsic(RBF(1.0), (x, x, x))
    with pytest.raises(ValueError, match="x3 has NaN"):
        dhsic(None, (x, x, x * np.nan))
