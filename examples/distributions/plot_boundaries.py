"""
Decision boundaries between distributions
=========================================

What does a machine learn from distributions that it cannot learn from their means, or from points
drawn from them? Seven Gaussians in the plane show the difference, as in Figure 1a of Muandet et
al. (2012), and ninety kernels show which of their parameters matter, as in Figure 1b.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse

from mercer.kernels import RBF, Kernel, Linear, Polynomial
from mercer.learn import SVC, AugmentedSVC, KernelSearchCV, SupportMeasureMachine
from mercer.rkhs import Bags, Gaussian, MeanMap

# %%
# Seven Gaussians, some wide and some narrow, most of them elongated. Each row gives the centre,
# the standard deviations along two axes, the angle and the class. (The paper does not print its
# values.)

made = [
    (-3.4, 1.6, 0.5, 0.5, 0, 0),
    (-2.6, -2.4, 0.6, 0.4, 20, 0),
    (0.9, -3.3, 1.6, 0.4, -8, 0),
    (-0.9, 3.4, 0.35, 0.35, 0, 0),
    (-0.2, 0.3, 1.7, 0.4, 35, 1),
    (3.2, 1.6, 0.6, 1.5, 10, 1),
    (3.0, -1.4, 0.4, 0.4, 0, 1),
]


def gaussian(x: float, y: float, long: float, broad: float, angle: float) -> Gaussian:
    """N((x, y), R diag(long^2, broad^2) R') with the rotation R."""
    a = np.deg2rad(angle)
    axes = np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) * [long, broad]
    return Gaussian([x, y], axes @ axes.T)


gaussians = [gaussian(*row[:5]) for row in made]
labels = np.array([row[5] for row in made])
means = np.array([row[:2] for row in made])

# %%
# Three machines use the same kernel, exp(-0.25/2 \|x - y\|^2): a support vector machine (SVM) on
# the means, an SVM on 30 points drawn from each Gaussian (augmented SVM), and a support measure
# machine (SMM) on the Gaussians themselves. The kernel between two Gaussians is the expected
# kernel, in closed form. A point is a Gaussian of zero width, so all three machines can be
# evaluated at every point.

rng = np.random.default_rng(4)
kernel, price = RBF(0.25**-0.5), 10.0


def augmented() -> SVC:
    """SVM trained on 30 new points of each Gaussian."""
    drawn = Bags.of([p.sample(30, rng=rng) for p in gaussians])
    return AugmentedSVC(SVC(kernel, price)).fit(drawn, labels).machine_


svm = SVC(kernel, price).fit(means, labels)
smm = SupportMeasureMachine(MeanMap(kernel), price).fit(gaussians, labels)
asvm = [augmented() for _ in range(10)]

across, up = np.meshgrid(np.linspace(-6, 6, 121), np.linspace(-5, 5, 101))
grid = np.stack([across.ravel(), up.ravel()], axis=1)
RED, BLUE = "#b2182b", "#2166ac"


def boundary(ax: Axes, machine: SVC, **how: Any) -> np.ndarray:
    """Draw the line where the decision value is 0; return the values on the grid."""
    values = machine.decision_function(grid).reshape(across.shape)
    ax.contour(across, up, values, levels=[0], **how)
    return values


def show(ax: Axes, machine: SVC) -> None:
    """Draw decision values as colours, the boundary, and ellipses of one and two standard deviations."""
    values = boundary(ax, machine, colors="k", linewidths=1.6)
    top = np.abs(values).max()
    ax.contourf(across, up, values, levels=np.linspace(-top, top, 21), cmap="RdBu_r", alpha=0.6)
    for x, y, long, broad, angle, label in made:
        colour = RED if label else BLUE
        for width in (1, 2):
            size = {"width": 2 * width * long, "height": 2 * width * broad, "angle": angle}
            ax.add_patch(Ellipse((x, y), **size, fill=False, edgecolor=colour, lw=1.2))
        ax.plot(x, y, marker="^" if label else "o", color=colour, ms=5)
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-6, 6), ylim=(-5, 5))


figure, axes = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
for ax, machine, name in zip(
    axes, (svm, asvm[0], smm), ("SVM, on means", "augmented SVM, ten draws", "SMM"), strict=True
):
    show(ax, machine)
    ax.set_title(f"{name}: {len(machine.support_)} support vectors", fontsize=10)
for other in asvm[1:]:
    boundary(axes[1], other, colors="0.25", linewidths=0.5)
boundary(axes[2], svm, colors="0.25", linewidths=1.0, linestyles="--")

# %%
# How much of the Gaussians' mass is on the wrong side? The SVM on means does not know their
# widths; the SMM adapts to the elongated Gaussian in the centre (dashed: the boundary of the
# SVM). The augmented SVM performs best here, because its points describe the ends of the
# ellipses. It needs more support vectors, and its boundary varies from draw to draw (thin lines).

fresh = Bags.of([p.sample(5000, rng=rng) for p in gaussians])


def wrong_side(machine: SVC) -> float:
    """Proportion of the mass of all Gaussians that the machine assigns to the wrong class."""
    wrong = (machine.decision_function(fresh.values) > 0) != np.repeat(labels == 1, fresh.sizes)
    return float(np.mean(wrong))


several = [wrong_side(machine) for machine in asvm]
print(f"SVM on means  {wrong_side(svm):.1%}")
print(f"augmented SVM {np.mean(several):.1%}, {min(several):.1%} to {max(several):.1%}")
print(f"SMM           {wrong_side(smm):.1%}")

