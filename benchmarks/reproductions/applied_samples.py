"""Samples of the applied two-sample tables: papers by field, faces by emotion, and radio signals by song.

Papers are those of NIPS 0 to 12. Four fields are assigned by keywords, as Jitkrittum et al. 2016 do with the papers of
1988 to 2015; deep learning, which these years do not have, is replaced by multilayer networks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mercer.datasets import AmplitudeModulation, ExpressiveFaces, fetch_nips_papers
from mercer.datasets.two_sample_problems import Problem

Pair = tuple[np.ndarray, np.ndarray]
WORDS = 2000
COMMON = (
    0.5  # words of more than this share of the papers are left out, as a list of stop words would
)
CLEAR = 2.0  # a paper belongs to a field whose keywords are this much more frequent than those of any other
KEYWORDS = {
    "Bayes": "bayesian posterior bayes prior gibbs evidence inference likelihood markov",
    "Nets": "backpropagation layer hidden multilayer perceptron feedforward epoch backprop",
    "Learn": "bound theorem bounds generalization hypothesis proof lemma polynomial",
    "Neuro": "neuron cortex neural spike cell synaptic cortical firing visual stimulus",
}


@dataclass(frozen=True)
class Corpus:
    """TF-IDF vectors of unit length, their words, and the rows of each field."""

    points: np.ndarray
    words: tuple[str, ...]
    rows: dict[str, np.ndarray]


@lru_cache(maxsize=1)
def corpus() -> Corpus:
    papers = fetch_nips_papers()
    counts = np.asarray(papers.counts.todense(), dtype=np.float64)  # 190 MB
    place = {word: i for i, word in enumerate(papers.words)}
    keys = [[place[w] for w in text.split() if w in place] for text in KEYWORDS.values()]
    length = counts.sum(axis=1)
    share = np.stack([counts[:, columns].sum(axis=1) / length for columns in keys], axis=1)
    share /= share.mean(axis=0)
    best = np.sort(share, axis=1)
    clear = (best[:, -1] > 1.5) & (best[:, -1] > CLEAR * best[:, -2])
    field = np.where(clear, share.argmax(axis=1), -1)
    documents = np.count_nonzero(counts, axis=0)
    usable = documents < COMMON * len(counts)
    top = np.sort(np.argsort(-np.where(usable, counts.sum(axis=0), 0))[:WORDS])
    points = np.log1p(counts[:, top]) * np.log(len(counts) / documents[top])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    words = tuple(papers.words[i] for i in top)
    return Corpus(
        points, words, {name: np.flatnonzero(field == i) for i, name in enumerate(KEYWORDS)}
    )


def papers_of(first: str, second: str, rng: np.random.Generator) -> tuple[Pair, Pair]:
    """Halves of two fields, or of a random cut of one field, to learn from and to test; of equal sizes."""
    known = corpus()
    if first == second:
        cut = np.array_split(rng.permutation(known.rows[first]), 2)
    else:
        cut = [rng.permutation(known.rows[name]) for name in (first, second)]
    n = min(len(rows) for rows in cut) // 2
    halves = [[known.points[rows[k * n : (k + 1) * n]] for rows in cut] for k in (0, 1)]
    return tuple(halves[0]), tuple(halves[1])  # type: ignore[return-value]


PROBLEMS: dict[str, tuple[Problem, int]] = {
    "± against ±": (ExpressiveFaces(strength=0.5, same=True), 201),
    "+ against -": (ExpressiveFaces(strength=0.5), 201),
    "one song": (AmplitudeModulation(200, 0.2, same=True), 500),
    "two songs": (AmplitudeModulation(200, 0.2), 500),
}
PAPERS = ["Bayes-Bayes", "Bayes-Nets", "Bayes-Learn", "Bayes-Neuro", "Learn-Nets", "Learn-Neuro"]


def halves(problem: str, seed: int) -> tuple[Pair, Pair]:
    """Samples to learn from and to test."""
    rng = np.random.default_rng([seed, 7])
    if problem in PAPERS:
        first, second = problem.split("-")
        return papers_of(first, second, rng)
    drawn, n = PROBLEMS[problem]
    return drawn.sample(n, rng=rng), drawn.sample(n, rng=rng)
