"""
Where a model does not fit
==========================

A goodness-of-fit test shows that a model is wrong, and the witness function shows where. The
three cases are heavy tails, a cluster that the model does not contain, and misfit in single
columns of a table.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer
from mercer.htest import Composite
from mercer.rkhs import Gaussian, Mixture

rng = np.random.default_rng(0)

# %%
# A thousand draws from Student's t distribution with three degrees of freedom are compared with a
# Gaussian of the same variance. No bandwidth has to be chosen: `goodness_of_fit` combines ten
# bandwidths.

tails = rng.standard_t(3, size=1000)
first = mercer.goodness_of_fit(Gaussian(0.0, 3.0), tails, rng=0)
print(first.summary())

# %%
# Next, a composite hypothesis in the plane: is there *any* Gaussian that fits? A model fitted to
# the observations fits them better than the true model does, so a plain test would hardly ever
# reject. `Composite` refits the model to every resample. One observation in ten comes from a
# separate cluster, which a mixture of two Gaussians describes.

plane = rng.normal(size=(400, 2)) @ [[1.0, 0.6], [0.0, 0.8]]
plane[:40] = rng.normal([3.0, -1.0], 0.4, size=(40, 2))
second = Composite(Gaussian.fit, resamples=99).test(plane, rng=0)
print(second.summary())
better = Composite(lambda x: Mixture.fit(x, 2, rng=0), resamples=99).test(plane, rng=0)
print(f"two Gaussians: p = {better.pvalue:.2f}")

# %%
# In five columns no map can be drawn. However, the score of a column is the score of its
# conditional distribution given the other columns, so the discrepancy decomposes into columns.
# The third column is skewed and the last two are dependent; the model assumes neither.

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
# Red marks regions with more observations than the model predicts, and blue regions with fewer.

figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
first.plot(axes[0])
axes[0].set(xlim=(-8, 8), title="heavy tails")
second.plot(axes[1])
axes[1].set_title("a separate cluster")
third.plot_columns(axes[2])
axes[2].set_title("columns, conditional on the others")
