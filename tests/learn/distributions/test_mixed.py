"""Bags, Gaussians, mixtures, histograms over code words and vectors in one training set, in every learner."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from mercer.features import RandomFourier
from mercer.kernels import RBF, Polynomial, Tensor
from mercer.learn import (
    SVC,
    AugmentedSVC,
    BayesianDistributionRegressor,
    DistributionRegressor,
    FlexSVC,
    KernelKMeans,
    KernelLogistic,
    KernelPCA,
    KernelRidge,
    KernelSearchCV,
    MeanFeatures,
    NystromRidge,
    OneClassSMM,
    SupportMeasureMachine,
)
from mercer.rkhs import (
    Bags,
    ConditionalEmbedding,
    Dirac,
    Empirical,
    Gaussian,
    MeanMap,
    Mixture,
    Uniform,
    mean_embedding,
)

CENTRES = np.array([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])
WORDS = np.random.default_rng(9).normal(1.0, 1.5, size=(30, 2))
LEVEL_TWO = RBF(0.5).on(MeanMap(RBF(1.0)))
KINDS = 8


def mixed(n: int, seed: int) -> tuple[list, np.ndarray]:
    """Distributions of eight kinds about one of three centres, and which."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    return [_one(CENTRES[c] + 0.3 * rng.normal(size=2), i % KINDS, rng) for i, c in enumerate(y)], y


def _one(m: np.ndarray, kind: int, rng: np.random.Generator):
    root = 0.4 * rng.normal(size=(2, 2))
    cov = root @ root.T + 0.1 * np.eye(2)
    if kind == 3:
        histogram = np.exp(-np.sum((WORDS - m) ** 2, axis=1))
        return Empirical(WORDS, histogram / histogram.sum())
    return {
        0: lambda: rng.normal(m, 0.7, size=(rng.integers(5, 15), 2)),
        1: lambda: Gaussian(m, cov),
        2: lambda: Mixture([Gaussian(m, cov), Gaussian(m + 0.2, 0.5)], [0.3, 0.7]),
        4: lambda: m,
        5: lambda: Dirac(m),
        6: lambda: m.tolist(),
        7: lambda: Gaussian(m, 0.3),
    }[kind]()


def turned(rows: list, y: np.ndarray, by: int) -> tuple[list, np.ndarray]:
    return rows[by:] + rows[:by], np.concatenate([y[by:], y[:by]])


CLASSIFIERS = [
    SupportMeasureMachine(MeanMap(RBF(1.0))),
    SupportMeasureMachine(Polynomial(2, 1.0).on(MeanMap(RBF(1.0)))),
    SupportMeasureMachine(LEVEL_TWO.normalized()),
    SVC(LEVEL_TWO),
    KernelLogistic(LEVEL_TWO),
    make_pipeline(MeanFeatures(random_state=0), LogisticRegression()),
]


FIRST = [(AugmentedSVC(random_state=0), i) for i in range(KINDS)] + [
    (SupportMeasureMachine(), i) for i in range(KINDS)
]


@pytest.mark.parametrize(
    ("machine", "by"),
    [(machine, 0) for machine in CLASSIFIERS] + FIRST,
    ids=lambda m: repr(m)[:50],
)
def test_classes_of_any_distributions(machine, by):
    """Whichever kind comes first."""
    x, y = turned(*mixed(64, 0), by)
    new, truth = mixed(48, 1)
    assert (
        clone(machine).fit(x, np.array(list("abc"))[y]).score(new, np.array(list("abc"))[truth])
        > 0.9
    )


REGRESSORS = [
    DistributionRegressor(),
    DistributionRegressor(MeanMap(RBF(1.0)), 0.1),
    KernelRidge(LEVEL_TWO, 0.1),
    NystromRidge(LEVEL_TWO, 0.1, landmarks=40, random_state=0),
    BayesianDistributionRegressor(random_state=0),
    make_pipeline(MeanFeatures(random_state=0), Ridge(0.1)),
]


@pytest.mark.parametrize("machine", REGRESSORS, ids=lambda m: repr(m)[:50])
def test_numbers_from_any_distributions(machine):
    (x, y), (new, truth) = mixed(96, 2), mixed(48, 3)
    found = clone(machine).fit(x, CENTRES[y, 0])
    assert found.score(new, CENTRES[truth, 0]) > 0.8
    again = pickle.loads(pickle.dumps(found))
    assert_array_equal(again.predict(new), found.predict(new))


