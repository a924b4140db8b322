"""
New domains without labels
==========================

Labels come from some patients, sensors or sites, and predictions are wanted for others, for which
only unlabelled points are available. *Marginal transfer learning* makes the distribution of those
points part of the input: an example is a pair (P, x) of the distribution of its domain and a
point, and the kernel on pairs is a product, k(P, P') k(x, x'). This kernel is `Tensor`, with a
kernel between distributions as its first factor. (G. Blanchard, G. Lee, C. Scott, 2011.
Generalizing from several related classification tasks to a new unlabeled sample. NIPS 24.)
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold

from mercer.kernels import RBF, Kernel, Tensor, median_bandwidth
from mercer.learn import SVC, KernelRidge, KernelSearchCV
from mercer.rkhs import Empirical, MeanMap

# %%
# Rotated domains
# ---------------
#
# A domain is a drop with a tail, rotated by a random angle; its two classes are the two sides of
# the tail. All domains have mean zero, and every location belongs to both classes equally often,
# so pooled labels carry no information. The direction of the tail is visible without labels.

EACH = 40


def turned(angles: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Points (domains, EACH, 2) and labels of domains at these angles; 5% of the labels are wrong."""
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
# The input consists of the distribution of the domain and the point, for every point. All points
# of a domain share the same distribution object, so it is embedded once.

domains = [Empirical(sample) for sample in points]


def pairs(which: np.ndarray) -> tuple[list[Empirical], np.ndarray]:
    """The points of the selected domains, each with its domain."""
    return [domains[d] for d in which for _ in range(EACH)], points[which].reshape(-1, 2)


def spread(kernel: Kernel, distributions: list[Empirical]) -> float:
    """Median distance between distributions in the RKHS of a kernel."""
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
# Parameters are chosen by cross-validation over domains rather than points, because labels have
# to generalise to new domains.

widths, prices = [0.5, 1.0, 2.0], [1.0, 10.0]  # bandwidths on points, and C


def folds(which: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Three folds of domains."""
    owner = np.repeat(which, EACH)
    return list(GroupKFold(3).split(owner, groups=owner))


def fitted(which: np.ndarray) -> tuple[KernelSearchCV, KernelSearchCV]:
    """A machine on pairs, and one on pooled points."""
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
# Two upper limits: training on labels of half of the points of the new domain itself, and knowing
# the correct side of the tail when one label in twenty is wrong.


def with_own_labels(d: int) -> float:
    """Accuracy on half of a domain after training on the other half."""
    half = slice(0, EACH // 2), slice(EACH // 2, None)
    machine = SVC(RBF(1.0), 10.0).fit(points[d, half[0]], labels[d, half[0]])
    return machine.score(points[d, half[1]], labels[d, half[1]])


own = float(np.mean([with_own_labels(d) for d in new]))
print(f"trained on labels of the new domain: {100 * own:.0f}%")

# %%
# Four held-out domains and the decision function on each. It is one function of the pair, and its
# boundary rotates with the distribution. The arrows show the directions of the tails, which are
# not given to the machine.

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
    ax.set_title(f"accuracy {100 * right:.0f}%", fontsize=10)
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
last.axhline(100 * own, color="0.4", ls="--", label="20 labels of the new domain")
last.axhline(95, color="0.7", ls=":", label="upper limit")
last.set(xlabel="training domains", ylabel="accuracy in new domains, %", ylim=(40, 100))
last.legend(frameon=False, fontsize=8, loc="center right", bbox_to_anchor=(1.0, 0.42))

# %%
# Patients
# --------
#
# Does the method help on real data? `fetch_parkinsons` contains voice recordings that 42 patients
# made at home, with a motor score that changes slowly. The task is to predict the score for
# recordings of held-out patients. Without the folder named by ``MERCER_DATA``, simulated patients
# are used, whose voice measures and scores have patient-specific offsets.

RECORDINGS = 20


def patients() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Patient, voice measures and score of some recordings of every patient."""
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
# Six patients are held out in each of seven folds. Three predictions of their scores are
# compared: the mean of the other patients, ridge regression on pooled recordings, and ridge
# regression on pairs of patient and recording. Ridges and bandwidths are chosen by
# cross-validation over patients.


def recordings(rows: np.ndarray) -> tuple[list[Empirical], np.ndarray]:
    """Recordings, each with the sample of its patient."""
    return [samples[p] for p in whose[rows]], voice[rows]


def errors(train: np.ndarray, test: np.ndarray) -> dict[str, np.ndarray]:
    """Errors of each prediction, for every held-out recording."""
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
# For the real patients nothing is gained: neither the voice nor the distribution of all
# recordings of a patient says much about the score of a new patient, and the mean of the other
# patients predicts at least as well. Thirty-six patients are few for learning a function of
# distributions; the curve above shows how many domains are needed when there is something to
# learn. Each dot is a patient.

figure, ax = plt.subplots(figsize=(5.2, 4.2), layout="constrained")
ax.plot(found["pooled"], found["marginal transfer"], "o", ms=5)
top = 1.05 * max(max(found["pooled"]), max(found["marginal transfer"]))
ax.plot([0, top], [0, top], color="0.6", lw=1)
ax.set(xlim=(0, top), ylim=(0, top), aspect="equal")
ax.set(xlabel="error, pooled", ylabel="error, marginal transfer")
better = np.mean(np.array(found["marginal transfer"]) < np.array(found["pooled"]))
ax.set_title(f"better for {100 * better:.0f}% of the patients", fontsize=10)
