"""Probabilistic latent semantic analysis (Hofmann 1999), a yardstick; nothing of mercer is used."""

from __future__ import annotations

import numpy as np


def plsa(counts: np.ndarray, topics: int, rng: np.random.Generator, steps: int = 200) -> np.ndarray:
    """P(word | topic), (topics, words), by expectation maximisation (Hofmann 1999)."""
    n, w = counts.shape
    mixtures, words = rng.dirichlet(np.ones(topics), n), rng.dirichlet(np.ones(w), topics)
    for _ in range(steps):
        ratio = counts / np.maximum(mixtures @ words, 1e-300)
        words, mixtures = (
            _normalised(words * (mixtures.T @ ratio) + 1e-12),
            _normalised(mixtures * (ratio @ words.T)),
        )
    return words


def fold_in(counts: np.ndarray, words: np.ndarray, steps: int = 50) -> np.ndarray:
    """P(topic | picture), (n, topics), of pictures old or new, where topics are known."""
    mixtures = np.full((len(counts), len(words)), 1 / len(words))
    for _ in range(steps):
        ratio = counts / np.maximum(mixtures @ words, 1e-300)
        mixtures = _normalised(mixtures * (ratio @ words.T))
    return mixtures


def _normalised(rows: np.ndarray) -> np.ndarray:
    return rows / rows.sum(axis=1, keepdims=True)
