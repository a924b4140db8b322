"""
Crimes in a city by a lake
==========================

Do mixtures of two or of ten Gaussians describe where violent crimes are reported in Chicago? This
example tests both models, compares them, and maps where they fail, with test locations that are
learnt to distinguish the model from the observations (Jitkrittum et al. 2017, section 4).
"""

import os

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import fetch_chicago_crime
from mercer.htest import FSSD, RelativeKSD
from mercer.kernels import RBF
from mercer.rkhs import Gaussian, Mixture

# %%
# `fetch_chicago_crime` reads the locations of 9,912 crimes in January and February 2012 from the
# folder named by ``MERCER_DATA``. Coordinates are converted to kilometres from their mean.
# Without the folder, a simulated city is used: many districts, and a straight shore in the east
# beyond which nothing happens. The numbers in the text refer to the real data.


def real_city() -> np.ndarray:
    """Kilometres east and north of the mean location: (n, 2)."""
    degrees = fetch_chicago_crime().numbers(["longitude", "latitude"])
    middle = degrees.mean(axis=0)
    return (degrees - middle) * 111.2 * [np.cos(np.radians(middle[1])), 1.0]


def imaginary_city() -> np.ndarray:
    """Draws from 25 districts west of a shore that cuts through some of them."""
    rng = np.random.default_rng(0)
    centres = rng.uniform([-12.0, -20.0], [8.0, 20.0], size=(25, 2))
    quarters = Mixture([Gaussian(c, [5.0, 6.0]) for c in centres])
    drawn = quarters.sample(30_000, rng=rng)
    return drawn[drawn[:, 0] < 5.0][:9912]


places = real_city() if os.environ.get("MERCER_DATA") else imaginary_city()
print(f"{len(places):,} crimes")

# %%
# The models are fitted to 4,000 of the crimes. A further 2,000 are used to learn where to test,
# and the held-out rest is tested. One location and the bandwidth of the kernel are learnt by
# maximising the signal-to-noise ratio of the test statistic. This objective has several local
# maxima, so three searches are run and the best one on the training data is kept.


def learnt(model: Mixture, learn: np.ndarray) -> FSSD:
    """Test at the location with the most evidence."""
    tests = [FSSD.optimized(model, learn, locations=1, rng=seed) for seed in range(3)]
    return max(tests, key=lambda test: test.test(learn).locations()[0].evidence)


def split(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Crimes for fitting, for learning the location, and for testing."""
    order = np.random.default_rng(seed).permutation(len(places))
    return places[order[:4000]], places[order[4000:6000]], places[order[6000:]]


own, learn, rest = split(0)
models = {parts: Mixture.fit(own, parts, rng=0) for parts in (2, 10)}
tests = {parts: learnt(model, learn) for parts, model in models.items()}
results = {parts: test.test(rest) for parts, test in tests.items()}
for parts, result in results.items():
    print(
        f"{parts} components: p = {result.pvalue:.1g}, at {tests[parts].locations.round(1)[0]} km"
    )

# %%
# Both models are rejected. Is the larger one better? The answer depends on the scale. On the
# scale of districts, a few kilometres, it is clearly better. At the median distance between
# crimes, the default bandwidth, the two models cannot be distinguished. The p-values refer to the
# difference of the two discrepancies.

for kernel in (RBF(1.0), RBF(3.0), RBF(6.0), None):
    compared = RelativeKSD(models[2], models[10], kernel).test(rest)
    two, ten = compared.discrepancies
    print(
        f"{kernel!s:20} 2 components {two:9.2e}, 10 components {ten:9.2e}, p = {compared.pvalue:.1g}"
    )

# %%
# Where do the models fail? The map shows the evidence that a test at a single location would
# give, with the learnt bandwidth. The evidence is largest at the edges of the city: over the lake
# in the east, beyond the western limits, and at a small lake in the south. Gaussians are smooth
# and shores are not, so the models predict crimes in the water. Stars mark the learnt locations
# of this and four other random splits. Around each of them the model predicts more crimes than
# were reported.


def elsewhere(parts: int) -> list[tuple[FSSD, Mixture]]:
    """Tests and models of all splits."""
    found = [(tests[parts], models[parts])]
    for seed in range(1, 5):
        own, learn, _ = split(seed)
        model = Mixture.fit(own, parts, rng=0)
        found.append((learnt(model, learn), model))
    return found


def around(place: np.ndarray, points: np.ndarray, radius: float) -> float:
    """Number of crimes within a radius of a place."""
    return len(places) * np.mean(np.sum((points - place) ** 2, axis=1) < radius**2)


figure, axes = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
for ax, (parts, result) in zip(axes, results.items(), strict=True):
    result.plot_evidence(ax)
    for test, model in elsewhere(parts):
        place, width = test.locations[0], test.kernel.bandwidth
        seen, expected = (around(place, p, width) for p in (places, model.sample(100_000, rng=0)))
        print(
            f"{parts:2} components, {place[0]:5.1f} km east, {place[1]:5.1f} km north: "
            f"{seen:4.0f} crimes within {width:.1f} km, {expected:4.0f} expected"
        )
        ax.plot(*place, "*", color="#ffd92f", markeredgecolor="0.2", markersize=11)
    ax.set(xlabel="km east", ylabel="km north", title=f"{parts} Gaussians, p = {result.pvalue:.0e}")

# %%
# The witness function shows the same with a sign, using the learnt kernel. It is negative (blue)
# where the model predicts crimes that do not happen, along the shore and the edges of the city,
# and positive (red) where more crimes happen than predicted.

figure, axes = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained")
for ax, (parts, result) in zip(axes, results.items(), strict=True):
    result.thinned(2000).plot_witness(ax)
    ax.set(xlabel="km east", ylabel="km north", title=f"{parts} Gaussians")
