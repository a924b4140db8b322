"""Kernel CCA against linear CCA and the generalised eigenvalue problem, solved densely."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag, eigh
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit

import mercer
from mercer.gram import Gram
from mercer.kernels import RBF, Delta, Laplace, Linear, Polynomial, Sigmoid
from mercer.learn import KCCA
from mercer.rkhs import kcca

RNG = np.random.default_rng(0)
N = 60
T = RNG.normal(size=N)
X = np.stack([T, RNG.normal(size=N)], axis=1) + 0.3 * RNG.normal(size=(N, 2))
Y = np.stack([np.sin(2 * T), RNG.normal(size=N), RNG.normal(size=N)], axis=1)
Z = T[:, None] ** 2 + 0.3 * RNG.normal(size=(N, 1))


def dense_problem(kernels, samples, ridge):
    """Eigenvalues and vectors of [K_i K_j], i != j, against diag(K_i (K_i + n ridge)) (centred)."""
    n = len(samples[0])
    grams = [Gram(k, x).centered().dense() for k, x in zip(kernels, samples, strict=True)]
    squares = [g @ g + n * ridge * g for g in grams]
    bottom = block_diag(*(s + 1e-13 * np.trace(s) * np.eye(n) for s in squares))
    top = np.block([[a @ b for b in grams] for a in grams]) - block_diag(*(g @ g for g in grams))
    return eigh((top + top.T) / 2, bottom)


# ---- against others --------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.01, 0.3])
@pytest.mark.parametrize(
    "kernels",
    [(RBF(1.0), RBF(1.5)), (Laplace(1.0), RBF(1.0)), (Polynomial(2), Laplace(2.0))],
)
def test_correlations_are_the_generalised_eigenvalues(kernels, ridge):
    want = dense_problem(kernels, (X, Y), ridge)[0][::-1][:3]
    found = KCCA(3, kernel=kernels[0], kernel_y=kernels[1], ridge=ridge).fit(X, Y)
    assert_allclose(found.correlations_, want, rtol=1e-6)
    assert_allclose(found.correlations_[0], kcca(*kernels, X, Y, ridge=ridge), rtol=1e-9)


@pytest.mark.parametrize("ridge", [0.01, 0.3])
def test_three_views_are_the_generalised_eigenvalues_too(ridge):
    kernels = (RBF(1.0), RBF(1.5), Laplace(1.0))
    want = dense_problem(kernels, (X, Y, Z), ridge)[0][::-1][:2] / 2  # M - 1
    found = KCCA(2, kernel=kernels[0], kernel_y=kernels[1:], ridge=ridge).fit(X, (Y, Z))
    assert_allclose(found.correlations_, want, rtol=1e-6)
    assert len(found.functions_) == 3


def test_several_views_of_which_there_are_two_are_two():
    two = KCCA(2, kernel=RBF(1.0), kernel_y=RBF(1.5), ridge=0.1).fit(X, Y)
    one = KCCA(2, kernel=RBF(1.0), kernel_y=(RBF(1.5),), ridge=0.1).fit(X, (Y,))
    assert_allclose(one.transform(X), two.transform(X), atol=1e-12)


def test_linear_kernels_are_linear_cca():
    found = KCCA(2, kernel=Linear(), kernel_y=Linear(), ridge=1e-9).fit(X, Y)
    q, r = (np.linalg.qr(v - v.mean(axis=0))[0] for v in (X, Y))
    left, values, right = np.linalg.svd(q.T @ r)
    assert_allclose(found.correlations_, values, rtol=1e-6)
    mine = found.variates(X, Y)
    for scores, want in zip(mine, (q @ left[:, :2], r @ right[:2].T), strict=True):
        match = np.abs(np.sum(scores * want, axis=0)) / np.linalg.norm(scores, axis=0)
        assert_allclose(match, 1, rtol=1e-6)


def test_linear_cca_of_scikit_learn():
    from sklearn.cross_decomposition import CCA

    theirs = CCA(1, max_iter=5000, tol=1e-12).fit(X, Y)
    a, b = theirs.transform(X, Y)
    want = np.corrcoef(a[:, 0], b[:, 0])[0, 1]
    found = KCCA(1, kernel=Linear(), kernel_y=Linear(), ridge=1e-9).fit(X, Y)
    assert_allclose(found.correlations_[0], want, rtol=1e-6)
    assert_allclose(found.score(X, Y), want, rtol=1e-6)


# ---- laws ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernels", [(RBF(1.0), RBF(1.5)), (Laplace(1.0), Laplace(1.0))])
def test_variates_have_the_scale_and_the_covariances_they_should(kernels):
    ridge = 0.05
    found = KCCA(3, kernel=kernels[0], kernel_y=kernels[1], ridge=ridge).fit(X, Y)
    a, b = found.variates(X, Y)
    assert_allclose(a.mean(axis=0), 0, atol=1e-8)
    assert_allclose(a.T @ b / N, np.diag(found.correlations_), atol=1e-7)
    for scores, f, kernel, x in zip((a, b), found.functions_, kernels, (X, Y), strict=True):
        assert_allclose(scores, f(x) - f(x).mean(axis=0), atol=1e-8)
        norms = f.inner(f)
        assert_allclose(scores.T @ scores / N + ridge * norms, np.eye(3), atol=1e-6)
        assert f.kernel == kernel


def test_factors_and_eigenvectors_agree():
    """Smooth kernels live on few points; all points say the same."""
    n = 300
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 1))
    y = np.cos(2 * x) + 0.3 * rng.normal(size=(n, 1))
    found = KCCA(2, kernel=RBF(1.0), kernel_y=RBF(0.7), ridge=1e-3).fit(x, y)
    assert len(found.function_.points) < 50
    values = dense_problem((RBF(1.0), RBF(0.7)), (x, y), 1e-3)[0][::-1][:2]
    assert_allclose(found.correlations_, values, rtol=1e-6)


def test_a_low_rank_is_an_approximation():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 5))
    y = x[:, :1] ** 2 + 0.1 * rng.normal(size=(200, 1))
    exact, rough = (KCCA(1, kernel=RBF(3.0), ridge=0.01, rank=r).fit(x, y) for r in (None, 60))
    assert len(rough.function_.points) == 60
    assert_allclose(rough.correlations_, exact.correlations_, atol=0.02)
    assert rough.correlations_[0] <= exact.correlations_[0] + 1e-9  # a smaller space


def test_dependence_is_found_on_other_points():
    rng = np.random.default_rng(3)
    t = rng.uniform(-2, 2, size=500)
    x, y = np.stack([t, rng.normal(size=500)], axis=1), np.cos(3 * t) + 0.1 * rng.normal(size=500)
    found = KCCA(1, random_state=0).fit(x[:300], y[:300])
    assert found.score(x[300:], y[300:]) > 0.9
    apart = KCCA(1, random_state=0).fit(x[:300], rng.permutation(y[:300]))
    assert abs(apart.score(x[300:], y[300:])) < 0.3


def test_the_ridge_is_chosen_by_cross_validation():
    ridges = [1e-3, 1e-2, 1e-1]
    found = KCCA(1, kernel=RBF(1.0), kernel_y=RBF(1.0), ridge=ridges, cv=KFold(3)).fit(X, Y)
    by_hand = []
    for ridge in ridges:
        scores = []
        for train, test in KFold(3).split(X):
            part = KCCA(1, kernel=RBF(1.0), kernel_y=RBF(1.0), ridge=ridge).fit(X[train], Y[train])
            scores.append(part.score(X[test], Y[test]))
        by_hand.append(np.mean(scores))
    assert_allclose(found.ridge_scores_, by_hand, atol=1e-7)
    assert found.ridge_ == ridges[int(np.argmax(by_hand))]


def test_units_of_a_view_do_not_matter_to_the_default():
    one = KCCA(1, random_state=0).fit(X, Y)
    other = KCCA(1, random_state=0).fit(10 * X, Y / 7)
    assert_allclose(one.correlations_, other.correlations_, rtol=1e-6)
    assert_allclose(one.ridges_, other.ridges_, rtol=1e-6)


def test_search_frames_and_objects():
    frame = pd.DataFrame(X, columns=["a", "b"])
    labels = np.where(T > 0, "up", "down").tolist()
    found = KCCA(1, kernel=RBF(1.0).select("a"), kernel_y=Delta(), ridge=0.01).fit(frame, labels)
    assert found.score(frame, labels) > 0.7
    assert found.get_feature_names_out().tolist() == ["kcca0"]
    grid = {"kernel__bandwidth": [0.01, 1.0], "ridge": [0.01]}
    search = GridSearchCV(KCCA(1, kernel=RBF(1.0)), grid, cv=3).fit(X, Y)
    assert search.best_params_["kernel__bandwidth"] == 1.0


def test_torch():
    torch = pytest.importorskip("torch")
    arguments = {"kernel": RBF(1.0), "kernel_y": RBF(1.5), "ridge": 0.1}
    want = KCCA(2, **arguments).fit(X, Y).variates(X, Y)
    x, y = torch.tensor(X), torch.tensor(Y)
    for mine, theirs in zip(KCCA(2, **arguments).fit(x, y).variates(x, y), want, strict=True):
        assert_allclose(mine, theirs, atol=1e-7)


# ---- refusals --------------------------------------------------------------------------------


def test_refusals_say_what_was_needed():
    with pytest.raises(ValueError, match="n_components must be at most 1, .* got 2"):
        KCCA(2, kernel_y=Delta(), ridge=0.1).fit(X, T > 0)
    with pytest.raises(ValueError, match="y must vary"):
        KCCA(1, kernel_y=RBF(1.0), ridge=0.1).fit(X, np.ones(N))
    with pytest.raises(ValueError, match="all points of y are equal"):
        KCCA(1, ridge=0.1).fit(X, np.ones(N))
    with pytest.raises(ValueError, match="same number of points, got 60 and 59"):
        KCCA(1).fit(X, Y[1:])
    with pytest.raises(ValueError, match="ridge must be a positive number"):
        KCCA(1, ridge=0.0).fit(X, Y)
    with pytest.raises(ValueError, match="smallest ridge must be a positive number"):
        KCCA(1, ridge=[0.0, 1.0]).fit(X, Y)
    with pytest.raises(ValueError, match="y has NaN"):
        KCCA(1).fit(X, np.where(Y > 1, np.nan, Y))
    with pytest.raises(ValueError, match=r"kernel_y must be a kernel for each of 2 other views"):
        KCCA(1, kernel_y=RBF(1.0)).fit(X, (Y, Z))
    with pytest.raises(ValueError, match="y must hold 1 views, as in fit, got 2"):
        KCCA(1, ridge=0.1).fit(X, Y).score(X, (Y, Z))
    with pytest.raises(ValueError, match="y must be another view"):
        KCCA(1).fit(X, ())
    with pytest.raises(ValueError, match="n_components must be"):
        KCCA(0).fit(X, Y)
    with pytest.raises(ValueError, match="needs at least 4 points, got 3"):
        KCCA(1).fit(X[:3], Y[:3])
    with pytest.raises(TypeError, match="kernel_y must be a kernel"):
        KCCA(1, kernel_y=["rbf"]).fit(X, Y)  # type: ignore[list-item]


def test_full_rank_beyond_the_budget_is_approximated_with_a_bound():
    x = np.random.default_rng(0).normal(size=(800, 30))
    y = x[:, 0] ** 2
    exact = KCCA(2, kernel=Laplace(9.0), ridge=0.1).fit(x, y)
    assert exact.error_bound_ == 0
    with mercer.config(memory="16MiB"):
        with pytest.warns(UserWarning, match=r"used the 655 and \d+ leading .* by at most 0\.\d"):
            rough = KCCA(2, kernel=Laplace(9.0), ridge=0.1).fit(x, y)
        KCCA(1, kernel=Laplace(9.0), ridge=0.1, rank=50).fit(x, y)  # as asked: no warning
    below = exact.correlations_ - rough.correlations_
    assert (below > -1e-9).all()
    assert (below <= rough.error_bound_).all()
    assert below.max() > 1e-5


def test_kernels_that_may_be_indefinite_need_dense_matrices():
    x = np.random.default_rng(0).normal(size=(800, 3))
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(mercer.MemoryBudgetError, match="not known to be positive definite"),
    ):
        KCCA(1, kernel=Sigmoid(1.0, -1.0), ridge=0.1).fit(x, x[:, 0])


# ---- factors, products of features and dense matrices -----------------------------------------


@pytest.mark.parametrize("ridge", [1e-5, 1e-3, 0.1])
@pytest.mark.parametrize("dimensions", [1, 2, 12])
def test_functions_are_those_of_the_dense_problem(dimensions, ridge):
    """Scores on the training points against eigenvectors of the dense pencil in principal directions."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(160, dimensions))
    y = np.sin(2 * x[:, :1]) + 0.3 * rng.normal(size=(160, 1))
    kernels = RBF(1.5 * dimensions**0.5), RBF(0.7)
    found = KCCA(2, kernel=kernels[0], kernel_y=kernels[1], ridge=ridge).fit(x, y)
    values, scores = by_singular_vectors(kernels, (x, y), ridge, 2)
    assert_allclose(found.correlations_, values, atol=1e-8)
    for mine, theirs in zip(found.variates(x, y), scores, strict=True):
        assert_allclose(np.abs(np.sum(mine * theirs, axis=0)), np.sum(theirs**2, axis=0), rtol=1e-8)
        assert_allclose(np.sum(mine**2, axis=0), np.sum(theirs**2, axis=0), rtol=1e-8)