def test_without_labels():
    (x, _), (new, _) = mixed(48, 4), mixed(24, 5)
    far = Gaussian([30.0, 30.0], 1.0)
    assert OneClassSMM(nu=0.1).fit(x).predict([far])[0] == -1
    assert OneClassSMM(nu=0.1).fit(x).predict(new).mean() > 0
    scores = KernelPCA(2, kernel=LEVEL_TWO).fit(x).transform(new)
    assert scores.shape == (24, 2)
    labels = KernelKMeans(3, kernel=LEVEL_TWO, random_state=0).fit(x).labels_
    assert len(set(labels.tolist())) == 3


def test_vector_and_rkhs_outputs():
    """Numbers, vectors and whole distributions as what follows from a distribution."""
    (x, y), (new, truth) = mixed(96, 6), mixed(24, 7)
    both = DistributionRegressor().fit(x, CENTRES[y]).predict(new)
    assert both.shape == (24, 2)
    assert np.sqrt(np.mean((both - CENTRES[truth]) ** 2)) < 0.6
    rng = np.random.default_rng(8)
    outputs = [rng.normal(CENTRES[c, 0], 0.5, size=(20, 1)) for c in y]
    law = ConditionalEmbedding.fit(x, outputs, kernel_x=LEVEL_TWO, kernel_y=MeanMap(RBF(1.0)))
    known = [Gaussian(m, 0.25) for m in (0.0, 2.5)]
    values = law(new)(known)  # <prediction for new_j, mu of known_i>: (2, 24)
    wanted = CENTRES[truth, 0] > 1
    assert np.mean((values[1] > values[0]) == wanted) > 0.9


@pytest.mark.parametrize("search", [GridSearchCV, KernelSearchCV])
def test_searches_reach_inside(search):
    x, y = mixed(48, 9)
    grid = {
        "C": [0.1, 10.0],
        "kernel__outer__bandwidth": [0.5],
        "kernel__inner__kernel__bandwidth": [1e-3, 1.0],
    }
    found = search(SupportMeasureMachine(LEVEL_TWO), grid, cv=3).fit(x, y)
    assert found.best_params_["kernel__inner__kernel__bandwidth"] == 1.0
    new, truth = mixed(24, 10)
    assert found.score(new, truth) > 0.9
    line = make_pipeline(SupportMeasureMachine(LEVEL_TWO))
    few = {"supportmeasuremachine__kernel__inner__kernel__bandwidth": [1e-3, 1.0]}
    assert GridSearchCV(line, few, cv=3).fit(x, y).best_score_ > 0.9


def test_forms_of_bags_that_arrays_and_scikit_learn_have():
    rng = np.random.default_rng(11)
    y = np.arange(40) % 2
    stack = rng.normal(size=(40, 15, 2)) * (1 + y[:, None, None])
    objects = np.empty(40, dtype=object)
    objects[:] = list(stack)
    forms = [stack, objects, list(stack), stack.tolist(), Bags.of(stack)]
    expected = SupportMeasureMachine(LEVEL_TWO).fit(forms[0], y).decision_function(forms[0])
    for form in forms:
        found = SupportMeasureMachine(LEVEL_TWO).fit(form, y).decision_function(form)
        assert_allclose(found, expected, atol=1e-10)
        for machine in (AugmentedSVC(), SupportMeasureMachine(), OneClassSMM()):
            assert clone(machine).fit(form, y).predict(form).shape == (40,)
        assert MeanFeatures(random_state=0).fit_transform(form).shape[0] == 40
    assert cross_val_score(SupportMeasureMachine(), objects, y, cv=4).mean() > 0.8


def test_features_of_known_distributions_are_those_of_their_embeddings():
    x, _ = mixed(16, 12)
    fourier = RandomFourier(RBF(1.0), 2000, random_state=0)
    model = MeanFeatures(fourier, draws=1500, random_state=0).fit(x)
    features = model.transform(x)
    assert_allclose(features @ features.T, MeanMap(RBF(1.0))(x), atol=0.08)
    assert_array_equal(model.transform(x), features)  # the same draws
    with pytest.raises(ValueError, match="draws must be a whole number of at least 1"):
        MeanFeatures(draws=0).fit(x)


def test_known_distributions_have_no_uncertainty():
    """A Gaussian counts as a bag of very many points, and a histogram as its effective size."""
    rng = np.random.default_rng(13)
    spread = rng.uniform(0.5, 2.0, size=150)
    bags = [rng.normal(0, s, size=(10, 1)) for s in spread]
    model = BayesianDistributionRegressor(random_state=0).fit(bags, spread)
    law = Gaussian(0.0, 1.0)
    many, few = law.sample(100_000, rng=0), law.sample(5, rng=1)
    weighted = Empirical(np.repeat(few, 20, axis=0), np.full(100, 0.01))
    mean, sd = model.predict([law, many, few, weighted], return_std=True)
    assert_allclose([mean[0], sd[0]], [mean[1], sd[1]], rtol=0.01)
    assert_allclose(sd[0], model.noise_, rtol=1e-6)
    assert sd[2] > 1.2 * sd[0]
    one = Empirical(np.concatenate([few[:1], many[:99]]), [1 - 99e-9, *[1e-9] * 99])
    assert_allclose(
        model.predict([one], return_std=True)[1],
        model.predict([few[0]], return_std=True)[1],
        rtol=1e-4,
    )
    known = [Gaussian(0.0, s**2) for s in spread]
    exact = BayesianDistributionRegressor(random_state=0).fit(known, spread)
    assert_allclose(exact.predict(known), spread, atol=0.05)


