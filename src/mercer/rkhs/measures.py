"""Estimates of MMD and HSIC without p-values, and the witness function."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, astype, count, double, is_numpy, namespace, scalar
from mercer.frames import Columns
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import prepare, read
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.centred_grams import centred_pair
from mercer.rkhs.function import Function
from mercer.rkhs.sample_rows import joined, recentred


def mmd2(kernel: Kernel | None, x: Any, y: Any, *, unbiased: bool = True) -> float:
    """Squared maximum mean discrepancy of two samples, E k(X, X') + E k(Y, Y') - 2 E k(X, Y).

    The squared RKHS distance of the mean embeddings (Gretton et al. 2012, lemma 6). For a
    characteristic kernel it is zero only if the distributions are equal.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample.
    x, y : points
        Two samples, not necessarily of the same size.
    unbiased : bool
        True: the U-statistic, without pairs i = j, which may be negative. False: the V-statistic, the
        squared norm of the `witness`, never negative, with a bias of O(1/n).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(300, 2)), rng.normal(0.5, 1.0, size=(200, 2))
    >>> mmd2(RBF(1.0), x, y)
    0.0419
    >>> abs(mmd2(RBF(1.0), x[:150], x[150:])) < 0.01
    True
    """
    kernel, x, y = _samples(kernel, x, y)
    for name, sample in (("x", x), ("y", y)):
        _need(name, sample, 2 if unbiased else 1, "mmd2(unbiased=True)")
    n, m = count(x), count(y)
    x, y = recentred(kernel, x, y)
    within = _mean(Gram(kernel, x), unbiased) + _mean(Gram(kernel, y), unbiased)
    value = within - 2 * Gram(kernel, x, y).sum() / (n * m)
    return value if unbiased else max(value, 0.0)


def hsic(
    kernel_x: Kernel | None, kernel_y: Kernel | None, x: Any, y: Any, *, unbiased: bool = False
) -> float:
    """Hilbert-Schmidt independence criterion of paired samples of two variables.

    The squared Hilbert-Schmidt norm of their cross-covariance operator. For characteristic
    kernels it is zero only if the variables are independent.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable.
    x, y : points
        Paired samples of the same size.
    unbiased : bool
        False: the V-statistic tr(KHLH) / n^2 (Gretton et al. 2005), never negative, with a bias of
        O(1/n). True: the U-statistic of Song et al. (2012, eq. 5), which may be negative; needs n >= 4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> y = x**2 + 0.3 * rng.normal(size=300)
    >>> hsic(RBF(1.0), RBF(1.0), x, y)  # dependent, though not correlated
    0.0235
    >>> hsic(RBF(1.0), RBF(1.0), x, rng.permutation(y))
    0.0006
    """
    # Centring one matrix would suffice; centring both keeps the products small and accurate.
    least, what = 4 if unbiased else 1, "hsic(unbiased=True)"
    n, centred_x, centred_y = centred_pair((kernel_x, kernel_y), (x, y), least, what)
    product = centred_x.inner(centred_y)  # tr(KHLH)
    if not unbiased:
        return max(product / n**2, 0.0)
    return without_diagonals(product, centred_x.diagonal(), centred_y.diagonal())


def without_diagonals(product: float, a: Array, b: Array) -> float:
    """Unbiased HSIC from tr(KHLH) and the diagonals of HKH and HLH (Song et al. 2012, eq. 5).

    Song et al. use K and L with zero diagonals. Their statistic does not change if f_i + f_j is added
    off the diagonal, so HKH and HLH may be used instead; as the rows of these add up to zero, all sums
    off the diagonal follow from the diagonals a and b.
    """
    n = a.shape[0]
    if is_numpy(a) and is_numpy(b) and a.dtype == b.dtype == np.float64:
        return unbiased_hsic(product, float(a @ b), float(a.sum()) * float(b.sum()), n)
    a, b = astype(a, double(a)), astype(b, double(b))
    xp = namespace(a, b)
    diagonals, traces = scalar(xp.sum(a * b)), scalar(xp.sum(a)) * scalar(xp.sum(b))
    return unbiased_hsic(product, diagonals, traces, n)


def unbiased_hsic(product: Any, diagonals: Any, traces: Any, n: int) -> Any:
    """Unbiased HSIC from tr(KHLH), `diagonals` = sum_i a_i b_i and `traces` = sum_i a_i sum_j b_j."""
    return (product - diagonals * n / (n - 2) + traces / ((n - 1) * (n - 2))) / (n * (n - 3))


def witness(kernel: Kernel | None, x: Any, y: Any) -> Function:
    """Witness function mean_i k(x_i, .) - mean_j k(y_j, .), large where x has more mass.

    The difference of the mean embeddings, not normalised: the biased `mmd2` is its squared norm and
    also its mean over x minus its mean over y. The function of norm one that attains the supremum in
    the definition of the MMD is ``w / w.norm()``.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample.
    x, y : points

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> w = witness(RBF(0.5), [0.0, 0.2], [1.0, 1.1, 1.2])
    >>> (w([0.1, 1.1]) > 0).tolist()
    [True, False]
    >>> abs(w.norm2() - mmd2(RBF(0.5), [0.0, 0.2], [1.0, 1.1, 1.2], unbiased=False)) < 1e-12
    True
    """
    kernel = _samples(None, x, y)[0] if kernel is None else kernel
    first = _embedding(kernel, x, "x")
    second = _embedding(kernel, y, "y", first.columns)
    validate.same_library(first.points, second.points)
    return first - second


def _embedding(kernel: Kernel, x: Any, name: str, columns: Columns | None = None) -> Function:
    """Mean embedding of a sample, with its columns in the order of `columns`."""
    points, columns = read(kernel, x, columns, name)
    n = count(points)
    return Function(kernel, points, np.full(n, 1 / n, np.float64), columns)


def _samples(kernel: Kernel | None, x: Any, y: Any) -> tuple[Kernel, Points, Points]:
    """Kernel bound to the columns, or the default one, and two checked samples."""
    if kernel is not None:
        kernel, x, y = prepare(kernel, x, y)
        return kernel, x, y
    _, x, y = prepare(VECTOR_KERNEL, x, y)
    return median_rbf(joined(x, y)), x, y


def _mean(gram: Gram, unbiased: bool) -> float:
    """Mean of k(x_i, x_j) over all pairs, or over those with i != j."""
    n = gram.shape[0]
    return (gram.sum() - gram.trace()) / (n * (n - 1)) if unbiased else gram.sum() / n**2


def _need(name: str, x: Points, least: int, what: str) -> None:
    if count(x) < least:
        raise ValueError(f"{what} needs at least {least} points in {name}, got {count(x)}")
