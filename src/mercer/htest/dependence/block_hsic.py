"""An independence test that averages over blocks of observations."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isqrt

import numpy as np

from mercer import validate
from mercer.backend import count, is_numpy
from mercer.gram.threads import in_order
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.observed_variables import Variable
from mercer.htest.dependence.sums.centered_gram import Tiled
from mercer.htest.dependence.two_variable_test import NormalPairTest, in_random_order
from mercer.htest.mean_statistic import SkewedTerms, skewness_about_zero
from mercer.htest.nulls import Permutation
from mercer.kernels.base import Kernel
from mercer.rkhs.sample_rows import taken

_LEAST = 4  # observations of which there is an unbiased HSIC
_BLOCKS, _DRAWN = 32, 1024  # blocks and permutations in all that tell the skewness of a block


@dataclass(frozen=True)
class BlockHSIC(NormalPairTest):
    """The mean of the unbiased HSIC of blocks of observations, with a normal null.

    Time and memory are linear in the number of observations for a fixed block size, and power lies
    between that and `HSIC`'s, which is one block (Zhang et al. 2018, section 3.1). Observations are
    taken in random order, always the same.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of that variable; for data frames `default_kernel`.
    block : int or None
        Observations in a block, at least 4; None: the square root of their number, but not so many
        that fewer than eight blocks are left.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 2))
    >>> BlockHSIC(block=50).test(x, x + rng.normal(size=(2000, 2))).rejects()
    True
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    block: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.block is not None:
            validate.whole("block", self.block, least=_LEAST)

    def _terms(self, x: Variable, y: Variable) -> BlockTerms:
        n = count(x.points)
        block = self.block or max(_LEAST, min(isqrt(n), n // 8))
        if n // block < 2:
            raise ValueError(
                f"block must leave at least two blocks of {n} observations, got {block}: "
                f"use block={max(_LEAST, n // 8)}, or HSIC()"
            )
        return BlockTerms(x, y, np.array_split(in_random_order(n), n // block))


class BlockTerms(SkewedTerms):
    """The unbiased HSIC of blocks."""

    def __init__(self, x: Variable, y: Variable, blocks: list[np.ndarray]) -> None:
        self.work, self.blocks = _Block(x, y), blocks
        found = in_order(self.work, blocks, parallel=is_numpy(x.points, y.points))
        super().__init__(np.array([evidence.observed for evidence in found], dtype=np.float64))

    def skewness(self) -> float:
        """Of a block under independence, from permutations of some of the blocks."""
        some = self.blocks[:_BLOCKS]
        null = Permutation(_DRAWN // len(some))
        columns = slice(1, null.resamples + 1)
        parts = [self.work(rows).permuted(null, columns, seed) for seed, rows in enumerate(some)]
        return skewness_about_zero(np.concatenate(parts))


@dataclass(frozen=True)
class _Block:
    """Rows -> the evidence of these observations."""

    x: Variable
    y: Variable

    def __call__(self, rows: np.ndarray) -> HSICEvidence:
        first, second = (
            Tiled(replace(v, points=taken(v.points, rows)).widened()) for v in (self.x, self.y)
        )
        return HSICEvidence(first, second, unbiased=True)
