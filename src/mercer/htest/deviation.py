"""Deviation bounds of mean embeddings, which hold for every distribution and every sample size.

With 0 <= k(x, x) <= K and weights w of the observations, the distance D of an estimated difference of
embeddings from the true one has E D <= sqrt(v) with v = K sum_i w_i^2, which is K (1/n + 1/m) for two samples
and K/n for one sample and a known distribution. One observation changes D by at most 2 sqrt(K) w_i, and so
P(D > sqrt(v) + e) <= exp(-e^2 / 2v) (McDiarmid). By the triangle inequality |MMD_b - MMD| <= D. Theorem 7
of Gretton et al. (2012) has the same exponent with the larger mean 2 (sqrt(K/n) + sqrt(K/m)) and twice the bound.
"""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.errors import NoRule
from mercer.htest.intervals import Interval
from mercer.kernels import facts
from mercer.kernels.base import Kernel, Points


def deviation_tail(form: float, variance_bound: float) -> float:
    """Bound on the probability of a squared distance of at least `form` where the true one is 0."""
    excess = sqrt(max(form, 0.0)) - sqrt(variance_bound)
    return exp(-(excess**2) / (2 * variance_bound)) if excess > 0 else 1.0


def deviation_interval(form: float, variance_bound: float, confidence: float) -> Interval:
    """Interval around sqrt(form) that has the true distance with at least this probability."""
    validate.between("confidence", confidence, 0.0, 1.0)
    reach = sqrt(variance_bound) * (1 + sqrt(-2 * log(1 - confidence)))
    estimate = sqrt(max(form, 0.0))
    return Interval(max(estimate - reach, 0.0), estimate + reach)


def largest_value(kernel: Kernel, points: Points) -> float:
    """K = sup k(x, x) of a bounded shift-invariant kernel; `NoRule` for others."""
    known = facts(kernel)
    if not (known.bounded and known.stationary):
        raise NoRule(
            "the deviation bound needs a bounded shift-invariant kernel, whose largest value is k(x, x): "
            "use Permutation(), or the asymptotic interval"
        )
    return float(np.max(to_numpy(kernel.diag(points))))
