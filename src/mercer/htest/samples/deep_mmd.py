"""Two-sample test with a deep kernel, learnt on a part of the data and tested on the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any

import numpy as np

from mercer import validate
from mercer.htest.conditional_memory import need_memory
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.normal_scores import Centred
from mercer.htest.nulls import Judgement, Permutation
from mercer.htest.samples.learn_locations import training
from mercer.htest.samples.mmd import MMD
from mercer.htest.samples.mmd_statistic import QuadraticEvidence
from mercer.htest.samples.pooled_sample import Pooled, check_null, pool
from mercer.htest.samples.power_proxy import Training
from mercer.htest.samples.two_sample_result import TwoSampleResult, two_sample_result
from mercer.kernels.base import Kernel
from mercer.kernels.network_map import NetworkMap
from mercer.kernels.radial import RBF
from mercer.kernels.take import taken
from mercer.networks.learn_deep_kernel import LearntKernel, TrainingSamples, learnt_kernel
from mercer.networks.training import Schedule, check_module, need_torch
from mercer.rkhs.distributions import Empirical

_MIN_ROWS = 10  # of each sample: a half of five has rows to learn from and rows to validate by
_MATRIX_COPIES = 24  # of a batch against a batch: kernel values, distances and their gradients
_USUAL_LEVEL = 0.05  # the level that notes name
_SEED = 0  # makes `statistic`, which has no rng, deterministic

RowPair = tuple[np.ndarray, np.ndarray]  # positions in the first and in the second sample


@dataclass(frozen=True)
class DeepMMD(HypothesisTest):
    """Two-sample test by MMD with a deep kernel whose network is learnt for power (Liu et al. 2020).

    The kernel is

        k(x, y) = [(1 - eps) kappa(phi(x), phi(y)) + eps] q(x, y)

    with a network phi and Gaussian kappa and q. Its weights, both bandwidths and eps are learnt on a random half of the
    rows, by steps of gradient ascent on the estimated power J = MMD_u^2 / sigma, sigma being the standard deviation
    under the alternative; a fifth of that half is held out, and the kernel that does best there is kept. The
    other half is then tested by permutations. The level is exact, because the test does not see the rows
    that the kernel was learnt on, and eps > 0 keeps the kernel characteristic.

    With `cross_fit` the halves change their roles, and the p-value is twice the smaller of the two (Bonferroni), valid
    however they depend on each other. All rows are tested, and luck with the split counts less.

    A network finds differences that no Gaussian kernel sees, in pictures above all, if there are enough
    rows to learn them from: some hundreds at least. For fewer rows, and for a few columns without structure, `MMDAgg` is
    more powerful and much faster.

    The same seed gives the same result on the same device with the same number of threads. The statistic, the effect, the
    witness and the points of the result are those of the half that was held out, by the kernel that was learnt
    on the other; with `cross_fit`, of the half with the smaller p-value.

    Parameters
    ----------
    network : torch.nn.Module or None
        phi: takes a batch of rows (n, d), as they are; it is copied, and learning goes on from its weights.
        Pictures and sequences are rows, too: begin with ``torch.nn.Unflatten(1, (1, 28, 28))``, or the
        like. None: three hidden layers of rectified linear units, on rows in units of their scale.
    null : Permutation
        Permutations of the held-out rows.
    cross_fit : bool
        Whether both halves are tested, in turn.
    steps : int
        Minibatches, at most: learning stops when validation no longer improves.
    batch : int
        Rows of each sample in a minibatch.
    learning_rate, weight_decay : float
        Step size and shrinkage of AdamW. Bandwidths and eps do not decay.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x, y = rng.normal(size=(2, 300, 2))
    >>> y[:, 1] = np.where(rng.random(300) < 0.5, 0.9, -0.9) * y[:, 0] + 0.45 * y[:, 1]  # a cross
    >>> test = DeepMMD(steps=60)
    >>> test.test(x, y, rng=0).rejects()
    True
    """

    network: Any = None
    null: Permutation = field(default=Permutation(999), kw_only=True)
    cross_fit: bool = field(default=True, kw_only=True)
    steps: int = field(default=500, kw_only=True)
    batch: int = field(default=256, kw_only=True)
    learning_rate: float = field(default=3e-3, kw_only=True)
    weight_decay: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        check_module("network", self.network)
        validate.instance("null", self.null, Permutation, "a Permutation, such as Permutation(999)")
        validate.truth("cross_fit", self.cross_fit)
        validate.whole("steps", self.steps)
        validate.whole("batch", self.batch, least=2)
        validate.positive("learning_rate", self.learning_rate)
        validate.non_negative("weight_decay", self.weight_decay)

    def learn(self, x: Any, y: Any, *, rng: Any = None) -> MMD:
        """A test with a deep kernel learnt on all of these rows.

        Hand the new test other rows than these, or its p-values are too small. Its `kernel` can be used wherever
        kernels are.
        """
        data = self._data(x, y, least=_MIN_ROWS // 2)
        rows = np.arange(data.n), np.arange(len(data.points) - data.n)
        return MMD(self._kernel(data, rows, validate.generator(rng)), null=self.null)

    def statistic(self, x: Any, y: Any) -> float:
        """MMD^2 of the held-out rows; the split and the network are those of seed 0."""
        return self.test(x, y, rng=_SEED).statistic

    def test(self, x: Any, y: Any, *, rng: Any = None) -> TwoSampleResult:
        """The statistic and its p-value."""
        generator = validate.generator(rng)
        data = self._data(x, y, least=_MIN_ROWS)
        sizes = data.n, len(data.points) - data.n
        check_null(self.null, *sizes)  # halves may have equal sizes where these do not
        halves = _halves(*sizes, self.null.paired, generator)
        folds = [halves, (halves[1], halves[0])] if self.cross_fit else [halves]
        fits = [self._fold(x, y, data, seen, unseen, generator) for seen, unseen in folds]
        best = min(fits, key=lambda fit: fit.judgement.pvalue)
        pvalue = min(len(fits) * best.judgement.pvalue, 1.0)
        judgement = best.judgement._replace(pvalue=pvalue)
        result = two_sample_result(self, best.pooled, best.statistic, judgement, _notes(fits, best))
        return replace(result, rows=sizes)

    # ---- private ------------------------------------------------------------------------

    def _data(self, x: Any, y: Any, least: int) -> Training:
        """Both samples in units of their scale, if they can be learnt from."""
        need_torch("DeepMMD")
        if isinstance(x, Empirical) or isinstance(y, Empirical):
            raise TypeError(
                "DeepMMD takes no weighted samples: pass the points without weights, or use MMD"
            )
        data = training(x, y, own_units=True)
        for name, size in (("x", data.n), ("y", len(data.points) - data.n)):
            if size < least:
                raise ValueError(
                    f"{name} must have at least {least} points to learn a kernel from a half of them, got {size}: "
                    "use MMDAgg()"
                )
        batch = min(self.batch, len(data.points))
        needed = _MATRIX_COPIES * 8 * batch**2
        need_memory(f"DeepMMD with batches of {batch:,}", needed, "choose a smaller batch")
        return data

    def _fold(
        self,
        x: Any,
        y: Any,
        data: Training,
        seen: RowPair,
        unseen: RowPair,
        rng: np.random.Generator,
    ) -> _Fold:
        """Learn on the rows `seen`, test on the others."""
        kernel = self._kernel(data, seen, rng)
        pooled = pool(kernel, x, y).subsample(*unseen)
        null = pooled.null_of_rows(self.null)
        evidence = QuadraticEvidence(pooled, unbiased=True, null=null)
        judgement = null.judge(evidence, rng)
        return _Fold(pooled, evidence.observed, judgement)

    def _kernel(self, data: Training, rows: RowPair, rng: np.random.Generator) -> Kernel:
        """The kernel learnt on these rows, in the numbers of the user."""
        x, y = taken(data.points, rows[0]), taken(data.points, data.n + rows[1])
        samples = TrainingSamples(x, y, data.center, data.unit)
        schedule = Schedule(self.steps, self.learning_rate, self.weight_decay)
        learnt = learnt_kernel(samples, self.network, schedule, self.batch, rng)
        return deep_kernel(learnt, data, raw=self.network is not None)


@dataclass(frozen=True, eq=False)
class _Fold:
    """The rows that were held out, their statistic, and its p-value."""

    pooled: Pooled
    statistic: float
    judgement: Judgement


def deep_kernel(learnt: LearntKernel, data: Training, *, raw: bool) -> Kernel:
    """The learnt kernel by the algebra of kernels, on points as the user has them."""
    bandwidth, base, eps = learnt.numbers
    scaled = (
        RBF(base * float(data.unit[0]))
        if np.ptp(data.unit) == 0
        else RBF(base).scaled(tuple(1 / data.unit))
    )
    inner: Kernel = RBF(bandwidth).transformed(NetworkMap(learnt.network))
    if not raw:
        inner = inner.scaled(tuple(1 / data.unit)).transformed(Centred(data.center))
    return ((1 - eps) * inner + eps) * scaled


def _halves(n: int, m: int, paired: bool, rng: np.random.Generator) -> tuple[RowPair, RowPair]:
    """Two random halves of the rows of both samples, in order; partners stay together."""
    x = rng.permutation(n)
    y = x if paired else rng.permutation(m)
    first = np.sort(x[: n // 2]), np.sort(y[: m // 2])
    return first, (np.sort(x[n // 2 :]), np.sort(y[m // 2 :]))


def _notes(fits: list[_Fold], best: _Fold) -> tuple[str, ...]:
    """What was learnt on which rows, and how the p-values were combined."""
    n, m = best.pooled.n, best.pooled.m
    told = (
        f"The deep kernel was learnt on one half of the rows; statistic, effect, witness and columns are those of the "
        f"other {n:,} and {m:,} rows."
    )
    if len(fits) == 1:
        return (told,)
    values = " and ".join(f"{fit.judgement.pvalue:.2g}" for fit in fits)
    combined = f"Each half was tested: p is twice the smaller of {values}."
    draws = len(best.judgement.draws)
    if draws and len(fits) / (draws + 1) > _USUAL_LEVEL:
        combined += (
            f" With {draws} resamples it cannot be below {len(fits) / (draws + 1):.2g}, however clear the difference "
            f"is: use {ceil(len(fits) / _USUAL_LEVEL) - 1} or more, or cross_fit=False."
        )
    return (told, combined)
