"""
Captions in two languages, letter by letter
===========================================

Are English and French captions of the same pictures dependent? Here captions are strings, and a
kernel on each language counts the substrings of up to four characters that two captions share. Texts are
not split into words, and no dictionary is used.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import fetch_multi30k
from mercer.htest import HSIC, Permutation
from mercer.kernels import Spectrum

# %%
# `fetch_multi30k` reads the captions from the folder named by ``MERCER_DATA``; without it, captions
# name a few things at random.

PAIRS = [("dog", "chien"), ("man", "homme"), ("red", "rouge"), ("ball", "ballon"), ("sea", "mer")]


def captions(number: int) -> tuple[list[str], list[str]]:
    """English and French captions of the same pictures."""
    if os.environ.get("MERCER_DATA"):
        data = fetch_multi30k(validation=True)
        return list(data.english[:number]), list(data.french[:number])
    seen = np.random.default_rng(0).random((number, len(PAIRS))) < 0.4
    things = [[pair for pair, s in zip(PAIRS, row, strict=True) if s] for row in seen]
    english = ["a " + " ".join(p[0] for p in pairs) for pairs in things]
    return english, ["un " + " ".join(p[1] for p in pairs) for pairs in things]


english, french = captions(600)
print(english[0], "/", french[0])

# %%
# The test rejects for captions of the same pictures, and not for captions whose order is shuffled.

kernel = Spectrum(4, up_to=True).normalized()
shuffled = [french[i] for i in np.random.default_rng(1).permutation(len(french))]
for name, other in (("same pictures", french), ("shuffled", shuffled)):
    result = HSIC(kernel, kernel).test(english, other, rng=0)
    print(f"{name}: p = {result.pvalue:.3f}")

# %%
# How many captions does it need? For each number, 40 tests of different captions.

null, sizes, runs = Permutation(99), [5, 10, 15, 20, 30], 40
test = HSIC(kernel, kernel, null=null)
rates: dict[str, list[float]] = {"same pictures": [], "shuffled": []}
rng = np.random.default_rng(2)
for size in sizes:
    for name, other in (("same pictures", french), ("shuffled", shuffled)):
        rejections = 0
        for run in range(runs):
            rows = rng.choice(len(english), size, replace=False)
            pair = [english[i] for i in rows], [other[i] for i in rows]
            rejections += test.test(*pair, rng=run).pvalue <= 0.05
        rates[name].append(rejections / runs)
        print(f"{size} captions, {name}: {rates[name][-1]:.2f} of the tests reject")

# %%
# The Gram matrices of both languages, with the pictures in one order, have the same light spots.

order = np.argsort(kernel(english[:40], english[:1])[:, 0])
figure, panels = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
for panel, language, lines in zip(panels, ("English", "French"), (english, french), strict=False):
    gram = kernel([lines[i] for i in order])
    np.fill_diagonal(gram, np.nan)
    panel.imshow(gram, cmap="viridis")
    panel.set(title=f"{language}: similarity of 40 captions", xticks=[], yticks=[])
for name, values in rates.items():
    panels[2].plot(sizes, values, "o-", label=name)
panels[2].axhline(0.05, color="black", linewidth=0.8)
panels[2].set(xlabel="captions", ylabel="share of tests that reject", ylim=(0, 1.02))
panels[2].legend()
plt.show()
