"""Spectral clustering against scikit-learn's and the dense eigenvalue problem."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh
from sklearn.cluster import SpectralClustering as Theirs
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

import mercer
from mercer.kernels import RBF, Constant, Delta, Energy, Linear
from mercer.learn import SpectralClustering

X, MOON = make_moons(200, noise=0.05, random_state=0)


def test_moons_are_told_apart_and_new_points_too():
    found = SpectralClustering(2, random_state=0).fit(X)
    assert adjusted_rand_score(found.labels_, MOON) == 1.0
    new, moon = make_moons(100, noise=0.05, random_state=1)
    assert adjusted_rand_score(found.predict(new), moon) > 0.95
    assert_array_equal(found.predict(X), found.labels_)
    assert_array_equal(found.predict([[1e6, 0.0]]), [-1])  # far from all


def test_clusters_are_numbered_by_their_first_points():
    for seed in range(3):
        found = SpectralClustering(2, random_state=seed).fit(X)
        assert_array_equal(found.labels_, np.where(MOON[0] == MOON, 0, 1))
        assert_array_equal(found.predict(X), found.labels_)


def test_the_same_clusters_as_scikit_learn():
    theirs = Theirs(3, gamma=1 / (2 * 0.3**2), random_state=0).fit(X)
    ours = SpectralClustering(3, kernel=RBF(0.3), random_state=0).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) > 0.95


@pytest.mark.parametrize("n", [200, 1300])
def test_the_embedding_solves_the_generalised_eigenvalue_problem(n):
    x, _ = make_moons(n, noise=0.1, random_state=2)
    found = SpectralClustering(3, kernel=RBF(0.4), random_state=0).fit(x)
    k = RBF(0.4)(x)
    degrees = np.diag(k.sum(axis=1))
    values = eigh(k, degrees, eigvals_only=True, subset_by_index=(n - 3, n - 1))
    assert_allclose(found.eigenvalues_, values[::-1], rtol=1e-8)
    e = found.embedding_
    assert_allclose(k @ e, degrees @ e * found.eigenvalues_, atol=1e-5 * np.abs(e).max() * n)
    assert_allclose(e[:, 0], e[0, 0], rtol=1e-6)  # the walk is at rest everywhere
    with mercer.config(memory="16MiB"):
        again = SpectralClustering(3, kernel=RBF(0.4), random_state=0).fit(x)
    assert adjusted_rand_score(again.labels_, found.labels_) == 1.0


def test_objects_and_frames():
    words = ["a", "b", "a", "c", "b", "a", "c"]
    found = SpectralClustering(3, kernel=Delta() + Constant(0.01), random_state=0).fit(words)
    assert adjusted_rand_score(found.labels_, words) == 1.0
    frame = pd.DataFrame(X, columns=["u", "v"])
    kernel = RBF(0.15).select(["u", "v"])
    found = SpectralClustering(2, kernel=kernel, random_state=0).fit(frame)
    assert adjusted_rand_score(found.labels_, MOON) == 1.0


def test_torch():
    torch = pytest.importorskip("torch")
    found = SpectralClustering(2, kernel=RBF(0.15), random_state=0).fit(torch.tensor(X))
    assert adjusted_rand_score(found.labels_, MOON) == 1.0
    assert_array_equal(found.predict(torch.tensor(X)), found.labels_)


def test_refusals_say_what_was_needed():
    with pytest.raises(ValueError, match="must add up to a positive number"):
        SpectralClustering(2, kernel=Linear()).fit(X - X.mean(axis=0))
    with pytest.raises(ValueError, match="n_clusters must be at most"):
        SpectralClustering(9, kernel=RBF(1.0)).fit(X[:3])
    with pytest.raises(ValueError, match="all points of X are equal"):
        SpectralClustering(2).fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="NaN"):
        SpectralClustering(2).fit(np.where(X > 1, np.nan, X))
    with pytest.raises(ValueError, match="n_clusters must be a whole number"):
        SpectralClustering(-1).fit(X)


def test_kernels_of_distances_serve_where_degrees_are_positive():
    x = np.abs(X) + 1.0
    assert len(SpectralClustering(2, kernel=Energy(), random_state=0).fit(x).labels_) == 200
