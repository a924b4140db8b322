"""Machines that tell rooms apart by patches and words, for `measure_scenes.py`: each finds its own parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.reproductions.scene_patches import Scenes, cached, code_book, counted, scenes
from benchmarks.reproductions.topics import fold_in, plsa
from mercer.features import RandomFourier
from mercer.kernels import RBF, Chi2, Kernel, Linear, median_bandwidth
from mercer.learn import SVC, KernelSearchCV, MeanFeatures, SupportMeasureMachine
from mercer.rkhs import Bags, Empirical, MeanMap

LEARNT, FOLDS = 100, 5  # pictures of each room to learn from
FEATURES = 1000
PRICES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # for squared distances of about one
SCALES = (0.125, 0.25, 0.5, 1.0, 2.0)  # of median distances
OUTER = (0.5, 1.0, 2.0, 4.0, 8.0)  # the last are nearly linear
TOPICS, NEIGHBOURS = (4, 10, 25, 50), (1, 5, 10, 20, 40)
PLSA, PLSA_SVM, SVM = "pLSA, neighbours", "pLSA, SVM", "SVM, chi-square"
LINEAR, NONLINEAR = "SMM, linear", "SMM, RBF"
MEAN = "SVM, mean patch"


@dataclass(frozen=True, eq=False)
class Split:
    """Which pictures are learnt from, and which are asked for."""

    labels: np.ndarray
    train: np.ndarray
    test: np.ndarray
    seed: int

    @property
    def folds(self) -> StratifiedKFold:
        return StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed)

    def found(self, machine: Any, x: Any, grid: Sequence[dict[str, Any]]) -> np.ndarray:
        """What the machine says of the test pictures, with the best of the grid on training ones."""
        search = KernelSearchCV(machine, [*grid], cv=self.folds)
        search.fit(_some(x, self.train), self.labels[self.train])
        return search.predict(_some(x, self.test))


def split_of(data: Scenes, seed: int) -> Split:
    """As many of each room to learn from."""
    rng = np.random.default_rng([seed, 7])
    train = np.concatenate(
        [
            rng.permutation(np.flatnonzero(data.labels == room))[:LEARNT]
            for room in np.unique(data.labels)
        ]
    )
    return Split(data.labels, np.sort(train), np.setdiff1d(np.arange(len(data)), train), seed)


def _some(x: Any, rows: np.ndarray) -> Any:
    return x[rows] if isinstance(x, np.ndarray) else [x[i] for i in rows]


# ---- words ----------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def pictures(kind: str, words: int, seed: int) -> tuple[Split, np.ndarray, np.ndarray]:
    """A split, the words (w, 128), and how often each picture has them: (n, w)."""
    data = scenes(kind)
    split = split_of(data, seed)
    book = code_book(data, split.train, words, seed)
    return split, book, counted(data, book)


def _shares(counts: np.ndarray) -> np.ndarray:
    return counts / counts.sum(axis=1, keepdims=True)


# ---- machines on words ----------------------------------------------------------------------


def svm_chi2(split: Split, book: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """An SVM with exp(-a chi^2)."""
    x = _shares(counts)
    middle = np.median(-np.log(Chi2(1.0)(x[split.train])[np.triu_indices(len(split.train), 1)]))
    kernels = [Chi2(float(f / middle)) for f in (0.25, 0.5, 1.0, 2.0, 4.0)]
    return split.found(SVC(kernels[0]), x, [{"kernel": kernels, "C": PRICES}])


def smm_linear(split: Split, book: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Linear in the embeddings of distributions on words."""
    x = [Empirical(book, h) for h in _shares(counts)]
    return split.found(SupportMeasureMachine(), x, _linear(_on_words(book), _some(x, split.train)))


