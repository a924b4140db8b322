"""Virtual examples of handwritten digits: pictures scaled, moved and turned by chance.

Muandet et al. 2012, section 6.2: every 16 x 16 picture stands for a distribution, that of the pictures
it becomes under transformations with random parameters. A picture is read at
c + M^-1 (o - c - t) for the pixels o of the new one, with c its middle, by linear interpolation; what
lies outside is background.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mercer.datasets import fetch_usps

EACH = 100  # pictures of a class
TEST = 33  # of them: one third
SIDE = 16
LEAST = 0.1  # scale factors that are not above are drawn anew: nothing would be left to see
Draws = tuple[np.ndarray, np.ndarray]  # matrices M (n, 2, 2), shifts t (n, 2)


@dataclass(frozen=True)
class Split:
    """Pictures (n, 16, 16) of two digits, with labels 0 and 1, and their virtual examples (n, m, 256)."""

    images: np.ndarray
    labels: np.ndarray
    virtual: np.ndarray


def scaling(n: int, rng: np.random.Generator) -> Draws:
    """Factors along both axes, N((1, 1), 0.1 I)."""
    factors = rng.normal(1.0, math.sqrt(0.1), size=(n, 2))
    while np.any(factors <= LEAST):
        again = factors <= LEAST
        factors[again] = rng.normal(1.0, math.sqrt(0.1), size=int(again.sum()))
    matrices = np.zeros((n, 2, 2), dtype=np.float64)
    matrices[:, [0, 1], [0, 1]] = factors
    return matrices, np.zeros((n, 2), dtype=np.float64)


def translation(n: int, rng: np.random.Generator) -> Draws:
    """Displacements in pixels, N((0, 0), 5 I)."""
    matrices = np.broadcast_to(np.eye(2), (n, 2, 2))
    return matrices, rng.normal(0.0, math.sqrt(5), size=(n, 2))


def rotation(n: int, rng: np.random.Generator) -> Draws:
    """An angle, N(0, pi): a variance like those of the others, of radians; a deviation of 102 degrees."""
    return _turned(rng.normal(0.0, math.sqrt(math.pi), size=n))


def rotation_in_degrees(n: int, rng: np.random.Generator) -> Draws:
    """N(0, pi) read in degrees: a deviation of 1.8, hardly to be seen."""
    return _turned(np.deg2rad(rng.normal(0.0, math.sqrt(math.pi), size=n)))


def _uniform(
    mean: float, variance: float, size: tuple[int, ...], rng: np.random.Generator
) -> np.ndarray:
    half = math.sqrt(3 * variance)
    return rng.uniform(mean - half, mean + half, size=size)


def uniform_scaling(n: int, rng: np.random.Generator) -> Draws:
    """Factors along both axes, uniform with the mean and the variance of the Gaussian ones (footnote 2)."""
    matrices = np.zeros((n, 2, 2), dtype=np.float64)
    matrices[:, [0, 1], [0, 1]] = _uniform(1.0, 0.1, (n, 2), rng)
    return matrices, np.zeros((n, 2), dtype=np.float64)


def uniform_translation(n: int, rng: np.random.Generator) -> Draws:
    """Displacements, uniform with the mean and the variance of the Gaussian ones."""
    matrices = np.broadcast_to(np.eye(2), (n, 2, 2))
    return matrices, _uniform(0.0, 5.0, (n, 2), rng)


def uniform_rotation(n: int, rng: np.random.Generator) -> Draws:
    """Angles, uniform with the mean and the variance of the Gaussian ones."""
    return _turned(_uniform(0.0, math.pi, (n,), rng))


KINDS: dict[str, Callable[[int, np.random.Generator], Draws]] = {
    "scaling": scaling,
    "translation": translation,
    "rotation": rotation,
    "rotation in degrees": rotation_in_degrees,
    "scaling, uniform": uniform_scaling,
    "translation, uniform": uniform_translation,
    "rotation, uniform": uniform_rotation,
}


def virtual_examples(images: np.ndarray, kind: str, m: int, rng: np.random.Generator) -> np.ndarray:
    """m transformed copies of every picture, without the picture itself: (n, m, pixels), in [0, 1]."""
    from scipy.ndimage import affine_transform

    n, side = len(images), images.shape[1]
    matrices, shifts = KINDS[kind](n * m, rng)
    inverse = np.linalg.inv(matrices)
    middle = np.full(2, (side - 1) / 2, dtype=np.float64)
    starts = middle - np.einsum("nij,nj->ni", inverse, middle + shifts)
    made = np.empty((n * m, side, side), dtype=np.float64)
    for i in range(n * m):
        affine_transform(images[i // m], inverse[i], starts[i], output=made[i], order=1)
    return made.reshape(n, m, -1)


@lru_cache(maxsize=1)
def splits(pair: tuple[int, int], kind: str, m: int, seed: int) -> tuple[Split, Split]:
    """100 pictures of either digit, drawn at random, two thirds of them to learn from and one third to test with."""
    rng = np.random.default_rng([seed, *pair])  # the same pictures for every transformation
    data, parts = fetch_usps(), ([], [])
    for label, digit in enumerate(pair):
        chosen = rng.permutation(np.flatnonzero(data.labels == digit))[:EACH]
        for part, index in zip(parts, (chosen[TEST:], chosen[:TEST]), strict=True):
            part.append((data.images[index].astype(np.float64), np.full(len(index), label)))
    drawn = np.random.default_rng([seed, *pair, list(KINDS).index(kind)])
    found = []
    for part in parts:
        images, labels = (np.concatenate(side) for side in zip(*part, strict=True))
        found.append(Split(images, labels, virtual_examples(images, kind, m, drawn)))
    return found[0], found[1]


def _turned(angles: np.ndarray) -> Draws:
    cos, sin = np.cos(angles), np.sin(angles)
    matrices = np.stack([np.stack([cos, -sin], axis=1), np.stack([sin, cos], axis=1)], axis=1)
    return matrices, np.zeros((len(angles), 2), dtype=np.float64)
