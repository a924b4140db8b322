"""
Pictures and their descriptions
===============================

Pictures and sentences live in different spaces, and yet HSIC measures whether they belong together: all it
needs is a kernel on pictures and a kernel on texts. Pairs of similar pictures should have similar descriptions.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer.gram import Gram
from mercer.htest import HSIC
from mercer.kernels import RBF, Spectrum, median_bandwidth

# %%
# The pictures are digits of scikit-learn. A description says the name of the digit among words that have nothing to do with
# it, and one in three describes another picture. Texts are compared by the substrings of three characters that they share
# (`Spectrum`); nothing tells the kernel what a name is.

NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
BEGINNINGS = ("someone wrote a ", "here is a ", "this must be a ", "a careful hand drew a ")
ENDINGS = (" in black ink", " on white paper", "", " with a pencil", " in a hurry")

rng = np.random.default_rng(0)
digits = load_digits()
rows = rng.permutation(len(digits.images))[:200]
pictures, labels = digits.images[rows].reshape(200, -1) / 16, digits.target[rows]
told = np.where(rng.random(200) < 1 / 3, rng.integers(10, size=200), labels)
texts = [rng.choice(BEGINNINGS) + NAMES[label] + rng.choice(ENDINGS) for label in told]
print("\n".join(texts[:3]))

# %%
# Pairs are dependent. After shuffling the texts they are not: of a hundred shuffles about five in a hundred are rejected at
# level 0.05.

test = HSIC(RBF(median_bandwidth(pictures)), Spectrum(3))
paired = test.test(pictures, texts, rng=0)
print(paired.summary())
shuffled = [
    test.test(pictures, [texts[i] for i in rng.permutation(200)], rng=k).pvalue for k in range(100)
]
print(f"shuffled: {np.mean(np.array(shuffled) <= 0.05):.0%} rejected at level 0.05")

# %%
# In order of the digits both Gram matrices have the same blocks, which is what HSIC sees: it is the inner product of these
# two matrices, centred.

order = np.argsort(labels, kind="stable")
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for axis, matrix, title in (
    (axes[0], Gram(test.kernel_x, pictures[order]).dense(), "pictures"),
    (axes[1], Gram(Spectrum(3), [texts[i] for i in order]).dense(), "descriptions"),
):
    axis.imshow(matrix, cmap="gray")
    axis.set(title=title, xticks=[], yticks=[])
axes[2].hist(shuffled, bins=np.linspace(0, 1, 11), color="0.7", edgecolor="white")
axes[2].set(title="p-values of shuffled pairs", xlabel="p-value", ylabel="number of shuffles")
plt.show()
