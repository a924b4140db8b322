"""
Where a model does not fit
==========================

A test tells that a model is wrong; the witness tells where. Three cases: tails that are too heavy, an island
that the model does not know, and one column among several.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer
from mercer.htest import Composite
from mercer.rkhs import Gaussian, Mixture

rng = np.random.default_rng(0)

# %%
# A thousand draws from Student's distribution with three degrees of freedom, and a Gaussian of the same
# variance. Nothing has to be chosen: `goodness_of_fit` looks at ten scales.

tails = rng.standard_t(3, size=1000)
first = mercer.goodness_of_fit(Gaussian(0.0, 3.0), tails, rng=0)
print(first.summary())

# %%
# On the plane: is it *some* Gaussian? The model is fitted to the observations, so it fits better than it should,
# and a plain test would hardly ever reject. `Composite` fits a model to every resample as well. One in ten
# observations comes from an island; a mixture of two Gaussians knows it.

plane = rng.normal(size=(400, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
plane[:40] = rng.normal([3.0, -1.0], 0.4, size=(40, 2))
second = Composite(Gaussian.fit, resamples=99).test(plane, rng=0)
print(second.summary())
better = Composite(lambda x: Mixture.fit(x, 2, rng=0), resamples=99).test(plane, rng=0)
print(f"two Gaussians: p = {better.pvalue:.2f}")

# %%
# In five columns there is no map. But the score of a column is that of its distribution given the others, so that
# the discrepancy comes apart into columns: the third is skewed, the last two depend on each other, and the
# model knows of neither.

table = rng.normal(size=(800, 5))
table[:, 2] = (rng.gamma(4.0, size=800) - 4.0) / 2.0
table[:, 4] = 0.5 * table[:, 3] + 0.75**0.5 * table[:, 4]
third = mercer.goodness_of_fit(Gaussian(np.zeros(5), 1.0), table, rng=0)
for column in third.columns():
    low, high = column.misfit.relative_interval
    print(
        f"{column.name}: relative discrepancy {column.misfit.relative:.3f} ({low:.3f} to {high:.3f})"
    )

# %%
# Red is where more observations are than the model expects, blue where fewer.

figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
first.plot(axes[0])
axes[0].set(xlim=(-8, 8), title="heavy tails")
second.plot(axes[1])
axes[1].set_title("an island")
third.plot_columns(axes[2])
axes[2].set_title("columns, given the others")
