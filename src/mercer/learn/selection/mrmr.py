"""Feature selection by maximum relevance and minimum redundancy, with any measure of dependence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer import validate
from mercer.learn.hsic_factors import HSICFactors, line_gram
from mercer.learn.selection.selector import Ranked, Selector
from mercer.learn.selection.target import label_codes, target_gram

Measure = Callable[[Any, Any], float]
_FACTOR_TOLERANCE = (
    1e-10  # relative to the trace of a Gram matrix: alignments have about nine correct digits
)


class MRMR(Selector):
    """Feature selection by maximum relevance and minimum redundancy (mRMR).

    Starts with the most relevant feature, and adds the one with the largest relevance minus mean
    redundancy, D(x_j, y) - sum_{i in S} D(x_j, x_i) / |S| (Peng, Long and Ding 2005, eq. 7), for a measure
    of dependence D. Only pairs are compared: where features matter together, as in an exclusive or, use
    `HSICSelector`.

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number of features to keep, or a fraction between 0 and 1; None: half of them.
    relevance : callable (x, y) -> number, or None
        Dependence of a feature (n,) and the target, in which texts are numbered, such as ``partial(hsic, None, Delta())`` or, for the
        criterion of the paper, ``mercer.info.mutual_information``. None:
        centred kernel alignment (Cortes, Mohri and Rostamizadeh 2012), between 0 and 1: RBF at the
        median distance for features and for numbers as targets, `Delta` for labels (texts, truth
        values, integers that repeat).
    redundancy : callable (x, y) -> number, or None
        Dependence of two features. None: the same measure as `relevance`.

    Attributes
    ----------
    ranking_ : array (p,)
        1 is the best feature: in the order of selection, then by score.
    scores_ : array (p,)
        Relevance minus redundancy, in the round that decided about the feature.
    relevance_ : array (p,)
    redundancy_ : array (p,)
        Mean dependence on the features selected before, in that round; 0 for the first.
    support_ : array (p,) of bool
    n_features_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Alignments are computed from low-rank factors, one for each feature: O(n r^2) operations for a pair,
    with a rank r of about 20. A given measure is called p times for the relevance, and p - 1, p - 2, ...
    times for the redundancy.

    References
    ----------
    H. Peng, F. Long, C. Ding (2005). Feature selection based on mutual information: criteria of
    max-dependency, max-relevance and min-redundancy. IEEE PAMI 27(8), 1226-1238.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a, b, noise = rng.normal(size=(3, 300))
    >>> x = np.stack([a, a + 0.1 * noise, b, noise], axis=1)
    >>> y = a**2 + 0.5 * b
    >>> MRMR(2).fit(x, y).get_support(indices=True)  # the second is nearly a copy of the first
    array([0, 2])
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        relevance: Measure | None = None,
        redundancy: Measure | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.relevance = relevance
        self.redundancy = redundancy

    def _rank(self, x: np.ndarray, y: np.ndarray, number: int) -> Ranked:
        relevance, between = self._measures(x, y)
        outside = list(range(x.shape[1]))
        inside: list[int] = []
        known = np.zeros(len(outside), dtype=np.float64)  # sum of redundancies with those inside
        mean = np.zeros(len(outside), dtype=np.float64)
        while len(inside) < number:
            best = max(outside, key=lambda j: relevance[j] - mean[j])
            outside.remove(best)
            inside.append(best)
            if len(inside) < number:
                known[outside] += [between(j, best) for j in outside]
                mean[outside] = known[outside] / len(inside)
        self.relevance_, self.redundancy_ = relevance, mean
        scores = relevance - mean
        return Ranked(np.array(inside + sorted(outside, key=lambda j: -scores[j])), scores)

    def _measures(
        self, x: np.ndarray, y: np.ndarray
    ) -> tuple[np.ndarray, Callable[[int, int], float]]:
        """Relevance of all features, and a function that gives the redundancy of two."""
        for name in ("relevance", "redundancy"):
            measure = getattr(self, name)
            if not (measure is None or callable(measure)):
                raise TypeError(
                    f"{name} must be a function of two variables, such as "
                    f"functools.partial(hsic, None, None), or None, got {measure!r}"
                )
        if self.relevance is None:
            aligned, p = _factors(x, y), x.shape[1]
            relevance = np.array([aligned.cka(j, p) for j in range(p)])
            between = aligned.cka
        else:
            target = label_codes(y)
            relevance = np.array([_value(self.relevance, "relevance", c, target) for c in x.T])
            between = _between(self.relevance, x)
        return relevance, between if self.redundancy is None else _between(self.redundancy, x)


def _factors(x: np.ndarray, y: np.ndarray) -> HSICFactors:
    """Low-rank factors of each feature, and of the target as the last."""
    grams = (line_gram(column) for column in x.T)
    return HSICFactors.of([*grams, target_gram(None, y)], tolerance=_FACTOR_TOLERANCE)


def _between(measure: Measure, x: np.ndarray) -> Callable[[int, int], float]:
    return lambda i, j: _value(measure, "redundancy", x[:, i], x[:, j])


def _value(measure: Measure, name: str, x: np.ndarray, y: np.ndarray) -> float:
    value = measure(x, y)
    validate.number(f"the value of {name}", value)
    return float(value)
