"""Measures of dependence without p-values: dHSIC, COCO, KCCA, NOCCO and CKA."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import reduce
from math import sqrt
from operator import mul
from typing import Any

from mercer import validate
from mercer.backend import namespace, scalar
from mercer.gram import Gram, LazyMatrix
from mercer.kernels.base import Kernel
from mercer.rkhs.centred_grams import CentredGram, centred_pair
from mercer.rkhs.kernel_information import NormPenalty, Regularization, check_ridge
from mercer.rkhs.measures import hsic, without_diagonals
from mercer.rkhs.paired_samples import paired_points
from mercer.rkhs.regularized_gram import (
    largest_covariance,
    shrinkage_change,
    shrinkages,
    trace_of_product,
)
from mercer.rkhs.sample_rows import recentred

_NORM_PENALTY = NormPenalty()
_MAX_SILENT_ERROR = 1e-6  # bound on the error of a measure up to which there is no warning


def dhsic(kernels: Sequence[Kernel | None] | None, samples: Sequence[Any]) -> float:
    """d-variable HSIC, a measure of joint dependence: |mu_joint - mu_1 x ... x mu_M|^2.

    The squared distance, in the RKHS of the product kernel, between the embeddings of the joint
    distribution and of the product of its marginals; for two variables it is the biased `hsic`. The
    V-statistic of Pfister et al. (2018, section 2),

        mean_ij prod_k K^k_ij + prod_k mean_ij K^k_ij - 2 mean_i prod_k mean_j K^k_ij,

    is never negative and has a bias of O(1/n). For bounded continuous shift-invariant characteristic
    kernels the limit is zero only under joint independence; for three or more variables,
    characteristic kernels alone do not suffice (Szabo and Sriperumbudur 2018).

    Parameters
    ----------
    kernels : sequence of kernels or None, one for each variable; or None
        None: RBF at the median distance of that variable.
    samples : sequence of points
        Samples of the variables, with the same number of points; messages call them x1, x2, ...

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.choice([-1.0, 1.0], size=(2, 300))
    >>> c = a * b  # independent in pairs, but not jointly
    >>> dhsic(None, (a, b, c)) > 20 * dhsic(None, (a, b, rng.permutation(c)))
    True
    """
    kernels, names = matched(kernels, samples)
    if len(samples) == 2:
        x, y = paired_points(kernels, samples, names)
        return hsic(x[0], y[0], x[1], y[1])
    return product_distance([Gram(k, x) for k, x in paired_points(kernels, samples, names)])


def coco(kernel_x: Kernel | None, kernel_y: Kernel | None, x: Any, y: Any) -> float:
    """Constrained covariance: the largest Cov(f(x), g(y)) over functions of norm at most one.

    The largest singular value of the cross-covariance operator, (1/n) sqrt of the largest
    eigenvalue of K~L~ (Gretton et al. 2005). The squares of all singular values add up to `hsic`.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable.
    x, y : points
        Paired samples of the same size.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=300)
    >>> coco(None, None, x, x**2)
    0.166...
    """
    grams = _grams(kernel_x, kernel_y, x, y, 2, "coco")
    return largest_covariance(*grams, "coco") / grams[0].shape[0]


def kcca(
    kernel_x: Kernel | None,
    kernel_y: Kernel | None,
    x: Any,
    y: Any,
    *,
    ridge: float,
    regularization: Regularization = _NORM_PENALTY,
) -> float:
    """Largest regularised kernel canonical correlation of two variables.

    max Cov(f, g) / sqrt((Var f + ridge |f|^2) (Var g + ridge |g|^2)) over the RKHSs of the two kernels,
    between 0 and 1 (Bach and Jordan 2002; in the form of Fukumizu, Bach and Gretton 2007). Without a
    ridge it would be 1 for any data, because functions of a rich RKHS interpolate them.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable.
    x, y : points
        Paired samples of the same size.
    ridge : float
        Ridge of the averaged loss: K~ + n ridge I replaces K~.
    regularization : NormPenalty or SquaredShift
        `SquaredShift()` has the matrices (K~ + n ridge I)^2 in the denominator, as Bach and Jordan have.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> kcca(None, None, x, x**2, ridge=0.01) > 0.9
    True
    >>> kcca(None, None, x, rng.normal(size=300), ridge=0.01) < 0.3
    True
    """
    check_ridge(ridge, regularization)
    grams = _grams(kernel_x, kernel_y, x, y, 2, "kcca")
    first, second = shrinkages(*grams, ridge, "kcca", formed=False)
    value = min(regularization._largest(first, second), 1.0)
    changes = [shrinkage_change(operator.residual, first.n * ridge) for operator in (first, second)]
    _warn_of_residuals("kcca", first.n, regularization._bound(value, changes))
    return value


def nocco(
    kernel_x: Kernel | None, kernel_y: Kernel | None, x: Any, y: Any, *, ridge: float
) -> float:
    """Squared Hilbert-Schmidt norm of the normalised cross-covariance operator, tr(R_x R_y).

    R = K~ (K~ + n ridge I)^-1. For characteristic kernels, as n grows and the ridge tends to 0 slowly
    enough, it converges to the mean square contingency of the two variables, which does not depend on
    the kernels (Fukumizu et al. 2008). It is the sum of the squared canonical correlations, of which
    `kcca` is the largest.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable.
    x, y : points
        Paired samples of the same size.
    ridge : float
        Ridge of the averaged loss, as in `kcca`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> dependent = nocco(None, None, x, x**2, ridge=0.01)
    >>> dependent > 5 * nocco(None, None, x, rng.normal(size=300), ridge=0.01)
    True
    """
    validate.positive("ridge", ridge)
    grams = _grams(kernel_x, kernel_y, x, y, 2, "nocco")
    first, second = shrinkages(*grams, ridge, "nocco", formed=True)
    # tr(R) grows by tr(E) / c at most, and both R are at most 1
    _warn_of_residuals("nocco", first.n, (first.residual + second.residual) / (first.n * ridge))
    return trace_of_product(first, second)


def cka(
    kernel_x: Kernel | None, kernel_y: Kernel | None, x: Any, y: Any, *, unbiased: bool = False
) -> float:
    """Centred kernel alignment, HSIC(x, y) / sqrt(HSIC(x, x) HSIC(y, y)).

    The cosine of the angle between the two centred Gram matrices (Cortes et al. 2012), which is 1 if
    they are multiples of each other. With `Linear` kernels it compares representations (Kornblith et
    al. 2019); with `Energy` kernels it is the squared distance correlation. It is 0 if a variable is
    constant to its kernel.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable.
    x, y : points
        Paired samples of the same size.
    unbiased : bool
        False: with the biased `hsic`, from 0 to 1, and close to 1 if there are more columns than
        points. True: with the unbiased one (Song et al. 2012, eq. 5), from -1 to 1, around 0 under
        independence; needs n >= 4.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Linear
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 100, 400))
    >>> cka(Linear(), Linear(), x, y), cka(Linear(), Linear(), x, y, unbiased=True)
    (0.80..., 0.00...)
    """
    least = 4 if unbiased else 2
    _, gram_x, gram_y = centred_pair((kernel_x, kernel_y), (x, y), least, "cka")
    cross, norm2_x, norm2_y = (
        _aligned(a, b, unbiased) for a, b in ((gram_x, gram_y), (gram_x, gram_x), (gram_y, gram_y))
    )
    norms = sqrt(max(norm2_x, 0.0)) * sqrt(max(norm2_y, 0.0))
    if norms <= 0:
        return 0.0
    return min(max(cross / norms, -1.0 if unbiased else 0.0), 1.0)


# ---- shared with the tests of joint independence ----------------------------------------------


def matched(
    kernels: Sequence[Kernel | None] | None, samples: Sequence[Any]
) -> tuple[tuple[Kernel | None, ...], tuple[str, ...]]:
    """A kernel or None for each of several variables, and the names x1, x2, ... for messages."""
    names = tuple(f"x{i}" for i in range(1, len(samples) + 1))
    if len(samples) < 2:
        raise ValueError(
            f"joint independence needs at least 2 variables, got {len(samples)}: pass each of them, as in (x, y, z); the "
            "columns of a data frame are *(frame[name] for name in frame)"
        )
    if kernels is None:
        return (None,) * len(samples), names
    checked = several(kernels)
    if len(checked) != len(samples):
        raise ValueError(
            f"kernels must have one entry per variable, {len(samples)}, got {len(checked)}"
        )
    return checked, names


def several(kernels: Any) -> tuple[Kernel | None, ...]:
    """Checked tuple of kernels or None."""
    if isinstance(kernels, str) or not isinstance(kernels, Sequence):
        raise TypeError(
            f"kernels must be a sequence with a kernel or None for each variable, got {validate.shown(kernels)}"
        )
    for i, kernel in enumerate(kernels):
        if kernel is not None:
            validate.instance(
                f"kernels[{i}]", kernel, Kernel, "a kernel, such as RBF(1.0), or None"
            )
    return tuple(kernels)


def product_distance(grams: Sequence[LazyMatrix]) -> float:
    """V-statistic of `dhsic` from Gram matrices, by one pass over each and one over their product."""
    n = grams[0].shape[0]
    xp = namespace(grams[0].like)
    joint = reduce(mul, grams).sum() / n**2
    means = [gram.row_sums() / n for gram in grams]
    marginals = reduce(mul, (scalar(xp.mean(m)) for m in means))
    cross = scalar(xp.mean(reduce(mul, means)))
    return max(joint + marginals - 2 * cross, 0.0)


# ---- private ------------------------------------------------------------------------------


def _grams(
    kernel_x: Kernel | None, kernel_y: Kernel | None, x: Any, y: Any, least: int, what: str
) -> tuple[LazyMatrix, LazyMatrix]:
    """Lazy Gram matrices K and L of both variables; to centre a low-rank factor needs no row sums."""
    gram_x, gram_y = (
        Gram(kernel, *recentred(kernel, points))
        for kernel, points in paired_points((kernel_x, kernel_y), (x, y), least=least, what=what)
    )
    return gram_x, gram_y


def _warn_of_residuals(what: str, n: int, bound: float) -> None:
    """Say that factors were cut short, and how far the value may be below that of whole factors."""
    if bound > _MAX_SILENT_ERROR:
        warnings.warn(
            f"{what} of {n:,} points used leading columns of Cholesky factors, because dense matrices do "
            f"not fit the memory budget: the value is below the exact one by at most {bound:.2g}. Raise "
            "mercer.config(memory=...) for more columns",
            stacklevel=3,
        )


def _aligned(a: CentredGram, b: CentredGram, unbiased: bool) -> float:
    """tr(K~L~) or the unbiased HSIC, which are HSIC up to a factor that cancels in `cka`."""
    product = a.inner(b)
    return without_diagonals(product, a.diagonal(), b.diagonal()) if unbiased else product
