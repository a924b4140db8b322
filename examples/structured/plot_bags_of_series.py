"""
Bags of series
==============

A patient is many heartbeats, a machine many runs, a writer many strokes: what is classified is a
bag of series, none of which says enough alone. The mean of the alignment kernel over all pairs of
series of two bags is a kernel on bags, and a support measure machine uses it.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Convolution, GlobalAlignment, Series, median_bandwidth
from mercer.learn import SVC, SupportMeasureMachine

# %%
# Bags are mixtures of two kinds of series: two of the classes of GunPoint with ``MERCER_DATA``, and
# random walks with and without drift otherwise. In bags of class 1 the second kind makes up 75%, in
# bags of class 0 it makes up 25%.

rng = np.random.default_rng(0)


def kinds() -> tuple[np.ndarray, np.ndarray]:
    """Two sets of series, each (series, times, 1)."""
    if os.environ.get("MERCER_DATA"):
        file = np.load(Path(os.environ["MERCER_DATA"]) / "series" / "gunpoint.npz")
        every_fifth = file["X"][:, ::5].astype(float)
        return every_fifth[file["y"] == file["y"][0]], every_fifth[file["y"] != file["y"][0]]
    steps = rng.normal(size=(2, 100, 20, 1)) + np.array([0.0, 0.4]).reshape(2, 1, 1, 1)
    walks = np.cumsum(steps, axis=2)
    return walks[0], walks[1]


first, second = kinds()


def bag(share: float, size: int) -> list[np.ndarray]:
    """Series of both kinds, those of the second with probability `share`."""
    return [(second if s else first)[rng.integers(len(first))] for s in rng.random(size) < share]


first, second = first[: min(map(len, (first, second)))], second[: min(map(len, (first, second)))]
unit = median_bandwidth(np.concatenate([first, second]).reshape(-1, 1)) * first.shape[1] ** 0.5
alignment = GlobalAlignment(0.3 * unit).normalized()

# %%
# Normalised, the sum over all pairs is the cosine between the mean embeddings of two bags. Larger
# bags are classified better, although no single series is more informative; with 80 test bags the
# standard error of an accuracy is up to 0.06.

sizes = [1, 3, 7]
classes = np.tile([0, 1], 80)
accuracy = []
for size in sizes:
    bags = [bag(0.25 + 0.5 * c, size) for c in classes]
    machine = SupportMeasureMachine(Convolution(alignment).normalized(), C=1.0)
    accuracy.append(machine.fit(bags[:80], classes[:80]).score(bags[80:], classes[80:]))
    print(f"bags of {size:2} series: accuracy {accuracy[-1]:.3f}")

# %%
# A machine that knows the kind of every series sets a bound for bags of one: 0.75.

series, kind = Series.of([*first[:60], *second[:60]]), np.repeat([0, 1], 60)
train = np.arange(120) % 2 == 0
single = SVC(alignment, C=10.0).fit(series[np.flatnonzero(train)], kind[train])
score = single.score(series[np.flatnonzero(~train)], kind[~train])
print(f"single series, told their kind: accuracy {score:.3f}")

figure, (curves, rates) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
for each, color in ((first, "C0"), (second, "C1")):
    curves.plot(each[:6, :, 0].T, color=color, alpha=0.6)
curves.set(xlabel="time", title="six series of each kind")
rates.plot(sizes, accuracy, "o-", label="support measure machine")
rates.axhline(0.75, color="black", linestyle="--", label="best for bags of one")
rates.set(xlabel="series in a bag", ylabel="accuracy on 80 new bags", ylim=(0.4, 1.02))
rates.legend(loc="lower right")
plt.show()
