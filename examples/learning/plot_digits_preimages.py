"""
Denoising digits with kernel PCA
================================

Principal components of clean images describe what digits look like; projecting a noisy image onto
them removes what does not look like a digit. Linear PCA needs many components to reproduce a
digit, and many components reproduce the noise as well. Components in the feature space of a
Gaussian kernel follow the curved set of digits. The price is that a projection is a function, and
an image for it, a pre-image, has to be computed. The experiment follows Mika et al. (1999).
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from mercer.kernels import RBF, median_bandwidth
from mercer.learn import FixedPoint, KernelPCA, LearnedMap

# %%
# The USPS digits are read from the folder named by ``MERCER_DATA``; without it, the smaller
# digits of scikit-learn are used. The components are computed from clean training images, and
# noise is added to held-out images. Grey values range from -1 to 1.


def usps() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test images, 16 x 16, with their labels."""
    from mercer.datasets import fetch_usps

    train, test = fetch_usps(), fetch_usps(test=True)
    return 2 * train.pixels - 1, train.labels, 2 * test.pixels - 1, test.labels


def small() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test images, 8 x 8, with their labels."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    pixels = pixels / 8 - 1
    return pixels[:1400], labels[:1400], pixels[1400:], labels[1400:]


real = bool(os.environ.get("MERCER_DATA"))
train, labels, test, test_labels = usps() if real else small()
each, tested = (300, 10) if real else (100, 10)
rng = np.random.default_rng(0)
clean = np.concatenate([test[test_labels == digit][:tested] for digit in range(10)])
known = np.concatenate(
    [rng.permutation(train[labels == digit])[:each] for digit in range(10)]
)  # the same number of every digit
noisy = clean + 0.5 * rng.normal(size=clean.shape)

# %%
# The bandwidth is twice the median distance, so that the kernel treats digits as neighbours of
# each other.

numbers = [4, 16, 64, 256] if real else [4, 16, 32, 64]
bandwidth = 2 * median_bandwidth(known)


def error(pictures: np.ndarray) -> float:
    """Mean squared distance from the clean images."""
    return float(np.mean(np.sum((pictures - clean) ** 2, axis=1)))


recovered = {"linear PCA": {}, "fixed point": {}, "learned map": {}}
for number in numbers:
    linear = PCA(number).fit(known)
    recovered["linear PCA"][number] = linear.inverse_transform(linear.transform(noisy))
    for name, preimage in (("fixed point", FixedPoint()), ("learned map", LearnedMap(0.1))):
        pca = KernelPCA(number, kernel=RBF(bandwidth), preimage=preimage).fit(known)
        recovered[name][number] = pca.denoise(noisy)

# %%
# The errors are mean squared distances to the clean images. The learnt map from scores to images
# beats linear PCA at every number of components, and so, by a smaller margin, does the
# fixed-point iteration, which finds the nearest image. All linear components together reproduce
# the noise; those of the kernel do not.

print(f"{'components':14}" + "".join(f"{number:>9}" for number in numbers))
print(f"{'noisy':14}" + f"{error(noisy):9.1f}" * len(numbers))
errors = {name: [error(found[number]) for number in numbers] for name, found in recovered.items()}
for name, figures in errors.items():
    print(f"{name:14}" + "".join(f"{figure:9.1f}" for figure in figures))
for name in ("fixed point", "learned map"):
    assert all(np.array(errors[name]) < np.array(errors["linear PCA"])), name

# %%
# One image of every digit: clean, noisy, and denoised by the three methods.

size = int(np.sqrt(clean.shape[1]))
shown = np.arange(10) * tested
rows = {"clean": clean, "noisy": noisy}
for name, found in recovered.items():
    rows |= {f"{name}, {number}": found[number] for number in numbers}
figure, axes = plt.subplots(len(rows), 10, figsize=(7.4, 0.62 * len(rows) + 0.2))
for line, (name, pictures) in zip(axes, rows.items(), strict=True):
    for ax, i in zip(line, shown, strict=True):
        ax.imshow(pictures[i].reshape(size, size), cmap="gray_r", vmin=-1, vmax=1)
        ax.set(xticks=[], yticks=[])
        for spine in ax.spines.values():
            spine.set_visible(False)
    line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
figure.subplots_adjust(left=0.2, right=0.99, top=0.99, bottom=0.01, wspace=0.05, hspace=0.08)
