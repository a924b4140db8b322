"""
Prototypes and criticisms of digits
===================================

A few pictures that represent a thousand, and some that those few do not represent: MMD-critic (Kim, Khanna and Koyejo 2016) selects
prototypes whose mean embedding is close to that of the whole sample, and criticisms where the witness function is large.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from mercer.kernels import RBF, median_bandwidth
from mercer.rkhs import mmd2, prototypes

digits = load_digits()
rng = np.random.default_rng(0)
order = rng.permutation(len(digits.data))
rows, test = order[:1000], order[1000:]
x, labels = digits.data[rows], digits.target[rows]
kernel = RBF(0.5 * median_bandwidth(x))

# %%
# Forty prototypes and ten criticisms. The discrepancy of the sample and its prototypes falls as prototypes are added, and is well below
# that of random rows.

selected = prototypes(kernel, x, 40, criticisms=10)
random_rows = [mmd2(kernel, x, x[rng.permutation(1000)[:40]], unbiased=False) for _ in range(20)]
print(
    f"squared discrepancy of 40 prototypes {selected.mmd2[-1]:.5f}, of random rows {np.mean(random_rows):.5f}"
)

# %%
# All ten digits are among the prototypes. A nearest-neighbour classifier that knows only them has the accuracy below, beside that of
# 40 random rows.


def accuracy(known: np.ndarray) -> float:
    """Accuracy of the label of the nearest of these rows, on the other pictures."""
    model = KNeighborsClassifier(1).fit(x[known], labels[known])
    return float(model.score(digits.data[test], digits.target[test]))


chance = [accuracy(rng.permutation(1000)[:40]) for _ in range(20)]
print("digits among the prototypes:", len(set(labels[selected.prototypes].tolist())))
print(
    f"accuracy with prototypes {accuracy(selected.prototypes):.3f}, with random rows {np.mean(chance):.3f}"
)

figure, axes = plt.subplots(3, 10, figsize=(9, 3.2))
pictures = [*selected.prototypes[:20], *selected.criticisms]
for ax, row in zip(axes.flat, pictures, strict=True):
    ax.imshow(x[row].reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
axes[0, 0].set_title("prototypes", loc="left", fontsize=10)
axes[2, 0].set_title("criticisms", loc="left", fontsize=10)
figure.tight_layout()
plt.show()
