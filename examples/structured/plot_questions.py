"""
Questions by the kind of their answer
=====================================

Does a question ask for a person, a place, a number? Questions are compared by the pieces of text
they share: the spectrum kernel counts all substrings of up to five characters, and knows nothing
about words. A support vector machine learns the kinds from examples.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import fetch_trec_questions
from mercer.kernels import Spectrum
from mercer.learn import SVC

# %%
# `fetch_trec_questions` reads the TREC questions from the folder named by ``MERCER_DATA``. Without
# it, questions are made of a few patterns.

PATTERNS = {
    "HUM": ["Who wrote {} ?", "What man found {} ?"],
    "LOC": ["Where is {} ?", "What city has {} ?"],
    "NUM": ["How many people saw {} ?", "When did {} begin ?"],
}
THINGS = ["the old tower", "a red river", "Hamlet", "the great game", "an opera", "the long war"]


def questions() -> tuple[list[str], np.ndarray, list[str], np.ndarray]:
    """Questions and their kinds, for training and for testing."""
    if os.environ.get("MERCER_DATA"):
        training, test = fetch_trec_questions(), fetch_trec_questions(test=True)
        order = np.random.default_rng(0).permutation(len(training))
        texts, kinds = np.array(training.texts, dtype=object), np.array(training.labels)
        return list(texts[order]), kinds[order], list(test.texts), np.array(test.labels)
    rng = np.random.default_rng(0)
    kinds = rng.choice(list(PATTERNS), 300)
    texts = [str(rng.choice(PATTERNS[kind])).format(rng.choice(THINGS)) for kind in kinds]
    return texts[:200], kinds[:200], texts[200:], kinds[200:]


texts, kinds, test_texts, test_kinds = questions()
print(f"{len(texts)} questions for training, {len(test_texts)} for testing")
print(texts[0], kinds[0])

# %%
# More examples help, and so do longer substrings.

SIZES = [size for size in (50, 100, 200, 500, 1000, 2000) if size <= len(texts)]
KERNELS = {
    "single characters": Spectrum(1),
    "up to 3 characters": Spectrum(3, up_to=True),
    "up to 5 characters": Spectrum(5, up_to=True),
}
accuracy = {}
for name, kernel in KERNELS.items():
    machines = [SVC(kernel.normalized(), C=10.0).fit(texts[:n], kinds[:n]) for n in SIZES]
    accuracy[name] = [machine.score(test_texts, test_kinds) for machine in machines]
    print(f"{name}: {accuracy[name][-1]:.3f} of the test questions with {SIZES[-1]} examples")

# %%
# Which kinds does the last machine confuse?

names = sorted(set(test_kinds))
told = machines[-1].predict(test_texts)
confusion = np.array([[np.sum((test_kinds == a) & (told == b)) for b in names] for a in names])

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for name, values in accuracy.items():
    left.plot(SIZES, values, "o-", label=name)
left.set(xscale="log", xlabel="questions for training", ylabel="accuracy", ylim=(0, 1))
left.legend(loc="lower right")
right.imshow(confusion, cmap="Blues")
for (i, j), count in np.ndenumerate(confusion):
    shade = "white" if count > confusion.max() / 2 else "black"
    right.text(j, i, count, ha="center", va="center", color=shade)
right.set(xlabel="predicted", ylabel="true")
right.set_xticks(range(len(names)), names)
right.set_yticks(range(len(names)), names)
plt.show()
