"""
The same picture in two languages
=================================

Are English and French captions of the same pictures dependent? Captions are represented as bags
of words. Two captions are similar if they share words, and rare words count more; neither a
dictionary nor a language model is needed.
"""

import os
import re

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import fetch_multi30k
from mercer.htest import HSIC
from mercer.kernels import Linear

# %%
# `fetch_multi30k` reads the captions from the folder named by ``MERCER_DATA``; without it,
# simulated captions are used. Every caption becomes a vector of word counts, weighted by the
# rarity of the words and normalised to length one, so the linear kernel is the cosine similarity
# of two captions.

PICTURES = 300


def captions() -> tuple[list[str], list[str]]:
    """English and French captions of the same pictures."""
    if "MERCER_DATA" in os.environ:
        found = fetch_multi30k(validation=True)
        return list(found.english[:PICTURES]), list(found.french[:PICTURES])
    rng = np.random.default_rng(0)
    pairs = [
        ("dog", "chien"),
        ("man", "homme"),
        ("red", "rouge"),
        ("ball", "ballon"),
        ("sea", "mer"),
    ]
    chosen = rng.random((PICTURES, len(pairs))) < 0.4
    lines = [
        [" ".join(p[k] for p, c in zip(pairs, row, strict=True) if c) for row in chosen]
        for k in (0, 1)
    ]
    return [f"a {line}" for line in lines[0]], [f"un {line}" for line in lines[1]]


def words(lines: list[str]) -> np.ndarray:
    """Bags of words, weighted by rarity and normalised to length one: (captions, words)."""
    bags = [re.findall(r"\w+", line.lower()) for line in lines]
    place = {word: j for j, word in enumerate(sorted({w for bag in bags for w in bag}))}
    counts = np.zeros((len(bags), len(place)))
    for row, bag in zip(counts, bags, strict=True):
        for word in bag:
            row[place[word]] += 1
    counts *= np.log(len(bags) / (counts > 0).sum(axis=0) + 1)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


english, french = captions()
x, y = words(english), words(french)
test = HSIC(Linear(), Linear())
paired = test.test(x, y, rng=0)
print(paired.summary())

# %%
# After shuffling, the captions belong to different pictures and are independent. The test is
# repeated on a hundred shuffled data sets at level 0.05:

rng = np.random.default_rng(1)
shuffled = [test.test(x, y[rng.permutation(len(y))], rng=i).pvalue for i in range(100)]
print(
    f"paired p = {paired.pvalue:.3g}; shuffled: {np.mean(np.array(shuffled) <= 0.05):.0%} rejected at 0.05"
)

# %%
# The captions that contribute most to the dependence are similar to captions of other pictures in
# both languages.

for i in paired.points(3).indices:
    print(f"{english[i].strip()}\n    {french[i].strip()}")

fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
paired.plot(axes[0])
axes[0].set_title("captions of the same picture")
axes[1].hist(shuffled, bins=np.linspace(0, 1, 11), color="0.7", edgecolor="white")
axes[1].set(title="p-values of shuffled captions", xlabel="p-value", ylabel="number of shuffles")
plt.show()
