"""
What a stiff regression leaves behind
=====================================

Two variables depend on a third and on nothing else. If a regression on the third variable misses part
of its effect, what it misses is in both residuals, and makes them dependent. This example shows such
residuals, and how a bound on the bias of the regressions enters the p-value.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.linear_model import LinearRegression

from mercer.htest import KernelGCM
from mercer.kernels import RBF
from mercer.learn import KernelRidge, RidgePath

# %%
# Both variables are sin(3z) plus noise of their own. Given z they are independent. Three regressions
# are compared: a straight line, a kernel ridge regression with its defaults, which flattens the waves a
# little, and one with a shorter bandwidth whose ridge is chosen by leave-one-out.

REGRESSIONS = {
    "straight line": (LinearRegression(), "#b2182b"),
    "flat curve": (KernelRidge(), "#e08214"),
    "close curve": (KernelRidge(RBF(0.4), ridge=RidgePath()), "#2166ac"),
}


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, y and z, 400 observations ordered by z."""
    rng = np.random.default_rng(seed)
    z = np.sort(rng.normal(size=400))
    x, y = np.sin(3 * z) + rng.normal(size=(2, 400)) / 2
    return x, y, z


def fitted(regression, z: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Values of the regression at the observations."""
    return regression.fit(z[:, None], target).predict(z[:, None])


# %%
# The line leaves the waves in both residuals, which are then correlated. The flat curve looks right, but
# what it cuts off at the peaks is the same for x and for y. The close curve leaves noise.

x, y, z = draw(0)
figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
axes[0].scatter(z, x, s=6, color="0.7", linewidths=0)
axes[0].set(title="x = sin(3z) + noise", xlabel="z", ylabel="x")
for ax, (name, (regression, color)) in zip(axes[1:], REGRESSIONS.items(), strict=True):
    axes[0].plot(z, fitted(regression, z, x), color=color, lw=1.8, label=name)
    a, b = (t - fitted(regression, z, t) for t in (x, y))
    ax.scatter(a, b, s=6, color=color, alpha=0.6, linewidths=0)
    ax.set(title=f"{name}: correlation {np.corrcoef(a, b)[0, 1]:.2f}")
    ax.set(xlabel="residual of x", ylabel="residual of y", xlim=(-2.5, 2.5), ylim=(-2.5, 2.5))
axes[0].legend(loc="lower right")

# %%
# How often is a mean product of residuals significant at level 0.05, if nothing is done about bias?

for name, (regression, _) in REGRESSIONS.items():
    rejected = 0
    for seed in range(100):
        x, y, z = draw(seed)
        products = (x - fitted(regression, z, x)) * (y - fitted(regression, z, y))
        rejected += abs(products.sum()) > norm.ppf(0.975) * np.sqrt((products**2).sum())
    print(f"{name}: {rejected} of 100")

# %%
# `KernelGCM` fits curves, and reports how much of x and y they explain and how much bias they may leave.

print(KernelGCM().test(*draw(0)).summary())

# %%
# A studentised mean t of products of residuals is normal with a bias of at most b standard errors. The
# p-value is the largest one over all such biases, P(\|N + b\| >= \|t\|).

densities, (left, right) = plt.subplots(1, 2, figsize=(11, 3.2), layout="constrained")
t, b, grid = 2.5, 1.5, np.linspace(-4, 7, 551)
for bias, color in ((0.0, "#2166ac"), (b, "#b2182b")):
    p = norm.sf(t - bias) + norm.cdf(-t - bias)
    left.plot(grid, norm.pdf(grid - bias), color=color, label=f"bias {bias:g}: p = {p:.3f}")
    for tail in (grid >= t, grid <= -t):
        left.fill_between(grid, norm.pdf(grid - bias), where=tail, color=color, alpha=0.3, lw=0)
left.axvline(t, color="black", lw=0.8)
left.set(title=f"The statistic under independence, and t = {t}", xlabel="standard errors")
left.legend(loc="upper right")
bounds = np.linspace(0, 4, 201)
for t in (2, 3, 4, 5):
    right.plot(bounds, norm.sf(t - bounds) + norm.cdf(-t - bounds), label=f"t = {t}")
right.axhline(0.05, color="black", lw=0.8, ls="--")
right.set(title="p-value and bias bound", xlabel="bias bound, standard errors", yscale="log")
right.set(ylabel="p-value", ylim=(1e-6, 1.2))
right.legend(loc="lower right")

# %%
# ``python examples/independence/plot_conditional.py docs/_static`` draws the figures of the guide.

if sys.argv[1:2] and Path(sys.argv[1]).is_dir():
    plt.rcParams["svg.hashsalt"] = "mercer"
    for name, drawn in (("residuals", figure), ("bias", densities)):
        drawn.savefig(Path(sys.argv[1]) / f"conditional_{name}.svg", metadata={"Date": None})
