"""Portmanteau test of serial dependence: HSIC of the observations with those some steps later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, is_array, to_numpy
from mercer.errors import NoRule
from mercer.frames import Table
from mercer.gram import LazyMatrix, top_eigenpairs
from mercer.gram.threads import spans
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Permutation
from mercer.htest.result import Result
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import Variable, check_kernels, listed_briefly, variables
from mercer.rkhs.sample_rows import one_sample, taken

_COMPONENTS = 8  # kernel principal components: beyond them features of autocorrelation are rare
# Where eigenvalues tie at the eighth, as with labels that are equally frequent, all of the tied components are taken, up to
# this number; of more tied ones none is: which of them come first, the rows decide, not the data.
_MAX_COMPONENTS = 32
_EQUAL_EIGENVALUES = (
    1e-8  # difference by rounding, over the largest: Lanczos vectors have residuals of 1e-9
)
_MIN_ROWS = 8  # lags 1, 2 and 3 and their opposites
_ENTRIES_AT_ONCE = 2**16  # permuted features that stay in cache
_ROUNDING = 1e-12  # relative difference between equal sums in different orders
_MAX_ROWS_FOR_CAUTION = 1000  # consecutive ones that `serial_cautions` looks at
_LEVEL_OF_CAUTION = 0.01  # of rows in random order one caution in a hundred is wrong
_CAUTION_RESAMPLES = 199


@dataclass(frozen=True)
class SerialHSIC(HypothesisTest):
    """Test of whether observations in the order of time depend on earlier ones, by HSIC over lags.

    The statistic is sum_h HSIC(x_t, x_(t+h)) for h = 1, ..., lags, round the corner: a portmanteau statistic in the manner
    of Box and Pierce (1970) for features of a kernel, which sees autocorrelation of any sign and dependence without
    autocorrelation, such as changing volatility. HSIC is taken of the 8 leading kernel principal components, and of up to
    32 where eigenvalues tie, as those of equally frequent labels do. Under the null hypothesis that the observations are
    exchangeable, permutations are exact.

    A rejection means that tests for independent observations cannot be trusted: compare such series by
    `MMD(null=WildBootstrap(block=None))`, and pair them by `HSIC` with the same null or `ShiftHSIC`. Measured at n = 100,
    level 0.05, 400 runs: benchmarks/results/series_level.md.

    Parameters
    ----------
    kernel : Kernel or None
        None: RBF at the median distance; for data frames `default_kernel`.
    lags : int
        How many steps back; at most half of the observations are used.
    null : Permutation

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> noise = rng.normal(size=301)
    >>> SerialHSIC().test(noise, rng=0).rejects()
    False
    >>> SerialHSIC().test(noise[1:] * np.exp(np.abs(noise[:-1])), rng=0).rejects()  # not autocorrelated
    True
    """

    kernel: Kernel | None = None
    lags: int = field(default=10, kw_only=True)
    null: Permutation = field(default=Permutation(499), kw_only=True)

    def __post_init__(self) -> None:
        check_kernels(kernel=self.kernel)
        validate.whole("lags", self.lags)
        validate.instance("null", self.null, Permutation, "a Permutation, such as Permutation(499)")
        if self.null.blocks is not None or self.null.paired:
            raise NoRule("SerialHSIC permutes all observations: leave out blocks and paired")

    def statistic(self, x: Any) -> float:
        """The sum of HSIC over the lags."""
        return serial_evidence(self, x).observed

    def test(self, x: Any, *, rng: Any = None) -> Result:
        """The statistic and its p-value."""
        evidence = serial_evidence(self, x)
        judgement = self.null.judge(evidence, rng)
        return Result.judged(self, evidence.observed, judgement)

    def verdict(self, rejected: bool) -> str:
        """What a rejection means."""
        if rejected:
            return "The observations depend on earlier ones"
        return "No dependence on earlier observations was found"


def serial_evidence(test: SerialHSIC, x: Any) -> SerialEvidence:
    """What a test of serial dependence knows of observations in the order of time."""
    (variable,) = variables((test.kernel,), (x,), least=_MIN_ROWS)
    return SerialEvidence(variable.widened(), test.lags)


class SerialEvidence:
    """Sums of squared cross-covariances between features and those some steps later, in any order."""

    def __init__(self, variable: Variable, lags: int) -> None:
        self.variable, self.n = variable, count(variable.points)
        self.lags = min(lags, (self.n - 1) // 2)

    @cached_property
    def features(self) -> np.ndarray:
        """Leading kernel principal components of the observations, cut where eigenvalues differ: (n, r)."""
        centred = self.variable.gram.centered()
        components, cut_in_tie = _components(centred, _COMPONENTS)
        return _components(centred, _MAX_COMPONENTS)[0] if cut_in_tie else components

    @cached_property
    def observed(self) -> float:
        """The statistic."""
        return float(self._sums(np.arange(self.n)[None, :])[0])

    def permuted(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """The statistics of permuted observations; column 0 is the observed order."""
        width = max(_ENTRIES_AT_ONCE // max(self.features.size, 1), 1)
        values = []
        for chunk in spans(columns.stop - columns.start, width):
            numbers = range(columns.start + chunk.start, columns.start + chunk.stop)
            values.append(self._sums(np.stack([self._order(seed, i) for i in numbers])))
        return np.concatenate(values)

    def tolerance(self) -> float:
        """Largest difference by rounding between statistics that are equal."""
        return _ROUNDING * max(self.observed, float(np.sum(self.features**2) / self.n) ** 2)

    def _order(self, seed: int, number: int) -> np.ndarray:
        """Permutation `number`; 0 is the identity."""
        if number == 0:
            return np.arange(self.n)
        return np.random.default_rng((seed, number)).permutation(self.n)

    def _sums(self, orders: np.ndarray) -> np.ndarray:
        """sum_h |sum_t z_t z_(t+h)' / n|^2 for each order of the observations: (B,)."""
        z = self.features[orders]  # (B, n, r)
        sums = np.zeros(len(orders), dtype=np.float64)
        for lag in range(1, self.lags + 1):
            covariances = z.transpose(0, 2, 1) @ np.roll(z, -lag, axis=1) / self.n  # (B, r, r)
            sums += np.einsum("brs,brs->b", covariances, covariances)
        return sums


