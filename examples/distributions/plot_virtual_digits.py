"""
Digits as distributions of digits
=================================

An image that is slightly shifted, scaled or rotated shows the same digit. An image may therefore
represent a distribution: that of all its transformed versions. A support measure machine learns
from these distributions, each represented by a bag of *virtual examples*; an augmented support
vector machine treats every virtual example as a separate training example. This is a small
version of the experiment in Figures 2 and 3 of Muandet et al. (2012); the full results are in
``benchmarks/results/virtual_digits.md``.
"""

import os
import time
from importlib.util import find_spec
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import affine_transform
from sklearn.decomposition import PCA

from mercer.datasets import Images, fetch_usps
from mercer.kernels import RBF
from mercer.learn import SVC, AugmentedSVC, KernelSearchCV, SupportMeasureMachine
from mercer.rkhs import Bags, MeanMap

# %%
# The USPS digits, 16 x 16, are read from the folder named by ``MERCER_DATA``; without it, the
# smaller digits of scikit-learn are used.


def digits() -> Images:
    """Digits with values from 0 to 1."""
    if os.environ.get("MERCER_DATA") and find_spec("h5py"):
        return fetch_usps()
    from sklearn.datasets import load_digits

    found = load_digits()
    return Images(found.images / 16, found.target, "digits of scikit-learn, 8 x 8")


data = digits()
side = data.images.shape[1]
rng = np.random.default_rng(0)

# %%
# The parameters are Gaussian: scale factors N(1, 0.1), shifts N(0, 5) in pixels (of 16), and
# angles N(0, pi). The second parameters are variances. The variance of the angle is taken in
# radians here: a standard deviation of 102 degrees, which turns many sixes into nines.


def scaling() -> tuple[np.ndarray, np.ndarray]:
    """Matrix and shift of a random scaling."""
    return np.diag(np.maximum(rng.normal(1, np.sqrt(0.1), size=2), 0.1)), np.zeros(2)


def translation() -> tuple[np.ndarray, np.ndarray]:
    """Matrix and shift of a random translation."""
    return np.eye(2), rng.normal(0, np.sqrt(5), size=2) * side / 16


def rotation() -> tuple[np.ndarray, np.ndarray]:
    """Matrix and shift of a random rotation, whose angle may be large."""
    a = rng.normal(0, np.sqrt(np.pi))
    return np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]), np.zeros(2)


kinds = {"scaling": scaling, "translation": translation, "rotation": rotation}


def virtual(image: np.ndarray, kind: str, m: int) -> np.ndarray:
    """m randomly transformed copies of an image: (m, pixels)."""
    middle, made = np.full(2, (side - 1) / 2), []
    for _ in range(m):
        matrix, shift = kinds[kind]()
        back = np.linalg.inv(matrix)
        made.append(affine_transform(image, back, middle - back @ (middle + shift), order=1))
    return np.reshape(made, (m, -1))


figure = plt.figure(figsize=(11, 3.6), layout="constrained")
parts: Any = figure.subfigures(1, 4, width_ratios=[1, 4, 4, 4])
shown = [data.images[data.labels == digit][0] for digit in (1, 3, 6, 8)]
for part, kind in zip(parts, ["", *kinds], strict=True):
    part.suptitle(kind or "digit", fontsize=10)
    number = 4 if kind else 1
    for line, image in zip(part.subplots(4, number, squeeze=False), shown, strict=True):
        pictures = virtual(image, kind, number) if kind else image.reshape(1, -1)
        for ax, picture in zip(line, pictures, strict=True):
            ax.imshow(picture.reshape(side, side), cmap="gray_r", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])

# %%
# In one experiment, 67 images of each digit are used for training and 33 for testing, with
# virtual examples of all of them and 16 principal components. Bandwidths and C are chosen by
# cross-validation, with all virtual examples of an image in the same fold. The augmented SVM is
# scored on every virtual example and, by majority vote, on every image; the SMM classifies bags.

prices, widths = [0.5, 8.0, 128.0], [1.0, 3.0, 10.0]
Scores = dict[str, float]


