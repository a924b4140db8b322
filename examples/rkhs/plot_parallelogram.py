"""
A norm without an inner product
===============================

Continuous functions with the largest absolute value as norm are a complete space, but not a Hilbert space: the parallelogram
law fails. In the space of a kernel it holds, whatever the functions are.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import Brownian, Laplace, Matern
from mercer.rkhs import Function

# %%
# With f(x) = 1 - x and g(x) = x on [0, 1], `|f + g|^2 + |f - g|^2 = 1 + 1 = 2`, where a norm that comes from an inner product has
# `2 |f|^2 + 2 |g|^2 = 4`.

grid = np.linspace(0, 1, 1001)
f, g = 1 - grid, grid


def largest(values: np.ndarray) -> float:
    """The norm of C[0, 1]."""
    return float(np.abs(values).max())


print(largest(f + g) ** 2 + largest(f - g) ** 2, 2 * largest(f) ** 2 + 2 * largest(g) ** 2)

# %%
# The same two functions, restricted to 20 points and interpolated in three kernel spaces: both sides agree up to rounding.

points = np.linspace(0.05, 1, 20)[:, None]
sides = {}
for kernel in (Laplace(0.5), Matern(1.5, 0.5), Brownian()):
    solved = [
        np.linalg.solve(kernel(points), values) for values in (1 - points[:, 0], points[:, 0])
    ]
    first, second = (Function(kernel, points, weights) for weights in solved)
    left = (first + second).norm() ** 2 + (first - second).norm() ** 2
    right = 2 * first.norm() ** 2 + 2 * second.norm() ** 2
    sides[type(kernel).__name__] = float(left), float(right)
    print(f"{type(kernel).__name__:9} {left:.10f} {right:.10f}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
for values, name in ((f, "f"), (g, "g"), (f + g, "f + g"), (f - g, "f - g")):
    left.plot(grid, values, label=name)
left.legend()
left.set(title="four functions of largest value 1", xlabel="x")
names = ["C[0, 1]", *sides]
pairs = np.array([(2.0, 4.0), *sides.values()])
place = np.arange(len(names))
right.bar(place - 0.2, pairs[:, 0], 0.4, label="|f + g|² + |f - g|²")
right.bar(place + 0.2, pairs[:, 1], 0.4, label="2|f|² + 2|g|²")
right.set_xticks(place, names)
right.legend()
right.set(title="the parallelogram law")
figure.tight_layout()
plt.show()
