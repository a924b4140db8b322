"""
One space for three languages
=============================

Captions of the same pictures in English, French and German are represented as bags of words.
Kernel canonical correlation analysis finds functions of the words of each language that are
maximally correlated over pictures, which gives coordinates shared by all languages. A new caption
can then be retrieved in another language without a dictionary.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from mercer.kernels import Linear
from mercer.learn import KCCA

# %%
# `fetch_multi30k` reads the captions from the folder named by ``MERCER_DATA``; without it,
# simulated captions in simulated languages are used. Words are weighted by their rarity and
# captions are normalised to length one, so the linear kernel is the cosine similarity of two
# captions.

LEARNT, LOOKED_UP = 1200, 300


def captions() -> dict[str, list[str]]:
    """Captions of the same pictures in three languages."""
    number = LEARNT + LOOKED_UP
    if os.environ.get("MERCER_DATA"):
        from mercer.datasets import fetch_multi30k

        found = fetch_multi30k()
        lines = {"English": found.english, "French": found.french, "German": found.german}
        return {language: list(text[:number]) for language, text in lines.items()}
    rng = np.random.default_rng(0)
    things = rng.random((number, 300)) < 0.02 * rng.uniform(0.3, 3, size=300)
    return {
        language: [
            " ".join([f"{language}{j}" for j in np.flatnonzero(row)]) or "none" for row in things
        ]
        for language in ("here", "there", "yonder")
    }


lines = captions()
first, second, third = lines
views = {}
for language, text in lines.items():
    bags = TfidfVectorizer(sublinear_tf=True, min_df=3).fit(text[:LEARNT])
    views[language] = bags.transform(text).toarray()
    print(f"{language}: {views[language].shape[1]} words")

# %%
# The ridge is chosen by cross-validation. Each Gram matrix is represented by a factor with 400
# columns.

learn, look = slice(0, LEARNT), slice(LEARNT, None)
kcca = KCCA(
    100,
    kernel=Linear(),
    kernel_y=(Linear(), Linear()),
    ridge=np.geomspace(1e-4, 1e-1, 4),
    rank=400,
    cv=3,
    random_state=0,
)
kcca.fit(views[first][learn], (views[second][learn], views[third][learn]))
for ridge, score in zip(kcca.ridges_, kcca.ridge_scores_, strict=True):
    print(f"ridge {ridge:.0e}: mean correlation on held-out captions {score:.2f}")

# %%
# For every held-out caption, the captions of another language are ranked by cosine similarity in
# the common space, with each coordinate weighted by its canonical correlation. How often is the
# correct caption first, or among the first ten?

scores = kcca.variates(views[first][look], (views[second][look], views[third][look]))
found = {
    language: z * kcca.correlations_ / np.linalg.norm(z * kcca.correlations_, axis=1)[:, None]
    for language, z in zip(lines, scores, strict=True)
}


def rank(asked: str, answered: str) -> np.ndarray:
    """Rank of the correct caption among all candidates, 1 for the first: (LOOKED_UP,)."""
    alike = found[asked] @ found[answered].T
    return 1 + np.sum(alike > np.diag(alike)[:, None], axis=1)


print(f"{'':24}{'first':>8}{'top 10':>10}   (by chance {1 / LOOKED_UP:.1%}, {10 / LOOKED_UP:.1%})")
ranks = {}
for asked in lines:
    for answered in lines:
        if asked != answered:
            ranks[asked, answered] = rank(asked, answered)
            one, ten = (np.mean(ranks[asked, answered] <= k) for k in (1, 10))
            print(f"{asked + ' to ' + answered:24}{one:8.0%}{ten:10.0%}")
assert min(np.mean(r <= 10) for r in ranks.values()) > 0.5

# %%
# Some captions and the captions retrieved for them.

for i in range(4):
    alike = found[first][i] @ found[third].T
    print(lines[first][LEARNT + i].strip())
    print("   ", lines[third][LEARNT + int(np.argmax(alike))].strip())

# %%
# Left: the first two canonical variates of held-out captions, English against German. Right: the
# proportion of correct captions among the first k.

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.6), layout="constrained")
for j, marker in ((0, "o"), (1, "s")):
    left.scatter(scores[0][:, j], scores[2][:, j], s=8, marker=marker, label=f"variate {j + 1}")
left.set(xlabel=first, ylabel=third)
left.legend(frameon=False)
places = np.arange(1, 31)
for (asked, answered), r in ranks.items():
    right.plot(places, [np.mean(r <= k) for k in places], label=f"{asked} to {answered}")
right.plot(places, places / LOOKED_UP, color="0.6", linestyle=":", label="chance")
right.set(xlabel="k", ylabel="correct caption among the first k", ylim=(0, 1))
right.legend(frameon=False, fontsize=8)
