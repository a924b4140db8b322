"""Goodness-of-fit test by the kernel Stein discrepancy in linear time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.htest.goodness.goodness_result import GoodnessResult, goodness_result
from mercer.htest.goodness.score_models import model_of
from mercer.htest.goodness.stein_sample import MIN_OBSERVATIONS, SteinSample, sample_of
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.mean_statistic import SkewedTerms
from mercer.htest.nulls import Normal
from mercer.kernels.base import Kernel
from mercer.kernels.stein import Stein
from mercer.rkhs.sample_rows import taken

_OBSERVATIONS_FOR_NORMAL = 100  # the normal approximation holds; below, results have a note
_PAIRING_SEED = 0  # observations are paired at random, because data may be sorted
_PAIRS_FOR_SKEWNESS = 5000  # at least; a third moment needs many
_MAX_PAIRS_IN_MEMORY = 100_000


@dataclass(frozen=True)
class LinearKSD(HypothesisTest):
    """Goodness-of-fit test by the kernel Stein discrepancy in linear time, with a normal null.

    The statistic is the mean of the `Stein` kernel over disjoint pairs of observations (Liu, Lee &
    Jordan 2016, section 4.2). Its terms are independent, so it is asymptotically normal; for small
    samples it is corrected for the skewness of the terms, as in `BlockMMD`. Much less powerful than
    `KSD` on the same data, and less than `FSSD` at the same cost. No resampling: pairs are drawn with a
    fixed seed.

    Parameters
    ----------
    model : distribution or function
        Anything that has a score: see `KSD`.
    kernel : Kernel or None
        A smooth radial kernel. None: InverseMultiquadric with the median distance as bandwidth.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).normal(0.3, 1.0, size=(100_000, 2))
    >>> LinearKSD(Gaussian([0.3, 0.3], 1.0)).test(x).rejects()
    False
    >>> LinearKSD(Gaussian([0.0, 0.0], 1.0)).test(x).rejects()
    True
    """

    model: Any
    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        model = model_of(self.model)
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel or None")
            Stein(self.kernel, model.score)  # raises if the kernel is not smooth enough

    def statistic(self, x: Any) -> float:
        """Unbiased estimate of the squared discrepancy, which may be negative."""
        return _PairTerms(self._sample(x)).mean

    def test(self, x: Any, *, rng: Any = None) -> GoodnessResult:
        """The statistic and its p-value; `rng` is not used."""
        sample = self._sample(x)
        terms = _PairTerms(sample)
        notes = _small_sample_note(len(sample))
        return goodness_result(self, sample, terms.mean, Normal().judge(terms), notes)

    def _sample(self, x: Any) -> SteinSample:
        return sample_of(model_of(self.model), self.kernel, x, MIN_OBSERVATIONS)


class _PairTerms(SkewedTerms):
    """Values of the Stein kernel at disjoint pairs of observations."""

    def __init__(self, sample: SteinSample) -> None:
        order = np.random.default_rng(_PAIRING_SEED).permutation(len(sample))
        half = len(order) // 2
        self._sample, self._order = sample, order
        super().__init__(_values(sample, order[:half], order[half : 2 * half]))

    def skewness(self) -> float:
        """Skewness of a term, from `_PAIRS_FOR_SKEWNESS` or more overlapping pairs."""
        order, n = self._order, len(self._order)
        steps = range(1, min(-(-_PAIRS_FOR_SKEWNESS // n), n // 2) + 1)
        others = np.concatenate([np.roll(order, step) for step in steps])
        values = _values(self._sample, np.tile(order, len(steps)), others)
        centered = values - values.mean()
        largest = float(np.max(np.abs(centered)))
        if largest == 0:
            return 0.0
        centered /= largest
        return float(np.mean(centered**3) / np.mean(centered**2) ** 1.5)


def _values(sample: SteinSample, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Values of the Stein kernel at pairs of observations, given by their positions."""
    values = []
    for start in range(0, len(first), _MAX_PAIRS_IN_MEMORY):
        rows = slice(start, start + _MAX_PAIRS_IN_MEMORY)
        pairs = taken(sample.points, first[rows]), taken(sample.points, second[rows])
        values.append(to_numpy(sample.kernel.paired(*pairs)).astype(np.float64))
    return np.concatenate(values)


def _small_sample_note(n: int) -> tuple[str, ...]:
    """Note that the normal approximation is inaccurate for few observations."""
    if n >= _OBSERVATIONS_FOR_NORMAL:
        return ()
    return (
        f"The p-value is approximate: LinearKSD needs about {_OBSERVATIONS_FOR_NORMAL} observations, "
        f"and there are {n}; use KSD().",
    )
