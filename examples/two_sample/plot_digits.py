"""
Threes and eights
=================

Do handwritten threes and eights differ, and where? The test learns the locations where the two
samples differ most. Each location can be displayed as an image.
"""

import os
from importlib.util import find_spec

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import Images, fetch_usps
from mercer.htest import ME, MMD, Permutation, TwoSampleResult

# %%
# The USPS digits, 16 x 16 pixels, are read by `fetch_usps` from the folder named by
# ``MERCER_DATA``. Without it, the smaller digits of scikit-learn are used.


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
# Threes and eights differ. When the threes are split at random into two halves, the null
# hypothesis is true, and the p-values of 200 such splits are uniformly distributed, as they
# should be.

differ = MMD().test(threes, eights, rng=0)
print(f"threes and eights: p = {differ.pvalue:.3f}")


def split_in_two() -> float:
    """The p-value of a random half of the threes against the other half."""
    mixed = rng.permutation(threes)
    return MMD(null=Permutation(199)).test(*np.array_split(mixed, 2), rng=rng).pvalue


same = np.array([split_in_two() for _ in range(200)])
print(f"threes split at random: {np.mean(same <= 0.05):.1%} rejected at level 0.05")

# %%
# The most distinctive digits: threes that are far from all eights, and eights that are far from
# all threes.

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
axes[10].set_title("p-values, random splits", fontsize=8)

# %%
# Where do the samples differ? `ME.optimized` learns two locations in the space of images on one
# half of the digits, and the other half is used for the test. Images are represented by principal
# components of the training half, so that a location is a combination of digits rather than a
# cloud of pixels. Ten components are used for display, because the locations then look like
# digits. The conclusion does not depend on this number: other numbers of components give the same
# decision, and threes split at random are not rejected.

half = [slice(None, None, 2), slice(1, None, 2)]
train = np.concatenate([threes[half[0]], eights[half[0]]])
middle = train.mean(axis=0)
directions = np.linalg.svd(train - middle, full_matrices=False)[2]


def learn(first: np.ndarray, second: np.ndarray, number: int) -> tuple[ME, TwoSampleResult]:
    """Test learnt on every other image in `number` components, and its result on the rest."""
    inputs = [(sample - middle) @ directions[:number].T for sample in (first, second)]
    learnt = ME.optimized(*(sample[half[0]] for sample in inputs), locations=2, rng=0)
    return learnt, learnt.test(*(sample[half[1]] for sample in inputs), rng=0)


even = len(threes) // 4 * 2  # rows that defined the components stay in the training half
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
# eights. One location lies among the threes and the other among the eights; they differ on the
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
