"""
Threes and eights
=================

Do handwritten threes and eights differ, and where? The test learns the places where they differ
most, and these places are pictures that can be looked at.
"""

import os
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import Images, fetch_usps
from mercer.htest import ME, MMD, Permutation, TwoSampleResult

# %%
# The digits are those of the USPS, 16 x 16 pixels, which `fetch_usps` reads from the folder that
# ``MERCER_DATA`` names. Without it, the smaller ones that come with scikit-learn stand in.


def digits() -> Images:
    """Digits with values from 0 to 1."""
    if os.environ.get("MERCER_DATA") and find_spec("h5py"):
        return fetch_usps()
    from sklearn.datasets import load_digits

    found = load_digits()
    return Images(found.images / 16, found.target, "digits of scikit-learn, 8 x 8")


data = digits()
rng = np.random.default_rng(0)
threes, eights = (rng.permutation(data.of(label)) for label in (3, 8))
print(f"{data.description}: {len(threes)} threes, {len(eights)} eights")

# %%
# Threes and eights differ. Threes split in two halves by lot do not: the p-values of 200 such
# splits are spread evenly, as they must be.

differ = MMD().test(threes, eights, rng=0)
print(f"threes and eights: p = {differ.pvalue:.3f}")


def split_in_two() -> float:
    """The p-value of a random half of the threes against the other half."""
    mixed = rng.permutation(threes)
    return MMD(null=Permutation(199)).test(*np.array_split(mixed, 2), rng=rng).pvalue


same = np.array([split_in_two() for _ in range(200)])
print(f"the same digit, split: {np.mean(same <= 0.05):.1%} of p-values are at most 0.05")

# %%
# The digits that stand out: threes that no eight is near, eights that no three is near.

side = data.images.shape[1]
telling = differ.points(5)
figure, axes = plt.subplots(
    1, 11, figsize=(12, 1.8), width_ratios=[*[1] * 10, 2.2], layout="constrained"
)
for ax, picture in zip(axes, [*telling.first.rows, *telling.second.rows], strict=False):
    ax.imshow(np.reshape(picture, (side, side)), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
axes[10].hist(same, bins=np.linspace(0, 1, 11), color="0.6", edgecolor="white")
axes[10].axhline(len(same) / 10, color="0.2", linewidth=0.8)
axes[10].set(yticks=[])
axes[10].set_title("p-values, threes split in two", fontsize=8)

# %%
# Where do they differ? `ME.optimized` learns two places in the space of pictures, on half of the
# digits; the other half is for the test. Pictures are described by principal components of the
# half that is learnt from, so that a place is a combination of digits and not a cloud of pixels.
# Ten components are for the eye: the places look like digits. The verdict does not hang on them;
# with other numbers of components, and for digits of one kind split by lot, it is as it should be.

half = [slice(None, None, 2), slice(1, None, 2)]
train = np.concatenate([threes[half[0]], eights[half[0]]])
middle = train.mean(axis=0)
directions = np.linalg.svd(train - middle, full_matrices=False)[2]


def learn(first: np.ndarray, second: np.ndarray, number: int) -> tuple[ME, TwoSampleResult]:
    """The test learnt on every other picture in `number` components, and its result on the rest."""
    inputs = [(sample - middle) @ directions[:number].T for sample in (first, second)]
    learnt = ME.optimized(*(sample[half[0]] for sample in inputs), locations=2, rng=0)
    return learnt, learnt.test(*(sample[half[1]] for sample in inputs), rng=0)


even = len(threes) // 4 * 2  # what the components were made of stays in the learning half
for number in (3, 5, 10, 20, 40):
    differing = learn(threes, eights, number)[1].pvalue
    alike = learn(threes[:even], threes[even:], number)[1].pvalue
    print(
        f"{number:2} components: threes and eights p = {differing:.2g}; threes split p = {alike:.2g}"
    )

learnt, result = learn(threes, eights, 10)
components = directions[:10]

# %%
# The witness function is positive where there are more threes and negative where there are more
# eights. One place is where threes are, the other where eights are; what tells them apart is the
# left side of the two loops.

places = learnt.locations[np.argsort(-result.witness()(learnt.locations))]
pictures = {
    "a three": threes[0],
    "an eight": eights[0],
    "mean of threes": threes.mean(axis=0),
    "mean of eights": eights.mean(axis=0),
    "more threes here": middle + places[0] @ components,
    "more eights here": middle + places[1] @ components,
}
figure, axes = plt.subplots(1, 7, figsize=(12, 2.1), layout="constrained")
for ax, (name, picture) in zip(axes, pictures.items(), strict=False):
    ax.imshow(picture.reshape(side, side), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(name, fontsize=9)
difference = (places[0] - places[1]) @ components
limit = np.abs(difference).max()
axes[6].imshow(difference.reshape(side, side), cmap="RdBu_r", vmin=-limit, vmax=limit)
axes[6].set(xticks=[], yticks=[])
axes[6].set_title("their difference", fontsize=9)
