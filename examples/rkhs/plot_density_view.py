"""
MMD as a distance of density estimates
======================================

With a Gaussian kernel, the maximum mean discrepancy of two samples is, up to a constant, the L2 distance of their kernel density
estimates. The bandwidths differ: an RBF kernel of width h sqrt(2) belongs to density estimates of width h.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import RBF
from mercer.rkhs import mmd2, witness

# %%
# The product of two Gaussians of width h, integrated over the line, is a Gaussian of width h sqrt(2) over 2 h sqrt(pi). So the integral of
# (f_X - f_Y)^2 is the biased MMD^2 of RBF(h sqrt 2) over 2 h sqrt(pi).

rng = np.random.default_rng(0)
x = rng.normal(size=60)
y = np.concatenate([rng.normal(-1.2, 0.6, size=30), rng.normal(1.2, 0.6, size=30)])
grid = np.linspace(-8, 8, 4001)


def density(sample: np.ndarray, h: float) -> np.ndarray:
    """Gaussian kernel density estimate on the grid."""
    distances = (grid[:, None] - sample) / h
    return np.exp(-(distances**2) / 2).mean(axis=1) / (h * np.sqrt(2 * np.pi))


for h in (0.1, 0.3, 1.0):
    integral = np.trapezoid((density(x, h) - density(y, h)) ** 2, grid)
    kernel_side = mmd2(RBF(h * np.sqrt(2)), x[:, None], y[:, None], unbiased=False) / (
        2 * h * np.sqrt(np.pi)
    )
    print(f"h = {h}: integral {integral:.12f}, MMD^2 {kernel_side:.12f}")

# %%
# The witness function of MMD is the difference of two smoother estimates, of width h sqrt(2).

h = 0.3
function = witness(RBF(h * np.sqrt(2)), x[:, None], y[:, None])
values = np.asarray(function(grid[:, None]))
smoother = (
    (density(x, h * np.sqrt(2)) - density(y, h * np.sqrt(2))) * h * np.sqrt(2) * np.sqrt(2 * np.pi)
)
print(f"largest difference of the two curves: {np.abs(values - smoother).max():.1e}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), sharex=True)
left.plot(grid, density(x, h), label="density estimate of x")
left.plot(grid, density(y, h), label="density estimate of y")
left.fill_between(grid, density(x, h), density(y, h), alpha=0.2)
left.set(xlim=(-4, 4), title="MMD² is the squared distance of these")
left.legend()
right.plot(grid, values)
right.axhline(0, color="grey", lw=0.8)
right.set(title="and this is its witness function")
figure.tight_layout()
plt.show()
