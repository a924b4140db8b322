"""Feature maps: scikit-learn's contract, K ~ ZZ', errors that fall as promised, and bad input."""

from __future__ import annotations

import importlib
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

import mercer
from mercer import features
from mercer.errors import MemoryBudgetError, NoRule
from mercer.features import (
    KMeansPlusPlus,
    LeverageScores,
    Nystrom,
    QuasiMonteCarloFourier,
    RandomFourier,
    TensorSketch,
    UniformLandmarks,
)
from mercer.features.random_fourier import directions
from mercer.kernels import (
    RBF,
    BSpline,
    Cauchy,
    Delta,
    Energy,
    Exponential,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    Sigmoid,
    sample_frequencies,
)
from tests.support.arrays import LIBRARIES, to_numpy, torch
from tests.support.features_zoo import OBJECT_MAPS, ZOO
from tests.support.sklearn_checks import results_of_checks
from tests.support.zoo import ZOO as KERNELS

X = np.random.default_rng(0).normal(size=(60, 5))


@pytest.mark.parametrize("feature_map", ZOO, ids=str)
def test_scikit_learn_checks(feature_map):
    results_of_checks(feature_map, {})


def test_every_map_is_in_the_zoo():
    public = (getattr(features, name) for name in features.__all__)
    maps = {c for c in public if inspect.isclass(c) and issubclass(c, BaseEstimator)}
    assert maps - {features.FeatureMap} == {type(m) for m in [*ZOO, *OBJECT_MAPS]}


@pytest.mark.parametrize("feature_map", ZOO, ids=str)
def test_frames_pickles_and_names(feature_map):
    frame = pd.DataFrame(X, columns=[*"abcde"])
    fitted = clone(feature_map).set_output(transform="pandas").fit(frame)
    z = fitted.transform(frame)
    assert list(z.columns) == [f"{type(fitted).__name__.lower()}{i}" for i in range(z.shape[1])]
    again = pickle.loads(pickle.dumps(fitted))
    pd.testing.assert_frame_equal(again.transform(frame), z)


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES.keys())
@pytest.mark.parametrize("feature_map", ZOO, ids=str)
def test_every_library(feature_map, library):
    wanted = clone(feature_map).set_params(kernel=feature_map.kernel or _given(feature_map)).fit(X)
    found = clone(wanted).fit(library(X)).transform(library(X[:7]))
    assert type(found) is type(library(X))
    reference = wanted.transform(X)
    assert_allclose(to_numpy(found) @ to_numpy(found).T, reference[:7] @ reference[:7].T, atol=1e-8)


def _given(feature_map):
    return Polynomial() if isinstance(feature_map, TensorSketch) else RBF(2.0)


def test_float32_stays_float32():
    for feature_map in ZOO:
        fitted = clone(feature_map).fit(X.astype(np.float32))
        assert fitted.transform(X.astype(np.float32)).dtype == np.float32


# ---- random Fourier features ------------------------------------------------------------------


def _spectral():
    for entry in KERNELS:
        try:
            sample_frequencies(entry.kernel, 2, 3, rng=0)
            entry.kernel(X[:4, :3])
        except (NoRule, ValueError, TypeError):
            continue
        yield pytest.param(entry.kernel, id=repr(entry.kernel))


@pytest.mark.parametrize("kernel", [*_spectral()])
def test_every_kernel_with_a_spectrum(kernel):
    x = X[:20, :3]
    learner = RandomFourier(kernel, 20_000, random_state=0).fit(x)
    z = learner.transform(x)
    assert np.abs(z @ z.T - kernel(x)).max() < learner.error_bound_
    try:
        quasi = QuasiMonteCarloFourier(kernel, 8192, random_state=0).fit(x)
    except NoRule as error:
        assert "use RandomFourier" in str(error)
        return
    z = quasi.transform(x)
    assert np.abs(z @ z.T - kernel(x)).max() < quasi.error_bound_


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("kernel", [RBF(3.0), Matern(1.5, 3.0), Cauchy(3.0)], ids=repr)
def test_features_have_no_bias(kernel, orthogonal):
    pair, number = X[:2], 200
    found = np.array(
        [
            np.prod(
                RandomFourier(kernel, 20, orthogonal=orthogonal, random_state=s).fit_transform(
                    pair
                ),
                axis=0,
            ).sum()
            for s in range(number)
        ]
    )
    error = found.mean() - kernel(pair)[0, 1]
    assert abs(error) < 4 * found.std() / np.sqrt(number)


def _rms(make, x, kernel, repeats=20):
    """The root of the mean squared error over pairs and draws."""
    wanted, upper = kernel(x), np.triu_indices(len(x), 1)
    errors = []
    for seed in range(repeats):
        z = make(seed).fit_transform(x)
        errors.append(np.mean((z @ z.T - wanted)[upper] ** 2))
    return np.sqrt(np.mean(errors))


