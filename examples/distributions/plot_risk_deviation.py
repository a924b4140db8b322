"""
What averaging before the loss costs
====================================

A support measure machine minimises the loss of the averaged prediction, l(y, E f(X)), instead of
the averaged loss E l(y, f(X)) of the points. Theorem 3 of Muandet et al. (2012) bounds the difference by
2 C_l C_f sigma, with the Lipschitz constants of the loss and of the function and the standard deviation of the
distribution. This page compares the difference with the bound.
"""

import matplotlib.pyplot as plt
import numpy as np

from mercer.kernels import RBF
from mercer.learn import SupportMeasureMachine, risk_deviation
from mercer.rkhs import Function, Gaussian, MeanMap

# %%
# A machine is trained on Gaussians with different variances. Its function f is evaluated at points, where it
# is a sum of widened kernels; for the bound, a sample of each Gaussian represents it.

rng = np.random.default_rng(0)
means = rng.normal(size=(60, 2)) * 1.5
y = np.where(np.sin(2 * means[:, 0]) + means[:, 1] > 0, 1.0, -1.0)
spreads = np.geomspace(0.05, 2.0, 60)
laws = [Gaussian(m, s**2) for m, s in zip(means, spreads, strict=True)]
machine = SupportMeasureMachine(MeanMap(RBF(1.0)), 1.0).fit(laws, y)

bags = [law.sample(400, rng=i) for i, law in enumerate(laws)]
dual = np.zeros(60)
dual[machine.support_] = machine.function_.weights
f = Function(RBF(1.0), np.concatenate(bags), np.repeat(dual / 400, 400))
result = risk_deviation(f, bags, y)

# %%
# Three curves: the difference, the bound by the standard deviation of f(X), and the bound of the theorem. The
# theorem holds everywhere, and loses a factor of at least two, because sd f(X) <= C_f sigma already.

figure, axes = plt.subplots(figsize=(6, 3.6))
sigma = spreads * np.sqrt(2)
axes.loglog(sigma, result.deviation + 1e-6, ".", label="difference of the losses")
axes.loglog(sigma, result.variance_bound, "-", label="$C_l$ sd $f(X)$")
axes.loglog(sigma, result.bound, "--", label="$2 C_l C_f \\sigma$, theorem 3")
axes.set_xlabel("standard deviation $\\sigma$ of the distribution")
axes.legend(frameon=False)
figure.tight_layout()

assert np.all(result.deviation <= result.bound)
print(f"difference of the risks {result.risk_deviation:.3f}, mean bound {result.bound.mean():.2f}")
