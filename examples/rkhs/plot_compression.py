"""
Pictures from a few components
==============================

Principal components of handwritten digits: how much of a picture is there with 1, 2, 5, 10 and 20% of its 64 numbers? Kernel
PCA with a linear kernel is principal component analysis, and its pre-images are the projections.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer.kernels import Linear
from mercer.learn import KernelPCA

pictures = load_digits().data
rng = np.random.default_rng(0)
order = rng.permutation(len(pictures))
train, test = pictures[order[:1000]], pictures[order[1000:]]

# %%
# For the linear kernel the pre-image is the mean plus the scores times the directions, which are sums of the training points.

total = np.sum((test - train.mean(axis=0)) ** 2)
shares = (0.01, 0.02, 0.05, 0.10, 0.20, 1.0)
restored, retained = [], []
for share in shares:
    number = max(1, round(share * 64)) if share < 1 else None  # None: all that there are
    pca = KernelPCA(number, kernel=Linear()).fit(train)
    train_scores = pca.transform(train)  # orthogonal columns
    directions = np.linalg.lstsq(train_scores, train - train.mean(axis=0), rcond=None)[0]
    picture = train.mean(axis=0) + pca.transform(test) @ directions
    restored.append(picture)
    retained.append(1 - np.sum((test - picture) ** 2) / total)
    print(
        f"{share:4.0%}: {train_scores.shape[1]:2} components keep {retained[-1]:.1%} of the variance"
    )

figure, axes = plt.subplots(4, len(shares), figsize=(8, 5.6))
for row in range(4):
    for column, share in enumerate(shares):
        ax = axes[row, column]
        ax.imshow(restored[column][row].reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
        if row == 0:
            ax.set_title(f"{share:.0%}: {retained[column]:.0%}", fontsize=10)
figure.tight_layout()
plt.show()
