"""Weights for which a sum of products of residuals has the sharpest test that allows for bias.

A sum of products with weights a_i has signal sum a_i, standard error |a| and a bias of at most sum a_i q_i, all in
units of the noise. The test rejects where the sum exceeds its bias by c standard errors, and so detects the weakest
dependence where (c |a| + sum a_i q_i) / sum a_i is smallest: at a_i = max(1 - q_i / t, 0) with t the solution of
sum_i max(t - q_i, 0)^2 = c^2 (bias-aware inference; Armstrong and Kolesar 2018).
"""

from __future__ import annotations

import numpy as np

_STANDARD_ERRORS = 2.0  # c, about the critical value of the test


def sharpest_weights(bias: np.ndarray, unbiased: int = 0) -> np.ndarray:
    """The weights of terms with biases q_i (m,), beside so many terms without bias: (m,).

    Examples
    --------
    >>> sharpest_weights(np.array([0.0, 0.1, 5.0]), unbiased=98).round(2).tolist()
    [1.0, 0.5, 0.0]
    """
    limit = _cutoff(np.sort(bias), unbiased)
    return np.maximum(1 - bias / limit, 0.0)


def _cutoff(ordered: np.ndarray, unbiased: int) -> float:
    """The solution t of sum_i max(t - q_i, 0)^2 = c^2 for increasing q_i."""
    counts = unbiased + np.arange(1, len(ordered) + 1)
    sums, squares = np.cumsum(ordered), np.cumsum(ordered**2)
    if unbiased:  # no term of `ordered` may be below t
        counts, sums, squares = np.r_[unbiased, counts], np.r_[0.0, sums], np.r_[0.0, squares]
    means = sums / counts
    spread = squares / counts - means**2
    roots = means + np.sqrt(np.maximum(_STANDARD_ERRORS**2 / counts - spread, 0.0))
    following = np.r_[ordered[len(ordered) - len(counts) + 1 :], np.inf]
    return float(roots[np.argmax(roots <= following)])
