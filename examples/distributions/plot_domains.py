"""
New domains without labels
==========================

Labels come from some patients, sensors or sites, and predictions are wanted for others, of which there are only
unlabelled points. *Marginal transfer learning* takes the distribution of those points as a part of the
input: a point is a pair (P, x) of the distribution of its domain and its own place, and the kernel of pairs
is a product, k(P, P') k(x, x'). That is `Tensor`, with a kernel of distributions for the first part.
(G. Blanchard, G. Lee, C. Scott, 2011. Generalizing from several related classification tasks to a new
unlabeled sample. NIPS 24.)
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold

from mercer.kernels import RBF, Kernel, Tensor, median_bandwidth
from mercer.learn import SVC, KernelRidge, KernelSearchCV
from mercer.rkhs import Empirical, MeanMap

# %%
# Domains that are turned
# -----------------------
#
# A domain is a drop with a tail, turned by an angle of its own; its two classes are the sides of the
# tail. All domains have mean zero, and every place is in both classes equally often: pooled labels say
# nothing at all. Where the tail points to is seen without labels.

EACH = 40


def turned(angles: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points (domains, EACH, 2) and labels of domains at these angles; one label in twenty is wrong."""
    shape = (len(angles), EACH)
    along, across = rng.exponential(size=shape) - 1, 0.5 * rng.normal(size=shape)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    points = np.stack([cos * along - sin * across, sin * along + cos * across], axis=2)
    return points, (across > 0) ^ (rng.random(shape) < 0.05)


rng = np.random.default_rng(0)
angles = rng.uniform(0, 2 * np.pi, size=100)
points, labels = turned(angles, rng)
old, new = np.arange(60), np.arange(60, 100)

# %%
# What a machine learns from: for every point, the distribution of its domain and the point. A distribution
# is the same object for all points of a domain, so it is embedded once.

domains = [Empirical(sample) for sample in points]


def pairs(which: np.ndarray) -> tuple[list[Empirical], np.ndarray]:
    """The points of some domains, each with its domain."""
    return [domains[d] for d in which for _ in range(EACH)], points[which].reshape(-1, 2)


def spread(kernel: Kernel, distributions: list[Empirical]) -> float:
    """The median distance of distributions in the RKHS of a kernel."""
    values = kernel(distributions)
    own = np.diagonal(values)
    return float(
        np.sqrt(np.median((own[:, None] + own - 2 * values)[np.triu_indices(len(own), 1)]))
    )


embedding = MeanMap(RBF(median_bandwidth(points[old].reshape(-1, 2))))
of_domains = RBF(spread(embedding, domains[: len(old)])).on(embedding)
transfer = Tensor(of_domains, RBF(1.0))
print(transfer)

# %%
# Parameters are chosen by leaving domains out, not points: what counts is how well labels carry over.

widths, prices = [0.5, 1.0, 2.0], [1.0, 10.0]  # of points