# %%
# The embedding kernel determines which properties of a distribution are visible: its mean
# (linear), its mean and covariance (polynomial of degree 2), or everything (RBF). A level-2
# kernel on top gives nonlinear functions of the embeddings. With the linear embedding, all
# machines depend on the means only.

embeddings = {"linear": Linear(), "polynomial": Polynomial(2), "RBF": kernel}
tops = {"linear": Linear(), "polynomial": Polynomial(2), "RBF": None}


def level2(top: Linear | Polynomial | None, embedding: Kernel) -> Kernel:
    """Level-2 kernel; for RBF, with the median distance between the Gaussians as bandwidth."""
    inner = MeanMap(embedding)
    if top is not None:
        return top.on(inner)
    k = inner(gaussians)
    distances2 = np.diag(k)[:, None] + np.diag(k) - 2 * k
    return RBF(float(np.sqrt(np.median(distances2[np.triu_indices(len(k), 1)])))).on(inner)


figure, axes = plt.subplots(3, 3, figsize=(9.5, 8.2), layout="constrained")
for line, (below, embedding) in zip(axes, embeddings.items(), strict=True):
    for ax, (above, top) in zip(line, tops.items(), strict=True):
        show(ax, SupportMeasureMachine(level2(top, embedding), 100.0).fit(gaussians, labels))
        ax.set_title(f"embedding {below}, level 2 {above}", fontsize=9)

# %%
# Which parameters matter? The data are Gaussians in ten dimensions from two classes that differ
# in the centre of their means and in their covariances (Wishart draws), as in the paper. The
# means are spread widely enough that they do not separate the classes alone: N(1, 2.3 I) and N(2,
# 2.3 I). The accuracy is cross-validated with five folds at the best C, and every Gram matrix of
# the inner kernel is computed once. Polynomial embeddings are divided by a typical norm, which
# grows fast with the degree.


def draw(n: int, mean: float, scale: float) -> list[Gaussian]:
    """Gaussians with means N(mean, 2.3 I) and covariances from the Wishart law W(scale I, 10)."""
    centers = mean + np.sqrt(2.3) * rng.normal(size=(n, 10))
    roots = np.sqrt(scale) * rng.normal(size=(n, 10, 10))
    return [Gaussian(m, a @ a.T) for m, a in zip(centers, roots, strict=True)]


many = [*draw(100, 1.0, 0.6), *draw(100, 2.0, 1.2)]
sides = np.repeat([1, -1], 100)
powers = np.arange(-4, 3)  # of ten: exp(-gamma/2 |x - y|^2)
degrees = np.arange(1, 7)
rbf = [RBF(float(gamma**-0.5)) for gamma in 10.0**powers]


def accuracies(inner: list[Kernel]) -> np.ndarray:
    """Cross-validated accuracies for every embedding and every RBF on top of it."""
    kernels = [top.on(k) for k in inner for top in rbf]
    prices = 2.0 ** np.arange(-3, 8, 2)
    search = KernelSearchCV(
        SupportMeasureMachine(), {"kernel": kernels, "C": prices}, cv=5, refit=False
    ).fit(many, sides)
    found = dict.fromkeys(kernels, 0.0)
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        found[params["kernel"]] = max(found[params["kernel"]], score)
    return np.array([found[kernel] for kernel in kernels]).reshape(len(inner), len(rbf))


def polynomial(degree: int) -> Kernel:
    """Expected polynomial kernel, divided by the median of its diagonal."""
    inner = MeanMap(Polynomial(degree))
    return inner * float(1 / np.median(np.diag(inner(many[::5]))))


by_degree = accuracies([polynomial(int(degree)) for degree in degrees])
by_width = accuracies([MeanMap(k) for k in rbf])

# %%
# With an RBF embedding of a suitable bandwidth, most level-2 kernels perform well. With an
# unsuitable bandwidth little is separated, and no level-2 kernel helps. A polynomial embedding of
# degree 1 sees only means; from degree 2 on it sees covariances as well.

figure, axes = plt.subplots(
    1, 3, figsize=(12, 3.6), layout="constrained", width_ratios=[1, 1.1, 1.1]
)
for best, style, name in (
    (by_width.max(axis=1), "o-", "embedding"),
    (by_width.max(axis=0), "s--", "on top of it"),
):
    axes[0].plot(10.0**powers, best, style, label=f"RBF {name}")
axes[0].set(
    xscale="log", xlabel="gamma", ylabel="accuracy, other parameter optimal", ylim=(0.45, 1)
)
axes[0].legend(loc="lower left")
ticks = [f"$10^{{{power}}}$" for power in powers]
for ax, values, marks, label in (
    (axes[1], by_degree, degrees.tolist(), "degree of the polynomial embedding"),
    (axes[2], by_width, ticks, "gamma of the RBF embedding"),
):
    picture = ax.imshow(values.T, origin="lower", vmin=0.5, vmax=1, aspect="auto", cmap="viridis")
    ax.set_xticks(range(len(marks)), marks)
    ax.set_yticks(range(len(ticks)), ticks)
    ax.set(xlabel=label, ylabel="gamma of the RBF on top")
    figure.colorbar(picture, ax=ax)
axes[1].set_title("accuracy, polynomial embedding", fontsize=10)
axes[2].set_title("accuracy, RBF embedding", fontsize=10)

print(f"best: polynomial embedding {by_degree.max():.3f}, RBF embedding {by_width.max():.3f}")
print(f"loss at the worst embedding bandwidth: {np.ptp(by_width.max(axis=1)):.3f}")
print(f"loss at the worst level-2 bandwidth:   {np.ptp(by_width.max(axis=0)):.3f}")
plt.show()