def by_singular_vectors(kernels, samples, ridge, number):
    """Correlations and training scores from the eigenvectors of both dense Gram matrices."""
    n, parts = len(samples[0]), []
    for kernel, x in zip(kernels, samples, strict=True):
        values, vectors = eigh(Gram(kernel, x).centered().dense())
        values = np.clip(values, 0, None)
        parts.append((vectors * np.sqrt(values / (values + n * ridge))) @ vectors.T)
    left, correlations, right = np.linalg.svd(parts[0] @ parts[1])
    vectors = left[:, :number], right[:number].T
    return correlations[:number], [n**0.5 * p @ v for p, v in zip(parts, vectors, strict=True)]


def test_three_views_of_full_rank():
    """Dense matrices, at a single ridge, against all columns of the factors."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(120, 8))
    y, z = np.sin(x[:, :2]) + 0.2 * rng.normal(size=(120, 2)), x[:, :6] ** 2
    arguments = {"kernel": Laplace(3.0), "kernel_y": (Laplace(1.0), RBF(2.0)), "ridge": 0.02}
    dense, columns = (KCCA(2, rank=r, **arguments).fit(x, (y, z)) for r in (None, 120))
    assert_allclose(dense.correlations_, columns.correlations_, rtol=1e-8)
    new = rng.normal(size=(9, 8))
    views = new, (new[:, :2], new[:, :6])
    for mine, theirs in zip(dense.variates(*views), columns.variates(*views), strict=True):
        assert_allclose(mine, theirs, atol=1e-7)


@pytest.mark.parametrize("splitter", [KFold(4), ShuffleSplit(3, test_size=0.7, random_state=0)])
def test_folds_by_products_are_folds_by_singular_vectors(splitter):
    """A candidate of 1e-12 is too small for products of features: singular vectors are used."""
    ridges = [1e-3, 1e-2, 1e-1]
    arguments = {"kernel": RBF(1.0), "kernel_y": RBF(1.5), "cv": splitter}
    products = KCCA(2, ridge=ridges, **arguments).fit(X, Y)
    singular = KCCA(2, ridge=[1e-12, *ridges], **arguments).fit(X, Y)
    assert_allclose(products.ridge_scores_, singular.ridge_scores_[1:], atol=1e-8)


def test_columns_are_limited_where_the_ridge_is_chosen():
    """Full rank: the ridge and the functions are those of the leading columns, with a warning."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(540, 20))
    y = x[:, :1] + 0.3 * rng.normal(size=(540, 1))
    arguments = {"kernel": RBF(6.0), "kernel_y": RBF(1.0), "ridge": [1e-3, 1e-2], "cv": KFold(2)}
    with pytest.warns(UserWarning, match=r"used the 500 and \d\d leading columns"):
        found = KCCA(1, **arguments).fit(x, y)
    chosen = KCCA(1, rank=500, **arguments).fit(x, y)
    assert_allclose(found.ridge_scores_, chosen.ridge_scores_, atol=1e-9)
    assert_allclose(found.correlations_, chosen.correlations_, atol=1e-9)
    exact = KCCA(1, **{**arguments, "ridge": found.ridge_}).fit(x, y)
    below = exact.correlations_[0] - found.correlations_[0]
    assert 0 < below <= found.error_bound_


def test_indefinite_kernels_use_their_positive_part():
    found = KCCA(1, kernel=Sigmoid(1.0, -1.0), kernel_y=RBF(1.0), ridge=0.1).fit(X, Y)
    assert 0 < found.correlations_[0] <= 1


def test_a_list_of_views_is_no_tuple():
    with pytest.raises(TypeError, match="a list of 2 views: pass several views as a tuple"):
        KCCA(1).fit(X, [Y, Z])


def test_indefinite_kernels_have_no_factor_of_few_columns():
    indefinite = Sigmoid(1.0, -1.0)
    with pytest.raises(ValueError, match="the kernel must be positive definite"):
        KCCA(1, kernel=indefinite, kernel_y=RBF(1.0), ridge=0.1, rank=10).fit(X, Y)
    with pytest.raises(ValueError, match="the kernel must be positive definite"):
        KCCA(1, kernel=RBF(1.0), kernel_y=indefinite, ridge=0.1, rank=10).fit(X, Y)
    assert KCCA(1, kernel=Laplace(1.0), ridge=0.1, rank=10).fit(X, Y).correlations_[0] < 1
