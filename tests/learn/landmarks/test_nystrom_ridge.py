"""Ridge regression on landmarks: exact with all of them, the same from every source and solver."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import mercer
from mercer.errors import MemoryBudgetError, NotConverged
from mercer.features import KMeansPlusPlus, LeverageScores, UniformLandmarks
from mercer.kernels import RBF, Delta, Exponential, Linear, Sigmoid
from mercer.learn import (
    Batches,
    ConjugateGradients,
    KernelRidge,
    NormalEquations,
    NystromRidge,
    Parquet,
)
from mercer.learn.landmarks import streaming
from tests.support.arrays import torch

RNG = np.random.default_rng(4)
X = RNG.normal(size=(900, 3))
Y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * RNG.normal(size=900)
TWO = np.stack([Y, X[:, 0]], axis=1)
KERNEL = Exponential(2.0)  # eigenvalues that fall slowly: all roads lead to the same digits
LANDMARKS = X[:60]
TIGHT = ConjugateGradients(200, 1e-12)


def by_hand(x, y, landmarks, ridge, weights=None, *, intercept=False):
    """Coefficients and, last, the intercept: dense algebra with a column of ones that is not penalised."""
    z, p = KERNEL(x, landmarks), np.zeros((len(landmarks) + 1,) * 2)
    p[:-1, :-1] = KERNEL(landmarks)
    z = np.concatenate([z, np.ones((len(x), 1))], axis=1)
    w, last = np.ones(len(x)) if weights is None else weights, len(landmarks) + intercept
    z, p = z[:, :last], p[:last, :last]
    solved = np.linalg.solve(z.T @ (w[:, None] * z) + ridge * p, z.T @ (w * y.T).T)
    return (solved[:-1], solved[-1]) if intercept else (solved, 0.0)


either = pytest.mark.parametrize("intercept", [True, False])


@either
@pytest.mark.parametrize("y", [Y, TWO], ids=["one", "two"])
@pytest.mark.parametrize("solver", [NormalEquations(), TIGHT], ids=str)
def test_solvers_against_dense_algebra(solver, y, intercept):
    weights, y = RNG.uniform(0.2, 2, size=900), y + 20
    for w in (None, weights):
        options = {"landmarks": LANDMARKS, "solver": solver, "intercept": intercept}
        fitted = NystromRidge(KERNEL, 0.5, **options).fit(X, y, sample_weight=w)
        wanted, b = by_hand(X, y, LANDMARKS, 0.5, w, intercept=intercept)
        assert_allclose(fitted.function_.weights, wanted, rtol=1e-6, atol=1e-7)
        assert_allclose(fitted.intercept_, b, atol=1e-6)
        assert_allclose(fitted.predict(X), KERNEL(X, LANDMARKS) @ wanted + b, atol=1e-7)
        assert fitted.predict(X).shape == y.shape


@pytest.mark.parametrize("solver", [NormalEquations(), TIGHT], ids=str)
@pytest.mark.parametrize("rule", [UniformLandmarks(), KMeansPlusPlus(), LeverageScores()], ids=str)
def test_all_points_are_the_exact_solution(solver, rule):
    exact = KernelRidge(KERNEL, 0.5).fit(X[:200], Y[:200])  # both with an intercept
    ours = NystromRidge(KERNEL, 0.5, landmarks=5000, rule=rule, solver=solver, random_state=0)
    assert_allclose(ours.fit(X[:200], Y[:200]).predict(X), exact.predict(X), atol=1e-6)
    assert len(ours.landmarks_) == 200  # more landmarks than points


def test_more_landmarks_are_nearer_to_the_exact_solution():
    exact = KernelRidge(RBF(1.5), 0.5).fit(X, Y).predict(X)
    off = [
        np.sqrt(
            np.mean(
                (
                    NystromRidge(RBF(1.5), 0.5, landmarks=m, random_state=0).fit(X, Y).predict(X)
                    - exact
                )
                ** 2
            )
        )
        for m in (10, 50, 250)
    ]
    assert off[0] > 3 * off[1] > 9 * off[2]


@pytest.mark.parametrize("rule", [KMeansPlusPlus(), LeverageScores(0.1)], ids=str)
def test_rules_see_what_is_rare(rule):
    rng = np.random.default_rng(0)
    far = rng.normal(size=(30, 2)) + 20
    x = np.concatenate([0.1 * rng.normal(size=(370, 2)), far])
    y = np.concatenate([np.zeros(370), far[:, 0] - 20])
    errors = {}
    for name, r in (("uniform", UniformLandmarks()), ("rule", rule)):
        fits = [
            NystromRidge(RBF(1.0), 1e-3, landmarks=40, rule=r, random_state=s).fit(x, y)
            for s in range(3)
        ]
        errors[name] = np.mean([np.mean((f.predict(far) - y[-30:]) ** 2) for f in fits])
    assert errors["rule"] < 0.2 * errors["uniform"]


def test_as_scikit_learn_with_the_same_landmarks():
    theirs = make_pipeline(
        Nystroem(kernel="rbf", gamma=0.5, n_components=80, random_state=0),
        Ridge(0.3),
    ).fit(X, Y + 5)
    ours = NystromRidge(RBF(1.0), 0.3, landmarks=theirs[0].components_).fit(X, Y + 5)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-5)


@either
def test_linear_kernel_is_linear_ridge(intercept):
    theirs = Ridge(0.3, fit_intercept=intercept).fit(X, Y + 5)
    ours = NystromRidge(Linear(), 0.3, landmarks=10, intercept=intercept, random_state=0)
    assert_allclose(ours.fit(X, Y + 5).predict(X), theirs.predict(X), atol=1e-6)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)


@pytest.mark.parametrize("solver", [NormalEquations(), ConjugateGradients(60, 1e-5)], ids=str)
def test_float32_tiles_are_summed_in_float64(solver):
    x, y = X.astype(np.float32), Y.astype(np.float32)
    ours = NystromRidge(RBF(1.0), 1.0, landmarks=300, solver=solver, random_state=0).fit(x, y)
    wanted = NystromRidge(RBF(1.0), 1.0, landmarks=300, solver=TIGHT, random_state=0).fit(X, Y)
    new = np.random.default_rng(5).normal(size=(2000, 3))
    truth = np.sin(2 * new[:, 0]) + new[:, 1] * new[:, 2]
    found = ours.predict(new.astype(np.float32))
    assert found.dtype == np.float32
    off, least = (np.mean((f - truth) ** 2) for f in (found, wanted.predict(new)))
    assert off < 1.1 * least


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_do_not_matter(threads):
    x, y = np.tile(X, (12, 1)), np.tile(Y, 12)
    make = NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS)
    with mercer.config(threads=2):
        wanted = make.fit(x, y).function_.weights
    with mercer.config(threads=threads):
        assert_array_equal(make.fit(x, y).function_.weights, wanted)


# ---- sources ----------------------------------------------------------------------------------


def test_partial_fit_is_fit():
    whole = NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS).fit(X, Y)
    parts = NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS)
    for rows in np.array_split(np.arange(900), 7):
        parts.partial_fit(X[rows], Y[rows])
    assert_allclose(parts.function_.weights, whole.function_.weights, rtol=1e-7)
    more = NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS).fit(X[:500], Y[:500])
    more.partial_fit(X[500:], Y[500:])
    assert_allclose(more.function_.weights, whole.function_.weights, rtol=1e-7)
    assert not hasattr(NystromRidge(KERNEL, solver=ConjugateGradients()), "partial_fit")


@pytest.mark.parametrize("solver", [NormalEquations(), TIGHT], ids=str)
@pytest.mark.parametrize("kind", ["function", "list", "parquet", "memory map", "frame"])
def test_sources(kind, solver, tmp_path):
    wanted = NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS, solver=solver).fit(X, Y).predict(X)
    pairs = [(X[i : i + 100], Y[i : i + 100]) for i in range(0, 900, 100)]
    learner = NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS, solver=solver)
    columns = dict(zip("abc", X.T, strict=True))
    if kind == "function":
        learner.fit(Batches(lambda: iter(pairs)))
    elif kind == "list":
        learner.fit(Batches(pairs))
    elif kind == "parquet":
        pq.write_table(pa.table(columns | {"y": Y}), tmp_path / "data.parquet", row_group_size=150)
        learner.fit(Parquet(tmp_path / "data.parquet", target="y"))
    elif kind == "memory map":
        held = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=X.shape)
        held[:] = X
        learner.fit(held, Y)
    else:
        learner.fit(pd.DataFrame(columns), Y)
    new = pd.DataFrame(columns) if kind in ("parquet", "frame") else X
    assert_allclose(learner.predict(new), wanted, rtol=1e-6, atol=1e-8)


def test_landmarks_are_drawn_from_everywhere_in_a_stream(tmp_path):
    x = np.arange(20_000.0)
    pq.write_table(pa.table({"x": x, "y": 0 * x}), tmp_path / "d.parquet", row_group_size=1000)
    sources = [
        Parquet(tmp_path / "d.parquet", target="y"),
        Batches([(part[:, None], 0 * part) for part in np.array_split(x, 30)]),
    ]
    for source in sources:
        found = NystromRidge(RBF(10.0), landmarks=400, random_state=0).fit(source).landmarks_
        assert found.shape == (400, 1)
        assert len(np.unique(found)) == 400
        assert abs(found.mean() - 10_000) < 4 * 20_000 / np.sqrt(12 * 400)


def test_an_iterator_is_read_once():
    pairs = [(X[i : i + 300], Y[i : i + 300]) for i in range(0, 900, 300)]
    once = NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS).fit(Batches(iter(pairs)))
    assert_allclose(
        once.predict(X), NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS).fit(X, Y).predict(X)
    )
    drawn = NystromRidge(KERNEL, 0.5, landmarks=50, random_state=0).fit(Batches(iter(pairs)))
    rows = {tuple(row) for row in X[:300]}
    assert all(tuple(row) in rows for row in drawn.landmarks_)
    with pytest.raises(ValueError, match="pass a function"):
        NystromRidge(KERNEL, solver=TIGHT).fit(Batches(iter(pairs)))


def test_objects_and_tensors():
    labels = ["a", "b", "c"] * 30
    y = np.tile([1.0, 2.0, 3.0], 30)
    ours = NystromRidge(Delta(), 1e-6, landmarks=90, random_state=0).fit(labels, y)
    assert_allclose(ours.predict(["a", "c", "d"]), [1.0, 3.0, 2.0], atol=1e-5)
    plain = NystromRidge(Delta(), 1e-9, landmarks=90, intercept=False, random_state=0)
    assert_allclose(plain.fit(labels, y).predict(["a", "c", "d"]), [1.0, 3.0, 0.0], atol=1e-6)
    x = torch.tensor(X)
    for solver in (NormalEquations(), TIGHT):
        learner = NystromRidge(KERNEL, 0.5, landmarks=torch.tensor(LANDMARKS), solver=solver)
        found = learner.fit(x, torch.tensor(Y)).predict(x[:10])
        assert isinstance(found, torch.Tensor)
        c, b = by_hand(X, Y, LANDMARKS, 0.5, intercept=True)
        wanted = KERNEL(X[:10], LANDMARKS) @ c + b
        assert_allclose(found.numpy(), wanted, rtol=1e-5, atol=1e-7)


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -3, 1.5, "10", None])
def test_wrong_numbers_of_landmarks(bad):
    with pytest.raises((ValueError, TypeError), match="landmarks must be a whole number"):
        NystromRidge(RBF(1.0), landmarks=bad).fit(X, Y)


def test_wrong_parameters():
    with pytest.raises(ValueError, match="ridge must be a positive number"):
        NystromRidge(RBF(1.0), 0.0).fit(X, Y)
    with pytest.raises(TypeError, match="rule must be a rule"):
        NystromRidge(RBF(1.0), rule="uniform").fit(X, Y)
    with pytest.raises(TypeError, match="solver must be"):
        NystromRidge(RBF(1.0), solver="cg").fit(X, Y)
    with pytest.raises(ValueError, match="X and landmarks|same number of columns|landmarks"):
        NystromRidge(RBF(1.0), landmarks=X[:5, :2]).fit(X, Y)
    with pytest.raises(ValueError, match="tolerance must be"):
        ConjugateGradients(10, 0.0)


def test_wrong_sources(tmp_path):
    with pytest.raises(ValueError, match="a source of batches contains y"):
        NystromRidge(RBF(1.0)).fit(Batches([(X, Y)]), Y)
    with pytest.raises(ValueError, match="at least one batch"):
        NystromRidge(RBF(1.0)).fit(Batches([]))
    with pytest.raises(ValueError, match="at least one batch"):
        NystromRidge(RBF(1.0)).fit(Batches(iter([])))
    with pytest.raises(TypeError, match="every batch must be a pair"):
        NystromRidge(RBF(1.0)).fit(Batches([X]))
    with pytest.raises(TypeError, match="make must be a function"):
        Batches(3)
    with pytest.raises(FileNotFoundError, match="no file"):
        NystromRidge(RBF(1.0)).fit(Parquet(tmp_path / "none.parquet", "y"))
    pq.write_table(pa.table({"x": X[:, 0], "y": Y}), tmp_path / "d.parquet")
    with pytest.raises(ValueError, match="no column 'z' in d.parquet: use x, y"):
        NystromRidge(RBF(1.0)).fit(Parquet(tmp_path / "d.parquet", "z"))
    nan = np.where(np.arange(900) == 7, np.nan, Y)
    with pytest.raises(ValueError, match="y has NaN"):
        NystromRidge(RBF(1.0), landmarks=9).fit(Batches([(X, nan)]))


@pytest.mark.parametrize("bandwidth", [1.0, 1000.0])
def test_points_that_are_alike_for_the_kernel(bandwidth):
    x = np.ones((12, 2)) if bandwidth == 1.0 else X[:200]
    y, kernel = Y[: len(x)], RBF(bandwidth)
    exact = KernelRidge(kernel, 1e-3).fit(x, y).predict(x)
    found = NystromRidge(kernel, 1e-3, landmarks=x, random_state=0).fit(x, y).predict(x)
    assert_allclose(found, exact, atol=1e-3)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("kernel", [RBF(2.0), RBF(0.7), Exponential(2.0)], ids=str)
@pytest.mark.parametrize(("n", "m"), [(60, 30), (500, 100), (3000, 200)])
def test_rounding_of_float32_is_not_fitted(n, m, kernel, library):
    """The same points in both dtypes: only the predictions are rounded, by 6e-8 of their size, up to 3."""
    rng, library = np.random.default_rng(0), np.asarray if library == "numpy" else torch.asarray
    x = rng.normal(size=(n + 200, 3)).astype(np.float32)
    y = (np.sin(2 * x[:n, 0]) + 0.3 * rng.normal(size=n)).astype(np.float32)
    found = []
    for dtype in (np.float32, np.float64):
        points, marks, new = (library(a.astype(dtype)) for a in (x[:n], x[:m], x[n:]))
        learner = NystromRidge(kernel, 0.01, landmarks=marks)
        found.append(learner.fit(points, library(y.astype(dtype))).predict(new))
    assert str(found[0].dtype).endswith("float32")
    assert_allclose(np.asarray(found[0]), np.asarray(found[1]), atol=1e-5 * float(np.std(y)))


def test_float64_where_a_refinement_moves_much(monkeypatch):
    """A large problem whose rounding shows is solved again; batches that come once are in float64 at once.

    Another order of the sums moves predictions by some 1e-5 in float64, and by 1e-2 and more in float32.
    """
    monkeypatch.setattr(streaming, "_MAX_DOUBLE_PRODUCTS", 0)
    monkeypatch.setattr(streaming, "_MAX_REFINEMENT", 1e-3)
    x, y = X.astype(np.float32), Y.astype(np.float32)
    wide = [a.astype(np.float64) for a in (x, y)]
    wanted = NystromRidge(RBF(2.0), 0.01, landmarks=wide[0][:100]).fit(*wide).predict(wide[0])
    learner = NystromRidge(RBF(2.0), 0.01, landmarks=x[:100])
    for data, passes in (((x, y), 3), ((Batches(iter([(x, y)])),), 1)):
        assert_allclose(learner.fit(*data).predict(x), wanted, atol=1e-3)
        assert learner.n_passes_ == passes
    parts = NystromRidge(RBF(2.0), 0.01, landmarks=x[:100])
    parts.partial_fit(x[:400], y[:400]).partial_fit(x[400:], y[400:])
    assert_allclose(parts.predict(x), wanted, atol=1e-3)


@either
def test_float32_is_refined(intercept, monkeypatch):
    """A refinement c + 1.5 F^-1 (gradient) leaves |1 - 1.5 t| of an error for eigenvalues t of F^-1 A.

    0 < t <= 1, as the factor F has the larger diagonal: no error grows, and where F is close to the
    matrix A (t = 1) every step halves it. Three steps leave 1/8; a quarter is asked for.
    """
    monkeypatch.setattr(streaming, "_MAX_DOUBLE_PRODUCTS", 0)
    points, target = X.astype(np.float32), Y.astype(np.float32)
    marks, options = points[:60], {"intercept": intercept}
    wide = [a.astype(np.float64) for a in (points, target, marks)]
    exact = NystromRidge(KERNEL, 1e-3, landmarks=wide[2], **options).fit(*wide[:2]).predict(wide[0])

    def error(refinements):
        options["solver"] = NormalEquations(refinements)
        fitted = NystromRidge(KERNEL, 1e-3, landmarks=marks, **options).fit(points, target)
        assert fitted.n_passes_ == 1 + refinements
        return np.sqrt(np.mean((fitted.predict(points) - exact) ** 2))

    assert error(3) < 0.25 * error(0)


@pytest.mark.parametrize("solver", [NormalEquations(), TIGHT], ids=str)
def test_means_of_y_do_not_matter(solver):
    """Predictions follow y + 1000, in float64 and in float32 to the rounding of the sum itself."""
    for dtype, atol in ((np.float64, 1e-8), (np.float32, 1e-3)):
        x, marks = X.astype(dtype), LANDMARKS.astype(dtype)
        learner = NystromRidge(KERNEL, 0.5, landmarks=marks, solver=solver)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConverged)  # float32 ends before 1e-12
            low = learner.fit(x, Y).predict(x)
            high = learner.fit(x, Y + 1000).predict(x)
        assert_allclose(high - 1000, low, atol=atol)


def test_the_intercept_of_parts_and_of_batches():
    """The first batch says by how much y is shifted; its mean is not that of the others."""
    order = np.argsort(Y)
    x, y = X[order], TWO[order] * 10 + 100
    wanted = NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS).fit(x, y)
    parts = NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS)
    pairs = [(x[rows], y[rows]) for rows in np.array_split(np.arange(900), 4)]
    for pair in pairs:
        parts.partial_fit(*pair)
    streamed = NystromRidge(KERNEL, 0.5, landmarks=LANDMARKS, solver=TIGHT).fit(Batches(pairs))
    for other in (parts, streamed):
        assert_allclose(other.intercept_, wanted.intercept_, rtol=1e-8)
        assert_allclose(other.predict(x), wanted.predict(x), rtol=1e-7)


def test_a_kernel_that_is_not_positive_definite():
    with pytest.raises(ValueError, match="positive definite"):
        NystromRidge(Sigmoid(5.0, -2.0), 10.0, landmarks=50, solver=TIGHT, random_state=0).fit(X, Y)


def test_budget_and_convergence():
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(MemoryBudgetError, match="ConjugateGradients"),
    ):
        NystromRidge(RBF(1.0), landmarks=900, solver=NormalEquations()).fit(X, Y)
    with pytest.warns(NotConverged, match="allow more iterations"):
        NystromRidge(RBF(1.0), 1e-4, landmarks=50, solver=ConjugateGradients(1)).fit(X, Y)
    assert_allclose(NystromRidge(RBF(1.0), landmarks=5).fit(X, 0 * Y).predict(X), 0.0)
    solver = ConjugateGradients()
    assert_allclose(
        NystromRidge(RBF(1.0), landmarks=5, solver=solver).fit(X, 0 * Y).predict(X), 0.0
    )
