"""
Series by alignment
===================

Two recordings of one motion differ in pace. Dynamic time warping finds the best alignment of two
series; the global alignment kernel sums over all of them, and is positive definite, so that a
support vector machine can use it. Here it is set beside the nearest neighbour by warping.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import DynamicTimeWarping, GlobalAlignment, Series, median_bandwidth
from mercer.learn import SVC

# %%
# With ``MERCER_DATA``, the series are GunPoint of the UCR archive, with its split: the hand of an
# actor who draws a gun or only points. Without it, they are bumps at random times, with a dip
# after the bump in one of the classes.


def made(rng: np.random.Generator, classes: np.ndarray) -> np.ndarray:
    """Noisy bumps, (series, times, 1); those of class 1 end with a dip."""
    t = np.linspace(0, 1, 60)
    begin, width = rng.uniform(0.15, 0.35, (2, len(classes), 1))
    bump = np.exp(-(((t - begin - width) / 0.12) ** 2) / 2)
    dip = np.exp(-(((t - begin - width - 0.3) / 0.04) ** 2) / 2)
    noise = 0.05 * rng.normal(size=(len(classes), 60))
    return (bump - 0.3 * classes[:, None] * dip + noise)[:, :, None]


if os.environ.get("MERCER_DATA"):
    file = np.load(Path(os.environ["MERCER_DATA"]) / "series" / "gunpoint.npz")
    values, classes, held_out = file["X"].astype(float), file["y"].astype(int), file["test"]
else:
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 2, 120)
    values, held_out = made(rng, classes), np.arange(120) >= 40
training, test = Series.of(values[~held_out]), Series.of(values[held_out])
learnt, asked = classes[~held_out], classes[held_out]
print(f"{len(training)} series for training, {len(test)} for testing, {values.shape[1]} points")

# %%
# The bandwidth is a multiple of the median distance of points times the root of the length.

unit = median_bandwidth(training.values) * values.shape[1] ** 0.5
widths = [0.05, 0.1, 0.2, 0.5, 1.0]
scores = []
for width in widths:
    kernel = GlobalAlignment(width * unit).normalized()
    scores.append(SVC(kernel, C=100.0).fit(training, learnt).score(test, asked))
    print(f"alignment kernel, bandwidth {width:4} of the unit: accuracy {scores[-1]:.3f}")

warping = DynamicTimeWarping()
costs = warping.squared_distances(warping.accept(test), warping.accept(training))
nearest = np.mean(learnt[np.argmin(costs, axis=1)] == asked)
print(f"nearest neighbour by warping: accuracy {nearest:.3f}")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for label, color in zip(np.unique(learnt), ("C0", "C1"), strict=False):
    left.plot(values[~held_out][learnt == label][:6, :, 0].T, color=color, alpha=0.6)
left.set(xlabel="time", title="six series of each of two classes")
right.semilogx(widths, scores, "o-", label="alignment kernel")
right.axhline(nearest, color="C3", linestyle="--", label="nearest by warping")
right.set(xlabel="bandwidth, of the unit", ylabel="accuracy on test series")
right.legend()
plt.show()
