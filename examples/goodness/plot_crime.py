"""
Crimes in a city by a lake
==========================

Where are violent crimes reported in Chicago? A mixture of two Gaussians says: around two centres. One of ten
says more. Does either fit, which of them fits better, and where do they fail? Locations that are learnt to
tell a model from observations give the answer on the map (Jitkrittum et al. 2017, section 4).
"""

import os

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import fetch_chicago_crime
from mercer.htest import FSSD, RelativeKSD
from mercer.kernels import RBF
from mercer.rkhs import Gaussian, Mixture

# %%
# `fetch_chicago_crime` reads the places from the folder that ``MERCER_DATA`` names: 9,912 crimes in January
# and February 2012. They are turned into kilometres from their middle. Without the folder, an imaginary city
# stands in: many quarters, and a straight shore in the east beyond which nothing happens (its numbers are others than those that the text tells).


def real_city() -> np.ndarray:
    """Kilometres east and north of the middle of all crimes: (n, 2)."""
    degrees = fetch_chicago_crime().numbers(["longitude", "latitude"])
    middle = degrees.mean(axis=0)
    return (degrees - middle) * 111.2 * [np.cos(np.radians(middle[1])), 1.0]


def imaginary_city() -> np.ndarray:
    """Draws from 25 quarters west of a shore, which cuts through some of them."""
    rng = np.random.default_rng(0)
    centres = rng.uniform([-12.0, -20.0], [8.0, 20.0], size=(25, 2))
    quarters = Mixture([Gaussian(c, [5.0, 6.0]) for c in centres])
    drawn = quarters.sample(30_000, rng=rng)
    return drawn[drawn[:, 0] < 5.0][:9912]


places = real_city() if os.environ.get("MERCER_DATA") else imaginary_city()
print(f"{len(places):,} crimes")

# %%
# Models are fitted to 4,000 of the crimes. They must not meet these again: 2,000 others teach a test where to look,
# and the rest is tested. One location, and the width of the kernel, are learnt by the signal-to-noise ratio of
# the test. That has several peaks; of a few searches the best is kept, by the crimes it was learnt from.


def learnt(model: Mixture, learn: np.ndarray) -> FSSD:
    """The test at the location of largest evidence."""
    tests = [FSSD.optimized(model, learn, locations=1, rng=seed) for seed in range(3)]
    return max(tests, key=lambda test: test.test(learn).locations()[0].evidence)


def split(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Crimes to fit to, to learn from, and to test."""
    order = np.random.default_rng(seed).permutation(len(places))
    return places[order[:4000]], places[order[4000:6000]], places[order[6000:]]


own, learn, rest = split(0)
models = {parts: Mixture.fit(own, parts, rng=0) for parts in (2, 10)}
tests = {parts: learnt(model, learn) for parts, model in models.items()}
results = {parts: test.test(rest) for parts, test in tests.items()}
for parts, result in results.items():
    print(f"{parts} parts: p = {result.pvalue:.1g}, at {tests[parts].locations.round(1)[0]} km")

# %%
# Both are rejected. Is the larger one better? That depends on the scale. Over a few kilometres, the size of
# quarters, it clearly is; at the median distance of crimes, the kernel that is taken where none is given, the two
# models cannot be told apart. The difference of the two discrepancies has a p-value too.

for kernel in (RBF(1.0), RBF(3.0), RBF(6.0), None):
    compared = RelativeKSD(models[2], models[10], kernel).test(rest)
    two, ten = compared.discrepancies
    print(f"{kernel!s:20} 2 parts {two:9.2e}, 10 parts {ten:9.2e}, p = {compared.pvalue:.1g}")

# %%
# Where do they fail? The evidence that a test at one place would give, over the map, by the width that was learnt.
# It is largest at the edges of the city: over the lake in the east, beyond the western limits, and on a small
# lake in the south. Gaussians are smooth, and shores are not: the models expect crimes in the water. Stars are
# the learnt locations of this and of four other splits. Around each the model expects more crimes than there are.


def elsewhere(parts: int) -> list[tuple[FSSD, Mixture]]:
    """Tests and models of all splits."""
    found = [(tests[parts], models[parts])]
    for seed in range(1, 5):
        own, learn, _ = split(seed)
        model = Mixture.fit(own, parts, rng=0)
        found.append((learnt(model, learn), model))
    return found


def around(place: np.ndarray, points: np.ndarray, radius: float) -> float:
    """How many of so many crimes are within a radius."""
    return len(places) * np.mean(np.sum((points - place) ** 2, axis=1) < radius**2)


figure, axes = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
for ax, (parts, result) in zip(axes, results.items(), strict=True):
    result.plot_evidence(ax)
    for test, model in elsewhere(parts):
        place, width = test.locations[0], test.kernel.bandwidth
        seen, expected = (around(place, p, width) for p in (places, model.sample(100_000, rng=0)))
        print(
            f"{parts:2} parts, {place[0]:5.1f} km east, {place[1]:5.1f} km north: "
            f"{seen:4.0f} crimes within {width:.1f} km, {expected:4.0f} expected"
        )
        ax.plot(*place, "*", color="#ffd92f", markeredgecolor="0.2", markersize=11)
    ax.set(xlabel="km east", ylabel="km north", title=f"{parts} Gaussians, p = {result.pvalue:.0e}")

# %%
# The witness tells the same with a sign: blue where the model expects crimes that do not happen, along the
# shore and the edges of the city, red where more happen than it expects. Its kernel is the learnt one.

figure, axes = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
for ax, (parts, result) in zip(axes, results.items(), strict=True):
    result.thinned(2000).plot_witness(ax)
    ax.set(xlabel="km east", ylabel="km north", title=f"{parts} Gaussians")
