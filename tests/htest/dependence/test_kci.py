"""x _||_ y | z: the statistic and its null by other roads, level and power."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.gram import Dense, Gram, ridge_solve
from mercer.htest import KCI, RCIT, Gamma, RCoT, Spectrum, WeightedChi2, WildBootstrap
from mercer.htest.dependence import conditional_statistic, kci
from mercer.htest.dependence.conditional_statistic import FeatureEvidence, KernelEvidence
from mercer.htest.dependence.null_spectrum import cube_sum, trace_of_cube
from mercer.htest.dependence.rcot import _single_column_features
from mercer.htest.dependence.regression_targets import (
    FeatureResiduals,
    FeatureTargets,
    GramResiduals,
    GramTargets,
)
from mercer.htest.dependence.ridge_smoother import (
    KernelDirections,
    Smoother,
    SmootherBasis,
    smoother,
)
from mercer.kernels import RBF, Linear, median_bandwidth
from mercer.rkhs.paired_samples import variables
from tests.support.htest_given import alike, classes, drawn, letters, one, post_nonlinear, switches
from tests.support.sequential_level import assert_level

RANDOM = [KCI(), RCoT(), RCIT()]
every_test = pytest.mark.parametrize("test", RANDOM, ids=["KCI", "RCoT", "RCIT"])


def evidence(test, x, y, z, seed=0):
    return test._evidence(test._variables(x, y, z), z, np.random.default_rng(seed))


def left(smooth: Smoother) -> np.ndarray:
    """I - S, dense."""
    n, vectors = smooth.basis.n, smooth.basis.vectors
    return np.eye(n) - 1 / n - (vectors * smooth.shares) @ vectors.T


# ---- regression -----------------------------------------------------------------------------


def test_a_smoother_is_ridge_regression_twice():
    rng = np.random.default_rng(0)
    z, a = rng.standard_normal((60, 2)), rng.standard_normal((60, 3))
    matrix = Dense(np.asarray(Gram(RBF(2.0), z).centered().dense()))
    directions = KernelDirections.of(Gram(RBF(2.0), z))
    chosen = smoother([directions], FeatureTargets(a), 0.1)
    ridge = [
        r for r in directions.ridges
        if np.allclose(1 - chosen.shares, (r / (directions.values + r)) ** 2, rtol=1e-10)
    ]  # fmt: skip
    centred, n = a - a.mean(axis=0), len(a)
    once = n * ridge[0] * ridge_solve(matrix, centred, n * ridge[0])
    twice = n * ridge[0] * ridge_solve(matrix, once, n * ridge[0])
    assert_allclose(chosen.residuals(a), twice, atol=1e-5)
    assert_allclose(chosen.residual_variances, np.diag(left(chosen) @ left(chosen)), atol=1e-10)
    assert_allclose(chosen.degrees, n - np.trace(left(chosen)), rtol=1e-10)


def test_directions_of_more_features_than_observations():
    features = np.random.default_rng(0).normal(size=(20, 50))
    directions = KernelDirections.of_factor(features)
    centred = features - features.mean(axis=0)
    vectors = directions.basis.vectors
    assert vectors.shape == (20, 19)
    rebuilt = (vectors * (20 * directions.values)) @ vectors.T
    assert_allclose(rebuilt, centred @ centred.T, atol=1e-10)


def test_slack_uses_more_degrees_of_freedom_and_less_bias():
    rng = np.random.default_rng(1)
    z = rng.standard_normal((300, 2))
    signal = np.sin(2 * z).sum(axis=1, keepdims=True)
    among = [KernelDirections.of(Gram(RBF(s * median_bandwidth(z)), z)) for s in (0.5, 1.0, 2.0)]
    targets = FeatureTargets(signal + rng.standard_normal((300, 1)))
    found = [smoother(among, targets, s) for s in (0.0, 0.05, 0.2)]
    degrees = [f.degrees for f in found]
    bias = [float(np.sum(f.residuals(signal) ** 2)) for f in found]
    assert degrees == sorted(degrees)
    assert degrees[0] < degrees[2] < 150
    assert bias == sorted(bias, reverse=True)
    assert bias[2] < 0.5 * bias[0]


def test_the_chosen_ridge_predicts_left_out_observations_best():
    """Generalised cross-validation against leaving one out, by refitting."""
    rng = np.random.default_rng(2)
    z = rng.standard_normal((80, 1))
    a = np.sin(2 * z) + 0.5 * rng.standard_normal((80, 1))
    directions = KernelDirections.of(Gram(RBF(0.7), z))
    chosen = smoother([directions], FeatureTargets(a), 0.0)

    def left_out(ridge: float) -> float:
        shares = 1 - (ridge / (directions.values + ridge)) ** 2
        own = np.diag(left(Smoother(directions.basis, shares)))
        errors = Smoother(directions.basis, shares).residuals(a)[:, 0] / own
        return float(np.sum(errors**2))

    errors = np.array([left_out(r) for r in directions.ridges])
    own = np.diag(left(chosen))
    assert np.sum((chosen.residuals(a)[:, 0] / own) ** 2) <= 1.03 * errors.min()


# ---- the statistic and its null by other roads -----------------------------------------------


@pytest.mark.parametrize("d", [1, 4])
def test_statistic_and_form_by_dense_matrices(d):
    x, y, z = drawn(120, d)
    found = evidence(KCI(), x, y, z)
    k, l, m = (RBF(median_bandwidth(v))(v.reshape(120, -1)) for v in (x, y, z))
    r, q = left(found.x.smoother), left(found.y.smoother)
    residual_x, residual_y = r @ k @ r, q @ l @ q
    assert_allclose(found.observed, np.mean(m * residual_x * residual_y), rtol=1e-4)
    own = np.sqrt(np.diag(r @ r))
    form = residual_x / np.outer(own, own) * (r @ (m * residual_y) @ r)
    assert_allclose(np.asarray(found.matrix.dense()), form, atol=1e-5 * np.abs(form).max())
    assert KCI().test(x, y, z).statistic == KCI().statistic(x, y, z) == found.observed


def test_columns_and_matrices_are_two_roads_to_one_number(monkeypatch):
    x, y, z = drawn(600, 1)
    test = KCI(kernel_y=RBF(3.0), kernel_z=RBF(3.0))
    short = evidence(test, x, y, z)
    assert short._factor() is not None
    monkeypatch.setattr(conditional_statistic, "_ROWS_PER_COLUMN", 10**6)
    long = evidence(test, x, y, z)
    assert long._factor() is None
    assert_allclose(short.observed, long.observed, rtol=1e-5)
    assert_allclose(short.moments(), long.moments(), rtol=1e-5)
    assert_allclose(short.spectrum(20)[1], long.spectrum(20)[1], rtol=1e-4)


def test_gram_matrices_and_features_are_two_roads_to_one_number():
    rng = np.random.default_rng(3)
    z, a, b = rng.standard_normal((90, 2)), *rng.standard_normal((2, 90, 5))
    directions = [KernelDirections.of(Gram(RBF(s), z)) for s in (1.0, 2.0)]
    roads = [[FeatureTargets(f), GramTargets(f @ f.T)] for f in (a, b)]
    for features, gram in roads:
        assert_allclose(gram.along(directions[0].basis), features.along(directions[0].basis))
        assert_allclose(gram.variation, features.variation)
        by_features, by_gram = (t.residuals(smoother(directions, t, 0.2)) for t in (features, gram))
        assert_allclose(by_gram.smoother.shares, by_features.smoother.shares)
        assert_allclose(by_gram.share, by_features.share)
        assert_allclose(by_gram.gram().dense(), by_features.gram().dense(), atol=1e-12)
    found = [
        KernelEvidence(
            *(t.residuals(smoother(directions, t, 0.2)) for t in pair), Gram(RBF(1.0), z)
        )
        for pair in itertools.product(*roads)
    ]
    for each in found[1:]:
        assert_allclose(each.moments(), found[0].moments(), rtol=1e-9)
        assert_allclose(each.matrix.dense(), found[0].matrix.dense(), atol=1e-9)


def test_full_rank_goes_by_gram_matrices_and_low_rank_by_features(monkeypatch):
    """Exact Gram matrices, against features that miss a millionth of the trace."""
    rng = np.random.default_rng(4)
    z = rng.standard_normal((1000, 1))
    x, y = (z + rng.standard_normal((1000, 12)) for _ in range(2))
    found = evidence(KCI(), x, y, z)
    assert isinstance(found.x, GramResiduals)
    assert isinstance(evidence(KCI(), x[:, :1], y, z).x, FeatureResiduals)
    monkeypatch.setattr(kci, "_MIN_ROWS_FOR_GRAM", 1001)
    by_features = evidence(KCI(), x, y, z)
    assert isinstance(by_features.x, FeatureResiduals)
    assert_allclose(found.observed, by_features.observed, rtol=1e-4)
    assert_allclose(found.moments(), by_features.moments(), rtol=1e-4)


@pytest.mark.parametrize("test", [KCI(), RCoT()], ids=["KCI", "RCoT"])
def test_moments_are_those_of_spectrum_draws_and_signs(test):
    found = evidence(test, *drawn(150, 2))
    observed, middle, variance = found.moments()
    _, weights, rest = found.spectrum(150)
    assert_allclose(middle, weights.sum() + rest, rtol=1e-8)
    assert_allclose(variance, 2 * np.sum(weights**2), rtol=1e-6)
    form = np.asarray(found.matrix.dense()) / found.n**2
    eigenvalues = np.linalg.eigvalsh(form)[::-1][:10]
    assert_allclose(eigenvalues / eigenvalues[0], weights[:10] / weights[0], rtol=1e-5)
    np.fill_diagonal(form, 0.0)
    assert_allclose(variance, 2 * np.sum(form**2), rtol=1e-6)
    third = np.sqrt(8) * np.trace(form @ form @ form) / np.sum(form**2) ** 1.5
    assert_allclose(found.skewness(), third, rtol=1e-6)
    again, draws = found.signed(WildBootstrap(20_000), 0)
    assert again == observed
    assert_allclose(draws.mean(), middle, rtol=0.02)
    assert_allclose(draws.var(), variance, rtol=0.1)


@pytest.mark.parametrize("n", [40, 700])
def test_the_trace_of_a_cube(n):
    """By stripes, one or more of them; and of many observations by the largest eigenvalues."""
    a = np.random.default_rng(n).standard_normal((n, 30)) * 0.8 ** np.arange(30)
    cube = np.trace(np.linalg.matrix_power(a.T @ a, 3))
    assert_allclose(trace_of_cube(Dense(a @ a.T)), cube, rtol=1e-10)
    top = np.linalg.eigvalsh(a.T @ a)[::-1][:10]
    assert_allclose(cube_sum(top, np.sum(a**2), np.sum((a.T @ a) ** 2)), cube, rtol=1e-3)


def test_both_roads_to_the_skewness(monkeypatch):
    found = [evidence(KCI(), *drawn(300, 3, seed=1)) for _ in range(2)]
    exact = found[0].skewness()
    monkeypatch.setattr(conditional_statistic, "_MAX_ROWS_FOR_CUBE", 0)
    assert_allclose(found[1].skewness(), exact, rtol=1e-3)


@every_test
def test_nulls_agree(test):
    x, y, z = drawn(300, 1, seed=3, effect=0.1)
    kinds = (Gamma(), Spectrum(20_000), WeightedChi2(), WildBootstrap(20_000))
    found = [
        type(test)(null=null).test(x, y, z, rng=np.random.default_rng(0)).pvalue for null in kinds
    ]
    assert 0.001 < found[2] < 0.9
    assert_allclose(found, found[2], rtol=0.3, atol=0.005)


def test_the_null_knows_what_regression_costs():
    """A third of the observations goes into the regression: T has the mean of the form, on average."""
    rng = np.random.default_rng(0)
    n, p = 90, 30
    basis = np.linalg.qr(np.c_[np.ones(n), rng.standard_normal((n, p))])[0][:, 1:]
    smooth = Smoother(SmootherBasis(basis), np.ones(p))
    observed, means, naive = [], [], []
    for _ in range(400):
        x, y = (FeatureTargets(rng.standard_normal((n, 2))).residuals(smooth) for _ in range(2))
        found = FeatureEvidence(x, y)
        observed.append(found.observed)
        means.append(found.moments()[1])
        naive.append(np.sum(x.values**2 @ np.ones(2) * (y.values**2 @ np.ones(2))) / n**2)
    ratio, error = np.mean(observed) / np.mean(means), np.std(observed) / np.mean(observed) / 20
    assert abs(ratio - 1) < 3 * error + 0.03
    assert np.mean(observed) / np.mean(naive) > 1.3  # n / (n - p) = 1.5


# ---- peers ------------------------------------------------------------------------------------


def test_gamma_of_causal_learn_from_the_same_matrices():
    kci = pytest.importorskip("causallearn.utils.KCI.KCI")
    found = evidence(KCI(), *drawn(150, 2))
    noise = found.x.noise @ found.x.noise.T
    other = np.asarray(found.matrix.dense()) / noise
    theirs = kci.KCI_CInd()
    theirs.thresh = 1e-9
    shape, scale = theirs.get_kappa(theirs.get_uuprod(noise, (other + other.T) / 2)[0])
    own, rows, _ = found._sums
    assert_allclose(own.sum() ** 2 / (2 * rows.sum()), shape, rtol=1e-3)
    assert_allclose(2 * rows.sum() / own.sum(), scale, rtol=1e-3)


def test_pvalues_are_those_of_causal_learn_where_it_is_right():
    """z Gaussian on the line, x and y linear in it, with and without dependence: 40 data sets."""
    kci = pytest.importorskip("causallearn.utils.KCI.KCI")
    ours, theirs = [], []
    for run in range(40):
        rng = np.random.default_rng(run)
        z, e, f = rng.standard_normal((3, 200))
        x = z + e
        y = z + f + 0.08 * (run % 4) * e
        ours.append(KCI().test(x, y, z).pvalue)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = kci.KCI_CInd().compute_pvalue(x[:, None], y[:, None], z[:, None])
        theirs.append(max(float(found[0]), 1e-12))
    assert np.corrcoef(np.log(ours), np.log(theirs))[0, 1] > 0.85
    assert np.mean((np.array(ours) < 0.05) == (np.array(theirs) < 0.05)) >= 0.85


# ---- level and power --------------------------------------------------------------------------


def rejections(test, problem, n, runs, **more):
    found = 0
    for run in runs:
        rng = np.random.default_rng([run, 7])
        found += test.test(*problem(rng, (n,), **more), rng=rng).rejects()
    return found


@every_test
@pytest.mark.parametrize("problem", [classes, switches, letters], ids=lambda p: p.__name__)
def test_discrete_variables(test, problem):
    assert_level(lambda run: rejections(test, problem, 150, [run]) == 1)
    assert rejections(test, problem, 500, range(10), effect=1.5) >= 7


def test_level_where_smoothing_for_prediction_fails():
    problem = post_nonlinear(alike, 3, noise=0.5)
    best, less = (rejections(KCI(slack=s), problem, 200, range(40)) for s in (0.0, 0.2))
    assert best > 9
    assert less <= 7


def test_waves_along_columns():
    """Each along one column of numbers that varies, of mean square one; none for labels only."""
    rng = np.random.default_rng(0)
    z = np.column_stack([rng.normal(size=400), np.ones(400), 1000 * rng.normal(size=400)])
    variable = variables((RBF(1.0),), (z,))[0]
    waves = _single_column_features(variable, 60, rng)
    assert waves.shape == (400, 60)
    assert_allclose(np.mean(waves**2), 1.0, atol=0.1)
    moved = _single_column_features(
        replace(variable, points=variable.points + np.array([0.0, 0.0, 5.0])),
        60,
        np.random.default_rng(1),
    )
    same = _single_column_features(variable, 60, np.random.default_rng(1))
    assert_allclose(moved[:, ::2], same[:, ::2])  # the first column and the third take turns
    assert np.max(np.abs(moved[:, 1::2] - same[:, 1::2])) > 1e-4
    frame = pd.DataFrame({"letter": list("abcd") * 100})
    assert _single_column_features(variables((None,), (frame,))[0], 60, rng) is None


def test_level_where_one_of_five_columns_matters():
    """11.8% of 2,000 with features of all columns only; more than 9 of 80 at 5% in one of 100 cases."""
    rejected = 0
    for seed in range(80):
        x, y, z = post_nonlinear(one, 5)(np.random.default_rng([seed, 5]), (600,))
        rejected += RCoT().test(x, y, z, rng=seed).rejects()
    assert rejected <= 9


def test_dependence_that_turns_with_z():
    """The covariance has the sign of z, and is 0 on average: seen with weights of z, and not without."""
    seen = unseen = 0
    for run in range(10):
        x, z, e = np.random.default_rng(run).standard_normal((3, 200))
        y = np.sign(z) * x + e
        found = evidence(KCI(Linear(), Linear()), x, y, z)
        seen += Gamma().judge(found).pvalue < 0.01
        unseen += Gamma().judge(FeatureEvidence(found.x, found.y)).pvalue > 0.01
    assert seen == 10
    assert unseen >= 8


def test_what_rcit_sees_and_rcot_does_not():
    found = {}
    for kind in (RCIT, RCoT):
        test = kind(RBF(5.0), RBF(5.0), features=3)
        found[kind] = 0
        for run in range(20):
            x, z, e = np.random.default_rng(run).standard_normal((3, 800))
            found[kind] += test.test(x, np.sign(z) * x + 2 * e, z, rng=run).rejects()
    assert found[RCIT] >= 14
    assert found[RCoT] <= found[RCIT] - 6


@every_test
def test_units_do_not_matter(test):
    x, y, z = drawn(100, 2, effect=0.3)
    p = test.test(x, y, z, rng=0).pvalue
    assert_allclose(test.test(1e3 * x + 5, 1e-2 * y, 7 * z - 1, rng=0).pvalue, p, rtol=1e-6)


@every_test
def test_the_same_seed_gives_the_same_answer(test):
    x, y, z = drawn(100, 2)
    assert test.test(x, y, z, rng=1).pvalue == test.test(x, y, z, rng=1).pvalue
    assert test.statistic(x, y, z) == test.statistic(x, y, z)