def smm_rbf(split: Split, book: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """RBF of the distances of these embeddings."""
    x = [Empirical(book, h) for h in _shares(counts)]
    return split.found(SupportMeasureMachine(), x, _rbf(_on_words(book), _some(x, split.train)))


def _on_words(book: np.ndarray) -> list[Kernel]:
    middle = median_bandwidth(book)
    return [MeanMap(RBF(float(f * middle))) for f in SCALES]


def _linear(kernels: Sequence[Kernel], x: Any) -> list[dict[str, Any]]:
    """A grid of linear machines, as dear as if distances were about one."""
    return [{"kernel": [k], "C": [c / _distance2(k, x) for c in PRICES]} for k in kernels]


def _rbf(kernels: Sequence[Kernel], x: Any) -> list[dict[str, Any]]:
    """A grid of machines with RBF on top."""
    widths = [(k, _distance2(k, x) ** 0.5) for k in kernels]
    return [{"kernel": [RBF(g * w).on(k) for k, w in widths for g in OUTER], "C": [*PRICES]}]


def _distance2(kernel: Kernel, x: Any) -> float:
    """The median of the squared distances in the RKHS."""
    values = kernel(x)
    own = np.diagonal(values)
    return float(np.median((own[:, None] + own - 2 * values)[np.triu_indices(len(own), 1)]))


# ---- topics ---------------------------------------------------------------------------------


def plsa_neighbours(split: Split, book: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Nearest neighbours among mixtures of topics."""
    best, guess = -1.0, np.empty(0)
    for mixtures in _mixtures(split, counts):
        search = GridSearchCV(
            KNeighborsClassifier(), {"n_neighbors": [*NEIGHBOURS]}, cv=split.folds
        )
        search.fit(mixtures[split.train], split.labels[split.train])
        if search.best_score_ > best:
            best, guess = search.best_score_, search.predict(mixtures[split.test])
    return guess


def plsa_svm(split: Split, book: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """An SVM with RBF on mixtures of topics."""
    x, parts = _side_by_side(_mixtures(split, counts))
    kernels = [
        RBF(float(g * median_bandwidth(x[split.train, p]))).select(_columns(p))
        for p in parts
        for g in (0.5, 1.0, 2.0)
    ]
    return split.found(SVC(kernels[0]), x, [{"kernel": kernels, "C": PRICES}])


def _mixtures(split: Split, counts: np.ndarray) -> list[np.ndarray]:
    """P(topic | picture), (n, topics), for several numbers of topics, learnt on training pictures."""
    rng = np.random.default_rng([split.seed, 5])
    return [fold_in(counts, plsa(counts[split.train], topics, rng)) for topics in TOPICS]


# ---- machines on patches --------------------------------------------------------------------


def bags_linear(split: Split, kind: str) -> np.ndarray:
    """Linear in the embeddings of bags of patches."""
    x, parts = _side_by_side(_mean_features(kind))
    kernels = [Linear().select(_columns(p)) for p in parts]
    return split.found(SVC(kernels[0]), x, _linear(kernels, x[split.train]))


def bags_rbf(split: Split, kind: str) -> np.ndarray:
    """RBF of the distances of these embeddings."""
    x, parts = _side_by_side(_mean_features(kind))
    kernels = [Linear().select(_columns(p)) for p in parts]
    return split.found(SVC(kernels[0]), x, _rbf(kernels, x[split.train]))


def mean_patch(split: Split, kind: str) -> np.ndarray:
    """An SVM with RBF that sees the mean of the patches only."""
    data = scenes(kind)
    x = np.stack([data.points(i).mean(axis=0, dtype=np.float64) for i in range(len(data))])
    middle = median_bandwidth(x[split.train])
    kernels = [RBF(float(f * middle)) for f in SCALES]
    return split.found(SVC(kernels[0]), x, [{"kernel": kernels, "C": PRICES}])


@lru_cache(maxsize=2)
def _mean_features(kind: str) -> tuple[np.ndarray, ...]:
    """Means of random features of the patches, for several widths of their RBF kernel: (n, features)."""
    data = scenes(kind)
    some = np.random.default_rng(0).permutation(data.points(slice(None, None, 10)))[:2000]
    middle = median_bandwidth(some.astype(np.float64))

    def make() -> np.ndarray:
        return np.stack([means(data, float(f * middle)) for f in SCALES])

    return tuple(cached(f"scenes_{kind}_mean_features", make))


def means(data: Scenes, width: float) -> np.ndarray:
    features = MeanFeatures(RandomFourier(RBF(width), FEATURES, random_state=0))
    size = data.patches.shape[1]
    parts = []
    for first in range(0, len(data), 50):
        values = data.points(slice(first, first + 50))
        bags = Bags(values, np.arange(0, len(values) + 1, size))
        parts.append(features.fit(bags).transform(bags) if not parts else features.transform(bags))
    return np.concatenate(parts)


def _side_by_side(parts: Any) -> tuple[np.ndarray, list[slice]]:
    """Arrays of as many rows as one, and the columns of each."""
    parts = [*parts]
    ends = np.cumsum([0, *(p.shape[1] for p in parts)]).tolist()
    return np.concatenate(parts, axis=1), [slice(a, b) for a, b in pairwise(ends)]


def _columns(part: slice) -> list[int]:
    return [*range(part.start, part.stop)]


ON_WORDS = {
    PLSA: plsa_neighbours,
    PLSA_SVM: plsa_svm,
    SVM: svm_chi2,
    LINEAR: smm_linear,
    NONLINEAR: smm_rbf,
}
ON_PATCHES = {MEAN: mean_patch, LINEAR: bags_linear, NONLINEAR: bags_rbf}
