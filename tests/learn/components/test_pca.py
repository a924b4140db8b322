"""Kernel PCA against linear PCA, scikit-learn and dense eigenvectors; pre-images and their laws."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from sklearn.decomposition import PCA
from sklearn.decomposition import KernelPCA as Theirs
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import mercer
from mercer.gram import Gram
from mercer.kernels import RBF, Constant, Delta, Laplace, Linear, Matern, Polynomial, Sigmoid
from mercer.learn import FixedPoint, KernelPCA, KernelRidge, LearnedMap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 4)) @ RNG.normal(size=(4, 4))
NEW = RNG.normal(size=(7, 4))


def aligned(a, b):
    """a with the signs of the columns of b."""
    return a * np.sign(np.sum(a * b, axis=0))


# ---- against others --------------------------------------------------------------------------


@pytest.mark.parametrize("far", [0.0, 1e5])
def test_linear_kernel_is_linear_pca(far):
    x, new = X + far, NEW + far
    ours, theirs = KernelPCA(3, kernel=Linear()).fit(x), PCA(3, svd_solver="full").fit(x)
    scores = theirs.transform(new)
    rtol = 1e-9 if far == 0 else 1e-7  # of numbers of size 1e5, float64 has eleven digits
    assert_allclose(aligned(ours.transform(new), scores), scores, rtol=rtol, atol=rtol)
    assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=rtol)
    assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=rtol)
    assert_allclose(ours.denoise(new), theirs.inverse_transform(scores), rtol=rtol)


def test_a_learnt_map_of_a_linear_kernel_is_linear_pca_too():
    back = LearnedMap(1e-6, kernel=Linear())
    ours, theirs = KernelPCA(2, kernel=Linear(), preimage=back).fit(X), PCA(2).fit(X)
    want = theirs.inverse_transform(theirs.transform(NEW))
    assert_allclose(ours.denoise(NEW), want, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("kernel", "named"),
    [
        (RBF(2.0), {"kernel": "rbf", "gamma": 1 / 8}),
        (Polynomial(3, 1.0), {"kernel": "poly", "degree": 3, "gamma": 1.0, "coef0": 1.0}),
        (Laplace(3.0), {"kernel": lambda a, b: np.exp(-np.abs(a - b).sum() / 3)}),
    ],
)
def test_scores_are_those_of_scikit_learn(kernel, named):
    ours, theirs = KernelPCA(5, kernel=kernel).fit(X), Theirs(5, **named).fit(X)
    want = theirs.transform(NEW)
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-9)
    assert_allclose(aligned(ours.transform(NEW), want), want, rtol=1e-7, atol=1e-9)


def test_large_problems_are_solved_without_the_matrix():
    x = np.random.default_rng(1).normal(size=(3000, 3))
    n, kernel = len(x), Matern(2.5, 2.0)
    centred = Gram(kernel, x).centered().dense()
    values, vectors = eigh(centred, subset_by_index=(n - 6, n - 1))
    want = vectors[:, ::-1] * np.sqrt(values[::-1])
    with mercer.config(memory="16MiB", threads=1):
        tracemalloc.start()
        pca = KernelPCA(6, kernel=kernel)
        scores = pca.fit_transform(x)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 8 * n**2 / 3  # a third of the matrix
    assert_allclose(aligned(scores, want), want, atol=1e-6)
    assert_allclose(pca.explained_variance_ratio_, values[::-1] / np.trace(centred), rtol=1e-9)


# ---- laws ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(1.5), Polynomial(2), Laplace(2.0), RBF(2.0) + Linear()])
def test_scores_have_the_right_scale(kernel):
    pca = KernelPCA(4, kernel=kernel)
    scores = pca.fit_transform(X)
    assert_allclose(scores, pca.transform(X), atol=1e-9)
    assert_allclose(scores.mean(axis=0), 0, atol=1e-9)
    assert_allclose(scores.T @ scores, np.diag(pca.eigenvalues_), atol=1e-8)
    assert_allclose(pca.function_.inner(pca.function_), np.eye(4), atol=1e-8)
    moved = pca.function_(NEW) - pca.function_(X).mean(axis=0)  # centred with training means
    assert_allclose(pca.transform(NEW), moved, atol=1e-9)


def test_components_of_points_do_not_depend_on_their_order():
    order = np.random.default_rng(2).permutation(len(X))
    one, other = (KernelPCA(3, kernel=RBF(2.0)).fit(x).transform(NEW) for x in (X, X[order]))
    assert_allclose(aligned(one, other), other, atol=1e-9)


@pytest.mark.parametrize("columns", [1, 2])
def test_all_components_of_low_rank_are_those_of_the_dense_matrix(columns):
    """From a pivoted Cholesky factor, where LAPACK would decompose the matrix."""
    x = RNG.normal(size=(700, columns))
    pca = KernelPCA(kernel=RBF(1.5)).fit(x)
    values, vectors = eigh(Gram(RBF(1.5), x).centered().dense())
    values, vectors = values[::-1], vectors[:, ::-1]
    k = pca.n_components_
    assert k < 300
    assert abs(k - np.sum(values > 700 * np.finfo(float).eps * values[0])) <= 3  # rounding decides
    assert_allclose(pca.eigenvalues_, values[:k], atol=1e-13 * values[0])
    scores = pca.transform(x)
    large = int(np.sum(values > 1e-6 * values[0]))
    want = vectors[:, :large] * np.sqrt(values[:large])
    assert_allclose(scores[:, :large], aligned(want, scores[:, :large]), atol=1e-7)
    peaks = np.abs(scores).argmax(axis=0)
    assert (scores[peaks, np.arange(k)][:large] > 0).all()


def test_a_share_of_the_variance_chooses_the_number():
    whole = KernelPCA(kernel=RBF(2.0)).fit(X)
    assert_allclose(whole.explained_variance_ratio_.sum(), 1, rtol=1e-9)
    for share in (0.3, 0.8, 0.99):
        some = KernelPCA(share, kernel=RBF(2.0)).fit(X)
        reached = np.cumsum(whole.explained_variance_ratio_)
        assert some.n_components_ == np.argmax(reached >= share) + 1
        assert_allclose(some.eigenvalues_, whole.eigenvalues_[: some.n_components_], rtol=1e-9)


def test_a_share_that_needs_more_components_than_are_looked_at_first():
    x = np.random.default_rng(3).normal(size=(1200, 6))
    pca = KernelPCA(0.8, kernel=RBF(2.0)).fit(x)
    assert pca.n_components_ > 16
    reached = np.cumsum(pca.explained_variance_ratio_)
    assert reached[-2] < 0.8 <= reached[-1]


def test_names_and_frames():
    frame = pd.DataFrame(X, columns=[*"abcd"])
    pca = KernelPCA(2).set_output(transform="pandas").fit(frame)
    scores = pca.transform(frame)
    assert scores.columns.tolist() == ["kernelpca0", "kernelpca1"]
    assert_allclose(scores, KernelPCA(2).fit_transform(X), atol=1e-9)
    assert_allclose(pca.function_(frame[[*"dbca"]]), pca.function_(frame))


def test_structured_objects():
    words = ["rome", "oslo", "rome", "bern", "oslo", "rome"]
    pca = KernelPCA(kernel=Delta()).fit(words)
    assert pca.n_components_ == 2  # three words
    scores = pca.transform(["rome", "rome", "bern"])
    assert_allclose(scores[0], scores[1])
    with pytest.raises(ValueError, match="LearnedMap"):
        pca.inverse_transform(scores)
    with pytest.raises(TypeError, match="numeric vectors"):
        KernelPCA(kernel=Delta(), preimage=LearnedMap()).fit(words)


def test_float32_and_torch():
    want = KernelPCA(3, kernel=RBF(2.0)).fit(X).transform(NEW)
    single = KernelPCA(3, kernel=RBF(2.0)).fit(X.astype(np.float32))
    found = single.transform(NEW.astype(np.float32))
    assert found.dtype == np.float32
    assert_allclose(aligned(found, want), want, atol=1e-4)
    torch = pytest.importorskip("torch")
    tensors = KernelPCA(3, kernel=RBF(2.0)).fit(torch.tensor(X)).transform(torch.tensor(NEW))
    assert_allclose(aligned(tensors.numpy(), want), want, atol=1e-8)


def test_the_number_of_components_is_searched():
    rng = np.random.default_rng(4)
    angle = rng.uniform(0, 2 * np.pi, 150)
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.05 * rng.normal(size=(150, 2))
    line = make_pipeline(KernelPCA(kernel=RBF(1.0)), KernelRidge(Linear(), 1e-3))
    grid = {"kernelpca__n_components": [1, 4], "kernelpca__kernel__bandwidth": [0.01, 0.7]}
    search = GridSearchCV(line, grid, cv=3).fit(x, np.cos(2 * angle))
    assert search.best_params_ == {
        "kernelpca__n_components": 4,
        "kernelpca__kernel__bandwidth": 0.7,
    }


# ---- pre-images ------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", [RBF(3.0), Matern(2.5, 3.0), 2 * RBF(3.0) + RBF(6.0)])
def test_a_fixed_point_is_the_nearest_image(kernel):
    """The gradient of |phi(z) - P phi(x)|^2 is zero, by differences of the dense formula."""
    pca = KernelPCA(5, kernel=kernel).fit(X)
    scores = pca.transform(NEW)
    found = pca.inverse_transform(scores)
    mixture = scores @ pca.function_.weights.T + 1 / len(X)

    def distance2(z):
        return kernel.diag(z) - 2 * np.sum(mixture * kernel(z, X), axis=1)

    best = distance2(found)
    for j in range(4):
        step = np.zeros(4)
        step[j] = 1e-4
        slope = (distance2(found + step) - distance2(found - step)) / 2e-4
        assert_allclose(slope, 0, atol=1e-5)
    assert (best <= distance2(NEW) + 1e-12).all()


def test_all_components_bring_training_points_back():
    for preimage in (FixedPoint(), LearnedMap(1e-6)):
        pca = KernelPCA(kernel=RBF(3.0), preimage=preimage).fit(X[:30])
        assert_allclose(pca.denoise(X[:30]), X[:30], atol=1e-2)


@pytest.mark.parametrize("preimage", [FixedPoint(), LearnedMap()])
def test_noise_is_taken_off_a_curve_where_linear_pca_cannot(preimage):
    rng = np.random.default_rng(5)
    angle = rng.uniform(0, 2 * np.pi, 300)
    clean = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    noisy = clean + 0.2 * rng.normal(size=clean.shape)
    pca = KernelPCA(4, kernel=RBF(1.0), preimage=preimage).fit(noisy[:200])
    linear = PCA(1).fit(noisy[:200])

    def error(found):
        return np.mean((found - clean[200:]) ** 2)

    ours = error(pca.denoise(noisy[200:]))
    assert ours < 0.9 * error(noisy[200:])
    assert ours < 0.3 * error(linear.inverse_transform(linear.transform(noisy[200:])))


def test_far_scores_give_finite_points():
    pca = KernelPCA(3, kernel=RBF(0.5)).fit(X)
    assert np.isfinite(pca.inverse_transform(1e3 * np.ones((2, 3)))).all()


def test_blocks_of_scores_do_not_matter(monkeypatch):
    pca = KernelPCA(3, kernel=RBF(2.0)).fit(X)
    want = pca.denoise(NEW)
    monkeypatch.setattr("mercer.learn.components.preimage._VALUES_PER_BLOCK", 200)
    assert_allclose(pca.denoise(NEW), want, rtol=1e-9)


# ---- refusals --------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, -1, 1.5, 0.0, 1.0, "2", True, np.nan])
def test_wrong_numbers_of_components(number):
    with pytest.raises((ValueError, TypeError), match="n_components must be"):
        KernelPCA(number).fit(X)


def test_refusals_say_what_was_needed():
    with pytest.raises(ValueError, match="at most the number of points, 80, got 81"):
        KernelPCA(81).fit(X)
    with pytest.raises(ValueError, match="n_components must be at most 4, .* got 5"):
        KernelPCA(5, kernel=Linear()).fit(X)
    with pytest.raises(ValueError, match="X must vary"):
        KernelPCA(kernel=RBF(1.0)).fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="X must vary"):
        KernelPCA(kernel=Constant(2.0)).fit(X)
    with pytest.raises(ValueError, match="NaN"):
        KernelPCA().fit(np.where(X > 1, np.nan, X))
    with pytest.raises(ValueError, match="1 sample"):
        KernelPCA(kernel=RBF(1.0)).fit(X[:1])
    with pytest.raises(TypeError, match="preimage must be"):
        KernelPCA(preimage="ridge").fit(X)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="use preimage=LearnedMap"):
        KernelPCA(preimage=FixedPoint(), kernel=Polynomial(2)).fit(X)
    with pytest.raises(ValueError, match="use preimage=LearnedMap"):
        KernelPCA(2, kernel=Polynomial(2)).fit(X).inverse_transform(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="X must have 2 columns, one for each component, got 3"):
        KernelPCA(2).fit(X).inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="ridge must be a positive number"):
        LearnedMap(0.0)
    with pytest.raises(ValueError, match="rounds must be"):
        FixedPoint(rounds=0)


def test_too_many_components_for_the_budget():
    x = np.random.default_rng(0).normal(size=(1500, 2))
    with mercer.config(memory="16MiB"), pytest.raises(mercer.MemoryBudgetError, match="fewer"):
        KernelPCA(kernel=RBF(1.0)).fit(x)


def test_indefinite_kernels_give_the_components_of_positive_eigenvalues():
    kernel = Sigmoid(0.5, 1.0)
    values = np.linalg.eigvalsh(Gram(kernel, X).centered().dense())
    assert values[0] < -1e-3
    pca = KernelPCA(2, kernel=kernel).fit(X)
    assert_allclose(pca.eigenvalues_, values[::-1][:2], rtol=1e-9)


def test_a_kernel_that_sees_no_neighbours():
    """Its centred matrix is that of centring, with one eigenvalue n - 1 times."""
    x = np.random.default_rng(0).normal(size=(60, 3))
    pca = KernelPCA(2, kernel=RBF(1e-4)).fit(x)
    assert_allclose(pca.explained_variance_ratio_, 1 / 59)
    assert_allclose(pca.function_.norm(), 1)
