"""
From polynomial to Gaussian to linear boundaries
================================================

Support vector machines on two overlapping Gaussian classes, with a polynomial kernel of degree 2 and Gaussian kernels of growing
width. As the width grows, the Gaussian kernel becomes `1 - |x - y|^2 / (2 s^2)`, and the machine a linear one.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import RBF, Linear, Polynomial
from mercer.learn import SVC

rng = np.random.default_rng(0)
n = 100
x = np.concatenate([rng.normal((-1, 0), 1.0, size=(n, 2)), rng.normal((1, 0.5), 1.0, size=(n, 2))])
y = np.repeat([0, 1], n)

# %%
# A wide Gaussian kernel needs a larger C: its distances in feature space are `|x - y| / s`, so C s^2 stays what C is for
# the linear kernel.

C = 1.0
machines = {
    "polynomial of degree 2": SVC(Polynomial(2), C).fit(x, y),
    **{
        f"Gaussian, s = {s:g}": SVC(RBF(s), C * max(s, 1.0) ** 2).fit(x, y)
        for s in (0.3, 1.0, 10.0, 100.0)
    },
    "linear": SVC(Linear(), C).fit(x, y),
}
across, up = np.meshgrid(np.linspace(-4, 4, 120), np.linspace(-3.5, 3.5, 100))
grid = np.stack([across.ravel(), up.ravel()], axis=1)

figure, axes = plt.subplots(2, 3, figsize=(10, 6), sharex=True, sharey=True)
values = {}
for (name, machine), ax in zip(machines.items(), axes.flat, strict=True):
    values[name] = machine.decision_function(grid)
    ax.contour(across, up, values[name].reshape(across.shape), levels=[0], colors="k")
    ax.scatter(*x.T, c=np.where(y == 1, "tab:red", "tab:blue"), s=10)
    ax.set_title(f"{name}: {len(machine.support_)} support vectors", fontsize=10)
figure.tight_layout()

# %%
# The decision function tends to that of the linear machine.

for s in (1, 10, 100):
    gap = np.abs(values[f"Gaussian, s = {s}"] - values["linear"]).max()
    agree = np.mean(np.sign(values[f"Gaussian, s = {s}"]) == np.sign(values["linear"]))
    print(f"s = {s:3}: largest difference {gap:.3f}, the same class at {agree:.1%} of the grid")
plt.show()
