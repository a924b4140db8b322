"""
Regression on bags
==================

Each observation is a sample, and the target is a property of the distribution it was drawn from:
its entropy, its skewness, or the state of a patient who was recorded a hundred times.
`DistributionRegressor` is ridge regression on the mean embeddings of the samples; it has no
built-in knowledge of entropy or skewness.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV

from mercer.learn import BayesianDistributionRegressor, DistributionRegressor
from mercer.rkhs import Bags

rng = np.random.default_rng(0)

# %%
# Entropy
# -------
#
# A Gaussian in the plane is rotated, and the target is the entropy of its first coordinate (the
# study of Poczos et al. 2013 and Szabo et al. 2016). All means are zero, so the average of a bag
# carries no information. 50 samples of 200 points are used for training and 50 for testing.

ANGLES, POINTS = np.linspace(0, np.pi, 100), 200
root = np.array([[0.9, 0.3], [0.2, 0.4]])


def turned(angle: float) -> np.ndarray:
    """A square root of the covariance after the rotation."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ root


gaussians = Bags.of([rng.standard_normal((POINTS, 2)) @ turned(a).T for a in ANGLES])
entropy = np.array([0.5 * np.log(2 * np.pi * np.e * np.sum(turned(a)[0] ** 2)) for a in ANGLES])

# %%
# Skewness
# --------
#
# The second study uses beta distributions with one varying parameter: once as they are, and once
# with every sample standardised to mean zero and variance one, so that only its shape remains.

shapes = np.sort(rng.uniform(3, 20, size=100))
samples = [rng.beta(a, 3.0, size=(POINTS, 1)) for a in shapes]
betas = Bags.of(samples)
alike = Bags.of([(s - s.mean()) / s.std() for s in samples])
skewness = 2 * (3 - shapes) * np.sqrt(shapes + 4) / ((shapes + 5) * np.sqrt(3 * shapes))

# %%
# The default kernel is an RBF of the distance between two embeddings, with median distances for
# both bandwidths; the ridge is chosen by leave-one-out. For comparison, the plug-in estimate from
# a single sample that is known to be Gaussian has an error of about one over the square root of
# twice its size: 0.05.

learnt = rng.permutation(100) < 50
asked = ~learnt
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), layout="constrained")
for ax, bags, y, x, what in (
    (axes[0], gaussians, entropy, np.degrees(ANGLES), "entropy"),
    (axes[1], betas, skewness, shapes, "skewness"),
    (axes[2], alike, skewness, shapes, "skewness, shape only"),
):
    found = DistributionRegressor().fit(bags[learnt], y[learnt]).predict(bags[asked])
    means = RidgeCV(np.geomspace(1e-8, 1e2, 11)).fit(bags[learnt].means(), y[learnt])
    plain = means.predict(bags[asked].means())
    errors = [np.sqrt(np.mean((p - y[asked]) ** 2)) for p in (found, plain)]
    print(f"{what:20} error {errors[0]:.3f} from embeddings, {errors[1]:.3f} from means")
    assert errors[0] < 0.7 * y.std()
    ax.plot(x, y, color="0.6", lw=2, label="truth", zorder=0)
    ax.scatter(x[asked], plain, s=16, marker="x", lw=1, color="tab:orange", label="ridge on means")
    ax.scatter(x[asked], found, s=14, color="tab:blue", label="mean embeddings")
axes[0].set(xlabel="rotation angle, degrees", ylabel="entropy", title="Rotated Gaussians")
axes[1].set(xlabel="a", ylabel="skewness", title="Beta(a, 3)")
axes[2].set(xlabel="a", title="Beta(a, 3), standardised samples")
axes[1].legend(frameon=False, fontsize=8, loc="upper right")

# %%
# With one varying parameter the skewness is nearly a linear function of the mean. The published
# study therefore does not need embeddings, and averaging the bag gives an even smaller error. If
# the mean is removed, embeddings are needed, as for the entropy.
#
# Patients
# --------
#
# 42 people with Parkinson's disease were recorded more than a hundred times each, with 16 voice
# measures. Can the clinical score of a new patient be predicted? `fetch_parkinsons` reads the
# table from the folder named by ``MERCER_DATA``; without it, simulated patients are used.


