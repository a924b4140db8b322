"""CrossHSIC: a permutation-free independence test by sample splitting."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from mercer.backend import count, namespace, scalar, to_numpy
from mercer.gram import Gram, LazyMatrix
from mercer.gram.lazy import Centered, Transposed
from mercer.htest.dependence.two_variable_test import NormalPairTest, in_random_order
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import Variable
from mercer.rkhs.sample_rows import taken


@dataclass(frozen=True)
class CrossHSIC(NormalPairTest):
    """The permutation-free cross-HSIC test: quadratic time, no resampling.

    The observations are split in half. The statistic is the inner product of the cross-covariance
    operators of the two halves, an unbiased estimate of HSIC. Given the second half it is a mean
    over the first, and the studentised mean is asymptotically normal under independence, in any
    dimension and for any kernels (Shekhar, Kim and Ramdas 2023). The power is about that of `HSIC`
    with 0.7 of the observations. The split is random with a fixed seed.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(600, 2))
    >>> CrossHSIC().test(x, x**2 + rng.normal(size=(600, 2))).rejects()
    True
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None

    def _terms(self, x: Variable, y: Variable) -> CrossHSICTerms:
        order = in_random_order(count(x.points))
        half = len(order) // 2
        gram_x, gram_y = (_centred_cross_gram(v, order[:half], order[half:]) for v in (x, y))
        sums = to_numpy((gram_x * gram_y).row_sums()).astype(np.float64)
        return CrossHSICTerms(sums / (len(order) - half - 1))


class CrossHSICTerms:
    """g_i = <(k(x_i, .) - mean) (l(y_i, .) - mean), C> for the first half, C the operator of the second."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    @property
    def mean(self) -> float:
        """<C', C> with C' the operator of the first half, unbiased."""
        return float(self.values.sum()) / (len(self.values) - 1)

    def studentized(self) -> float:
        """The mean in units of its standard error, that of a U-statistic of degree two.

        The first projections are (g_i + mean) n / (2n - 2), and the jackknife estimate of the variance is
        4 (n - 1) / (n (n - 2)^2) times the sum of their squared deviations.
        """
        n, deviation = len(self.values), float(np.std(self.values, ddof=1))
        error = deviation * n / ((n - 2) * sqrt(n))
        return self.mean / error if error > 0 else 0.0

    def error_degrees(self) -> int:
        """Degrees of freedom of the standard error."""
        return len(self.values) - 1


def _centred_cross_gram(variable: Variable, first: np.ndarray, second: np.ndarray) -> LazyMatrix:
    """The Gram matrix of the first rows with the second, with rows and columns centred."""
    a, b = (taken(variable.points, rows) for rows in (first, second))
    gram = Gram(variable.kernel, a, b)
    rows = gram.row_sums() / len(second)
    columns = Transposed(gram).row_sums() / len(first)
    return Centered(gram, rows, columns, scalar(namespace(rows).mean(rows)))
