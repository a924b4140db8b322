"""The study of rooms: patches, words and topics by a second road, and a small one of real pictures."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.reproductions import measure_scenes as study
from benchmarks.reproductions import scene_machines as machines
from benchmarks.reproductions import scene_patches as patches
from benchmarks.reproductions.topics import fold_in, plsa
from mercer.kernels import RBF
from mercer.rkhs import MeanMap

with_data = pytest.mark.skipif(
    not os.environ.get("MERCER_DATA"), reason="MERCER_DATA names no folder with the scenes"
)


# ---- patches ------------------------------------------------------------------------------------


def one_by_one(image: np.ndarray, top: int, left: int, size: int) -> np.ndarray:
    """A descriptor from its definition: every pixel votes in the nearest directions and cells."""
    from scipy.ndimage import gaussian_filter

    width = size // 4
    down, right = np.gradient(gaussian_filter(image, max((width / 6) ** 2 - 0.25, 0) ** 0.5))
    found = np.zeros((4, 4, 8))
    for y in range(top - width, top + size + width):
        for x in range(left - width, left + size + width):
            if not (0 <= y < image.shape[0] and 0 <= x < image.shape[1]):
                continue
            turn = np.arctan2(down[y, x], right[y, x]) % (2 * np.pi) / (np.pi / 4)
            length = np.hypot(down[y, x], right[y, x])
            for i, j in np.ndindex(4, 4):
                far = np.abs([y - top, x - left] - width * np.array([i, j]) - width // 2) / width
                near = length * np.prod(np.maximum(1 - far, 0))
                found[i, j, int(turn) % 8] += near * (1 - turn % 1)
                found[i, j, (int(turn) + 1) % 8] += near * (turn % 1)
    steep = min(found.sum() / size**2 / patches.FLAT, 1)
    found = np.minimum(found / np.linalg.norm(found), 0.2).ravel()
    return np.minimum(np.rint(512 * steep * found / np.linalg.norm(found)), 255)


@pytest.mark.parametrize("size", [16, 32])
def test_dense_descriptors_are_those_of_each_patch(size):
    rng = np.random.default_rng(0)
    image = np.cumsum(np.cumsum(rng.normal(size=(48, 56)), axis=0), axis=1)
    image[:, 30:] = 7.0 + 0.2 * rng.random((48, 26))  # flat
    found = patches.dense_sift(image, size)
    tops, lefts = range(0, 48 - size + 1, 8), range(0, 56 - size + 1, 8)
    assert found.shape == (len(tops) * len(lefts), 128)
    for row, column in ((0, 0), (1, 2), (len(tops) - 1, len(lefts) - 1)):
        known = one_by_one(image, tops[row], lefts[column], size)
        # a rounding more or less, where both roads end near one half
        assert_allclose(found[row * len(lefts) + column], known, atol=1)


def test_descriptors_of_a_ramp_point_one_way():
    image = np.tile(10.0 * np.arange(48), (48, 1))
    found = patches.dense_sift(image, 16).reshape(-1, 16, 8)
    assert found[:, :, 1:].max() == 0
    assert found[:, :, 0].min() > 100
    assert patches.dense_sift(np.full((48, 48), 3.0), 16).max() == 0


def test_what_is_made_is_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_CACHE", str(tmp_path))
    made = []
    for _ in range(2):
        found = patches.cached("numbers", lambda: made.append(1) or np.arange(3))
    assert found.tolist() == [0, 1, 2]
    assert made == [1]
    assert len(list(tmp_path.iterdir())) == 1


# ---- words and topics ---------------------------------------------------------------------------


@pytest.fixture
def made_up() -> patches.Scenes:
    """Rooms with things of their own, as patches of length 512."""
    rng = np.random.default_rng(0)
    things = np.abs(rng.normal(size=(12, 128)))
    labels = np.repeat(["bath", "hall", "loft", "shed"], 130)
    own = np.repeat(np.arange(4), 130)[:, None]
    which = np.where(rng.random((520, 30)) < 0.5, 3 * own, 0) + rng.integers(0, 3, (520, 30))
    held = things[which] + 0.1 * rng.random((520, 30, 128))
    held *= 512 / np.linalg.norm(held, axis=2, keepdims=True)
    return patches.Scenes("made up", np.rint(held).astype(np.uint8), labels)


def test_splits_are_even_and_differ(made_up):
    split, other = (machines.split_of(made_up, seed) for seed in (0, 1))
    assert np.unique(split.labels[split.train], return_counts=True)[1].tolist() == [100] * 4
    assert sorted([*split.train, *split.test]) == [*range(520)]
    assert set(split.train) != set(other.train)


def test_words_are_counted(made_up):
    book = patches.code_book(made_up, np.arange(0, 520, 2), 12, 0)
    counts = patches.counted(made_up, book)
    far = np.linalg.norm(made_up.points(7)[:, None] - book, axis=2)
    assert counts[7].tolist() == np.bincount(far.argmin(axis=1), minlength=12).tolist()
    assert_allclose(counts.sum(axis=1), 30)


def test_topics_are_found_again():
    rng = np.random.default_rng(0)
    known = rng.dirichlet(np.full(30, 0.2), size=3)
    mixtures = rng.dirichlet(np.full(3, 0.2), size=300)
    counts = np.array([rng.multinomial(500, row) for row in mixtures @ known]).astype(float)
    words = plsa(counts[:200], 3, rng)
    order = [int(np.argmin(np.abs(words - row).sum(axis=1))) for row in known]
    assert sorted(order) == [0, 1, 2]
    assert_allclose(words[order], known, atol=0.03)
    assert np.abs(fold_in(counts[200:], words)[:, order] - mixtures[200:]).mean() < 0.05


def likelihood(counts: np.ndarray, words: np.ndarray) -> float:
    return float(np.sum(counts * np.log(np.maximum(fold_in(counts, words) @ words, 1e-300))))


def test_more_steps_are_more_likely():
    counts = np.random.default_rng(1).poisson(2.0, size=(50, 20)).astype(float)
    made = [plsa(counts, 4, np.random.default_rng(2), steps) for steps in (2, 20, 200)]
    found = [likelihood(counts, words) for words in made]
    assert found == sorted(found)


@pytest.mark.parametrize("method", machines.ON_WORDS)
def test_machines_know_made_up_rooms(method, made_up, monkeypatch):
    monkeypatch.setattr(machines, "FOLDS", 2)
    split = machines.split_of(made_up, 0)
    book = patches.code_book(made_up, split.train, 12, 0)
    guess = machines.ON_WORDS[method](split, book, patches.counted(made_up, book))
    assert np.mean(guess == split.labels[split.test]) > 0.9


def test_mean_features_are_about_the_embeddings_of_bags(made_up):
    few = patches.Scenes("made up", made_up.patches[::26], made_up.labels[::26])
    exact = MeanMap(RBF(0.4))([few.points(i).astype(np.float64) for i in range(20)])
    z = machines.means(few, 0.4)
    assert_allclose(z @ z.T, exact, atol=0.05)  # a standard error of 0.03 at most


def test_intervals_of_overlapping_splits_are_wide():
    low, middle, high = study.interval(np.array([0.01, 0.03, 0.02, 0.02]))
    naive = 3.182 * np.std([0.01, 0.03, 0.02, 0.02], ddof=1) * (1 / 4 + 514 / 400) ** 0.5
    assert_allclose([middle, high - middle, middle - low], [0.02, naive, naive], rtol=1e-3)


def test_differences_are_told():
    cells = {
        f"dense/200/{method}": {
            "runs": 3,
            "seconds": 3.0,
            "accuracy": [a, a + 0.001, a],
            "balanced": [a] * 3,
        }
        for method, a in ((study.SVM, 0.7), (study.LINEAR, 0.6), (study.NONLINEAR, 0.7))
    }
    text = study.markdown({"cells": cells})
    assert "| dense | 200 | SVM, chi-square | 70.0 | 0.1 | 70.0 | 3 | 1.0 |" in text
    assert "| dense | 200 | SMM, linear | SVM, chi-square | -10.0" in text
    assert "| the linear SMM is better than the SVM |  | NO, worse: -10.0 (" in text
    assert "not significant" in text


# ---- the real pictures --------------------------------------------------------------------------


@with_data
def test_a_small_study_of_real_rooms(monkeypatch):
    monkeypatch.setattr(machines, "FOLDS", 2)
    monkeypatch.setattr(machines, "SCALES", (0.5,))
    data = patches.scenes("random")
    assert data.patches.shape == (914, 100, 128)
    assert len(np.unique(data.patches.reshape(914, -1), axis=0)) == 914  # no picture comes twice
    found = [study.once(f"random/30/{m}", 0)["accuracy"][0] for m in (study.SVM, study.NONLINEAR)]
    assert min(found) > 0.4  # a quarter to a third by chance
    again = study.once(f"random/30/{study.SVM}", 0)["accuracy"][0]
    assert again == found[0]


@with_data
def test_real_pictures_have_dense_descriptors():
    pytest.importorskip("PIL")
    from mercer.datasets import fetch_scene_pictures

    image = fetch_scene_pictures().images[5]
    assert sum(len(patches.dense_sift(image, size)) for size in patches.SIZES) == 1060
