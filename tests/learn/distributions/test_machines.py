"""Machines on distributions: with point masses those of points, with isotropic Gaussians the Flex-SVM."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import GridSearchCV

from mercer.kernels import RBF
from mercer.learn import (
    SVC,
    AugmentedSVC,
    FlexSVC,
    OneClassSMM,
    OneClassSVC,
    SupportMeasureMachine,
)
from mercer.rkhs import Bags, Dirac, Gaussian, MeanMap


@pytest.fixture(scope="module")
def points() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 3))
    return x, np.where(x[:, 0] + x[:, 1] ** 2 > 0.7, "in", "out")


def test_point_masses_are_points(points):
    x, y = points
    plain = SVC(RBF(1.0), 3.0, tol=1e-9).fit(x, y)
    for same in (x, [Dirac(p) for p in x], Bags(x, np.arange(len(x) + 1))):
        found = SupportMeasureMachine(MeanMap(RBF(1.0)), 3.0, tol=1e-9).fit(same, y)
        assert_allclose(found.decision_function(same), plain.decision_function(x), atol=1e-8)


def test_one_class_of_point_masses(points):
    x, _ = points
    plain = OneClassSVC(RBF(1.0), 0.2, tol=1e-9).fit(x)
    found = OneClassSMM(MeanMap(RBF(1.0)), 0.2, tol=1e-9).fit([Dirac(p) for p in x])
    assert_allclose(found.decision_function(x), plain.decision_function(x), atol=1e-8)


def test_isotropic_gaussians_are_the_flex_svm(points):
    x, y = points
    s = np.random.default_rng(1).uniform(0.1, 1.0, size=len(x))
    flex = FlexSVC(0.8, 3.0, tol=1e-9).fit(x, y, widths=s)
    gaussians = [Gaussian(p, w**2) for p, w in zip(x, s, strict=True)]
    machine = SupportMeasureMachine(MeanMap(RBF(0.8)), 3.0, tol=1e-9).fit(gaussians, y)
    new = x[:9] + 0.1
    assert_allclose(flex.decision_function(new), machine.decision_function(new), atol=1e-10)
    v = 0.64 + s[:, None] ** 2 + s**2
    gram = np.exp(-np.sum((x[:, None] - x) ** 2, axis=2) / (2 * v)) * (0.64 / v) ** 1.5
    assert_allclose(machine.kernel_(gaussians), gram, rtol=1e-10)
    coefficients = np.zeros(len(x))
    coefficients[machine.support_] = machine.function_.weights
    expected = gram @ coefficients + machine.intercept_
    assert_allclose(machine.decision_function(gaussians), expected, atol=1e-9)
    none = FlexSVC(0.8, 3.0, tol=1e-9).fit(x, y)
    plain = SVC(RBF(0.8), 3.0, tol=1e-9).fit(x, y)
    assert_allclose(none.decision_function(new), plain.decision_function(new), atol=1e-8)


def test_equal_widths_are_a_wider_kernel_also_at_new_points(points):
    """Lemma 4 of Muandet et al. (2012): K_g of equal Gaussians is a multiple of a wider RBF, everywhere."""
    x, y = points
    new, s, w = x[:20] + 0.3, 0.8, 0.5
    v = s**2 + 2 * w**2
    factor = (s**2 / v) ** 1.5
    wide = SVC(RBF(v**0.5), 3.0 * factor, tol=1e-12).fit(x, y)  # c k with C is k with c C
    flex = FlexSVC(s, 3.0, tol=1e-12).fit(x, y, widths=np.full(len(x), w))
    assert_allclose(flex.decision_function(new), wide.decision_function(new), atol=1e-8)
    same = flex.decision_function(new, widths=np.full(20, w))
    assert_allclose(same, flex.decision_function(new), atol=1e-14)
    machine = SupportMeasureMachine(MeanMap(RBF(s)), 3.0, tol=1e-12)
    machine.fit([Gaussian(p, w**2) for p in x], y)
    widths = np.linspace(0.0, 1.0, 20)
    laws = [Gaussian(p, u**2) if u else Dirac(p) for p, u in zip(new, widths, strict=True)]
    expected = machine.decision_function(laws)
    assert_allclose(flex.decision_function(new, widths), expected, atol=1e-8)
    assert np.all(flex.predict(new, widths) == machine.predict(laws))


def test_spread_is_seen_by_measures_only():
    rng = np.random.default_rng(2)
    y = rng.choice(["wide", "narrow", "wider"], size=240)
    scale = {"narrow": 1.0, "wide": 1.6, "wider": 2.6}
    bags = Bags.of([rng.normal(0, scale[label], size=(40, 2)) for label in y])
    machine = SupportMeasureMachine(C=10.0).fit(bags[:120], y[:120])
    assert machine.score(bags[120:], y[120:]) > 0.9
    means = SupportMeasureMachine(C=10.0).fit(bags.means()[:120], y[:120])
    assert means.score(bags.means()[120:], y[120:]) < 0.6


def test_inner_bandwidth_is_searched():
    rng = np.random.default_rng(3)
    y = rng.choice([0, 1], size=80)
    bags = [rng.normal(0, 1 + 0.7 * label, size=(30, 1)) for label in y]
    start = SupportMeasureMachine(RBF(0.3).on(MeanMap(RBF(1.0))), 10.0)
    grid = {"kernel__inner__kernel__bandwidth": [0.01, 1.0], "C": [1.0, 10.0]}
    search = GridSearchCV(start, grid, cv=3).fit(bags, y)
    assert search.best_params_["kernel__inner__kernel__bandwidth"] == 1.0


def test_groups_that_are_unusual_as_groups():
    rng = np.random.default_rng(4)
    usual = [rng.normal(size=(60, 2)) for _ in range(80)]
    odd = [z / np.linalg.norm(z, axis=1, keepdims=True) for z in usual[:20]]
    machine = OneClassSMM(nu=0.1).fit(usual)
    assert np.mean(machine.predict(odd) == -1) > 0.9
    assert np.mean(machine.predict([rng.normal(size=(60, 2)) for _ in range(50)]) == 1) > 0.6


def test_votes():
    rng = np.random.default_rng(5)
    y = rng.choice(["a", "b", "c"], size=60)
    centre = {"a": [0.0, 0.0], "b": [2.0, 0.0], "c": [0.0, 2.0]}
    bags = [rng.normal(centre[label], 1.5, size=(30, 2)) for label in y]
    machine = AugmentedSVC(SVC(RBF(2.0))).fit(bags[:40], y[:40])
    found = machine.predict(bags[40:])
    votes = [machine.machine_.predict(bag) for bag in bags[40:]]
    most = [max("abc", key=list(v).count) for v in votes]
    clear = [sorted(list(v).count(c) for c in "abc")[-2:] for v in votes]
    ties = np.array([a == b for a, b in clear])
    assert np.all((found == most) | ties)
    assert np.mean(found == y[40:]) > 0.8


def test_refusals(points):
    x, y = points
    with pytest.raises(ValueError, match="widths must be 90 finite non-negative numbers"):
        FlexSVC().fit(x, y, widths=np.ones(3))
    with pytest.raises(ValueError, match="non-negative"):
        FlexSVC().fit(x, y, widths=-np.ones(90))
    with pytest.raises(ValueError, match="one for each point"):
        FlexSVC().fit(x, y).predict(x[:4], widths=np.ones(3))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        AugmentedSVC().fit(x, y[:3])
    with pytest.raises(ValueError, match="two classes"):
        SupportMeasureMachine().fit(x, np.full(90, "in"))
    with pytest.raises(ValueError, match="C must be a positive"):
        SupportMeasureMachine(C=0.0).fit(x, y)
