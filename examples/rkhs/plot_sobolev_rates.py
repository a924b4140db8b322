"""
Sobolev ellipsoids and optimal rates
====================================

A function with m square-integrable derivatives has Fourier coefficients in an ellipsoid, and no estimate from n noisy values has a
worst-case squared error that falls faster than n^(-2m / (2m + 1)). Smoothing splines reach that rate.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.learn import SmoothingSpline
from mercer.rkhs import FourierBasis

# %%
# Periodic functions f = sum of c_j phi_j on [0, 1] have `|f^(m)|^2 = sum of (2 pi k)^(2m) c_j^2`, with k the frequency of phi_j.
# Checked for a random element of the ellipsoid with m = 2, against derivatives by finite differences.

rng = np.random.default_rng(0)
frequencies = np.arange(1, 9)
coefficients = rng.normal(size=(8, 2)) / (2 * np.pi * frequencies[:, None]) ** 2
fine = np.linspace(0, 1, 20_001)
basis = FourierBasis(0, 1)
waves = np.stack(
    [
        np.sqrt(2) * np.stack([np.cos(2 * np.pi * k * fine), np.sin(2 * np.pi * k * fine)])
        for k in frequencies
    ]
)  # (8, 2, grid)
function = np.einsum("kj,kjg->g", coefficients, waves)
second = np.gradient(np.gradient(function, fine), fine)[2:-2]
weighted = np.sum((2 * np.pi * frequencies[:, None]) ** 4 * coefficients**2)
print(f"{basis}: sum {weighted:.4f}, integral {np.trapezoid(second**2, fine[2:-2]):.4f}")

# %%
# The rate is about the worst function of the ball for each n. For a spline of order m, that is one with as much roughness as is
# allowed at the frequency n^(1 / (2m + 1)), where bias and noise meet.

orders, sizes = (1, 2), np.array([100, 200, 400, 800, 1600, 3200])
roughness = {1: 20.0, 2: 150.0}  # square root of the integral of f^(m) squared
errors = np.empty((len(orders), len(sizes)))
for row, m in enumerate(orders):
    for column, n in enumerate(sizes):
        k = n ** (1 / (2 * m + 1)) * (0.6 if m == 1 else 1.0)
        x = (np.arange(n) + 0.5) / n
        worst = roughness[m] * np.sqrt(2) * np.sin(2 * np.pi * k * x) / (2 * np.pi * k) ** m
        squared = []
        for seed in range(20):
            y = worst + 0.5 * np.random.default_rng(seed).normal(size=n)
            fit = SmoothingSpline(m).fit(x[:, None], y).predict(x[:, None])
            squared.append(np.mean((fit - worst) ** 2))
        errors[row, column] = np.mean(squared)

figure, ax = plt.subplots(figsize=(6.5, 4.2))
for m, row in zip(orders, errors, strict=True):
    slope = np.polyfit(np.log(sizes), np.log(row), 1)[0]
    print(f"m = {m}: measured exponent {slope:.2f}, optimal {-2 * m / (2 * m + 1):.2f}")
    ax.loglog(sizes, row, "o-", label=f"spline of order {m}: {slope:.2f}")
    ax.loglog(sizes, row[0] * (sizes / sizes[0]) ** (-2 * m / (2 * m + 1)), "k:", lw=1)
ax.set(xlabel="n", ylabel="mean squared error", title="errors against n (dotted: optimal rates)")
ax.legend()
figure.tight_layout()
plt.show()
