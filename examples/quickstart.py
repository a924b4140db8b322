"""
Quick start
===========

Two samples with the same mean and the same covariance. Do they differ, and where?
"""

import numpy as np

from mercer.gram import Gram, PermutedWeights
from mercer.kernels import RBF
from mercer.rkhs import witness

# %%
# One sample is a round cloud; the other is made of four small clouds, laid so that mean and
# covariance are those of the first. A t-test or a comparison of variances sees nothing.

rng = np.random.default_rng(0)
n = 500
x = rng.normal(size=(n, 2))
y = (12 * rng.choice([-1, 1], size=(n, 2)) + 5 * rng.normal(size=(n, 2))) / 13  # 12^2 + 5^2 = 13^2

# %%
# The squared maximum mean discrepancy is a quadratic form w'Kw of the Gram matrix of both samples
# together. Under the null hypothesis the labels mean nothing, so that every permutation of w gives
# a draw from the null. All of them take one pass over K, which is never held.

kernel = RBF(bandwidth=0.5)
gram = Gram(kernel, np.vstack([x, y]))
w = np.repeat([1 / n, -1 / n], n)
observed = gram.quad(w)
null = gram.quad(PermutedWeights(w, 999, rng=0))  # (999,)
pvalue = (1 + np.sum(null >= observed)) / (1 + len(null))

print(f"{gram!r}")
print(
    f"MMD^2 = {observed:.4f}; under the null 95% of draws lie below {np.quantile(null, 0.95):.4f}"
)
print(f"p-value = {pvalue:.3f}: the samples {'differ' if pvalue <= 0.05 else 'may be the same'}")

# %%
# The witness function says where. It is positive where x has more mass, negative where y has.

difference = witness(kernel, x, y)
for place in [(0.0, 0.0), (0.9, 0.9), (2.0, 0.0)]:
    value = difference(np.array([place]))[0]
    more = "x" if value > 0 else "y"
    print(f"at ({place[0]:.1f}, {place[1]:.1f}) the witness is {value:+.3f}: more of {more}")