def _components(centred: LazyMatrix, number: int) -> tuple[np.ndarray, bool]:
    """Principal components with larger eigenvalues than the next after `number`, and whether any ties with it."""
    values, vectors = top_eigenpairs(centred, min(number + 1, centred.shape[0]))
    sizes = np.maximum(to_numpy(values).astype(np.float64), 0.0)
    rounding = _EQUAL_EIGENVALUES * sizes[0]
    following = sizes[number] if len(sizes) > number else 0.0
    tied = bool(following > rounding and sizes[number - 1] <= following + rounding)
    kept = np.count_nonzero(sizes > following + rounding) if tied else min(number, len(sizes))
    return to_numpy(vectors).astype(np.float64)[:, :kept] * np.sqrt(sizes[:kept]), tied


def serial_cautions(
    samples: Sequence[tuple[str, Any]],
    *,
    least: int = 1,
    remedy: str = "use a test for series",
    ordered: bool = False,
) -> tuple[str, ...]:
    """A caution where the rows of at least `least` named samples depend on those before them, else nothing.

    At most 1,000 consecutive rows of each are looked at, at level 0.01 and with a fixed seed. If there are more than two samples,
    one of them must be found at that level after a correction for their number, because each may be found by chance. Tests
    of two variables are valid if the rows of one of them are independent: for those, `least` is 2. `ordered`: rows are
    known to be in the order of time.
    """
    pvalues = {name: serial_pvalue(sample, name) for name, sample in samples}
    serial = [name for name, pvalue in pvalues.items() if pvalue <= _LEVEL_OF_CAUTION]
    if not serial or len(serial) < least:
        return ()
    share = _LEVEL_OF_CAUTION * min(2 / len(samples), 1.0)
    found = (
        serial_pvalue(sample, name, ceil(2 / share) - 1)
        for name, sample in samples
        if name in serial
    )
    if len(samples) > 2 and not any(pvalue <= share for pvalue in found):
        return ()
    consequence = f"its p-value is too small: {remedy}."
    if not ordered:
        consequence = (
            f"If their order is that of time, {consequence} If rows are only sorted, shuffle them."
        )
    return (
        f"Caution: the rows of {listed_briefly(serial)} depend on those before them (SerialHSIC, p = "
        f"{max(pvalues[name] for name in serial):.2g}), and this test takes rows for independent"
        f"{', so' if ordered else '.'} {consequence}",
    )


def serial_pvalue(x: Any, name: str = "x", resamples: int = _CAUTION_RESAMPLES) -> float:
    """P-value of `SerialHSIC` on the first 1,000 rows of a sample or variable; 1 where they are too few, or all equal."""
    sample = x.points if isinstance(x, Variable) else one_sample(x, name)
    if count(sample) < _MIN_ROWS:
        return 1.0
    if count(sample) > _MAX_ROWS_FOR_CAUTION:
        sample = taken(sample, np.arange(_MAX_ROWS_FOR_CAUTION))
    test = SerialHSIC(null=Permutation(resamples))
    if isinstance(x, Variable):
        evidence = SerialEvidence(replace(x, points=sample).widened(), test.lags)
        return float(test.null.judge(evidence, 0).pvalue)
    if constant_rows(sample):
        return 1.0
    return test.test(sample, rng=0).pvalue


def constant_rows(sample: Any) -> bool:
    """Whether all rows of numbers are equal, which leaves no scale for a kernel."""
    values = sample.values if isinstance(sample, Table) else sample
    if not is_array(values):
        return False
    host = to_numpy(values)
    return bool((host == host[:1]).all())