def folds(which: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Three parts of the domains, each left out once."""
    owner = np.repeat(which, EACH)
    return list(GroupKFold(3).split(owner, groups=owner))


def fitted(which: np.ndarray) -> tuple[KernelSearchCV, KernelSearchCV]:
    """A machine of pairs, and one of pooled points."""
    y = labels[which].ravel()
    near = {"kernel__kernels__1__bandwidth": widths, "C": prices}
    one = KernelSearchCV(SVC(transfer), near, cv=folds(which)).fit(pairs(which), y)
    plain = {"kernel__bandwidth": widths, "C": prices}
    other = KernelSearchCV(SVC(RBF(1.0)), plain, cv=folds(which)).fit(pairs(which)[1], y)
    return one, other


truth = labels[new].ravel()
scores: dict[str, list[float]] = {"marginal transfer": [], "pooled": []}
numbers = [5, 10, 20, 40, 60]
for number in numbers:
    one, other = fitted(old[:number])
    scores["marginal transfer"].append(one.score(pairs(new), truth))
    scores["pooled"].append(other.score(pairs(new)[1], truth))
    print(number, *(f"{name} {100 * found[-1]:.0f}%" for name, found in scores.items()))
assert scores["marginal transfer"][-1] > 0.8 > 0.6 > scores["pooled"][-1]

# %%
# The best that can be: labels of the new domain itself, of half of its points; and the right side of
# the tail, with one label in twenty wrong.


def with_own_labels(d: int) -> float:
    """The share of right labels in half of a domain, learnt from the other half."""
    half = slice(0, EACH // 2), slice(EACH // 2, None)
    machine = SVC(RBF(1.0), 10.0).fit(points[d, half[0]], labels[d, half[0]])
    return machine.score(points[d, half[1]], labels[d, half[1]])


own = float(np.mean([with_own_labels(d) for d in new]))
print(f"with labels of the new domain: {100 * own:.0f}%")

# %%
# Four domains that were never seen, and what the machine makes of them: one function of the pair, whose
# boundary turns with the distribution. Arrows point where the tails do, which no machine is told.

side = np.linspace(-2.2, 2.2, 61)
across, up = np.meshgrid(side, side)
grid = np.stack([across.ravel(), up.ravel()], axis=1)
shown = new[[np.argmin(np.abs(angles[new] - a)) for a in (0.5, 2.2, 3.8, 5.5)]]

figure, axes = plt.subplots(
    1, 5, figsize=(13.5, 2.9), layout="constrained", width_ratios=[1, 1, 1, 1, 1.5]
)
for ax, d in zip(axes, shown, strict=False):
    values = one.decision_function(([domains[d]] * len(grid), grid)).reshape(across.shape)
    top = np.abs(values).max()
    ax.contourf(across, up, values, levels=np.linspace(-top, top, 21), cmap="RdBu_r", alpha=0.6)
    ax.contour(across, up, values, levels=[0], colors="k", linewidths=1)
    ax.scatter(*points[d].T, c=np.where(labels[d], "tab:red", "tab:blue"), s=10)
    right = one.score(([domains[d]] * EACH, points[d]), labels[d])
    ax.set_title(f"{100 * right:.0f}% right", fontsize=10)
    ax.annotate(
        "",
        2.0 * np.array([np.cos(angles[d]), np.sin(angles[d])]),
        (0, 0),
        arrowprops={"arrowstyle": "->", "lw": 1.2, "color": "0.2"},
    )
    ax.set(xticks=[], yticks=[], aspect="equal", xlim=(-2.2, 2.2), ylim=(-2.2, 2.2))
last = axes[4]
for name, found in scores.items():
    last.plot(numbers, 100 * np.array(found), "o-", label=name)
last.axhline(100 * own, color="0.4", ls="--", label="20 labels of the domain itself")
last.axhline(95, color="0.7", ls=":", label="the best possible")
last.set(xlabel="domains learnt from", ylabel="right labels in new domains, %", ylim=(40, 100))
last.legend(frameon=False, fontsize=8, loc="center right", bbox_to_anchor=(1.0, 0.42))

# %%
# Patients
# --------
#
# Does it help where the truth is not made? `fetch_parkinsons` has 42 patients who recorded their voices at
# home, each with a motor score that moves slowly; the task is the score of recordings of patients whose
# scores are not known. Without the folder that ``MERCER_DATA`` names, made-up patients stand in, whose
# measures and scores all have an offset.

RECORDINGS = 20


def patients() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whose recording, measures of the voice, and the score: some recordings of every patient."""
    rng = np.random.default_rng(1)
    if not os.environ.get("MERCER_DATA"):
        offset = rng.normal(size=(42, 4))
        whose = np.repeat(np.arange(42), RECORDINGS)
        voice = offset[whose] + 0.7 * rng.normal(size=(len(whose), 4))
        return whose, voice, 20 + 5 * offset[whose, 0] + 2 * (voice - offset[whose])[:, 1]
    from mercer.datasets import fetch_parkinsons

    table = fetch_parkinsons()
    whose = table.columns["subject#"].astype(int)
    told = {"subject#", "age", "sex", "test_time", "motor_UPDRS", "total_UPDRS"}
    voice = np.log(1e-6 + table.numbers([n for n in table.names if n not in told]))
    kept = np.concatenate(
        [
            rng.choice(np.flatnonzero(whose == p), RECORDINGS, replace=False)
            for p in np.unique(whose)
        ]
    )
    return whose[kept], voice[kept], table.columns["motor_UPDRS"][kept]


whose, voice, score = patients()
voice = (voice - voice.mean(axis=0)) / voice.std(axis=0)
names = np.unique(whose)
samples = {p: Empirical(voice[whose == p]) for p in names}

# %%
# Seven times six patients are left out. Three guesses of their scores: the mean of the others, ridge regression on
# pooled recordings, and on pairs of patient and recording. Ridges and widths are chosen by leaving patients out.


def recordings(rows: np.ndarray) -> tuple[list[Empirical], np.ndarray]:
    """Recordings, each with its patient."""
    return [samples[p] for p in whose[rows]], voice[rows]


def errors(train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
    """What each of the guesses is off by, for every recording left out."""
    inner = list(GroupKFold(5).split(train, groups=whose[train]))
    width = median_bandwidth(voice[train])
    ridges = [1.0, 10.0, 100.0, 1000.0]
    plain = {"kernel__bandwidth": [0.5 * width, width, 2 * width], "ridge": ridges}
    pooled = KernelSearchCV(KernelRidge(RBF(width)), plain, cv=inner)
    pooled.fit(voice[train], score[train])
    embedding = MeanMap(RBF(width))
    apart = spread(embedding, [samples[p] for p in np.unique(whose[train])])
    kernel = Tensor(RBF(apart).on(embedding), RBF(width))
    both = {
        "kernel__kernels__0__outer__bandwidth": [apart, 2 * apart],
        "kernel__kernels__1__bandwidth": [0.5 * width, width, 2 * width],
        "ridge": ridges,
    }
    paired = KernelSearchCV(KernelRidge(kernel), both, cv=inner)
    paired.fit(recordings(train), score[train])
    asked = score[test]
    return {
        "mean of the others": asked - score[train].mean(),
        "pooled": asked - pooled.predict(voice[test]),
        "marginal transfer": asked - paired.predict(recordings(test)),
    }


found: dict[str, list[float]] = {}
for train, test in GroupKFold(7).split(score, groups=whose):
    for name, error in errors(train, test).items():
        by_patient = [error[whose[test] == p] for p in np.unique(whose[test])]
        found.setdefault(name, []).extend(float(np.sqrt(np.mean(e**2))) for e in by_patient)
for name, by_patient in found.items():
    print(f"{name}: root mean square error {np.sqrt(np.mean(np.square(by_patient))):.2f}")

# %%
# For the real patients nothing is gained: neither the voice nor the distribution of all recordings of a patient
# tells much about the score of somebody new, and the mean of the others is at least as good a guess. Thirty-six
# patients are few to learn a function of distributions from; the curve above says how many it
# takes where there is something to learn. Each dot is a patient.

figure, ax = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
ax.plot(found["pooled"], found["marginal transfer"], "o", ms=5)
top = 1.05 * max(max(found["pooled"]), max(found["marginal transfer"]))
ax.plot([0, top], [0, top], color="0.6", lw=1)
ax.set(xlim=(0, top), ylim=(0, top), aspect="equal")
ax.set(xlabel="error, pooled", ylabel="error, marginal transfer")
better = np.mean(np.array(found["marginal transfer"]) < np.array(found["pooled"]))
ax.set_title(f"better for {100 * better:.0f}% of the patients", fontsize=10)
