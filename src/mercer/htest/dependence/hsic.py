"""Independence test of two variables by the Hilbert-Schmidt independence criterion (HSIC)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mercer import validate
from mercer.htest.dependence.block_shift_evidence import has_block_shifts
from mercer.htest.dependence.dependence_result import (
    IndependenceResult,
    blind_kernel_notes,
    independence_result,
)
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.learn_kernel_pair import best_kernel_pair
from mercer.htest.dependence.streamed_hsic import StreamedHSIC
from mercer.htest.dependence.streamed_variables import streamed_variables
from mercer.htest.dependence.two_variable_test import PairTest
from mercer.htest.nulls import Null, Permutation
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import Variable
from mercer.row_streams import RowStream, streamed


@dataclass(frozen=True)
class HSIC(PairTest):
    """Independence test of two variables by the Hilbert-Schmidt independence criterion.

    HSIC = tr(KHLH) / n^2 (Gretton et al. 2005) is the squared norm of the cross-covariance operator:
    with characteristic kernels it is zero only under independence. With `Energy` kernels 4 HSIC is the
    squared distance covariance (Szekely et al. 2007; unbiased: the U-statistic of Szekely and
    Rizzo 2014), in O(n log n) for one-dimensional variables.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    unbiased : bool
        The U-statistic of Song et al. (2012, eq. 5), which may be negative.
    null : Permutation, Gamma, Spectrum or WildBootstrap
        Permutations are exact, and cost little more than the statistic: n of them, all circular
        shifts of one random order, come from one Fourier transform. WildBootstrap is for time series.
        Variables that are not in memory, and too large for it, are read part by part with permutations:
        circular shifts inside of blocks of a random order, which are exact too.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=200)
    >>> y = np.abs(x) + 0.5 * rng.normal(size=200)  # dependent, though not correlated
    >>> HSIC().test(x, y, rng=0).pvalue
    0.001
    >>> HSIC().test(x, rng.permutation(y), rng=0).rejects()
    False
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    unbiased: bool = field(default=False, kw_only=True)
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        validate.truth("unbiased", self.unbiased)
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    @classmethod
    def optimized(
        cls,
        x: Any,
        y: Any,
        *,
        kernels_x: Sequence[Kernel] | None = None,
        kernels_y: Sequence[Kernel] | None = None,
        null: Null | None = None,
    ) -> HSIC:
        """A test with the pair of kernels that has the most power on these observations.

        The pair whose HSIC is largest in standard deviations over all permutations, by exact moments. Hand the
        new test other observations than these, or its p-values are too small: half of the data for this, half for
        the test. `HSICAgg` compares kernels without splitting the data.

        Parameters
        ----------
        x, y : variables
        kernels_x, kernels_y : sequence of kernels or None
            None: Gaussian and Laplace kernels of five bandwidths each, which cover the scales of that variable.
        null : Null or None
            Null of the test; None: its default.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x = rng.uniform(size=400)
        >>> y = np.sin(30 * x) + 0.5 * rng.normal(size=400)  # finer than the median distance
        >>> HSIC.optimized(x[:200], y[:200]).test(x[200:], y[200:], rng=0).rejects()
        True
        """
        pair = best_kernel_pair(kernels_x, kernels_y, x, y)
        return cls(*pair) if null is None else cls(*pair, null=null)

    @property
    def reads_parts(self) -> bool:
        """Whether the null distribution is that of permutations without blocks of labels."""
        return has_block_shifts(self.null)

    def statistic(self, x: Any, y: Any) -> float:
        """HSIC of two variables."""
        streams = streamed(x, y)
        if streams is not None:
            return self._streamed_evidence(streams)[0].observed
        return HSICEvidence.of(*self._variables(x, y), self.unbiased).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value."""
        streams, rows = streamed(x, y) if self.reads_parts else None, None
        if streams is None:
            variables = self._variables(x, y)
            evidence = HSICEvidence.of(*variables, self.unbiased, self.null)
        else:
            evidence, variables = self._streamed_evidence(streams)
            rows = evidence.n
        judgement = self.null.judge(evidence, rng)
        notes = blind_kernel_notes([v.kernel for v in variables], [v.name for v in variables])
        return independence_result(self, variables, evidence.observed, judgement, notes, rows=rows)

    def _streamed_evidence(
        self, streams: tuple[RowStream, ...]
    ) -> tuple[StreamedHSIC, tuple[Variable, ...]]:
        """Evidence of variables that are read part by part, and a subsample of them."""
        both = streamed_variables((self.kernel_x, self.kernel_y), streams)
        return StreamedHSIC(both, self.unbiased), both.variables
