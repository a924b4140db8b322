"""Greedy compression: Stein thinning, Stein points and kernel herding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, count, detached, to_numpy
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.stein import Stein
from mercer.rkhs.compression.greedy_selection import (
    checked_points,
    columns_of,
    herded,
    thinned,
)
from mercer.rkhs.embeddings.embedding import Embedding, mean_embedding
from mercer.rkhs.function import Function
from mercer.rkhs.logdensity import score_at
from mercer.rkhs.stein_discrepancy import median_imq


def stein_thinning(score: Any, x: Any, m: int, *, kernel: Kernel | None = None) -> np.ndarray:
    """Select `m` rows of x that represent a distribution known by its score.

    From the draws of a Markov chain, burn-in and bias included, select one after the other the points
    that minimise the kernel Stein discrepancy to the target (Riabiz et al. 2022, algorithm 1):
    i_t = argmin_i k_p(x_i, x_i) / 2 + sum_{s < t} k_p(x_{i_s}, x_i). A row may be selected more than
    once. Needs O(n m) kernel values, O(n) memory and no draws from the target.

    Parameters
    ----------
    score : callable or array (n, d)
        Function x -> gradients of log p at the rows of x, or an array of these gradients.
    x : points
    m : int
        Number of rows to select; it may exceed the number of rows of x.
    kernel : Kernel or None
        A smooth function of the distance. None: InverseMultiquadric at the median distance.

    Returns
    -------
    array (m,)
        Positions of the rows in the order of selection: the first 10 are the result for m = 10.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import Gaussian, ksd2
    >>> p = Gaussian([0.0, 0.0], 1.0)
    >>> x = np.random.default_rng(0).normal(0.5, 1.2, size=(1000, 2))  # a chain that is biased
    >>> rows = stein_thinning(p.score, x, 50)
    >>> all_of_them, few = (ksd2(None, p.score, s, unbiased=False) for s in (x, x[rows]))
    >>> few < all_of_them / 2
    True
    """
    validate.whole("m", m)
    kernel, points = checked_points(kernel, x, median_imq)
    stein = Stein(kernel, score_at(score, points))
    stein.accept(points)
    scored = stein.move(points)
    diagonal = to_numpy(stein.scored.diag(scored))
    return thinned(diagonal / 2, columns_of(stein.scored, scored), m)


def stein_points(
    score: Callable[[Any], Array],
    propose: Callable[[int, np.random.Generator], Any],
    m: int,
    *,
    kernel: Kernel | None = None,
    candidates: int = 1000,
    rng: Any = None,
) -> np.ndarray:
    """Construct `m` points that represent a distribution known by its score.

    Each point is the best of newly proposed candidates by the criterion of `stein_thinning`: greedy
    Stein points with Monte Carlo search (Chen et al. 2018, section 4).

    Parameters
    ----------
    score : callable
        Function x -> gradients of log p at the rows of x.
    propose : callable
        Function (n, rng) -> candidates (n, d), which should cover the mass of the distribution.
    m : int
    kernel : Kernel or None
        None: InverseMultiquadric at the median distance of the first candidates.
    candidates : int
        Number of candidates for each point.
    rng : int, Generator or None

    Returns
    -------
    array (m, d)

    Examples
    --------
    >>> from mercer.rkhs import Gaussian, ksd2
    >>> p, wide = Gaussian(0.0, 1.0), Gaussian(0.0, 9.0)
    >>> x = stein_points(p.score, lambda n, rng: wide.sample(n, rng=rng), 20, rng=0)
    >>> drawn = p.sample(20, rng=0)
    >>> ksd2(None, p.score, x, unbiased=False) < ksd2(None, p.score, drawn, unbiased=False)
    True
    """
    validate.whole("m", m)
    validate.whole("candidates", candidates)
    rng = validate.generator(rng)
    selected: np.ndarray | None = None
    while selected is None or len(selected) < m:
        proposed = validate.points(detached(propose(candidates, rng)), "propose(n, rng)")
        kernel, points = checked_points(kernel, to_numpy(proposed), median_imq)
        stein = Stein(kernel, score)
        stein.accept(points, "propose(n, rng)")
        value = to_numpy(stein.diag(points)) / 2
        if selected is not None:
            value = value + to_numpy(Gram(stein, points, selected).row_sums())
        best = points[[int(np.argmin(value))]]
        selected = best if selected is None else np.concatenate([selected, best])
    return selected


def kernel_herding(kernel: Kernel | None, x: Any, m: int, *, target: Any = None) -> np.ndarray:
    """Select `m` rows of x whose mean embedding approximates that of a target distribution.

    i_{t+1} = argmax_i mu(x_i) - sum_{s <= t} k(x_{i_s}, x_i) / (t + 1), with mu the mean embedding of
    the target (Chen, Welling & Smola 2010, eq. 8). Means of functions over the selected rows are as
    accurate as over many more random ones. Needs mu, O(n m) kernel values and O(n) memory.

    Parameters
    ----------
    kernel : Kernel or None
        None: the kernel of `target` if that is an embedding, else RBF at the median distance of x.
    x : points
        The candidates.
    m : int
    target : distribution, sample, Embedding, Function or None
        Anything that `mean_embedding` accepts; exact where the kernel has a closed form for it, as RBF
        has for a `Gaussian`. Or an embedding, such as a value of `ConditionalEmbedding`. None: x itself.

    Returns
    -------
    array (m,)
        Positions of the rows in the order of selection; a row may occur twice.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.rkhs import Gaussian, mean_embedding
    >>> p, k = Gaussian([0.0, 0.0], 1.0), RBF(1.0)
    >>> x = p.sample(2000, rng=0)
    >>> herd = x[kernel_herding(k, x, 50, target=p)]
    >>> mu, few, random = (mean_embedding(k, q) for q in (p, herd, x[:50]))
    >>> mu.distance(few) < mu.distance(random) / 3
    True
    """
    validate.whole("m", m)
    if kernel is None and isinstance(target, Embedding | Function):
        kernel = target.kernel
    kernel, points = checked_points(kernel, x, median_rbf)
    if target is None:
        mean = to_numpy(Gram(kernel, points).row_sums()) / count(points)
    else:
        mean = to_numpy(_embedded(kernel, target)(points)).astype(np.float64)
    return herded(columns_of(kernel, points), mean, m)


# ---- private ------------------------------------------------------------------------------


def _embedded(kernel: Kernel, target: Any) -> Embedding | Function:
    """The target as one function of the RKHS of the kernel."""
    if not isinstance(target, Embedding | Function):
        return mean_embedding(kernel, target)
    if target.kernel != kernel:
        raise ValueError(f"target must have the kernel {kernel!r}, got {target.kernel!r}")
    if isinstance(target, Function) and target.weights.ndim != 1:
        raise TypeError("target must be one function, not several: take target[j]")
    return target
