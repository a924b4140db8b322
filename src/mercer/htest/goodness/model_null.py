"""Null distribution of FSSD estimated from draws of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from mercer import validate
from mercer.htest.evidence import HasSpectrum, provides
from mercer.htest.nulls import Judgement, Null
from mercer.htest.weighted_chi2 import WeightedChi2


@runtime_checkable
class Redrawable(Protocol):
    """Evidence whose features can be computed for draws from the model, for `ModelDraws`."""

    def of_draws(self, draws: int, rng: np.random.Generator) -> HasSpectrum:
        """The observed statistic, and its limit with the covariance of features of `draws` draws."""
        ...


@dataclass(frozen=True)
class ModelDraws(Null):
    """Limiting distribution of `FSSD`, with the covariance of features of draws from the model.

    `WeightedChi2` uses the covariance of the observed features instead, which needs no draws and is
    asymptotically valid, too. If the model is wrong, the features of draws give a better estimate of
    the covariance under the model (Jitkrittum et al. 2017, theorem 3 and the remark after it).

    Parameters
    ----------
    draws : int
        Number of draws; it need not depend on the number of observations.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import FSSD, ModelDraws
    >>> from mercer.rkhs import Gaussian
    >>> x = np.random.default_rng(0).normal(size=(300, 2))
    >>> test = FSSD(Gaussian([0.0, 0.0], 1.0), locations=3, null=ModelDraws(2000))
    >>> test.test(x, rng=0).rejects()
    False
    """

    draws: int = 5000

    def __post_init__(self) -> None:
        validate.whole("draws", self.draws, least=2)

    def judge(self, evidence: Redrawable, rng: Any = None) -> Judgement:
        """Survival function of the weighted sum of chi-squares of draws from the model."""
        if not provides(evidence, Redrawable):
            raise self._lacking("features of draws from a model")
        return WeightedChi2().judge(evidence.of_draws(self.draws, validate.generator(rng)))
