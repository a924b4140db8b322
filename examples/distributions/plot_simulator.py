"""
Inference by a simulator
========================

A model that can be simulated but has no likelihood: which parameters could have made the data? Parameters are drawn from a prior, a sample
is simulated with each, and parameters get weight by the maximum mean discrepancy between simulated and observed sample (K2-ABC, Park,
Jitkrittum and Sejdinovic 2016), or by conditional embeddings (kernel ABC, Nakagome, Fukumizu and Mano 2013).
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import RBF
from mercer.rkhs import ConditionalEmbedding, abc_posterior

rng = np.random.default_rng(0)

# %%
# The simulator: blowflies that lay eggs in proportion to their number, with noise. Its two parameters are the growth and the noise; the
# observation is the logarithm of 60 daily counts after a start of 40 days.


def simulate(growth: float, noise: float, draw: np.random.Generator) -> np.ndarray:
    """Ricker's population model with lognormal noise."""
    size, kept = 1.0, []
    for day in range(100):
        size = growth * size * np.exp(-size + noise * draw.normal())
        if day >= 40:
            kept.append(np.log(size + 1e-9))
    return np.array(kept)


truth = np.array([8.0, 0.3])
observed = simulate(*truth, rng)
prior = np.column_stack([rng.uniform(2, 15, size=2000), rng.uniform(0.05, 0.8, size=2000)])
simulated = [simulate(*parameters, rng) for parameters in prior]

# %%
# K2-ABC compares whole samples, so that no summary statistics are chosen.

posterior = abc_posterior(prior, simulated, observed, epsilon=0.003)
weights = np.asarray(posterior.weights)
mean = weights @ prior
print(
    f"truth {truth}, posterior mean {np.round(mean, 2)}, prior mean {np.round(prior.mean(axis=0), 2)}"
)
print(f"effective number of parameters {1 / np.sum(weights**2):.0f} of {len(prior)}")

# %%
# Kernel ABC regresses parameters on summaries, here five quantiles and the correlation of consecutive days.


def summary(sample: np.ndarray) -> np.ndarray:
    """Quantiles and the autocorrelation at lag 1."""
    return np.append(
        np.quantile(sample, [0.05, 0.25, 0.5, 0.75, 0.95]),
        np.corrcoef(sample[:-1], sample[1:])[0, 1],
    )


summaries = np.array([summary(s) for s in simulated])
centre, scale = summaries.mean(axis=0), summaries.std(axis=0)
law = ConditionalEmbedding.fit(
    (summaries - centre) / scale, prior, kernel_x=RBF(1.0), kernel_y=RBF(1.0), ridge=1e-3
)
by_regression = np.asarray(
    law.expectation(lambda p: p, ((summary(observed) - centre) / scale)[None])
)[0]
print(f"kernel ABC: {np.round(by_regression, 2)}")

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.plot(observed)
left.set(title="observed: log counts", xlabel="day")
right.scatter(*prior.T, s=4, color="lightgrey", label="prior")
right.scatter(*prior.T, s=4000 * weights, alpha=0.6, label="weights of K2-ABC")
right.plot(*truth, "k*", ms=12, label="truth")
right.plot(*by_regression, "r+", ms=12, mew=2, label="kernel ABC")
right.set(xlabel="growth", ylabel="noise")
right.legend(loc="upper right", fontsize=8)
figure.tight_layout()
plt.show()
