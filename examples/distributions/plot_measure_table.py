"""
Which kernel for distributions?
===============================

A support measure machine needs two kernels: one embeds the distributions, and the level-2 kernel
on top compares the embeddings. Muandet, Fukumizu, Dinuzzo and Schölkopf (2012, Table 2) tried
fifteen pairs on Gaussians of two classes and concluded that the embedding kernel matters more
than the level-2 kernel, and that RBF on RBF is best. This example reproduces a small version of
their table.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import chi2, norm, wishart

from mercer.errors import NotConverged
from mercer.kernels import RBF, Linear, Polynomial
from mercer.learn import KernelSearchCV, SupportMeasureMachine
from mercer.rkhs import Gaussian, MeanMap

# %%
# Every example is a Gaussian in ten dimensions. Its mean is drawn from N((1, ..., 1), v I) in the
# first class and from N((2, ..., 2), v I) in the second, and its covariance from a Wishart
# distribution with 10 degrees of freedom and scale 0.6 I or 1.2 I. The paper prints v = 0.5.


def gaussians(n, v, rng):
    """n Gaussians of each class, and their labels."""
    drawn = []
    for centre, scale in ((1.0, 0.6), (2.0, 1.2)):
        means = centre + np.sqrt(v) * rng.standard_normal((n, 10))
        covariances = wishart(10, scale * np.eye(10)).rvs(n, random_state=rng)
        drawn += [Gaussian(m, c) for m, c in zip(means, covariances, strict=True)]
    return drawn, np.repeat([0, 1], n)


# %%
# What accuracy is possible? The linear embedding keeps only the mean of a distribution, and the
# means of the two classes are sqrt(10) apart. With v = 0.5 that allows an accuracy of 98.7%,
# whereas the paper prints 85.2; a larger spread of the means would give that value. The
# covariances, which all other embeddings see, separate the classes at any v: the trace of a
# covariance is 0.6 or 1.2 times a chi-square variable with 100 degrees of freedom.

spreads = 0.5, 2.14
for v in spreads:
    print(f"v = {v}: accuracy from means alone {norm.cdf(np.sqrt(10) / 2 / np.sqrt(v)):.1%}")
limit = 100 * np.sqrt(2)  # for the trace over 0.6
print(f"accuracy from traces alone {(chi2.cdf(limit, 100) + chi2.sf(limit / 2, 100)) / 2:.1%}")

# %%
# The kernels. The expected kernel between Gaussians has a closed form for each of these
# embeddings (`MeanMap`); NRBF is the normalised RBF embedding. Bandwidths, degrees and C are
# chosen by cross-validation from the grids of the paper.

gammas = 10.0 ** np.arange(-3, 3)
embeddings = {
    "LIN": [MeanMap(Linear())],
    "POLY2": [MeanMap(Polynomial(2))],
    "POLY3": [MeanMap(Polynomial(3))],
    "RBF": [MeanMap(RBF(g**-0.5)) for g in gammas],
    "NRBF": [MeanMap(RBF(g**-0.5)).normalized() for g in gammas],
}
levels = {
    "LIN": lambda k: [Linear().on(k)],
    "POLY": lambda k: [Polynomial(d).on(k) for d in (2, 3, 4, 5, 6)],
    "RBF": lambda k: [RBF(g**-0.5).on(k) for g in gammas],
}


def accuracy(embedding, level, train, test):
    """Test accuracy of the best machine with an embedding kernel and a level-2 kernel."""
    kernels = [k for inner in embeddings[embedding] for k in levels[level](inner)]
    grid = {"kernel": kernels, "C": [0.125, 1.0, 8.0, 64.0]}
    machine = SupportMeasureMachine(kernels[0], max_iter=20_000)
    return KernelSearchCV(machine, grid, cv=5).fit(*train).score(*test)


def table(v, n=60):
    """Accuracies of all pairs, in percent: (level-2, embedding)."""
    rng = np.random.default_rng(1)
    train, test = gaussians(n, v, rng), gaussians(300, v, rng)
    rows = [[accuracy(e, level, train, test) for e in embeddings] for level in levels]
    return 100 * np.array(rows)


with warnings.catch_warnings():
    warnings.simplefilter("ignore", NotConverged)  # unscaled polynomials of large values
    found = {v: table(v) for v in spreads}

# %%
# The numbers of Table 2 next to those computed here. The table calls its last column URBF and the
# text of the paper NRBF; here it is the normalised kernel, as in the text.

paper = np.array(
    [
        [85.20, 81.04, 81.10, 87.74, 85.39],
        [83.95, 81.34, 82.66, 88.06, 86.84],
        [87.80, 73.12, 78.28, 89.65, 86.86],
    ]
)
panels = {
    "paper": paper,
    "as printed, v = 0.5": found[0.5],
    "wider spread of means, v = 2.14": found[2.14],
}
figure, axes = plt.subplots(1, 3, figsize=(14, 3.2), layout="constrained", sharey=True)
for ax, (title, values) in zip(axes, panels.items(), strict=True):
    ax.imshow(values, vmin=50, vmax=100, cmap="viridis", aspect="auto")
    for (i, j), value in np.ndenumerate(values):
        ax.text(j, i, f"{value:.1f}", ha="center", va="center", color="w" if value < 80 else "k")
    ax.set_title(title)
    ax.set_xticks(range(5), [*embeddings])
    ax.set_xlabel("embedding kernel")
axes[0].set_yticks(range(3), [*levels])
axes[0].set_ylabel("level-2 kernel")
figure.colorbar(axes[0].images[0], ax=axes, label="accuracy in percent")

# %%
# As printed, nearly all pairs are correct in 99% of cases, and neither kernel matters: an
# embedding that ignores covariances performs as well as the others. If the means are spread more
# widely, the embedding kernel does matter more than the level-2 kernel: LIN stays at 85, and the
# embeddings that see covariances reach 93 to 97, with RBF best. However, the paper's 73 to 90 for
# these embeddings cannot come from these Gaussians, whatever the spread. Polynomial embeddings
# have to be scaled before an RBF kernel is applied: squared distances between POLY3 embeddings
# exceed 10,000 here, so even with gamma = 0.001 all kernel values are close to zero.
#
# ``python -m benchmarks.reproductions.measure_table`` computes the full tables: 1,000 training
# Gaussians, ten folds, 30 repetitions.

print("standard deviation of the mean accuracies over embedding and level-2 kernels")
for v, values in found.items():
    print(f"v = {v}: {values.mean(axis=0).std():.1f}, {values.mean(axis=1).std():.1f}")
