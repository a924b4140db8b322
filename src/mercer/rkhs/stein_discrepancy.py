"""Kernel Stein discrepancy between a sample and a distribution known by its score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mercer import validate
from mercer.backend import Array, count
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import prepare
from mercer.kernels.radial import VECTOR_KERNEL, InverseMultiquadric
from mercer.kernels.stein import Stein
from mercer.rkhs.logdensity import score_at


def ksd2(
    kernel: Kernel | None,
    score: Callable[[Points], Array] | Array,
    x: Any,
    *,
    unbiased: bool = True,
) -> float:
    """Squared kernel Stein discrepancy E k_p(X, X') between a sample and a distribution p.

    k_p is the `Stein` kernel of `kernel` and of the score of p (Liu, Lee & Jordan 2016, def. 3.2).
    The discrepancy is the squared MMD between the sample and p with that kernel; it needs neither draws
    from p nor its normaliser, and is zero only for p itself if the kernel is integrally strictly positive
    definite. To measure the quality of a Markov chain use an `InverseMultiquadric` kernel (Gorham &
    Mackey 2017): with other kernels the discrepancy can vanish although mass escapes to infinity.

    Parameters
    ----------
    kernel : Kernel or None
        A smooth function of the distance. None: InverseMultiquadric at the median distance.
    score : callable or array (n, d)
        Function x -> gradients of log p at the rows of x, (n, d), such as the `score` of a `Gaussian` or
        `Mixture`; or an array of these gradients.
    x : points
    unbiased : bool
        True: the U-statistic over pairs i != j, which may be negative. False: the V-statistic over all
        pairs, never negative, with a bias of O(1/n).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.rkhs import Gaussian
    >>> p = Gaussian(0.0, 1.0)
    >>> x = p.sample(1000, rng=0)
    >>> abs(ksd2(RBF(1.0), p.score, x)) < 0.01, ksd2(RBF(1.0), p.score, x + 0.5) > 0.1
    (True, True)
    """
    kernel, points = _sample(kernel, x)
    n = count(points)
    if n < (2 if unbiased else 1):
        raise ValueError(f"ksd2(unbiased=True) needs at least 2 points in x, got {n}")
    gram = Gram(Stein(kernel, score_at(score, points)), points)
    if unbiased:
        return (gram.sum() - gram.trace()) / (n * (n - 1))
    return max(gram.sum() / n**2, 0.0)


def median_imq(points: Points, name: str = "x") -> InverseMultiquadric:
    """Inverse multiquadric kernel whose offset is the median distance."""
    return InverseMultiquadric(median_rbf(points, name=name).bandwidth)


def _sample(kernel: Kernel | None, x: Any) -> tuple[Kernel, Points]:
    """Kernel bound to the columns of x, or the default one, and the checked points."""
    if kernel is None:
        _, points, _ = prepare(VECTOR_KERNEL, x)
        return median_imq(points), points
    validate.instance("kernel", kernel, Kernel, "a kernel, such as InverseMultiquadric(1.0)")
    kernel, points, _ = prepare(kernel, x)
    return kernel, points