@pytest.mark.parametrize(
    "machine",
    [
        SupportMeasureMachine(),
        SupportMeasureMachine(LEVEL_TWO),
        DistributionRegressor(),
        BayesianDistributionRegressor(),
        AugmentedSVC(),
    ],
    ids=lambda m: repr(m)[:40],
)
def test_the_wrong_distribution_is_named(machine):
    good, y = [np.zeros((2, 2)), Gaussian([1.0, 1.0], 1.0), [0.0, 1.0]], [0, 1, 0, 1]
    for bad, message in (
        (np.array([[0.0, 1.0], [0.0, np.nan]]), r"X\[3\] has NaN.*first: point 1"),
        (np.zeros((0, 2)), r"X\[3\] is empty: leave it out"),
        (np.zeros((4, 3)), r"X\[0\] has 2, X\[3\] has 3"),
        (Uniform(0.0, 1.0), r"X\[0\] has 2, X\[3\] has 1"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(machine).fit([*good, bad], y)


def test_flex_machines_are_for_points():
    x = [Gaussian([0.0, 0.0], 1.0), Gaussian([3.0, 3.0], 1.0)]
    with pytest.raises(ValueError, match=r"use SupportMeasureMachine\(MeanMap\(RBF"):
        FlexSVC().fit(x, [0, 1])


def test_a_prediction_is_a_function_of_distributions():
    """f(P) = <f, mu_P>: of a mixture the mean of f over its parts, where the kernel is MeanMap."""
    x, y = mixed(48, 14)
    f = KernelRidge(MeanMap(RBF(1.0)), 0.1).fit(x, CENTRES[y, 0]).function_
    p, q = Gaussian([0.0, 0.0], 1.0), Gaussian([2.0, 1.0], [[1.0, 0.3], [0.3, 0.5]])
    values = f([p, q, Mixture([p, q], [0.25, 0.75])])
    assert_allclose(values[2], 0.25 * values[0] + 0.75 * values[1], rtol=1e-10)
    mu = mean_embedding(RBF(1.0), p)
    by_parts = float(
        np.sum(f.weights * [mu.inner(mean_embedding(RBF(1.0), one)) for one in _laws(x)])
    )
    assert_allclose(values[0], by_parts, rtol=1e-9)


def _laws(x: list) -> list:
    return [Dirac(one) if np.ndim(one) == 1 else one for one in x]


def test_votes_of_histograms_are_weighted():
    """All bags have the same words: only their weights tell them apart."""
    y = np.arange(30) % 3
    rng = np.random.default_rng(17)
    rows = np.exp(
        -np.sum((WORDS - CENTRES[y][:, None] + 0.2 * rng.normal(size=(30, 1, 2))) ** 2, axis=2)
    )
    x = [Empirical(WORDS, h / h.sum()) for h in rows]
    assert AugmentedSVC().fit(x, y).score(x, y) > 0.9
    twice = [np.repeat(WORDS, np.rint(20 * h / h.max()).astype(int), axis=0) for h in rows]
    counted = [np.rint(20 * h / h.max()) for h in rows]
    same = [Empirical(WORDS, c / c.sum()) for c in counted]
    assert_array_equal(
        AugmentedSVC().fit(same, y).predict(same), AugmentedSVC().fit(twice, y).predict(twice)
    )
    with pytest.raises(TypeError, match="takes no sample_weight"):
        AugmentedSVC(KNeighborsClassifier()).fit(x, y)


def test_distributions_beside_points():
    """The kernel of marginal transfer, on (distribution, point), and what is made of it."""
    (x, y), rng = mixed(60, 15), np.random.default_rng(16)
    points = rng.normal(size=(60, 1))
    target = CENTRES[y, 0] + points[:, 0]
    pair = Tensor(MeanMap(RBF(1.0)), RBF(1.0))
    for kernel in (pair, pair + 1.0, 2.0 * pair + pair**2, RBF(1.0).on(pair)):
        model = KernelRidge(kernel, 0.01).fit((x, points), target)
        assert model.score((x, points), target) > 0.9
        assert_allclose(
            model.predict((x[:5], points[:5])), model.predict((x, points))[:5], atol=1e-8
        )
