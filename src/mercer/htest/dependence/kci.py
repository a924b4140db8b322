"""Are two variables independent given a third? By the kernel conditional independence test."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from mercer.backend import count, to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram import Gram, LazyMatrix, cholesky
from mercer.htest.dependence.conditional_base import GivenTest
from mercer.htest.dependence.conditional_statistic import KernelEvidence, Residuals
from mercer.htest.dependence.observed_variables import Variable
from mercer.htest.dependence.ridge_smoother import Directions, smoother
from mercer.htest.nulls import Gamma, Null
from mercer.kernels import facts
from mercer.kernels.bandwidth import median_bandwidth
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import categories, product, varying
from mercer.kernels.prepare import as_table, bound_to
from mercer.kernels.radial import RBF

_SCALES = (0.5, 1.0, 2.0, 4.0)  # of the median distance of z, tried in regressions
_EXACT = 1e-6  # of the trace, below which the rest of a factor is left out
_COPIES = 6  # of a factor, at the same time


@dataclass(frozen=True)
class KCI(GivenTest):
    """Are x and y independent given z? By the kernel conditional independence test.

    Features of x and of y are regressed on z, and the residuals compared by

        T = mean_ij k_z(z_i, z_j) <e_x(i), e_x(j)> <e_y(i), e_y(j)>,

    the statistic of Zhang et al. (2011) with the kernel on (x, z) as in Pogodin et al. (2022): k_z
    weighs after the regression, which so is of x alone. It sees dependence that has
    different signs at different z.

    What regressions on z leave undone looks like dependence, and is the reason why conditional tests
    reject too often. Here the kernel and the ridge are chosen for x and for y by generalised
    cross-validation and then lowered until prediction suffers (`slack`); the null distribution
    knows how many degrees of freedom this has cost. The level then holds for smooth regressions
    with z in a few dimensions; no test holds it for all of them (Shah and Peters 2020). What z
    explains with noise in high dimensions, or not smoothly, needs more data.

    Time and memory are of order n^2 at most, and no n x n matrix is made where z and y are in
    few dimensions. `RCoT` is linear.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    kernel_z : Kernel or None
        The kernel of the regressions and of k_z. None: in regressions whatever predicts best of 1/2, 1, 2
        and 4 times the bandwidth of the default kernel.
    slack : float
        How much larger than the smallest the cross-validation error of the regressions may be, for less
        bias. 0 is best for prediction, and lets the test reject too often.
    null : Gamma, Spectrum, WeightedChi2 or WildBootstrap
        Of the limit sum_i l_i z_i^2, l the eigenvalues of a Hadamard product of residual Gram
        matrices: by its first three moments, by draws, by its formula, or by random signs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(300, 2))
    >>> x = np.tanh(z[:, 0] + 0.5 * rng.normal(size=300))
    >>> y = (z[:, 0] + z[:, 1] + 0.5 * rng.normal(size=300)) ** 3
    >>> KCI().test(x, y, z).rejects()
    False
    >>> KCI().test(x, y + 5 * x, z).rejects()
    True
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    kernel_z: Kernel | None = None
    slack: float = field(default=0.2, kw_only=True)
    null: Null = field(default=Gamma(), kw_only=True)

    def _evidence(
        self, found: tuple[Variable, ...], z: Any, rng: np.random.Generator
    ) -> KernelEvidence:
        x, y, given = found
        kernels = (given.kernel,) if self.kernel_z is not None else _widths(given, z)
        among = [Directions.of(_definite(kernel, given.points)) for kernel in kernels]
        left = [Residuals.of(f, smoother(among, f, self.slack)) for f in map(_features, (x, y))]
        return KernelEvidence(left[0], left[1], _definite(given.kernel, given.points))


def _definite(kernel: Kernel, points: Points) -> LazyMatrix:
    """The Gram matrix, centred where only that is sure to be positive semi-definite."""
    gram = Gram(kernel, points)
    return gram if facts(kernel).positive_definite else gram.centered()


def _features(variable: Variable) -> np.ndarray:
    """Columns A with K = AA' up to a millionth of the trace: (n, r)."""
    matrix, n = _definite(variable.kernel, variable.points), count(variable.points)
    most = settings().memory // (8 * n * _COPIES)
    found = cholesky(matrix, tolerance=_EXACT, most=max(min(most, n), 1))
    if most < n and found.residual > 2 * _EXACT * matrix.trace():
        raise MemoryBudgetError(
            f"the kernel of {variable.name} needs more than {most:,} columns for {n:,} observations, "
            f"and the budget is {settings().memory / 2**20:,.0f} MiB: use RCoT(), which needs few, or "
            "raise it by mercer.config(memory=...)"
        )
    return to_numpy(found.columns).astype(np.float64)


def _widths(given: Variable, z: Any) -> list[Kernel]:
    """The default kernel on z, narrower and wider."""
    frame = as_table(z, given.name)
    if frame is None:
        middle = cast(RBF, given.kernel).bandwidth  # at the median distance
        return [RBF(scale * middle) for scale in _SCALES]
    numbers, kernels = varying(frame), []
    for scale in _SCALES:
        factors = categories(frame, scale)
        if numbers is not None:
            own = RBF(scale * median_bandwidth(numbers.values))
            factors = [numbers.kernel(own), *factors]
        kernels.append(bound_to(product(factors), given.columns, given.name))
    return kernels
