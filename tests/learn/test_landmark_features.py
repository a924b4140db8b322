"""KernelPCA and KernelKMeans on landmarks: exact where all points are landmarks, and the same in parts as in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer.errors import MemoryBudgetError
from mercer.kernels import RBF
from mercer.learn import SVC, KernelKMeans, KernelPCA, LearnedMap, Parquet

RNG = np.random.default_rng(0)
N, NAMES = 24_000, list("abcdefghijkl")
GROUPS = RNG.integers(3, size=N)
X = RNG.normal(size=(N, len(NAMES))) + 4 * np.eye(12)[GROUPS]
SMALL = X[:300]
BUDGET = "16MiB"  # the smallest; X takes 2.2 MiB, more than an eighth of it
KERNEL = RBF(4.0)


def in_file(folder: Path) -> Any:
    pd = pytest.importorskip("pandas")
    pd.DataFrame(X, columns=NAMES).to_parquet(folder / "x.parquet", row_group_size=7_000)
    return Parquet(folder / "x.parquet")


def mapped(folder: Path) -> np.ndarray:
    np.save(folder / "x.npy", X)
    return np.load(folder / "x.npy", mmap_mode="r")


def test_components_with_all_points_as_landmarks():
    exact = KernelPCA(4, kernel=KERNEL).fit(SMALL)
    ours = KernelPCA(4, kernel=KERNEL, landmarks=len(SMALL)).fit(SMALL)
    np.testing.assert_allclose(ours.eigenvalues_, exact.eigenvalues_, rtol=1e-10)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, exact.explained_variance_ratio_, rtol=1e-10
    )
    a, b = ours.transform(X[300:350]), exact.transform(X[300:350])
    np.testing.assert_allclose(np.abs(a), np.abs(b), atol=1e-9)  # up to signs


def test_components_of_a_file(tmp_path: Path):
    pca = KernelPCA(3, kernel=KERNEL, landmarks=100, random_state=0)
    scores = pca.fit_transform(X)
    values = pca.eigenvalues_
    exact = KernelPCA(3, kernel=KERNEL).fit(X[:2_000]).explained_variance_
    np.testing.assert_allclose(pca.explained_variance_[:2], exact[:2], rtol=0.05)  # of 2,000 points
    np.testing.assert_allclose(np.sum(scores**2, axis=0), values, rtol=1e-10)
    with mercer.config(memory=BUDGET):
        pca.fit(in_file(tmp_path))
        np.testing.assert_array_equal(pca.feature_names_in_, NAMES)
        np.testing.assert_allclose(pca.eigenvalues_, values, rtol=1e-10)
        pca.fit(mapped(tmp_path))
        np.testing.assert_allclose(pca.transform(mapped(tmp_path)), scores, atol=1e-10)


def test_share_of_the_variance():
    pca = KernelPCA(0.3, kernel=KERNEL, landmarks=100, random_state=0).fit(X[:3_000])
    ratio = pca.explained_variance_ratio_
    assert ratio.sum() >= 0.3 > ratio[:-1].sum()
    with pytest.raises(ValueError, match="more than these landmarks explain"):
        KernelPCA(0.999, kernel=KERNEL, landmarks=10, random_state=0).fit(X[:3_000])


def test_preimages_from_landmarks():
    pca = KernelPCA(3, kernel=KERNEL, preimage=LearnedMap(), landmarks=200, random_state=0)
    centres = pca.fit(X[:3_000]).denoise(X[:200])
    truth = 4 * np.eye(12)[GROUPS[:200]]
    assert np.mean((centres - truth) ** 2) < 0.25 * np.mean((X[:200] - truth) ** 2)


def test_clusters_with_all_points_as_landmarks():
    exact = KernelKMeans(3, kernel=KERNEL, random_state=0).fit(SMALL)
    ours = KernelKMeans(3, kernel=KERNEL, landmarks=len(SMALL), random_state=0).fit(SMALL)
    np.testing.assert_array_equal(ours.labels_, exact.labels_)
    np.testing.assert_allclose(ours.inertia_, exact.inertia_, rtol=1e-10)
    new = X[300:400]
    np.testing.assert_allclose(ours.transform(new), exact.transform(new), atol=1e-7)


def test_clusters_of_a_file(tmp_path: Path):
    from sklearn.metrics import adjusted_rand_score

    learner = KernelKMeans(3, kernel=KERNEL, n_init=2, landmarks=60, random_state=0)
    expected = learner.fit(X).labels_
    assert adjusted_rand_score(expected, GROUPS) > 0.98
    np.testing.assert_array_equal(learner.predict(X), expected)
    with mercer.config(memory=BUDGET):
        np.testing.assert_array_equal(learner.fit(in_file(tmp_path)).labels_, expected)
        learner.fit(mapped(tmp_path))
        np.testing.assert_array_equal(learner.predict(mapped(tmp_path)), expected)


@pytest.mark.parametrize(
    ("learner", "advice"),
    [
        (KernelPCA(2), r"use KernelPCA\(landmarks=1000\)"),
        (KernelKMeans(2), r"use KernelKMeans\(landmarks=1000\)"),
        (SVC(), "use NystromSVC"),
    ],
    ids=lambda p: type(p).__name__,
)
def test_points_beyond_the_budget_need_landmarks(learner: Any, advice: str, tmp_path: Path):
    n = 2**17  # 17 MiB of 17 columns, which are never written
    x = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=(n, 17))
    with mercer.config(memory=BUDGET), pytest.raises(MemoryBudgetError, match=advice):
        learner.fit(x, np.zeros(n))


def test_what_has_no_parts():
    with pytest.raises(TypeError, match="use landmarks=None"):
        KernelPCA(2, landmarks=2).fit(["abc", "abd", "xyz"])
