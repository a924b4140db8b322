"""Points chosen one after the other: Stein thinning, Stein points, kernel herding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, astype, count, detached, double, take_rows, to_numpy
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import prepare
from mercer.kernels.radial import RBF
from mercer.kernels.stein import Stein
from mercer.rkhs.embeddings.embedding import Embedding, mean_embedding
from mercer.rkhs.function import Function
from mercer.rkhs.logdensity import score_at
from mercer.rkhs.stein_discrepancy import median_imq

Column = Callable[[int], np.ndarray]  # i -> k(x_j, x_i) for all j


def stein_thinning(score: Any, x: Any, m: int, *, kernel: Kernel | None = None) -> np.ndarray:
    """The rows of x, `m` of them, that stand best for a distribution known by its score.

    From the draws of a Markov chain, burn-in and bias included, the points that make the kernel Stein
    discrepancy to the target small, one after the other (Riabiz et al. 2022, algorithm 1):
    i_t = argmin_i k_p(x_i, x_i) / 2 + sum_{s < t} k_p(x_{i_s}, x_i). A row may be chosen more than
    once. O(n m) kernel values and O(n) memory; no draws from the target.

    Parameters
    ----------
    score : callable or array (n, d)
        x -> the gradients of log p at its rows, or these gradients at the rows of x.
    x : points
    m : int
        How many to choose; more than there are rows is fine.
    kernel : Kernel or None
        A smooth function of the distance. None: InverseMultiquadric at the median distance.

    Returns
    -------
    array (m,)
        Positions of the rows, in the order in which they were chosen: the first 10 are those of m = 10.

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
    moved = stein.move(points)
    own = to_numpy(stein.scored.diag(moved))
    column = columns_of(stein.scored, moved)
    return _greedy(own / 2, column, m)


def stein_points(
    score: Callable[[Any], Array],
    propose: Callable[[int, np.random.Generator], Any],
    m: int,
    *,
    kernel: Kernel | None = None,
    candidates: int = 1000,
    rng: Any = None,
) -> np.ndarray:
    """`m` points that stand for a distribution known by its score, none of which is given.

    Each is the best of new candidates, in the sense of `stein_thinning`: greedy Stein points by Monte
    Carlo search (Chen et al. 2018, section 4).

    Parameters
    ----------
    score : callable
        x -> the gradients of log p at its rows.
    propose : callable
        (n, rng) -> candidates (n, d), wherever the distribution may have mass.
    m : int
    kernel : Kernel or None
        None: InverseMultiquadric at the median distance of the first candidates.
    candidates : int
        How many are looked at for each point.
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
    chosen: np.ndarray | None = None
    while chosen is None or len(chosen) < m:
        found = validate.points(detached(propose(candidates, rng)), "propose(n, rng)")
        kernel, points = checked_points(kernel, to_numpy(found), median_imq)
        stein = Stein(kernel, score)
        stein.accept(points, "propose(n, rng)")
        value = to_numpy(stein.diag(points)) / 2
        if chosen is not None:
            value = value + to_numpy(Gram(stein, points, chosen).row_sums())
        best = points[[int(np.argmin(value))]]
        chosen = best if chosen is None else np.concatenate([chosen, best])
    return chosen


def kernel_herding(kernel: Kernel | None, x: Any, m: int, *, target: Any = None) -> np.ndarray:
    """The rows of x, `m` of them, whose mean embedding runs after that of a distribution.

    i_{t+1} = argmax_i mu(x_i) - sum_{s <= t} k(x_{i_s}, x_i) / (t + 1), with mu the mean embedding of
    the target (Chen, Welling & Smola 2010, eq. 8). Means of functions over the chosen rows come
    as close as those of many more random ones. O(n m) kernel values beside mu, O(n) memory.

    Parameters
    ----------
    kernel : Kernel or None
        None: that of `target` if it is an embedding, else RBF at the median distance of x.
    x : points
        What is chosen from.
    m : int
    target : distribution, sample, Embedding, Function or None
        What `mean_embedding` takes: exact where the kernel has a closed form for it, as RBF for a
        `Gaussian`. Or an embedding itself, such as one given x by `ConditionalEmbedding`. None: x
        itself.

    Returns
    -------
    array (m,)
        Positions of the rows in the order in which they were chosen; a row may come twice.

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
    column = columns_of(kernel, points)
    total, rows = np.zeros(len(mean), dtype=np.float64), np.empty(m, dtype=np.int64)
    for t in range(m):
        rows[t] = int(np.argmax((t + 1) * mean - total))
        total += column(int(rows[t]))
    return rows


# ---- private ------------------------------------------------------------------------------


def _embedded(kernel: Kernel, target: Any) -> Embedding | Function:
    """One function of the RKHS of the kernel."""
    if not isinstance(target, Embedding | Function):
        return mean_embedding(kernel, target)
    if target.kernel != kernel:
        raise ValueError(f"target must have the kernel {kernel!r}, got {target.kernel!r}")
    if isinstance(target, Function) and target.weights.ndim != 1:
        raise TypeError("target must be one function, not several: take target[j]")
    return target


def checked_points(
    kernel: Kernel | None, x: Any, default: Callable[[Points], Kernel]
) -> tuple[Kernel, Points]:
    """The kernel bound to columns, or the default one, and the checked points in float64."""
    if kernel is not None:
        validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0), or None")
    bound, points, _ = prepare(RBF(1.0) if kernel is None else kernel, x)
    points = detached(points)
    if hasattr(points, "dtype"):
        points = astype(points, double(points))
    return default(points) if kernel is None else bound, points


def columns_of(kernel: Kernel, points: Points) -> Column:
    """k(x_j, x_i) for all j, in float64."""

    def column(i: int) -> np.ndarray:
        values = to_numpy(kernel.pairwise(points, take_rows(points, slice(i, i + 1))))
        return values[:, 0].astype(np.float64, copy=False)

    return column


def _greedy(value: np.ndarray, column: Column, m: int) -> np.ndarray:
    """m rows, each where `value` and the columns of those before it add up to the least."""
    value, rows = np.array(value, dtype=np.float64), np.empty(m, dtype=np.int64)
    for t in range(m):
        rows[t] = int(np.argmin(value))
        value += column(int(rows[t]))
    return rows
