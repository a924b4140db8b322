"""Entropies and divergences of observations with categories and numbers, by the chain rule."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, log
from typing import Any, NamedTuple

import numpy as np

from mercer.backend import to_numpy
from mercer.info.estimator import EstimatedIntegrals, Estimator
from mercer.info.information_measures import Integrals, Shannon
from mercer.info.knn import KNN
from mercer.info.plug_in import PlugIn, joined_rows
from mercer.info.sample import Sample, same_columns


@dataclass(frozen=True)
class CategoriesAndNumbers(Estimator):
    """Estimator for columns of categories C beside columns of numbers X.

    The density of an observation is P(C = c) p(x | c), so every integral is a sum over categories of integrals of
    numbers; Shannon's entropy, for example, is H(C) + sum_c P(C = c) h(X | C = c). Every category must occur more
    often than the number of neighbours that the estimator of the numbers uses.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer.info import entropy
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"kind": ["a", "b"] * 1000, "size": rng.uniform(size=2000)})
    >>> round(entropy(frame), 1)  # log 2 for the kind, 0 for the size
    0.7
    """

    categories: PlugIn = field(default=PlugIn())
    numbers: Estimator = field(default=KNN())

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        if y is not None:
            same_columns(x, y)
        samples = [x] if y is None else [x, y]
        flags = np.array(x.categorical)
        kinds = [_columns(s, flags) for s in samples]
        codes = joined_rows(kinds[0], kinds[-1]).codes()[: sum(map(len, samples))]
        coded = np.split(codes, [len(x)])[: len(samples)]
        sizes = [_columns(s, ~flags) for s in samples]
        strata = [
            Stratum(*(_within(s, c, code, self.numbers) for s, c in zip(sizes, coded, strict=True)))
            for code in range(int(codes.max()) + 1)
        ]
        categories = self.categories.integrals(*kinds)
        return StratifiedIntegrals(self, strata, Shannon().entropy(categories))


class Members(NamedTuple):
    """The observations of a sample in one category, and their share of the sample."""

    numbers: Any  # a sample, or None where it has no such observations
    share: float
    estimator: Estimator


class Stratum(NamedTuple):
    """One category: its members in the samples of p and of q."""

    p: Members
    q: Members | None = None

    def inside(self) -> Integrals:
        """Integrals of the numbers of p, and of q where it has this category."""
        other = None if self.q is None else self.q.numbers
        return self.p.estimator.integrals(self.p.numbers, other)


class StratifiedIntegrals(EstimatedIntegrals):
    """Sums over categories of integrals of the numbers within each."""

    def __init__(self, estimator: Any, strata: Sequence[Stratum], entropy: float | None) -> None:
        super().__init__(estimator)
        self.strata, self.category_entropy = strata, entropy

    def log_p(self) -> float:
        if self.category_entropy is None:
            of_categories = sum(s.p.share * log(s.p.share) for s in self._observed())
        else:
            of_categories = -self.category_entropy
        return of_categories + sum(s.p.share * s.inside().log_p() for s in self._observed())

    def log_q(self) -> float:
        total = 0.0
        for stratum in self._observed():
            share = _second(stratum).share
            if share == 0:
                return -inf
            total += stratum.p.share * (log(share) + stratum.inside().log_q())
        return total

    def power(self, a: float, b: float = 0.0) -> float:
        if a == 0:
            return self.swapped().power(b)
        total = 0.0
        for stratum in self._observed():
            share = 1.0 if b == 0 else _second(stratum).share
            if share == 0:
                total += inf if b < 0 else 0.0
            else:
                total += stratum.p.share**a * share**b * stratum.inside().power(a, b)
        return total

    def mean(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        return sum(
            s.p.share * s.inside().mean(lambda density, share=s.p.share: f(share * density))
            for s in self._observed()
        )

    def mean_ratio(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        total = 0.0
        for stratum in self.strata:
            p, q = stratum.p, _second(stratum)
            if q.share == 0:
                continue
            if p.share == 0:
                total += q.share * float(f(np.zeros(1))[0])
            else:
                odds = p.share / q.share
                total += q.share * stratum.inside().mean_ratio(lambda r, odds=odds: f(odds * r))
        return total

    def require_support(self) -> None:
        if any(_second(stratum).share == 0 for stratum in self._observed()):
            raise ValueError(
                "x has categories that y has not, where the ratio of densities is infinite: use "
                "JensenShannon(), Hellinger() or L2(), or exchange x and y"
            )

    def swapped(self) -> StratifiedIntegrals:
        exchanged = [Stratum(_second(s), s.p) for s in self.strata]
        return StratifiedIntegrals(self.estimator, exchanged, None)

    def _observed(self) -> Iterator[Stratum]:
        return (s for s in self.strata if s.p.share > 0)


def _second(stratum: Stratum) -> Members:
    if stratum.q is None:
        raise ValueError("y is needed: a divergence compares two samples")
    return stratum.q


def _columns(sample: Sample, flags: np.ndarray) -> Sample:
    """The columns that are marked."""
    values = to_numpy(sample.values)[:, flags]
    categorical = tuple(np.array(sample.categorical)[flags].tolist())
    return Sample(values, categorical, sample.name, sample.weights, values)


def _within(sample: Sample, codes: np.ndarray, code: int, estimator: Estimator) -> Members:
    rows = np.flatnonzero(codes == code)
    if len(rows) == 0:
        return Members(None, 0.0, estimator)
    share = len(rows) / len(codes) if sample.weights is None else sample.weights[rows].sum()
    return Members(sample.take(rows), float(share), estimator)
