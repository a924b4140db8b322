"""Energy distance test of two samples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import kernels, validate
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Null, Permutation
from mercer.htest.samples.mmd_statistic import QuadraticEvidence
from mercer.htest.samples.partitioned_mmd import PartitionedEvidence
from mercer.htest.samples.pooled_sample import Pooled, in_own_units, pool
from mercer.htest.samples.streamed_kernels import OwnUnits
from mercer.htest.samples.streamed_samples import streamed_samples
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.rkhs.distance_covariance_1d import energy_of_numbers
from mercer.row_streams import RowStream, streamed

_UNITS = "Columns were divided by their standard deviations, so that distances do not mix units."


@dataclass(frozen=True)
class Energy(HypothesisTest):
    """Two-sample test by the energy distance 2 E|X - Y|^p - E|X - X'|^p - E|Y - Y'|^p of two samples.

    Twice the squared maximum mean discrepancy with `kernels.Energy(p)`, pairs i = j included, so
    it is never negative (Szekely and Rizzo 2004; Sejdinovic et al. 2013). Zero for 0 < p < 2 only
    when the distributions are the same; no bandwidth to choose. Sees differences of location and
    scale well and those on small scales poorly; E|X|^p must be finite. The columns of data frames
    are divided by their standard deviations, since a distance of different units means nothing;
    those of arrays are taken to have one unit.

    Parameters
    ----------
    power : float
        The p, between 0 and 2; smaller values for heavier tails. 2 sees means only.
    null : Permutation, Gamma or Spectrum

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(80, 2)), rng.normal(0.8, 1.0, size=(60, 2))
    >>> Energy().test(x, y, rng=0).rejects()
    True
    """

    power: float = 1.0
    null: Null = field(default=Permutation(999), kw_only=True)

    def __post_init__(self) -> None:
        kernels.Energy(self.power)  # refuses what is not a power
        validate.instance("null", self.null, Null, "a null, such as Permutation(999)")

    @property
    def reads_parts(self) -> bool:
        """Whether the null distribution is that of permutations."""
        return isinstance(self.null, Permutation)

    def statistic(self, x: Any, y: Any) -> float:
        """The energy distance."""
        if self.power == 1 and _is_column(x) and _is_column(y):
            numbers = np.concatenate((x.ravel(), y.ravel()))
            if not validate.squares_are_small(numbers):
                for sample, name in ((x, "x"), (y, "y")):
                    validate.points(sample, name)
            return energy_of_numbers(numbers, len(x))
        streams = streamed(x, y)
        if streams is not None:
            return self._in_parts(streams)[1].observed
        return self._evidence(x, y).observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The energy distance and its p-value."""
        streams = streamed(x, y) if self.reads_parts else None
        if streams is not None:
            pooled, parted = self._in_parts(streams)
            observed, rows = parted.observed, parted.sizes
            judgement = self.null.judge(parted, rng)
        else:
            evidence = self._evidence(x, y, self.null)
            judgement = self.null.judge(evidence, rng)
            pooled, observed, rows = evidence.pooled, evidence.observed, None
        mixed = pooled.columns is not None and len(pooled.columns.names) > 1
        notes = (_UNITS,) if mixed else ()
        return two_sample_result(self, pooled, observed, judgement, notes, rows=rows)

    def _evidence(self, x: Any, y: Any, null: Null | None = None) -> QuadraticEvidence:
        kernel = in_own_units(kernels.Energy(self.power), x, y, paired=self.null.paired)
        return QuadraticEvidence(pool(kernel, x, y), unbiased=False, scale=2.0, null=null)

    def _in_parts(self, streams: tuple[RowStream, ...]) -> tuple[Pooled, PartitionedEvidence]:
        """The evidence of samples that are read part by part, and a subsample."""
        samples = streamed_samples(OwnUnits(kernels.Energy(self.power)), streams)
        return samples.pooled, PartitionedEvidence(samples, unbiased=False, scale=2.0)


def _is_column(x: Any) -> bool:
    """Whether a sample is an array of at least two float64 numbers, of no subclass."""
    plain = type(x) is np.ndarray and x.dtype == np.float64 and x.ndim > 0 and len(x) > 1
    return plain and (x.ndim == 1 or x.shape[1:] == (1,))
