"""String kernels equal their definitions, counted by brute force, compiled and in NumPy."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import (
    AllSubsequences,
    GappyKmers,
    GappyPairs,
    Mismatch,
    Spectrum,
    Subsequence,
    Substrings,
    WeightedDegree,
)
from mercer.kernels.strings import string_loops, subsequence_features, subsequences
from mercer.learn import KernelRidge

_rng = np.random.default_rng(0)
WORDS = ["", "a", "ß" * 5] + ["".join(_rng.choice(list("abß"), n)) for n in (2, 4, 7, 8, 8)]


def windows(s, k):
    return [s[i : i + k] for i in range(len(s) - k + 1)]


def spectrum(s, lengths):
    return Counter(u for k in lengths for u in windows(s, k))


def subsequence_weights(s, n, decay):
    weights = Counter()
    for i in combinations(range(len(s)), n):
        weights["".join(s[j] for j in i)] += decay ** (i[-1] - i[0] + 1)
    return weights


def all_subsequences(s):
    counts = Counter({"": 1})
    for n in range(1, len(s) + 1):
        counts.update(subsequence_weights(s, n, 1.0))
    return counts


def substring_weights(s, decay, longest):
    pairs = combinations(range(len(s) + 1), 2)
    kept = [s[i:j] for i, j in pairs if j - i <= longest]
    return Counter({u: n * decay ** (len(u) / 2) for u, n in Counter(kept).items()})


def mismatches(s, k, m, alphabet):
    near = lambda u, v: sum(a != b for a, b in zip(u, v, strict=True)) <= m  # noqa: E731
    return Counter(
        "".join(u) for u in product(alphabet, repeat=k) for v in windows(s, k) if near(u, v)
    )


def gappy(s, g, k):
    inside = ({"".join(c) for c in combinations(w, k)} for w in windows(s, g))
    return Counter(u for kmers in inside for u in kmers)


def pairs_with_gaps(s, k, gap):
    return Counter((w[:k], g, w[k + g :]) for g in range(gap + 1) for w in windows(s, 2 * k + g))


def weighted_degree(s, degree):
    weight = {
        d: (2 * (degree - d + 1) / (degree * (degree + 1))) ** 0.5 for d in range(1, degree + 1)
    }
    return {(i, u): weight[d] for d in weight for i, u in enumerate(windows(s, d))}


CASES = {
    "spectrum": (Spectrum(2), lambda s: spectrum(s, [2])),
    "up to": (Spectrum(3, up_to=True), lambda s: spectrum(s, [1, 2, 3])),
    "binary": (Spectrum(2, binary=True), lambda s: dict.fromkeys(windows(s, 2), 1)),
    "long": (Spectrum(7), lambda s: spectrum(s, [7])),
    "mismatch": (Mismatch(3, 1, alphabet="abcß"), lambda s: mismatches(s, 3, 1, "abcß")),
    "mismatch, all letters": (Mismatch(3, 2), lambda s: mismatches(s, 3, 2, "abß")),
    "gappy": (GappyKmers(4, 2), lambda s: gappy(s, 4, 2)),
    "pairs": (GappyPairs(2, 1), lambda s: pairs_with_gaps(s, 2, 1)),
    "weighted degree": (WeightedDegree(3), lambda s: weighted_degree(s, 3)),
}
SLOW = {
    "letters": (Subsequence(1, 0.6), lambda s: subsequence_weights(s, 1, 0.6)),
    "subsequences": (Subsequence(3, 0.6), lambda s: subsequence_weights(s, 3, 0.6)),
    "substrings": (Substrings(0.7), lambda s: substring_weights(s, 0.7, 99)),
    "short substrings": (Substrings(0.7, longest=3), lambda s: substring_weights(s, 0.7, 3)),
    "all": (AllSubsequences(), all_subsequences),
}


def assert_products(kernel, features):
    """The kernel is the product of these features, whether strings are read together or not."""
    counts = [features(s) for s in WORDS]
    expected = np.array(
        [[sum(n * b.get(u, 0) for u, n in a.items()) for b in counts] for a in counts]
    )
    for actual, part in ((kernel(WORDS), expected), (kernel(WORDS[2:], WORDS), expected[2:])):
        assert_allclose(actual, part, rtol=0, atol=1e-12 * max(1.0, expected.max()))
    points = kernel.accept(WORDS)
    assert_allclose(kernel.diag(points), np.diagonal(expected), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [*CASES, *SLOW])
def test_definition(name):
    assert_products(*(CASES | SLOW)[name])


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", SLOW)
def test_definition_by_other_roads(name, compiled, monkeypatch):
    """Pair by pair where features are too many, and without the compiler."""
    if compiled:
        monkeypatch.setattr(subsequences, "_MAX_SUBSEQUENCES", 0)
        monkeypatch.setattr(subsequences, "_MAX_OCCURRENCES", 0)
        assert_products(*SLOW[name])
        return
    for module in (string_loops, subsequence_features):
        monkeypatch.setattr(module, "is_quick", lambda *_: False)
    assert_products(*SLOW[name])
    monkeypatch.setattr(subsequences, "_MAX_SUBSEQUENCES", 0)
    monkeypatch.setattr(subsequences, "_MAX_OCCURRENCES", 0)
    assert_products(*SLOW[name])


@pytest.mark.parametrize("name", [*CASES, "subsequences", "substrings"])
def test_features_have_names(name):
    """The counts of a feature are those of the strings that the brute force gives its name to."""
    kernel, features = (CASES | SLOW)[name]
    table = kernel.features(WORDS)
    names = kernel.describe(WORDS, table.vocabulary)
    assert len(set(names)) == len(names)
    spelled = {
        "pairs": lambda u: u[0] + "." * u[1] + u[2],
        "weighted degree": lambda u: f"{u[1]} at {u[0]}",
    }.get(name, lambda u: u)
    expected = [{spelled(u): n for u, n in features(s).items() if n} for s in WORDS]
    dense = table.counts.toarray()
    for row, counts in zip(dense, expected, strict=True):
        ours = {u: n for u, n in zip(names, row.tolist(), strict=True) if n}
        assert ours == pytest.approx(counts, rel=1e-12)


def test_an_alphabet_left_open_is_that_of_all_strings_compared():
    """New letters in the second sample are letters for the first, as if all were read at once."""
    k, x, y = Mismatch(2, 1), ["ab", "bb"], ["cb"]
    assert_allclose(k(x, y), k([*x, *y])[:2, 2:])
    assert k(x, y)[0, 0] == 3  # ab, bb, cb are within one of ab and of cb


def test_different_letters_are_different_features():
    assert Spectrum(4)(["AAAA"], ["TTTT"])[0, 0] == 0
    assert Spectrum(200)(["ab" * 100, "ba" * 100])[0, 1] == 0
    many = ["".join(_rng.choice(list("ab"), 4096)) for _ in range(3)]
    assert_allclose(np.diagonal(Spectrum(3000)(many)), 1097)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Spectrum(0), "length must be"),
        (lambda: Mismatch(2, 2), "mismatches must be less"),
        (lambda: Mismatch(2, 1, alphabet="aa"), "different characters"),
        (lambda: Mismatch(2, 1, alphabet="ab")(["ac"]), "not in the alphabet"),
        (lambda: Subsequence(2, 1.5), "at most 1"),
        (lambda: GappyKmers(2, 3), "at most window"),
        (lambda: Spectrum(2)("one string"), "must be a list of strings"),
        (lambda: Spectrum(2)(["a", None]), "None at position 1: drop missing values"),
        (lambda: AllSubsequences()(["a" * 600]), "not finite"),
    ],
)
def test_refused(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_empty_first_objects_have_norms_of_floats():
    """`np.bincount` of nothing gives integers, and weights of a fit would have been rounded to them."""
    words = ["", "ab", "abab", "bb"]
    kernel = Spectrum(2)
    assert kernel.diag(kernel.accept(words[:1])).dtype == np.float64
    y = np.array([0.0, 1.0, 2.0, 0.5])
    matrix = kernel.pairwise(kernel.accept(words), kernel.accept(words))
    solved = np.linalg.solve(matrix + np.eye(4), np.column_stack([y, np.ones(4)]))
    offset = solved[:, 0].sum() / solved[:, 1].sum()
    by_hand = matrix @ (solved[:, 0] - offset * solved[:, 1]) + offset
    assert_allclose(KernelRidge(kernel, 1.0).fit(words, y).predict(words), by_hand, rtol=1e-9)
