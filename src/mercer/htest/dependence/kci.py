"""Kernel conditional independence test (KCI): are two variables independent given a third?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from mercer.backend import Array, astype, count, double
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram import Gram, LazyMatrix, cholesky
from mercer.htest.dependence.conditional_base import ConditionalTest
from mercer.htest.dependence.conditional_statistic import KernelEvidence
from mercer.htest.dependence.regression_targets import FeatureTargets, GramTargets, Residuals
from mercer.htest.dependence.ridge_smoother import KernelDirections, smoother
from mercer.htest.nulls import Gamma, Null
from mercer.kernels import facts
from mercer.kernels.bandwidth import median_bandwidth
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import categories, product, varying
from mercer.kernels.prepare import as_table, bound_to
from mercer.kernels.radial import RBF
from mercer.rkhs.paired_samples import Variable
from mercer.rkhs.sample_rows import taken

_BANDWIDTH_FACTORS = (0.5, 1.0, 2.0, 4.0)  # of the median distance of z, candidates for regressions
_FACTOR_TOLERANCE = 1e-6  # share of the trace that the features of a variable may miss
_FACTOR_COPIES = 6  # of a factor in memory at the same time
_GRAM_COPIES = 5  # of a Gram matrix: residuals of x and y, the matrix of z, and temporaries
_MIN_ROWS_FOR_GRAM = 1000  # with fewer, features of any number take less than a second
_ROWS_PER_PROBED_ROW = 8  # of the subsample whose rank tells whether features are worth a try
_ROWS_PER_FEATURE = 3  # with more features than that, products with the Gram matrix cost less


@dataclass(frozen=True)
class KCI(ConditionalTest):
    """Kernel conditional independence test (KCI): are x and y independent given z?

    Features of x and of y are regressed on z, and the residuals e_x and e_y compared by

        T = mean_ij k_z(z_i, z_j) <e_x(i), e_x(j)> <e_y(i), e_y(j)>,

    the statistic of Zhang et al. (2011) with the kernel on (x, z) as in Pogodin et al. (2022): x alone is
    regressed on z; k_z then weights the residuals. The test detects dependence whose sign changes
    with z.

    Bias of the regressions on z looks like dependence, and is the reason why conditional tests
    reject too often. Here the kernel and the ridge are chosen for x and for y by generalised
    cross-validation, and the ridge is then lowered until prediction suffers (`slack`); the null
    distribution accounts for the degrees of freedom this costs. The level then holds for smooth
    regressions with z in a few dimensions; no test holds it for all of them (Shah and Peters 2020).
    Regressions that are not smooth, or on z in high dimension, need more data.

    Time and memory are O(n^2) at most, and no n x n matrix is formed where z and y are in few
    dimensions. `RCoT` takes linear time.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    kernel_z : Kernel or None
        The kernel of the regressions and k_z. None: the default kernel, in regressions with the
        best of 1/2, 1, 2 and 4 times its bandwidth.
    slack : float
        The share by which the cross-validation error of the regressions may exceed its minimum, for less
        bias. 0 predicts best, and lets the test reject too often.
    null : Gamma, Spectrum, WeightedChi2 or WildBootstrap
        Approximation of the limit sum_i l_i z_i^2, l the eigenvalues of a Hadamard product of residual
        Gram matrices: by three moments, by draws, by its exact distribution, or by random signs.

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
        self, variables: tuple[Variable, ...], z: Any, rng: np.random.Generator
    ) -> KernelEvidence:
        x, y, conditioning = variables
        kernels = [conditioning.kernel]
        if self.kernel_z is None:
            kernels = _candidate_kernels(conditioning, z)
        candidates = [
            KernelDirections.of(_definite(kernel, conditioning.points)) for kernel in kernels
        ]
        residuals_x, residuals_y = (_residuals(v, candidates, self.slack) for v in (x, y))
        return KernelEvidence(
            residuals_x, residuals_y, _definite(conditioning.kernel, conditioning.points)
        )


def _residuals(
    variable: Variable, candidates: Sequence[KernelDirections], slack: float
) -> Residuals:
    """The residuals of a variable after regression on the best of several kernels of z."""
    targets = _targets(variable)
    return targets.residuals(smoother(candidates, targets, slack))


def _definite(kernel: Kernel, points: Points) -> LazyMatrix:
    """The Gram matrix, centred unless the kernel is known to be positive definite."""
    gram = Gram(kernel, points)
    return gram if facts(kernel).positive_definite else gram.centered()


def _targets(variable: Variable) -> FeatureTargets | GramTargets:
    """Features A with K = AA' up to a millionth of the trace; or K, where A would be nearly as large."""
    kernel, points, n = variable.kernel, variable.points, count(variable.points)
    matrix, affordable = _definite(kernel, points), settings().memory // (8 * n * _FACTOR_COPIES)
    if n < _MIN_ROWS_FOR_GRAM or _GRAM_COPIES * 8 * n**2 > settings().memory:
        features = _features(matrix, min(affordable, n))
        if features is None:
            raise MemoryBudgetError(
                f"the kernel of {variable.name} needs more than {affordable:,} columns for {n:,} "
                f"observations, and the budget is {settings().memory / 2**20:,.0f} MiB: use RCoT(), "
                "which needs few, or raise it by mercer.config(memory=...)"
            )
        return FeatureTargets(features)
    probe = _definite(kernel, taken(points, np.arange(0, n, _ROWS_PER_PROBED_ROW)))
    features = None
    if _features(probe, 3 * probe.shape[0] // 4) is not None:
        features = _features(matrix, min(affordable, n // _ROWS_PER_FEATURE))
    return GramTargets(matrix.dense()) if features is None else FeatureTargets(features)


def _features(matrix: LazyMatrix, most: int) -> Array | None:
    """Columns A with K = AA' up to a millionth of the trace: (n, r); None if r exceeds `most`."""
    factor = cholesky(matrix, tolerance=_FACTOR_TOLERANCE, most=max(most, 1))
    n, remaining = matrix.shape[0], factor.residual
    if most < n and remaining > 2 * _FACTOR_TOLERANCE * matrix.trace():
        return None
    return astype(factor.columns, double(factor.columns))


def _candidate_kernels(given: Variable, z: Any) -> list[Kernel]:
    """The default kernel on z with several bandwidths."""
    frame = as_table(z, given.name)
    if frame is None:
        median = cast(RBF, given.kernel).bandwidth
        return [RBF(scale * median) for scale in _BANDWIDTH_FACTORS]
    numbers, kernels = varying(frame), []
    for scale in _BANDWIDTH_FACTORS:
        factors = categories(frame, scale)
        if numbers is not None:
            on_numbers = RBF(scale * median_bandwidth(numbers.values))
            factors = [numbers.kernel(on_numbers), *factors]
        kernels.append(bound_to(product(factors, frame.columns.names), given.columns, given.name))
    return kernels