def patients() -> tuple[list[np.ndarray], np.ndarray]:
    """Recordings of each patient, and the patient's mean score."""
    if not os.environ.get("MERCER_DATA"):
        ill = rng.uniform(10, 50, size=42)
        voices = [rng.normal(0.02 * u * rng.normal(size=16), 1, size=(120, 16)) for u in ill]
        return voices, ill
    from mercer.datasets import fetch_parkinsons

    table = fetch_parkinsons()
    names = table.names[-16:]
    voice = table.numbers(names)
    long = [name.startswith(("Jitter", "Shimmer", "NHR")) for name in names]
    voice[:, long] = np.log(voice[:, long])
    owner, score = table.columns["subject#"], table.columns["total_UPDRS"]
    people = np.unique(owner)
    return [voice[owner == p] for p in people], np.array([score[owner == p].mean() for p in people])


voices, score = patients()
points = np.concatenate(voices)
people = Bags.of([(v - points.mean(axis=0)) / points.std(axis=0) for v in voices])

# %%
# Six folds of seven patients. `BayesianDistributionRegressor` also reports its uncertainty.

base, plain, found, bayes, sd = np.empty((5, 42))
for left_out in np.array_split(rng.permutation(42), 6):
    rest = np.setdiff1d(np.arange(42), left_out)
    base[left_out] = score[rest].mean()
    machine = DistributionRegressor().fit(people[rest], score[rest])
    found[left_out] = machine.predict(people[left_out])
    means = RidgeCV(np.geomspace(1e-2, 1e4, 13)).fit(people[rest].means(), score[rest])
    plain[left_out] = means.predict(people[left_out].means())
    belief = BayesianDistributionRegressor(ridge=1.0, random_state=0).fit(people[rest], score[rest])
    bayes[left_out], sd[left_out] = belief.predict(people[left_out], return_std=True)

errors = {
    "mean of all": base - score,
    "ridge on means": plain - score,
    "embeddings": found - score,
    "Bayesian": bayes - score,
}
for who, error in errors.items():
    print(f"{who:16} error {np.sqrt(np.mean(error**2)):.1f} points")
inside = np.abs(bayes - score) < 1.645 * sd
print(f"covered by the 90% intervals: {inside.sum()} of 42")

# %%
# Left: bars are the clinical scores, sorted; dots are predictions with 90% intervals. Right: the
# errors. The voice says little about the score of a new patient: all predictions stay near the
# mean, no learner beats the mean, and the intervals are as wide as the spread of the scores. With
# 42 bags, a hundred recordings of each do not help, because the unexplained variation is between
# patients, not within them. ``python -m benchmarks.reproductions.distribution_regression``
# compares more learners, including deep sets.

order = np.argsort(score)
figure, (left, right) = plt.subplots(
    1, 2, figsize=(9.0, 3.6), layout="constrained", width_ratios=(2.4, 1)
)
left.bar(np.arange(42), score[order], color="0.85", label="clinical score")
left.errorbar(
    np.arange(42),
    bayes[order],
    1.645 * sd[order],
    fmt="o",
    ms=3,
    lw=0.8,
    color="tab:blue",
    label="Bayesian, from the voice",
)
left.set(xlabel="patients, sorted", ylabel="total UPDRS", xlim=(-1, 42), ylim=(0, 65), xticks=[])
left.legend(frameon=False, fontsize=8, loc="upper left")
size = {who: np.sqrt(np.mean(error**2)) for who, error in errors.items()}
colors = ["0.7", "tab:orange", "tab:blue", "tab:blue"]
right.barh(list(size), list(size.values()), color=colors)
for place, value in enumerate(size.values()):
    right.text(value - 0.2, place, f"{value:.1f}", va="center", ha="right", color="w")
right.invert_yaxis()
right.set(xlabel="root mean squared error")
