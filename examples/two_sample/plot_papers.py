"""
Papers by field
===============

Do the papers of two fields use different words, and which words? Papers are represented as bags
of words. The level of the test is checked on random splits of one field, where the null
hypothesis is true.
"""

import os
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import fetch_nips_papers
from mercer.htest import ME, MMD, Permutation, TwoSampleResult

FIELDS = {
    "neuroscience": ["Neuroscience", "Neurobiology", "Computational and Theoretical Neurobiology"],
    "theory": ["Theory", "Theory and Analysis", "Learning Theory, Generalisation and Complexity"],
    "algorithms": ["Algorithms and Architectures", "Architectures and Algorithms"],
    "vision": ["Vision", "Visual Processing"],
    "speech": ["Speech", "Speech and Signal Processing", "Signal Processing"],
}

# %%
# The NIPS papers of 1987 to 1999 are read by `fetch_nips_papers` from the folder named by
# ``MERCER_DATA``. Without it, simulated papers are used, with some words typical of each field.


def real_papers() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Counts of the 1000 most frequent words, the words, and the rows of each field."""
    papers = fetch_nips_papers()
    top = np.argsort(-papers.counts.sum(axis=0))[:1000]
    rows = [papers.of(*names) for names in FIELDS.values()]
    return papers.counts[:, top].toarray(), np.array(papers.words)[top], rows


def imaginary_papers() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """300 words: 12 of them typical of each field, the others common to all."""
    rng = np.random.default_rng(0)
    words = [f"{field} {i}" for field in FIELDS for i in range(1, 13)]
    words += [f"common {i}" for i in range(1, 241)]
    rates = np.full((5, 300), 2.0)
    for field in range(5):
        rates[field, 12 * field : 12 * field + 12] = 6.0
    counts = rng.poisson(np.repeat(rates, 100, axis=0) * rng.gamma(2.0, 0.5, (500, 300)))
    return counts, np.array(words), np.split(np.arange(500), 5)


counts, words, rows = real_papers() if os.environ.get("MERCER_DATA") else imaginary_papers()

# %%
# A paper becomes a point on the sphere: logarithms of word counts, with more weight on rare
# words.

rare = np.log(len(counts) / np.count_nonzero(counts, axis=0))
points = np.log1p(counts) * rare
points /= np.linalg.norm(points, axis=1, keepdims=True)
rng = np.random.default_rng(0)
samples = {name: points[rng.permutation(r)] for name, r in zip(FIELDS, rows, strict=True)}

# %%
# Every two fields differ. Random halves of one field do not: among 200 splits of the papers on
# algorithms, about one in twenty has a p-value below 0.05, as it should.

names = list(samples)
distance = np.zeros((5, 5))
for a, b in combinations(range(5), 2):
    result = MMD().test(samples[names[a]], samples[names[b]], rng=0)
    distance[a, b] = distance[b, a] = result.statistic
    print(f"{names[a]:12} and {names[b]:12} p = {result.pvalue:.3f}")


def split_in_two() -> float:
    """The p-value of a random half of the papers on algorithms against the other half."""
    mixed = rng.permutation(samples["algorithms"])
    return MMD(null=Permutation(199)).test(*np.array_split(mixed, 2), rng=rng).pvalue


same = np.array([split_in_two() for _ in range(200)])
print(f"one field, split: {np.mean(same <= 0.05):.1%} rejected at level 0.05")

# %%
# Which words distinguish neuroscience from theory? `ME.optimized` learns the location where the
# two fields differ most on one half of the papers, and the other half is used for the test.
# Papers are represented by principal components of the training half, so that the location is a
# combination of papers. Twenty components are used for display, because the words of the location
# are then readable. The conclusion does not depend on this number: other numbers give the same
# decision, and random splits of one field are not rejected.

x, y = samples["neuroscience"], samples["theory"]
train = np.concatenate([x[::2], y[::2]])
middle = train.mean(axis=0)
directions = np.linalg.svd(train - middle, full_matrices=False)[2]


def learn(first: np.ndarray, second: np.ndarray, number: int) -> tuple[ME, TwoSampleResult]:
    """Test learnt on every other paper in `number` components, and its result on the rest."""
    inputs = [(sample - middle) @ directions[:number].T for sample in (first, second)]
    learnt = ME.optimized(*(sample[::2] for sample in inputs), locations=1, rng=0)
    return learnt, learnt.test(*(sample[1::2] for sample in inputs), rng=0)


for number in (5, 10, 20, 40, 80):
    differing = learn(x, y, number)[1].pvalue
    alike = learn(*np.array_split(samples["algorithms"], 2), number)[1].pvalue
    print(f"{number:2} components: two fields p = {differing:.2g}; one field split p = {alike:.2g}")

learnt, result = learn(x, y, 20)
components = directions[:20]
more = "neuroscience" if result.witness()(learnt.locations)[0] > 0 else "theory"
print(f"one learnt location: p = {result.pvalue:.3f}; more papers on {more} are near it")

# %%
# The location corresponds to an imaginary paper. The plot shows the words that it uses more, and
# less, than the average paper.

weight = learnt.locations[0] @ components
order = np.argsort(weight)
shown = np.concatenate([order[:12], order[-12:]])

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
image = left.imshow(distance, cmap="Greys", vmin=0)
left.set_xticks(range(5), names, rotation=30, ha="right")
left.set_yticks(range(5), names)
left.set_title("distance between fields, MMD²")
figure.colorbar(image, ax=left, shrink=0.8)
colors = np.where(weight[shown] > 0, "#b2182b", "#2166ac")
right.barh(range(24), weight[shown] / np.abs(weight).max(), color=colors)
right.set_yticks(range(24), words[shown], fontsize=8)
right.axvline(0, color="0.3", linewidth=0.8)
right.set_title(f"learnt location: more {more} here")
