"""Kernel k-means against scikit-learn's on explicit features, and against the dense formula."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import mercer
from mercer.gram import Gram
from mercer.kernels import RBF, Delta, Linear, Polynomial
from mercer.learn import KernelKMeans
from mercer.learn.clusters.kmeans import by_first_point, nearest_centre

X, BLOB = make_blobs(n_samples=120, centers=4, cluster_std=0.7, random_state=3)


@pytest.mark.parametrize("far", [0.0, 1e6])
def test_linear_kernel_is_k_means(far):
    ours = KernelKMeans(4, kernel=Linear(), random_state=0).fit(X + far)
    theirs = KMeans(4, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1.0
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-6)
    order = [int(theirs.labels_[np.argmax(ours.labels_ == c)]) for c in range(4)]
    assert_allclose(ours.transform(X + far), theirs.transform(X)[:, order], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kernel", [RBF(1.0), Polynomial(2)])
def test_distances_are_those_of_the_dense_formula(kernel):
    found = KernelKMeans(3, kernel=kernel, n_init=2, random_state=0).fit(X)
    new = X[:10] + 0.1
    k, cross = kernel(X), kernel(new, X)
    for c in range(3):
        own = found.labels_ == c
        want = kernel.diag(new) - 2 * cross[:, own].mean(axis=1) + k[np.ix_(own, own)].mean()
        assert_allclose(found.transform(new)[:, c] ** 2, want, rtol=1e-6, atol=1e-6)
    assert_allclose(found.function_(new), cross @ found.function_.weights, rtol=1e-9)
    assert_array_equal(found.predict(X), found.labels_)  # no point is nearer to another centre
    assert_allclose(-found.score(X), found.inertia_, rtol=1e-6)


def test_the_best_of_all_clusterings_of_few_points():
    x = np.random.default_rng(0).normal(size=(8, 2))
    k = RBF(1.0)(x)

    def inertia(labels):
        groups = [np.flatnonzero(labels == c) for c in (0, 1)]
        return sum(len(g) - k[np.ix_(g, g)].sum() / len(g) for g in groups if len(g))

    best = min(inertia(np.array(labels)) for labels in product((0, 1), repeat=8))
    found = KernelKMeans(2, kernel=RBF(1.0), n_init=50, random_state=0).fit(x)
    assert_allclose(found.inertia_, best, rtol=1e-9)


def test_shapes_that_k_means_cannot_find():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, 150)
    ring = 3 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    x = np.concatenate([ring, 0.6 * rng.normal(size=(150, 2))])
    truth = np.repeat([0, 1], 150)
    features = np.stack([x[:, 0] ** 2, np.sqrt(2) * x[:, 0] * x[:, 1], x[:, 1] ** 2], axis=1)
    ours = KernelKMeans(3, kernel=Polynomial(2, 0.0), random_state=0).fit(x)
    theirs = KMeans(3, n_init=10, random_state=0).fit(features)
    assert_allclose(ours.inertia_, theirs.inertia_, rtol=1e-6)
    ring_only = set(ours.labels_[:150]) - set(ours.labels_[150:])
    assert len(ring_only) == 2  # the blob is a cluster of its own
    assert adjusted_rand_score(truth, np.isin(ours.labels_, list(ring_only))) == 1.0


def test_tiles_and_groups_of_beginnings_do_not_matter():
    x = np.random.default_rng(2).normal(size=(1600, 40))  # the matrix is held in one case
    want = KernelKMeans(5, kernel=RBF(5.0), n_init=3, max_iter=5, random_state=0)
    with pytest.warns(mercer.NotConverged, match="raise max_iter"):
        want.fit(x)
    with mercer.config(memory="16MiB"), pytest.warns(mercer.NotConverged):
        again = KernelKMeans(5, kernel=RBF(5.0), n_init=3, max_iter=5, random_state=0).fit(x)
    assert_array_equal(again.labels_, want.labels_)
    assert_allclose(again.inertia_, want.inertia_, rtol=1e-9)


def test_objects_and_frames():
    words = ["a", "b", "a", "c", "b", "a", "c"]
    found = KernelKMeans(3, kernel=Delta(), random_state=0).fit(words)
    assert found.inertia_ == 0
    assert adjusted_rand_score(words, found.labels_) == 1.0
    frame = pd.DataFrame(X, columns=["u", "v"])
    found = KernelKMeans(4, random_state=0).set_output(transform="pandas").fit(frame)
    assert found.transform(frame).columns.tolist() == [f"kernelkmeans{c}" for c in range(4)]
    assert adjusted_rand_score(found.labels_, BLOB) == 1.0


def test_clusters_are_numbered_by_their_first_points():
    want = KernelKMeans(4, kernel=RBF(3.0), random_state=0).fit(X).labels_
    assert [int(np.argmax(want == c)) for c in range(4)] == sorted(
        int(np.argmax(want == c)) for c in range(4)
    )
    assert want[0] == 0
    order = np.random.default_rng(0).permutation(len(X))
    for seed in range(5):  # the same numbers from other beginnings, and of points in another order
        same = KernelKMeans(4, kernel=RBF(3.0), random_state=seed).fit(X)
        assert_array_equal(same.labels_, want)
        assert_array_equal(same.predict(X), want)
        shuffled = KernelKMeans(4, kernel=RBF(3.0), random_state=seed).fit(X[order]).labels_
        assert_array_equal(shuffled, by_first_point(want[order][None], 4)[0])


def test_rounding_has_no_say_in_ties():
    """On a lattice many partitions tie; noise of the size of rounding must not choose among them."""
    side = np.arange(6.0)
    lattice = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    kernel = RBF(2.0)
    want = KernelKMeans(3, kernel=kernel, random_state=0).fit(lattice)
    rng = np.random.default_rng(0)
    for _ in range(5):
        moved = lattice * (1 + 1e-15 * rng.normal(size=lattice.shape))
        found = KernelKMeans(3, kernel=kernel, random_state=0).fit(moved)
        assert_array_equal(found.labels_, want.labels_)
        assert_array_equal(found.predict(lattice), want.predict(lattice))


def test_the_first_of_equal_centres():
    distances = np.array([[1.0, 1.0 - 1e-15, 2.0], [3.0, 1.0, 1.0 + 1e-15], [1.0, 0.5, 0.4]])
    assert nearest_centre(distances, np.full(3, 1e-13)).tolist() == [0, 1, 2]
    labels = np.array([[2, 2, 0, 1, 0], [0, 1, 2, 0, 1]])
    assert by_first_point(labels, 4).tolist() == [[0, 0, 1, 2, 1], [0, 1, 2, 0, 1]]


def test_float32_and_torch():
    """The clusters are far apart, so that all precisions find them, and number them alike."""
    want = KernelKMeans(4, kernel=RBF(3.0), random_state=0).fit(X)
    single = KernelKMeans(4, kernel=RBF(3.0), random_state=0).fit(X.astype(np.float32))
    assert_array_equal(single.labels_, want.labels_)
    torch = pytest.importorskip("torch")
    tensors = KernelKMeans(4, kernel=RBF(3.0), random_state=0).fit(torch.tensor(X))
    assert_array_equal(tensors.predict(torch.tensor(X)), want.labels_)


def test_equal_points_and_more_clusters_than_distinct_ones():
    x = np.repeat([[0.0], [1.0]], 5, axis=0)
    found = KernelKMeans(3, kernel=RBF(1.0), random_state=0).fit(x)
    assert_allclose(found.inertia_, 0, atol=1e-12)
    assert len(set(found.labels_[:5]) & set(found.labels_[5:])) == 0
    constant = KernelKMeans(2, kernel=RBF(1.0), random_state=0).fit(np.ones((4, 2)))
    assert constant.inertia_ == 0
    assert KernelKMeans(1, kernel=RBF(1.0)).fit([[1.0]]).labels_.tolist() == [0]


def test_refusals_say_what_was_needed():
    with pytest.raises(ValueError, match="n_clusters must be at most .* got 5 for n_samples = 3"):
        KernelKMeans(5).fit(X[:3])
    with pytest.raises(ValueError, match="n_clusters must be a whole number"):
        KernelKMeans(0).fit(X)
    with pytest.raises(TypeError, match="n_init must be a whole number"):
        KernelKMeans(2, n_init="auto").fit(X)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="NaN"):
        KernelKMeans(2).fit(np.where(X > 5, np.nan, X))


def test_centres_are_means_of_images():
    found = KernelKMeans(2, kernel=RBF(1.0), random_state=0).fit(X)
    gram = Gram(RBF(1.0), X).dense()
    w = np.where(found.labels_ == 1, 1.0, 0.0)
    w /= w.sum()
    assert_allclose(found.function_[1].norm2(), w @ gram @ w, rtol=1e-9)
