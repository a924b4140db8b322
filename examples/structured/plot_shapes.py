"""
Shapes by their holes
=====================

Points are scattered around a ring, two rings, or a disk, of random size and place. What tells the
shapes apart is their holes. A persistence diagram records at which distance from the points each
hole opens and closes; kernels on diagrams test and classify the shapes.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.htest import MMD
from mercer.kernels import (
    Kernel,
    PersistenceScaleSpace,
    PersistenceSlicedWasserstein,
    PersistenceWeightedGaussian,
)
from mercer.learn import SVC

rng = np.random.default_rng(0)
GRID = np.stack(np.meshgrid(*[np.linspace(-2, 2, 28)] * 2, indexing="ij"), axis=-1)


def shape(kind: str) -> np.ndarray:
    """80 noisy points, (80, 2)."""
    angle, size = rng.uniform(0, 2 * np.pi, 80), rng.uniform(0.8, 1.1)
    circle = size * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if kind == "disk":
        circle *= np.sqrt(rng.random((80, 1)))
    if kind == "two rings":
        circle = 0.6 * circle + np.where(rng.random((80, 1)) < 0.5, 1, -1) * [0.8, 0.0]
    return circle + rng.normal(0, 0.06, (80, 2)) + rng.uniform(-0.2, 0.2, 2)


# %%
# On a grid, a hole of the set of points within distance t of the sample is an island of the points
# farther than t. Islands appear, from large distances to small, at the maxima of the distance, and
# merge with older ones: a hole is born where its island merges, and dies at the maximum.


def holes(points: np.ndarray) -> np.ndarray:
    """Births and deaths of the holes, (holes, 2)."""
    height = np.min(np.linalg.norm(GRID[:, :, None] - points, axis=-1), axis=-1)
    height = np.pad(height, 1, constant_values=height.max() + 1)  # what is outside is one island
    columns, flat = height.shape[1], height.ravel()
    root: dict[int, int] = {}
    pairs = []

    def top(cell: int) -> int:
        while root[cell] != cell:
            cell = root[cell]
        return cell

    for cell in np.argsort(-flat, kind="stable").tolist():
        root[cell] = cell
        for neighbour in (cell - 1, cell + 1, cell - columns, cell + columns):
            if neighbour in root and (tops := {top(cell), top(neighbour)}) and len(tops) == 2:
                young, old = sorted(tops, key=lambda c: flat[c])
                root[young] = old
                if flat[young] - flat[cell] > 0.02:
                    pairs.append((flat[cell], flat[young]))
    return np.array(pairs).reshape(-1, 2)


KINDS = ("ring", "two rings", "disk")
clouds = [shape(kind) for kind in np.repeat(KINDS, 30)]
classes = np.repeat(np.arange(3), 30)
diagrams = [holes(points) for points in clouds]
print(f"{len(diagrams)} shapes, {np.mean([len(d) for d in diagrams]):.1f} holes each")

# %%
# A test tells shapes of two kinds, and does not tell two halves of one kind.

kernel = PersistenceScaleSpace(0.02)
for a, b in ((0, 1), (0, 2), (1, 2)):
    result = MMD(kernel).test(*(diagrams[30 * k : 30 * k + 30] for k in (a, b)), rng=0)
    print(f"{KINDS[a]} and {KINDS[b]}: p = {result.pvalue:.3f}")
halves = diagrams[:15], diagrams[15:30]
print(f"two halves of the rings: p = {MMD(kernel).test(*halves, rng=0).pvalue:.3f}")

# %%
# And a support vector machine learns the kinds.

KERNELS: dict[str, Kernel] = {
    "scale space": kernel,
    "weighted Gaussian": PersistenceWeightedGaussian(0.2, 1.0, 1.0),
    "sliced Wasserstein": PersistenceSlicedWasserstein(0.5),
}
train = np.arange(90) % 2 == 0
learnt, asked = ([diagrams[i] for i in np.flatnonzero(rows)] for rows in (train, ~train))
for name, each in KERNELS.items():
    machine = SVC(each.normalized(), C=10.0).fit(learnt, classes[train])
    print(f"{name}: accuracy {machine.score(asked, classes[~train]):.3f}")

figure, panels = plt.subplots(2, 3, figsize=(9, 6), layout="constrained")
for k, kind in enumerate(KINDS):
    panels[0, k].scatter(*clouds[30 * k].T, s=8)
    panels[0, k].set(title=kind, aspect="equal", xlim=(-2, 2), ylim=(-2, 2))
    every = np.concatenate(diagrams[30 * k : 30 * k + 30])
    panels[1, k].scatter(*every.T, s=8, color="C1")
    panels[1, k].plot([0, 1.2], [0, 1.2], color="black", linewidth=0.8)
    panels[1, k].set(xlabel="birth", ylabel="death", title="holes of 30 shapes")
plt.show()
