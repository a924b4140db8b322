"""
How accurate are random features?
=================================

Random Fourier features replace a kernel by dot products of sines and cosines. Their error
decreases as one over the square root of their number, stays below its bound, and is smaller if
the frequencies are orthogonal. This example measures the error for several ways to draw
frequencies, compares it with the bound, and shows its effect on a regression.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.features import Nystrom, QuasiMonteCarloFourier, RandomFourier
from mercer.kernels import RBF
from mercer.learn import FourierRidge, KernelRidge, NystromRidge

# %%
# The error over all pairs of 100 points, for ten draws of each number of features: independent
# frequencies, orthogonal frequencies, and frequencies from a Sobol sequence. The dashed line is
# the bound reported by `RandomFourier`, which holds with probability 95%.

rng = np.random.default_rng(0)
sizes = [32, 64, 128, 256, 512, 1024, 2048, 4096]
makers = {
    "independent": lambda d, s: RandomFourier(kernel, d, orthogonal=False, random_state=s),
    "orthogonal": lambda d, s: RandomFourier(kernel, d, random_state=s),
    "Sobol": lambda d, s: QuasiMonteCarloFourier(kernel, d, random_state=s),
}
colours = {"independent": "tab:blue", "orthogonal": "tab:orange", "Sobol": "tab:green"}


def errors(x: np.ndarray, make, size: int) -> tuple[float, float]:
    """Root mean squared and largest error of a kernel matrix, over ten draws."""
    wanted, upper = kernel(x), np.triu_indices(len(x), 1)
    squares, largest = [], []
    for seed in range(10):
        z = make(size, seed).fit_transform(x)
        off = (z @ z.T - wanted)[upper]
        squares.append(np.mean(off**2))
        largest.append(np.abs(off).max())
    return float(np.sqrt(np.mean(squares))), float(np.max(largest))


figure, panels = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
slopes = {}
for panel, dim in zip(panels, (2, 10), strict=True):
    kernel = RBF(float(dim) ** 0.5)
    x = rng.normal(size=(100, dim))
    for name, make in makers.items():
        found = np.array([errors(x, make, size) for size in sizes])
        panel.loglog(
            sizes, found[:, 0], "o-", color=colours[name], label=f"{name}: root mean square"
        )
        panel.loglog(sizes, found[:, 1], ":", color=colours[name], label=f"{name}: maximum")
        slopes[dim, name] = float(np.polyfit(np.log(sizes), np.log(found[:, 0]), 1)[0])
        if name == "independent":
            plain = found
        if name == "orthogonal":
            gain = plain[:, 0] / found[:, 0]
            print(f"{dim} dimensions: orthogonal errors are {gain.mean():.2f} times smaller")
    bounds = [makers["independent"](size, 0).fit(x).error_bound_ for size in sizes]
    assert np.all(plain[:, 1] < bounds)
    panel.loglog(sizes, bounds, "--", color="0.3", label="bound")
    panel.set(xlabel="features", title=f"{dim} dimensions")
panels[0].set_ylabel("error of a kernel value")
panels[1].legend(fontsize=8)

# %%
# In two dimensions the low-discrepancy sequence is best by far. In ten dimensions orthogonality
# helps for any number of features, and the low-discrepancy sequence only for many. The slope of
# the error with independent frequencies is about minus one half, as theory predicts:

for (dim, name), slope in slopes.items():
    print(f"{dim:2} dimensions, {name:11}: error ~ D^{slope:.2f}")

# %%
# How does this affect learning? Ridge regression on features is compared with exact ridge
# regression by the error on new points. Landmarks are chosen from the data; from about a hundred
# columns on they give smaller errors than frequencies, which do not depend on the data.

kernel = RBF(2.0)
x = rng.normal(size=(3000, 5))
truth = np.sin(x[:, 0]) * x[:, 1] + x[:, 2]
y = truth + 0.2 * rng.normal(size=3000)
train, test = slice(0, 2000), slice(2000, None)
exact = KernelRidge(kernel, 0.5).fit(x[train], y[train])
best = np.sqrt(np.mean((exact.predict(x[test]) - truth[test]) ** 2))

columns = [25, 50, 100, 200, 400, 800]
learners = {
    "Fourier features": lambda m: FourierRidge(kernel, 0.5, n_components=m, random_state=0),
    "landmarks": lambda m: NystromRidge(kernel, 0.5, landmarks=m, random_state=0),
}
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for name, learner in learners.items():
    off = [
        np.sqrt(np.mean((learner(m).fit(x[train], y[train]).predict(x[test]) - truth[test]) ** 2))
        for m in columns
    ]
    ax.loglog(columns, off, "o-", label=name)
ax.axhline(best, color="0.3", linestyle="--", label="exact")
ax.set_xticks(columns, [str(m) for m in columns])
ax.minorticks_off()
ax.set(xlabel="features or landmarks", ylabel="error on new points (RMS)", title="Ridge regression")
ax.legend()
assert off[-1] < 1.1 * best  # landmarks reach the exact solution

# %%
# `Nystrom` reports how much of the kernel its landmarks miss: the mean of ``k(x, x) - |z(x)|^2``.

for m in columns[:4]:
    print(f"{m:4} landmarks: {Nystrom(kernel, m, random_state=0).fit(x[train]).error_:.3f} missed")
plt.show()
