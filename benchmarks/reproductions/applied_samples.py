"""Samples of the applied two-sample tables: papers by field, questions by answer, faces by emotion, and radio signals.

Papers are those of NIPS 0 to 12. Four fields are assigned by keywords, as Jitkrittum et al. 2016 do with the papers of
1988 to 2015; deep learning, which these years do not have, is replaced by multilayer networks. Questions of TREC by the
kind of their answer are short documents in categories; they stand in for transcripts of interviews in psychology.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mercer.datasets import (
    AmplitudeModulation,
    ExpressiveFaces,
    fetch_nips_papers,
    fetch_trec_questions,
)
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
ANSWERS = {"Person": "HUM", "Place": "LOC", "Thing": "ENTY", "Description": "DESC"}
FEWEST = 10  # questions that have a word
MOST = 250  # texts of a sample: more than there are papers, fewer than there are questions


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
    words = tuple(papers.words[i] for i in top)
    rows = {name: np.flatnonzero(field == i) for i, name in enumerate(KEYWORDS)}
    return Corpus(_weighted(counts[:, top], documents[top]), words, rows)


@lru_cache(maxsize=1)
def questions() -> Corpus:
    """Questions by the kind of their answer, with the words that at least ten of them use."""
    texts = fetch_trec_questions()
    split = [text.lower().split() for text in texts.texts]
    number = Counter(word for words in split for word in set(words) if word.isalpha())
    words = tuple(sorted(word for word, times in number.items() if times >= FEWEST))
    place = {word: i for i, word in enumerate(words)}
    counts = np.zeros((len(split), len(words)))
    for row, tokens in zip(counts, split, strict=True):
        for token in tokens:
            if token in place:
                row[place[token]] += 1
    labels = np.asarray(texts.labels)
    rows = {name: np.flatnonzero(labels == code) for name, code in ANSWERS.items()}
    return Corpus(_weighted(counts, np.count_nonzero(counts, axis=0)), words, rows)


def _weighted(counts: np.ndarray, documents: np.ndarray) -> np.ndarray:
    """TF-IDF of unit length; `documents` have each word."""
    points = np.log1p(counts) * np.log(len(counts) / documents)
    return points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1e-300)


def texts_of(known: Corpus, first: str, second: str, rng: np.random.Generator) -> tuple[Pair, Pair]:
    """Halves of two groups, or of a random cut of one, to learn from and to test; of equal sizes, `MOST` at most."""
    if first == second:
        cut = np.array_split(rng.permutation(known.rows[first]), 2)
    else:
        cut = [rng.permutation(known.rows[name]) for name in (first, second)]
    n = min(min(len(rows) for rows in cut) // 2, MOST)
    halves = [[known.points[rows[k * n : (k + 1) * n]] for rows in cut] for k in (0, 1)]
    return tuple(halves[0]), tuple(halves[1])  # type: ignore[return-value]


def corpus_of(problem: str) -> Corpus:
    """The texts of a problem."""
    return corpus() if problem in PAPERS else questions()


PROBLEMS: dict[str, tuple[Problem, int]] = {
    "± against ±": (ExpressiveFaces(strength=0.5, same=True), 201),
    "+ against -": (ExpressiveFaces(strength=0.5), 201),
    "one song": (AmplitudeModulation(200, 0.2, same=True), 500),
    "two songs": (AmplitudeModulation(200, 0.2), 500),
}
QUESTIONS = ["Person-Person", "Person-Place", "Thing-Description"]
PAPERS = ["Bayes-Bayes", "Bayes-Nets", "Bayes-Learn", "Bayes-Neuro", "Learn-Nets", "Learn-Neuro"]


def halves(problem: str, seed: int) -> tuple[Pair, Pair]:
    """Samples to learn from and to test."""
    rng = np.random.default_rng([seed, 7])
    if problem in (*PAPERS, *QUESTIONS):
        first, second = problem.split("-")
        return texts_of(corpus_of(problem), first, second, rng)
    drawn, n = PROBLEMS[problem]
    return drawn.sample(n, rng=rng), drawn.sample(n, rng=rng)