def test_error_falls_as_the_root_and_stays_under_its_bound():
    kernel, sizes = RBF(2.0), [64, 256, 1024, 4096]
    off = [
        _rms(lambda s, d=d: RandomFourier(kernel, d, orthogonal=False, random_state=s), X, kernel)
        for d in sizes
    ]
    slope = np.polyfit(np.log(sizes), np.log(off), 1)[0]
    assert abs(slope + 0.5) < 0.05
    above = 0
    for seed in range(100):
        learner = RandomFourier(kernel, 256, orthogonal=seed % 2 == 0, random_state=seed).fit(X)
        z = learner.transform(X)
        above += np.abs(z @ z.T - kernel(X)).max() > learner.error_bound_
    assert above <= 5


def test_plain_features_have_the_variance_of_theory():
    kernel, m = RBF(2.0), 32  # Sutherland and Schneider 2015, eq. 2
    k, k2 = kernel(X), kernel(2 * X)
    upper = np.triu_indices(60, 1)
    wanted = np.sqrt(np.mean((1 + k2 - 2 * k**2)[upper] / (2 * m)))
    found = _rms(
        lambda s: RandomFourier(kernel, 2 * m, orthogonal=False, random_state=s), X, kernel, 200
    )
    assert_allclose(found, wanted, rtol=0.05)


@pytest.mark.parametrize("kernel", [RBF(3.0), Matern(2.5, 3.0)], ids=repr)
def test_orthogonal_beats_plain(kernel):
    x = np.random.default_rng(1).normal(size=(50, 10))
    plain, orthogonal = (
        _rms(lambda s, o=o: RandomFourier(kernel, 200, orthogonal=o, random_state=s), x, kernel, 40)
        for o in (False, True)
    )
    assert orthogonal < 0.85 * plain


def test_even_sequences_beat_random_ones():
    x, kernel = X[:, :2], RBF(2.0)
    plain = _rms(lambda s: RandomFourier(kernel, 1024, random_state=s), x, kernel)
    quasi = _rms(lambda s: QuasiMonteCarloFourier(kernel, 1024, random_state=s), x, kernel)
    assert quasi < 0.2 * plain


def test_an_odd_number_of_features_has_no_bias():
    pair = X[:2]
    found = np.array(
        [
            np.prod(RandomFourier(RBF(3.0), 3, random_state=s).fit_transform(pair), axis=0).sum()
            for s in range(2000)
        ]
    )
    assert abs(found.mean() - RBF(3.0)(pair)[0, 1]) < 4 * found.std() / np.sqrt(2000)
    assert RandomFourier(n_components=7).fit_transform(X).shape == (60, 7)


def test_directions_are_orthogonal_in_blocks():
    found = directions(23, 10, np.random.default_rng(0))
    assert found.shape == (23, 10)
    for block in (found[:10], found[10:20], found[20:]):
        assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-12)


def test_orthogonal_where_the_spectrum_has_no_direction():
    assert RandomFourier(RBF(1.0) + Exponential(2.0)).fit(X).orthogonal_
    assert RandomFourier(RBF(1.0).scaled([1.0, 2.0, 3.0, 4.0, 5.0])).fit(X).orthogonal_
    assert not RandomFourier(Laplace(1.0)).fit(X).orthogonal_
    assert not RandomFourier(RBF(1.0), orthogonal=False).fit(X).orthogonal_
    assert not RandomFourier(RBF(1.0)).fit(X[:, :1]).orthogonal_  # one dimension has one direction
    kernel = RBF(1.0).scaled([1.0, 2.0, 3.0, 4.0, 5.0])
    z = RandomFourier(kernel, 20_000, random_state=0).fit_transform(X)
    assert np.abs(z @ z.T - kernel(X)).max() < 0.05


# ---- Nystrom ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rule", [None, UniformLandmarks(), KMeansPlusPlus(), LeverageScores()], ids=str
)
def test_all_landmarks_are_exact(rule):
    z = Nystrom(Exponential(2.0), 100, rule=rule, random_state=0).fit_transform(X)
    assert_allclose(z @ z.T, Exponential(2.0)(X), atol=1e-9)


def test_exact_at_landmarks_and_never_too_large():
    fitted = Nystrom(RBF(2.0), 15, random_state=0).fit(X)
    z, at = fitted.transform(X), fitted.transform(fitted.landmarks_)
    assert_allclose(at @ at.T, RBF(2.0)(fitted.landmarks_), atol=1e-9)
    left = RBF(2.0)(X) - z @ z.T
    assert np.linalg.eigvalsh(left)[0] > -1e-10
    assert_allclose(fitted.error_, np.mean(np.diagonal(left)), rtol=1e-9)


