"""
What decides the price of a house
=================================

Which of the things that are known about a district tell most about the prices of its homes? `HSICSelector` looks for
the columns on which the price depends most, taken together, and `HSIC` tests whether they and the price are dependent.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

from mercer.datasets import fetch_boston
from mercer.htest import HSIC
from mercer.learn import HSICSelector, KernelRidge

# %%
# `fetch_boston` reads 506 districts of Boston from the folder named by ``MERCER_DATA``: crime, rooms, taxes, pollution
# and others, and the median value of the homes. The column ``black``, made from the share of black residents, is
# left out. Without the folder, simulated districts are used: the price rises with the rooms, falls with crime and with the
# share of poor residents, and other columns are noise or copies of these with noise.


def districts() -> tuple[list[str], np.ndarray, np.ndarray]:
    """Names of columns, columns, and prices in thousands of dollars."""
    if os.environ.get("MERCER_DATA"):
        table = fetch_boston().columns
        names = [name for name in table if name not in {"medv", "black"}]
        x = np.stack([np.asarray(table[name], dtype=float) for name in names], axis=1)
        return names, x, np.asarray(table["medv"], dtype=float)
    rng = np.random.default_rng(0)
    rooms, poor = rng.normal(6.3, 0.7, 500), rng.gamma(3.0, 4.0, 500)
    crime = np.exp(0.1 * poor + rng.normal(0, 1, 500))
    price = 5 * (rooms - 6) ** 2 * (rooms > 6) + 30 - 0.7 * poor - 2 * np.log1p(crime)
    others = rng.normal(size=(500, 5))
    others[:, 0] += 0.3 * poor
    names = ["rm", "lstat", "crim", "age", "zn", "indus", "tax", "dis"]
    return names, np.column_stack([rooms, poor, crime, others]), price + rng.normal(0, 1, 500)


names, x, price = districts()
selector = HSICSelector(3).fit(x, price)
order = np.argsort(selector.ranking_)
print("most telling:", ", ".join(names[j] for j in order[:3]))
print("least telling:", ", ".join(names[j] for j in order[-3:]))

# %%
# Selected columns are chosen on one half of the districts and judged on the other, so that the p-value is not flattered
# by the choice. What counts in the end is how well prices are predicted.

rng = np.random.default_rng(0)
half = rng.permutation(len(x)) % 2 == 0
selector = HSICSelector(3).fit(x[half], price[half])
columns = selector.get_support(indices=True)
unit = x[half].std(axis=0)
held_out = HSIC().test(x[~half][:, columns] / unit[columns], price[~half], rng=0)
print(f"{', '.join(names[j] for j in columns)} and the price: p = {held_out.pvalue:.3g}")


def share_explained(kept: np.ndarray) -> float:
    """R^2 of kernel ridge regression on these columns, on the other half."""
    z = x[:, kept] / unit[kept]
    return KernelRidge(ridge=1e-3).fit(z[half], price[half]).score(z[~half], price[~half])


worst = np.argsort(selector.ranking_)[-3:]
shares = {
    "three most telling": share_explained(columns),
    "three least telling": share_explained(worst),
    "all columns": share_explained(np.arange(len(names))),
}
for name, share in shares.items():
    print(f"{name}: R^2 = {share:.2f}")

# %%
# The price against the best two columns.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for axis, j in zip(axes[:2], np.argsort(selector.ranking_), strict=False):
    axis.plot(x[:, j], price, ".", markersize=3, color="0.4")
    axis.set(xlabel=names[j], ylabel="price, thousands of dollars")
axes[2].barh(list(shares), list(shares.values()), color="0.6")
axes[2].set(xlabel="share of the variance explained")
plt.show()
