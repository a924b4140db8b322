"""
Separating a mixture of letters
===============================

Six two-dimensional sources, each uniform on the shape of a letter, are mixed by a random matrix
into twelve signals, none of which shows a letter. Independent subspace analysis recovers the six
planes and the letters in them, each up to a linear map of its plane.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

from mercer.learn import ISA, amari_index

WORD = "MERCER"

# %%
# The letters are images that `fetch_letters` reads from the folder named by ``MERCER_DATA``.
# Without it, letters of a font are used. A source is uniform on the ink of its letter; two
# sources with the same letter are independent like any others.


def fetched(letter: str) -> np.ndarray:
    """Image from the data set: True where there is ink."""
    from mercer.datasets import fetch_letters

    data = fetch_letters()
    return data.images[data.labels == f"English/{letter}"][0] > 0


def printed(letter: str) -> np.ndarray:
    """Image of a letter from a font: True where there is ink."""
    from matplotlib.path import Path
    from matplotlib.textpath import TextPath

    across, down = np.meshgrid(np.arange(88) + 0.5, np.arange(87)[::-1] + 0.5)
    places = np.stack([across.ravel(), down.ravel()], axis=1)
    outlines = TextPath((0, 0), letter, size=80).to_polygons()
    inside = [Path(outline).contains_points(places) for outline in outlines]
    return np.logical_xor.reduce(inside).reshape(across.shape)  # a hole is an outline, too


def source(ink: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n points uniform on the ink, standardised: (n, 2)."""
    down, across = (np.argwhere(ink)[rng.integers(ink.sum(), size=n)] + rng.uniform(size=(n, 2))).T
    points = np.stack([across, -down], axis=1)
    return (points - points.mean(axis=0)) / points.std(axis=0)


rng = np.random.default_rng(0)
n, width = 4000, 2 * len(WORD)
picture = fetched if os.environ.get("MERCER_DATA") else printed
sources = np.hstack([source(picture(letter), n, rng) for letter in WORD])  # (n, 12)
mixing = rng.normal(size=(width, width))
observed = sources @ mixing.T

# %%
# Only the mixture and the dimension of the subspaces are known. The Amari index compares the
# result with the truth: it is 0 if every plane is one source and 1 if all sources are equally
# mixed in all planes.

isa = ISA(2, random_state=0).fit(observed)
found = isa.transform(observed)
shares = isa.components_ @ mixing  # of the sources in what was found
index = amari_index(shares, 2)
print(f"{len(WORD)} sources, {n} points: Amari index {index:.1%}")
assert index < 0.05

# %%
# The order of the planes and the orientation of each letter cannot be identified. To make the
# word readable, the planes are put into the order of the letters and mapped back with the help of
# the truth. The third row shows the planes as they were estimated.

strength = np.array(
    [
        [np.linalg.norm(shares[i : i + 2, j : j + 2]) for j in range(0, width, 2)]
        for i in range(0, width, 2)
    ]
)
plane = strength.argmax(axis=0)  # of each letter
turned = []
for letter, group in enumerate(isa.subspaces_[m] for m in plane):
    truth = sources[:, 2 * letter : 2 * letter + 2]
    turned.append(found[:, group] @ np.linalg.lstsq(found[:, group], truth)[0])

rows = {
    "sources": [sources[:, 2 * m : 2 * m + 2] for m in range(len(WORD))],
    "mixture": [observed[:, 2 * m : 2 * m + 2] for m in range(len(WORD))],
    "estimated": [found[:, isa.subspaces_[m]] for m in plane],
    "mapped back": turned,
}
figure, axes = plt.subplots(4, len(WORD), figsize=(9.6, 6.6), layout="constrained")
for line, (name, clouds) in zip(axes, rows.items(), strict=True):
    color = "0.55" if name == "mixture" else "#2166ac"
    for ax, cloud in zip(line, clouds, strict=True):
        ax.scatter(*cloud.T, s=1.0, color=color, linewidths=0, rasterized=True)
        ax.set(xticks=[], yticks=[], aspect="equal", adjustable="datalim")
    line[0].set_ylabel(name)
figure.suptitle(f"Amari index {index:.1%}", fontsize=11)

# %%
# The method works because components of one letter are dependent and those of different letters
# are not. Left: the dependence between every two estimated components, by which they were
# grouped. It is the square root of their HSIC, divided by that of each component with itself, so
# it lies between 0 and 1. Right: the contribution of each source to each component, which
# requires the truth.

own = np.sqrt(np.diag(isa.dependence_))
related = np.sqrt(np.clip(isa.dependence_ / np.outer(own, own), 0, None))
np.fill_diagonal(related, 0)

figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 4.2), layout="constrained")
image = left.imshow(related, cmap="Greys", vmin=0)
left.set_title("dependence between components")
figure.colorbar(image, ax=left, shrink=0.8)
limit = np.abs(shares).max()
order = np.concatenate([[2 * m, 2 * m + 1] for m in np.argsort(plane)])
image = right.imshow(shares[:, order], cmap="RdBu_r", vmin=-limit, vmax=limit)
right.set_title("contribution of sources to components")
figure.colorbar(image, ax=right, shrink=0.8)
for ax in (left, right):
    ax.set_xticks(np.arange(0.5, width, 2), [WORD[m] for m in np.argsort(plane)])
    ax.set_yticks(np.arange(0.5, width, 2), [f"plane {m + 1}" for m in range(len(WORD))])
    ax.tick_params(length=0)