def test_error_belongs_to_the_points_of_fit_as_they_were():
    points = X.copy()
    fitted = Nystrom(RBF(2.0), 15, random_state=0).fit(points)
    before = fitted.error_
    points += 1.0
    assert fitted.error_ == before
    assert pickle.loads(pickle.dumps(fitted)).error_ == before
    with pytest.raises(NotFittedError, match="not fitted"):
        _ = Nystrom(RBF(2.0)).error_


def test_rank_and_objects():
    linear = Nystrom(Linear(), 40, random_state=0).fit(X)
    assert linear.transform(X).shape == (60, 5)
    assert linear.get_feature_names_out().tolist() == [f"nystrom{i}" for i in range(5)]
    labels = ["a", "b", "c", "a", "b"]
    z = Nystrom(Delta(), 10).fit_transform(labels)
    assert_allclose(z @ z.T, Delta()(labels), atol=1e-12)


def test_the_same_seed_gives_the_same_features():
    for make in (RandomFourier, QuasiMonteCarloFourier, Nystrom, TensorSketch):
        one, two = (make(n_components=10, random_state=3).fit_transform(X) for _ in range(2))
        assert_array_equal(one, two)


# ---- tensor sketches --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel", [Polynomial(2), Polynomial(3, 0.5), Polynomial(1, 0.0)], ids=repr
)
def test_sketches_have_no_bias_and_a_bounded_variance(kernel):
    x = X / 3
    sketches = np.array(
        [TensorSketch(kernel, 64, random_state=s).fit_transform(x[:2]) for s in range(400)]
    )
    found = np.sum(sketches[:, 0] * sketches[:, 1], axis=1)
    assert abs(found.mean() - kernel(x)[0, 1]) < 4 * found.std() / 20
    own = kernel(x)[0, 0] * kernel(x)[1, 1]
    assert found.var() < 3.0**kernel.degree * own / 64


def test_sketch_is_the_convolution_by_hand():
    fitted = TensorSketch(Polynomial(2, 1.0), 7, random_state=0).fit(X)
    wide = np.append(X[0], 1.0)
    places, signs = fitted.map_.places, fitted.map_.signs
    wanted = np.zeros(7)
    for i, a in enumerate(wide):
        for j, b in enumerate(wide):
            wanted[(places[0, i] + places[1, j]) % 7] += signs[0, i] * signs[1, j] * a * b
    assert_allclose(fitted.transform(X)[0], wanted, atol=1e-12)


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize("feature_map", ZOO, ids=str)
@pytest.mark.parametrize("number", [0, -2, 1.5, "3", None])
def test_wrong_number_of_features(feature_map, number):
    with pytest.raises((ValueError, TypeError), match="n_components must be a whole number"):
        clone(feature_map).set_params(n_components=number).fit(X)


def test_kernels_without_such_features():
    for make in (RandomFourier, QuasiMonteCarloFourier):
        with pytest.raises(NoRule, match="Nystrom"):
            make(Linear()).fit(X)
        with pytest.raises(NoRule, match="Nystrom"):
            make(Delta()).fit(["a", "b"])
    with pytest.raises(NoRule, match="use RandomFourier"):
        QuasiMonteCarloFourier(BSpline(1, 1.0)).fit(X)
    with pytest.raises(NoRule, match="use RandomFourier"):
        QuasiMonteCarloFourier(RBF(1.0).exp()).fit(X)
    with pytest.raises(NoRule, match="use a Polynomial kernel"):
        TensorSketch(RBF(1.0)).fit(X)
    with pytest.raises(ValueError, match="must be positive definite"):
        Nystrom(Sigmoid(5.0, -2.0), 50, random_state=0).fit(X)
    with pytest.raises(TypeError, match="rule must be"):
        Nystrom(rule="uniform").fit(X)
    with pytest.raises(TypeError, match="orthogonal must be"):
        RandomFourier(RBF(1.0), orthogonal="yes").fit(X)
    with pytest.raises(ValueError, match="ridge must be"):
        LeverageScores(0.0)


def test_bounds_and_budget():
    learner = RandomFourier(RBF(1.0), 100).fit(X)
    assert_allclose(learner.error_bound(60), learner.error_bound_)
    assert learner.error_bound(60, level=0.5) < learner.error_bound_ < learner.error_bound(10**6)
    with pytest.raises(ValueError, match="n must be"):
        learner.error_bound(1)
    many = np.zeros((40_000, 5))
    with mercer.config(memory="16MiB"), pytest.raises(MemoryBudgetError, match="transform fewer"):
        learner.transform(many)


def test_energy_has_nystrom_features():
    k = Energy(center=(0.0,) * 5) if "center" in Energy.__dataclass_fields__ else Energy()
    z = Nystrom(k, 100, random_state=0).fit_transform(X)
    assert_allclose(z @ z.T, k(X), atol=1e-6)


def test_tensors_on_their_device():
    z = RandomFourier(RBF(1.0), 10, random_state=0).fit_transform(torch.tensor(X))
    assert isinstance(z, torch.Tensor)


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[learn\]'"):
        importlib.reload(features)
