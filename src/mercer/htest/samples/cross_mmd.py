"""Two-sample test without permutations: half of the data gives the witness, the other half tests it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from mercer.backend import to_numpy
from mercer.gram import Gram
from mercer.htest.samples.linear_time_mmd import NormalTest, in_random_order
from mercer.htest.samples.pooled_sample import Pooled
from mercer.kernels.base import Kernel
from mercer.rkhs.sample_rows import taken


@dataclass(frozen=True)
class CrossMMD(NormalTest):
    """The permutation-free cross-MMD: quadratic in the data, and no resampling.

    Each sample is cut in half. The second halves give the witness function, mean_i k(x_i, .) -
    mean_j k(y_j, .), and the first halves are compared by their mean witness values, in units of
    the standard error: normal under the null hypothesis, in any dimension and for any kernel
    (Shekhar, Kim and Ramdas 2022). The statistic is the mean difference of the witness, an
    unbiased estimate of MMD^2; with few points its ratio to the error has the tails of Welch's t.
    As powerful as `MMD` with about 0.7 of the observations and a hundred times faster than 500
    permutations. Sizes may differ. Points are cut in random order, always the same.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance of the pooled sample; for data frames `default_kernel`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(700, 2)), rng.normal(0.3, 1.0, size=(500, 2))
    >>> CrossMMD().test(x, y).rejects()
    True
    """

    kernel: Kernel | None = None

    def _terms(self, pooled: Pooled) -> CrossMMDEvidence:
        return CrossMMDEvidence(pooled)


class CrossMMDEvidence:
    """Witness values of the first halves, by the witness of the second halves."""

    def __init__(self, pooled: Pooled) -> None:
        first, second = in_random_order(pooled)
        a, b = len(first) // 2, len(second) // 2
        test_rows = np.concatenate([first[:a], second[:b]])
        witness_rows = np.concatenate([first[a:], second[b:]])
        n, m = len(first) - a, len(second) - b
        contrast = np.repeat([1 / n, -1 / m], [n, m])
        points = pooled.points
        gram = Gram(pooled.kernel, taken(points, test_rows), taken(points, witness_rows))
        values = to_numpy(gram @ contrast).astype(np.float64)
        self.x, self.y = values[:a], values[a:]

    @property
    def mean(self) -> float:
        """The difference of the means."""
        return float(self.x.mean() - self.y.mean())

    def studentized(self) -> float:
        """The difference in units of its standard error."""
        error = sqrt(sum(self._errors))
        return self.mean / error if error > 0 else 0.0

    def error_degrees(self) -> float:
        """Welch's degrees of freedom."""
        (a, b), sizes = self._errors, (len(self.x), len(self.y))
        if a + b == 0:
            return 1.0
        return (a + b) ** 2 / (a**2 / (sizes[0] - 1) + b**2 / (sizes[1] - 1))

    @cached_property
    def _errors(self) -> tuple[float, float]:
        """Squared standard errors of the two means."""
        x, y = self.x, self.y
        return float(np.var(x, ddof=1)) / len(x), float(np.var(y, ddof=1)) / len(y)
