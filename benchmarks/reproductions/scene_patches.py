"""Patches of the indoor scenes, SIFT descriptors at random places and dense ones, and words made of them.

Dense ones are those of Lazebnik et al. 2006: patches of 16 x 16 pixels, and of 32 x 32, every 8 pixels;
1,060 of a picture. They go into the folder that the environment variable ``MERCER_CACHE`` names,
or else ``.cache/mercer`` in the user's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mercer.datasets import fetch_scene_pictures, fetch_scenes

STEP, SIZES = 8, (16, 32)  # pixels
SEEN = 50_000  # patches that words are made of
BINS, ANGLES = 4, 8  # of a descriptor: 4 x 4 histograms of 8 directions
CLIP, WHOLE = (
    0.2,
    512.0,
)  # the largest value of a descriptor of length 1, and the length of whole numbers
FLAT = 1.0  # mean length of the gradient below which a patch is flat: its directions are noise
FORM = 1  # of the files in the cache: a new one where what is made changes


@dataclass(frozen=True, eq=False)
class Scenes:
    """Pictures that all differ, as patches: descriptors (n, patches, 128), uint8, of length 512 or less."""

    kind: str
    patches: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def points(self, pictures: Any) -> np.ndarray:
        """The descriptors of some pictures, of length 1: (all patches, 128), float32."""
        return self.patches[pictures].reshape(-1, 128).astype(np.float32) / np.float32(WHOLE)


@lru_cache(maxsize=2)
def scenes(kind: str) -> Scenes:
    """``random``: 100 descriptors of each picture as published; ``dense``: all over it."""
    found = fetch_scenes()
    kept = np.setdiff1d(np.arange(len(found)), found.repeats)
    if kind == "random":
        held = np.stack(found.bags).astype(np.uint8)
    else:
        held = cached("scenes_dense_sift", _dense)
    return Scenes(kind, held[kept], found.labels[kept])


def cached(name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
    """What `make` makes, from the cache if it is there."""
    folder = Path(os.environ.get("MERCER_CACHE") or Path.home() / ".cache" / "mercer")
    file = folder / f"{name}_{FORM}.npy"
    if not file.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}.npy")
        np.save(part, make(), allow_pickle=False)
        part.replace(file)
    return np.load(file, allow_pickle=False)


def _dense() -> np.ndarray:
    images = fetch_scene_pictures().images
    return np.stack([np.concatenate([dense_sift(image, s) for s in SIZES]) for image in images])


def dense_sift(image: np.ndarray, size: int, step: int = STEP) -> np.ndarray:
    """SIFT (Lowe 2004) of all patches of size x size pixels that are `step` apart: (patches, 128), uint8.

    Upright and at one scale. A pixel counts, by the length of its gradient, in the two directions and the
    four of 4 x 4 cells that are nearest, by how near they are; no Gaussian window is laid over a patch.
    """
    from scipy.ndimage import convolve1d, gaussian_filter

    width = size // BINS
    # Pictures are made as smooth as cells are coarse; the camera's own half pixel counts.
    smooth = gaussian_filter(image.astype(np.float64), max((width / 6) ** 2 - 0.25, 0.0) ** 0.5)
    votes = _directions(smooth)
    tent = 1 - np.abs(np.arange(1 - width, width)) / width
    for axis in (1, 2):
        votes = convolve1d(votes, tent, axis=axis, mode="constant")
    tops, lefts = (np.arange(0, extent - size + 1, step) for extent in image.shape)
    cells = width * np.arange(BINS) + width // 2  # their middles
    rows, columns = np.add.outer(tops, cells), np.add.outer(lefts, cells)
    found = votes[:, rows[:, None, :, None], columns[None, :, None, :]]  # (8, y, x, 4, 4)
    return _as_bytes(np.moveaxis(found, 0, -1).reshape(-1, BINS * BINS * ANGLES), size)


def _directions(image: np.ndarray) -> np.ndarray:
    """The length of the gradient at every pixel, shared by the two nearest of 8 directions: (8, h, w)."""
    down, right = np.gradient(image)
    turn = np.arctan2(down, right) / (2 * np.pi) * ANGLES % ANGLES
    apart = np.abs(turn - np.arange(ANGLES)[:, None, None])
    apart = np.minimum(apart, ANGLES - apart)
    return np.hypot(down, right) * np.maximum(1 - apart, 0)


def _as_bytes(found: np.ndarray, size: int) -> np.ndarray:
    """Descriptors scaled to length 1, cut at 0.2 and scaled again (flat patches stay shorter), as whole numbers up to 255."""
    steep = np.sum(found, axis=1, keepdims=True) / size**2
    unit = _of_length_one(np.minimum(_of_length_one(found), CLIP))
    return np.minimum(np.rint(WHOLE * np.minimum(steep / FLAT, 1.0) * unit), 255).astype(np.uint8)


def _of_length_one(rows: np.ndarray) -> np.ndarray:
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


# ---- words ----------------------------------------------------------------------------------


def code_book(data: Scenes, pictures: np.ndarray, words: int, seed: int) -> np.ndarray:
    """Centres of k-means on some patches of these pictures: (words, 128)."""
    from sklearn.cluster import MiniBatchKMeans

    rng = np.random.default_rng([seed, words])
    each = min(SEEN // len(pictures), data.patches.shape[1])
    rows = np.argsort(rng.random(data.patches.shape[:2])[pictures], axis=1)[:, :each]
    patches = data.points((pictures[:, None], rows))
    means = MiniBatchKMeans(words, batch_size=4096, n_init=3, random_state=seed).fit(patches)
    return means.cluster_centers_.astype(np.float64)


def counted(data: Scenes, book: np.ndarray) -> np.ndarray:
    """How many patches of each picture are nearest to each word: (n, words)."""
    words = book.astype(np.float32)
    half = 0.5 * np.sum(words**2, axis=1)
    counts = np.empty((len(data), len(words)), dtype=np.float64)
    for i in range(len(data)):
        nearest = np.argmax(data.points(i) @ words.T - half, axis=1)
        counts[i] = np.bincount(nearest, minlength=len(words))
    return counts
