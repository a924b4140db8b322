"""
Drift of text
=============

Questions come in week by week. From some week on, more of them ask for numbers. A two-sample test
on strings compares every week with a reference, with p-values corrected for the number of weeks,
and says which pieces of text tell the difference.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import mercer
from mercer.datasets import fetch_trec_questions

# %%
# The questions are those of TREC with ``MERCER_DATA``, and made of patterns without it.

THINGS = ["the old tower", "a red river", "Hamlet", "the great game", "an opera", "the long war"]
rng = np.random.default_rng(0)


def questions() -> tuple[list[str], list[str]]:
    """Questions that ask for a number, and others."""
    if os.environ.get("MERCER_DATA"):
        data = fetch_trec_questions()
        pairs = list(zip(data.texts, data.labels, strict=True))
        return [t for t, kind in pairs if kind == "NUM"], [t for t, kind in pairs if kind != "NUM"]
    asking = ["How many saw {} ?", "When was {} ?"]
    other = ["Who made {} ?", "Where is {} ?"]
    return tuple([form.format(t) for form in forms for t in THINGS] for forms in (asking, other))


numeric, others = questions()


def week(share: float, size: int = 120) -> list[str]:
    """Questions of one week, of which about this share ask for a number."""
    counts = rng.random(size) < share
    return [str(rng.choice(numeric if c else others)) for c in counts]


# %%
# The share of questions for numbers grows after week 5.

SHARES = [0.15] * 5 + [0.25, 0.35, 0.45, 0.45, 0.45]
reference = week(0.15, 200)
results = [mercer.two_sample(reference, week(share), rng=0) for share in SHARES]
pvalues = np.array([result.pvalue for result in results])
order = np.argsort(pvalues)  # Holm
adjusted = np.empty(len(pvalues))
adjusted[order] = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1)).clip(max=1)
for number, (share, p) in enumerate(zip(SHARES, adjusted, strict=True), 1):
    print(f"week {number:2}: {share:.0%} ask for numbers, corrected p = {p:.3f}")

# %%
# The pieces of text that differ most in the last week.

for feature in results[-1].features().features[:8]:
    print(f"{feature.name!r}: corrected p = {feature.adjusted:.3f}")

figure, panel = plt.subplots(figsize=(7, 3.5), layout="constrained")
weeks = np.arange(1, len(SHARES) + 1)
panel.bar(weeks, SHARES, color="C0", alpha=0.4)
panel.set(xlabel="week", ylabel="share of questions for numbers", xticks=weeks)
line = panel.twinx()
line.semilogy(weeks, adjusted, "o-", color="C3")
line.axhline(0.05, color="C3", linewidth=0.8, linestyle="--")
line.set_ylabel("corrected p-value", color="C3")
plt.show()
