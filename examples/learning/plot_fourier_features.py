"""
How good are random features?
=============================

Random Fourier features replace a kernel by dot products of cosines. Their error falls as one over the root of
their number, stays under its bound, and is smaller where frequencies are orthogonal. Here it is
measured: four ways to draw frequencies, the bound, and what the error does to a regression.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.features import Nystrom, QuasiMonteCarloFourier, RandomFourier
from mercer.kernels import RBF
from mercer.learn import FourierRidge, KernelRidge, NystromRidge

# %%
# The largest error over all pairs of 100 points, for ten draws of each number of features: plain
# frequencies, orthogonal ones, and frequencies of a Sobol sequence. The dashed line is the bound that
# `RandomFourier` reports: nineteen draws of twenty stay below it.

rng = np.random.default_rng(0)
sizes = [32, 64, 128, 256, 512, 1024, 2048, 4096]
makers = {
    "plain": lambda d, s: RandomFourier(kernel, d, orthogonal=False, random_state=s),
    "orthogonal": lambda d, s: RandomFourier(kernel, d, random_state=s),
    "Sobol": lambda d, s: QuasiMonteCarloFourier(kernel, d, random_state=s),
}
colours = {"plain": "tab:blue", "orthogonal": "tab:orange", "Sobol": "tab:green"}


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
        panel.loglog(sizes, found[:, 0], "o-", color=colours[name], label=f"{name}: typical")
        panel.loglog(sizes, found[:, 1], ":", color=colours[name], label=f"{name}: largest of all")
        slopes[dim, name] = float(np.polyfit(np.log(sizes), np.log(found[:, 0]), 1)[0])
        if name == "plain":
            plain = found
        if name == "orthogonal":
            gain = plain[:, 0] / found[:, 0]
            print(f"{dim} dimensions: orthogonal errors are {gain.mean():.2f} times smaller")
    bounds = [makers["plain"](size, 0).fit(x).error_bound_ for size in sizes]
    assert np.all(plain[:, 1] < bounds)
    panel.loglog(sizes, bounds, "--", color="0.3", label="bound")
    panel.set(xlabel="features", title=f"{dim} dimensions")
panels[0].set_ylabel("error of a kernel value")
panels[1].legend(fontsize=8)

# %%
# In two dimensions even sequences win by far; in ten orthogonality helps at once, even sequences only where
# there are many features. The slope of the plain error is about minus one half, as it should be:

for (dim, name), slope in slopes.items():
    print(f"{dim:2} dimensions, {name:10}: error ~ D^{slope:.2f}")

# %%
# What does it do to learning? Ridge regression on features against the exact one, by the error on new
# points. Landmarks look at the data and, from a hundred columns on, do more with them than frequencies,
# which do not.

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
ax.axhline(best, color="0.3", linestyle="--", label="all points")
ax.set_xticks(columns, [str(m) for m in columns])
ax.minorticks_off()
ax.set(xlabel="features or landmarks", ylabel="error on new points", title="Ridge regression")
ax.legend()
assert off[-1] < 1.1 * best  # landmarks reach the exact solution

# %%
# `Nystrom` tells how much of the kernel its landmarks miss: the mean of ``k(x, x) - |z(x)|^2``.

for m in columns[:4]:
    print(f"{m:4} landmarks: {Nystrom(kernel, m, random_state=0).fit(x[train]).error_:.3f} missed")
plt.show()
