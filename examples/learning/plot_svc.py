"""
The margin and the parameter C
==============================

A support vector machine separates two classes with a large margin, and points inside the margin
are penalised in proportion to C. Only the points on or inside the margin, the support vectors,
determine the function.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import RBF
from mercer.learn import SVC, KernelSearchCV

# %%
# The data are two half-moons that overlap.

rng = np.random.default_rng(0)
n = 200
angle = rng.uniform(0, np.pi, size=n)
upper = rng.random(n) < 0.5
moons = np.where(
    upper[:, None],
    np.stack([np.cos(angle), np.sin(angle)], axis=1),
    np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], axis=1),
)
x = moons + 0.2 * rng.normal(size=(n, 2))
y = np.where(upper, "upper", "lower")

# %%
# A path of machines, each solved starting from the previous one. The solid line is the decision
# boundary f(x) + b = 0, the dashed lines are the margin, f(x) + b = -1 and 1, and circles mark
# support vectors. A small C gives a wide margin with many points inside it. With ``C=inf`` no
# point may lie inside the margin, and the boundary follows the noise.

prices = [0.1, 1.0, 100.0, np.inf]
path = SVC(RBF(0.5)).path(x, y, prices)
across, up = np.meshgrid(np.linspace(-1.7, 2.7, 150), np.linspace(-1.2, 1.7, 120))
grid = np.stack([across.ravel(), up.ravel()], axis=1)

figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), sharex=True, sharey=True)
for machine, ax in zip(path, axes.flat, strict=True):
    values = machine.decision_function(grid).reshape(across.shape)
    top = np.abs(values).max()
    ax.contourf(across, up, values, levels=np.linspace(-top, top, 21), cmap="RdBu_r", alpha=0.5)
    ax.contour(across, up, values, levels=[-1, 0, 1], colors="k", linestyles=["--", "-", "--"])
    ax.scatter(*x.T, c=np.where(upper, "tab:red", "tab:blue"), s=12)
    ax.scatter(*machine.support_vectors_.T, s=50, facecolors="none", edgecolors="k", lw=0.7)
    ax.set_title(
        f"C = {machine.C:g}: margin {machine.margin_[0]:.2f}, {len(machine.support_)} support vectors"
    )
figure.tight_layout()

# %%
# The margin decreases as C increases.

margins = np.array([machine.margin_[0] for machine in path])
print(margins.round(3), bool(np.all(np.diff(margins) < 0)))

# %%
# C and the bandwidth are chosen by cross-validation. Every Gram matrix is computed once, for any
# number of folds and values of C.

bandwidths, many = np.geomspace(0.05, 5, 9), np.geomspace(0.01, 1000, 11)
search = KernelSearchCV(SVC(RBF(1.0)), {"kernel__bandwidth": bandwidths, "C": many}, cv=10)
search.fit(x, y)
print(
    {name: round(float(v), 2) for name, v in search.best_params_.items()},
    round(search.best_score_, 3),
)

scores = np.empty((len(bandwidths), len(many)))
for params, score in zip(
    search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
):
    i = np.flatnonzero(bandwidths == params["kernel__bandwidth"])
    scores[i, np.flatnonzero(many == params["C"])] = score

figure, ax = plt.subplots(figsize=(6, 4))
picture = ax.pcolormesh(many, bandwidths, scores, shading="nearest")
ax.plot(
    search.best_params_["C"], search.best_params_["kernel__bandwidth"], "r*", ms=14, label="best"
)
ax.set(
    xscale="log",
    yscale="log",
    xlabel="C",
    ylabel="bandwidth",
    title="accuracy, 10-fold cross-validation",
)
ax.legend(loc="lower left")
figure.colorbar(picture)
figure.tight_layout()
plt.show()
