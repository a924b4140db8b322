"""
Why evaluation must be continuous
=================================

A reproducing kernel Hilbert space is a Hilbert space of functions in which functions that are close in norm have close
values at every point. L2 is not such a space: its norm does not see what happens at a single point.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import RBF
from mercer.rkhs import Function

# %%
# In L2[0, 1], f_n(x) = sqrt(n) 1(x < 1/n^2) tends to 0, since its norm is 1/sqrt(n), while its value at 0 is sqrt(n) and
# grows without limit. And x^n tends to 0 in L2, since its norm is 1/sqrt(2n + 1), but not at x = 1.

numbers = np.array([1, 2, 4, 8, 16])
grid = np.linspace(0, 1, 200_001)
step_norms, power_norms = [], []
for n in numbers:
    step_norms.append(np.sqrt(np.trapezoid(np.where(grid < 1 / n**2, np.sqrt(n), 0.0) ** 2, grid)))
    power_norms.append(np.sqrt(np.trapezoid(grid ** (2 * n), grid)))
print("norm of f_n :", np.round(step_norms, 3), "by the formula", np.round(numbers**-0.5, 3))
print("value at 0  :", np.round(np.sqrt(numbers), 3))
print(
    "norm of x^n :",
    np.round(power_norms, 3),
    "by the formula",
    np.round((2 * numbers + 1) ** -0.5, 3),
)

# %%
# In the space of a kernel the Cauchy-Schwarz inequality gives `f(x) = <f, k(x, .)> <= |f| sqrt(k(x, x))`, so values are bounded by
# the norm. A bump of height 1 that gets narrower has a norm that grows: the space has room for it only at a price.

kernel = RBF(0.1)
centres = np.linspace(0, 1, 60)[:, None]
heights, norms = [], []
for width in (0.2, 0.1, 0.05, 0.03):
    wanted = np.exp(-((centres[:, 0] - 0.5) ** 2) / (2 * width**2))
    gram = kernel(centres)
    bump = Function(kernel, centres, np.linalg.solve(gram + 1e-9 * np.eye(60), wanted))
    heights.append(float(np.max(np.abs(bump(grid[::100, None])))))
    norms.append(float(bump.norm()))
    print(f"width {width:.2f}: largest value {heights[-1]:.2f} <= norm {norms[-1]:.2f}")
print(all(h <= n for h, n in zip(heights, norms, strict=True)))

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
for n in numbers:
    left.plot(grid[::100], grid[::100] ** n, label=f"n = {n}")
left.set(title="x^n: the norm tends to 0, the value at 1 does not", xlabel="x")
left.legend()
right.loglog([0.2, 0.1, 0.05, 0.03], norms, "o-", label="norm in the RKHS")
right.loglog([0.2, 0.1, 0.05, 0.03], heights, "s-", label="largest value")
right.set(title="narrow bumps are expensive in an RKHS", xlabel="width of the bump")
right.legend()
figure.tight_layout()
plt.show()
