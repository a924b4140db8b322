"""
Where two samples differ
========================

The witness function is the difference of two mean embeddings. It is positive where the first
sample has more mass and negative where the second has more.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import RBF
from mercer.rkhs import witness

# %%
# Both samples have mean zero and unit covariance. The first is one round cloud; the second
# consists of four small clouds.

rng = np.random.default_rng(0)
n = 500
x = rng.normal(size=(n, 2))
y = (12 * rng.choice([-1, 1], size=(n, 2)) + 5 * rng.normal(size=(n, 2))) / 13  # 12^2 + 5^2 = 13^2
difference = witness(RBF(0.5), x, y)

# %%
# The witness function is an element of the RKHS and can be evaluated anywhere. Here it is
# evaluated on a grid.

side = np.linspace(-3, 3, 121)
grid = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
values = difference(grid).reshape(121, 121)

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(10, 3.2), sharex=True, sharey=True, layout="constrained"
)
for ax, sample, name, color in ((left, x, "x", "#b2182b"), (middle, y, "y", "#2166ac")):
    ax.scatter(*sample.T, s=6, color=color, alpha=0.6, linewidths=0)
    ax.set(title=f"sample {name}")
limit = np.abs(values).max()
image = right.pcolormesh(
    side, side, values, cmap="RdBu_r", vmin=-limit, vmax=limit, shading="gouraud", rasterized=True
)
right.contour(side, side, values, levels=[0.0], colors="0.3", linewidths=0.8)
right.set(title="witness function")
figure.colorbar(image, ax=right, label="more of y          more of x")
for ax in (left, middle, right):
    ax.set(aspect="equal", xlim=(-3, 3), ylim=(-3, 3))

# %%
# ``python examples/plot_witness.py docs/_static/witness.png`` draws the figure of the README.

if sys.argv[1:2] and sys.argv[1].endswith(".png"):
    figure.savefig(sys.argv[1], dpi=120)
