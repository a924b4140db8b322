"""
Hidden tuning parameters on the circle
======================================

On the circle the eigenfunctions of a rotation-invariant kernel are sines and cosines, and its parameters only decide how fast the
eigenvalues fall. Lecture notes on the subject say that those of the Gaussian kernel `exp(-|x - y|^2 / s^2)` fall like
(1/s)^(2k), and those of the polynomial kernel (1 + <x, y>)^d at a polynomial rate. Both can be computed, and neither
is so.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import comb, ive

from mercer.kernels import RBF, Polynomial
from mercer.rkhs import Quadrature, mercer_expansion

# %%
# On the unit circle `|x - y|^2 = 2 - 2 cos(t)`, so the Gaussian kernel is exp(-2/s^2) exp((2/s^2) cos t), whose Fourier
# coefficients are exp(-2/s^2) I_k(2/s^2) with the modified Bessel function. For large k this is (1/s^2)^k / k!: a factorial
# faster than the printed rate, which does not even fall where s <= 1. Equally spaced nodes with equal weights integrate
# trigonometric polynomials exactly, so the expansion of mercer finds the same numbers, each twice from k = 1 on.

nodes = 2 * np.pi * np.arange(400) / 400
circle = np.stack([np.cos(nodes), np.sin(nodes)], axis=1)
uniform = Quadrature(circle, np.full(400, 1 / 400))
orders = np.arange(12)
scales = (0.7, 1.0, 2.0)
computed = {}
for s in scales:
    exact = ive(orders, 2 / s**2)  # the exponential factor is included
    rank = 2 * np.count_nonzero(exact > 1e-13) - 1  # smaller ones are lost in rounding
    eigenvalues = np.asarray(mercer_expansion(RBF(s / np.sqrt(2)), uniform, rank).eigenvalues)
    computed[s] = np.append(eigenvalues, np.zeros(23))[np.maximum(2 * orders - 1, 0)]
    print(f"s = {s}: largest difference {np.max(np.abs(computed[s] - exact)):.1e}")

# %%
# The polynomial kernel (1 + cos t)^d is a trigonometric polynomial of degree d, with coefficients binom(2d, d - k) / 2^d: there
# are 2d + 1 eigenvalues other than 0, and no rate at all.

degree = 6
eigenvalues = np.asarray(mercer_expansion(Polynomial(degree), uniform, 2 * degree + 1).eigenvalues)
polynomial = np.append(eigenvalues, np.zeros(23))[np.maximum(2 * orders - 1, 0)]
exact = (
    np.where(orders <= degree, comb(2 * degree, degree - np.minimum(orders, degree)), 0) / 2**degree
)
print(f"d = {degree}: largest difference {np.max(np.abs(polynomial - exact)):.1e}")

figure, ax = plt.subplots(figsize=(7, 4.2))
for s, colour in zip(scales, ("tab:blue", "tab:orange", "tab:green"), strict=True):
    ax.semilogy(
        orders, np.maximum(computed[s], 1e-16), "o-", color=colour, label=f"Gaussian, s = {s}"
    )
    ax.semilogy(orders, np.maximum(computed[s][0] * s ** (-2.0 * orders), 1e-16), ":", color=colour)
ax.semilogy(
    orders, np.maximum(polynomial / polynomial[0], 1e-16), "ks-", label=f"polynomial, d = {degree}"
)
ax.set(
    xlabel="order k of cos and sin",
    ylabel="eigenvalue",
    ylim=(1e-16, 1e3),
    title="eigenvalues on the circle (dotted: the printed rate)",
)
ax.legend()
figure.tight_layout()

# %%
# Why it matters: a ball `|f| <= L` in the space allows the k-th coefficient to be as large as L sqrt(eigenvalue). Changing s by a
# factor of two changes what is allowed at k = 5 by the factors below, which no single L makes up for at all k.

for a, b in ((0.7, 1.0), (1.0, 2.0)):
    ratio = np.sqrt(computed[a] / np.maximum(computed[b], 1e-300))[[1, 3, 5]]
    print(f"s from {a} to {b}: k = 1, 3, 5 shrink by {np.round(ratio, 1)}")
plt.show()