def split(pair: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Images, labels, and a mask of the training images."""
    chosen = [rng.permutation(np.flatnonzero(data.labels == digit))[:100] for digit in pair]
    learn = np.tile(np.arange(100) >= 33, 2)
    return data.images[np.concatenate(chosen)], np.repeat(pair, 100), learn


def folds(labels: np.ndarray, m: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Three folds of bags of m points, as indices of points."""
    turn = np.repeat(np.arange(len(labels)) % 3, m)
    return [(np.flatnonzero(turn != f), np.flatnonzero(turn == f)) for f in range(3)]


def experiment(values: np.ndarray, labels: np.ndarray, learn: np.ndarray) -> tuple[Scores, Scores]:
    """Accuracies and CPU seconds from virtual examples (n, m, pixels)."""
    n, m, _ = values.shape
    pca = PCA(16).fit(values[learn].reshape(-1, side**2))
    bags = Bags(pca.transform(values.reshape(n * m, -1)), m * np.arange(n + 1))
    asked, truth = bags[~learn], labels[~learn]

    start = time.process_time()
    grid = {"C": prices, "kernel__kernel__bandwidth": widths}
    smm = KernelSearchCV(SupportMeasureMachine(MeanMap(RBF(1.0))), grid, cv=folds(labels[learn], 1))
    score = {"SMM": smm.fit(bags[learn], labels[learn]).score(asked, truth)}
    seconds = {"SMM": time.process_time() - start}

    start = time.process_time()
    grid = {"C": prices, "kernel__bandwidth": widths}
    svm = KernelSearchCV(SVC(RBF(1.0)), grid, cv=folds(labels[learn], m))
    asvm = AugmentedSVC(svm).fit(bags[learn], labels[learn])
    score["augmented SVM, vote"] = asvm.score(asked, truth)
    seconds["augmented SVM"] = time.process_time() - start
    score["augmented SVM, each"] = asvm.machine_.score(asked.values, np.repeat(truth, m))
    return score, seconds


# %%
# The tasks are threes against eights, and rotated sixes against nines, with two draws of images
# and 10, 20 and 30 virtual examples.

numbers = [10, 20, 30]
tasks = [("scaling", (3, 8)), ("translation", (3, 8)), ("rotation", (3, 8)), ("rotation", (6, 9))]
accuracy = {task: {m: [] for m in numbers} for task in tasks}
cost = {m: [] for m in numbers}
for kind, pair in tasks * 2:
    images, labels, learn = split(pair)
    values = np.stack([virtual(image, kind, max(numbers)) for image in images])
    for m in numbers:
        found, seconds = experiment(values[:, :m], labels, learn)
        accuracy[kind, pair][m].append(found)
        cost[m].append(seconds)


def accurate(task: tuple[str, tuple[int, int]], m: int, name: str) -> float:
    """Mean accuracy, in percent."""
    return 100 * float(np.mean([row[name] for row in accuracy[task][m]]))


def least(m: int, name: str) -> float:
    """Minimum of the measured times; noise can only increase them."""
    return min(row[name] for row in cost[m])


# %%
# For threes and eights, the majority vote over a bag is as accurate as the machine on bags. On
# single virtual examples, which is the harder task, the augmented SVM is slightly worse. A
# rotated six is a nine, so neither single images nor a vote are informative; the distribution of
# a bag, in which some angles are more frequent than others, is more informative. The SMM is also
# cheaper: it learns from 134 bags whatever their size, and its kernel matrix is computed once for
# all values of C and all folds.

styles = {"SMM": "o-", "augmented SVM, vote": "s--", "augmented SVM, each": "^:"}
figure, axes = plt.subplots(1, 5, figsize=(14, 3.2), layout="constrained")
for ax, task in zip(axes, tasks, strict=False):
    for name, style in styles.items():
        ax.plot(numbers, [accurate(task, m, name) for m in numbers], style, label=name)
    ax.set_title(f"{task[0]}, {task[1][0]} and {task[1][1]}", fontsize=10)
    ax.set(xlabel="virtual examples", xticks=numbers, ylim=(75, 100.5))
axes[0].set_ylabel("accuracy, percent")
axes[0].legend(loc="lower right", fontsize=8)
for name, style in (("SMM", "o-"), ("augmented SVM", "s--")):
    costs = [least(m, name) / least(numbers[0], "SMM") for m in numbers]
    axes[4].plot(numbers, costs, style, label=name)
axes[4].set_title("time / time of the SMM with 10", fontsize=10)
axes[4].set(xlabel="virtual examples", xticks=numbers, yscale="log")
axes[4].set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
axes[4].minorticks_off()
axes[4].legend(fontsize=8)

for task in tasks:
    for m in numbers:
        told = "  ".join(f"{name} {accurate(task, m, name):.1f}" for name in styles)
        print(f"{task[0]:12}{task[1]} {m:3}: {told}")
for m in numbers:
    ratio = least(m, "augmented SVM") / least(m, "SMM")
    print(f"{m} virtual examples: the augmented SVM takes {ratio:.0f} times as long as the SMM")
plt.show()
