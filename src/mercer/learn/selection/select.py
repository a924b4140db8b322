"""Feature selection by HSIC: backward elimination and forward selection (BAHSIC, FOHSIC)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.kernels.base import Kernel
from mercer.learn.selection.scores import MeasureScores, SetScores, UCentered
from mercer.learn.selection.selector import Ranked, Selector, standardized
from mercer.learn.selection.target import label_codes, target_gram

Scores = SetScores | MeasureScores


class HSICSelector(Selector):
    """Feature selection by HSIC: the set of features on which a target depends most.

    The features S are selected one after the other to maximise the unbiased HSIC of x^S and y (Song et
    al. 2012, eq. 5). Features are judged together: two that are useless alone, as in an exclusive or, are
    found by `Backward` elimination. The search is greedy and not guaranteed to be optimal, unless the
    kernel is a sum over features (such as `Linear`).

    Parameters
    ----------
    n_features_to_select : int, float or None
        Number of features to keep, or a fraction between 0 and 1; None: half of them.
    direction : Direction or None
        `Backward(share)` (the default, BAHSIC) starts with all features and drops some; `Forward()`
        (FOHSIC) starts with none. Forward costs less where few of many features are kept, but misses
        features that matter only together.
    kernel : Kernel or None
        Kernel of the features, for any number of columns, which are not scaled. None: features are
        divided by their standard deviations, and the kernel of d features is
        ``RBF(sqrt(d) / 2)``, whose bandwidth is about a third of their distances: narrow enough to
        detect features that matter only together.
    target_kernel : Kernel or None
        Kernel of the target. None: `Delta` for labels (texts, truth values, integers that repeat), RBF at
        the median distance for numbers.
    measure : callable (x, y) -> number, or None
        Another measure of the dependence of a set of features (n, d) and the target (n,), in which texts are numbered,
        such as ``mercer.info.mutual_information``; called once for each set. None: the unbiased HSIC.

    Attributes
    ----------
    ranking_ : array (p,)
        1 is the best feature. `Forward`: in the order of selection, then by score. `Backward`: the
        selected ones by score, then the reverse order of elimination.
    scores_ : array (p,)
        HSIC with the feature minus HSIC without it, in the round that decided about it.
    hsic_ : float
        Unbiased HSIC, or the `measure`, of the selected features and the target, which may be negative.
    support_ : array (p,) of bool
    n_features_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    One set of features costs one pass over the n^2/2 pairs of points, tile by tile; for kernels of
    the distance all sets of a round are done in one pass, whatever the number of features in them.
    `Backward(0.1)` of p features looks at about 10 p sets, `Forward` of m features at m p.

    References
    ----------
    L. Song, A. Smola, A. Gretton, J. Bedo, K. Borgwardt (2012). Feature selection via dependence
    maximization. Journal of Machine Learning Research 13, 1393-1434. Algorithms 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 8))
    >>> y = x[:, 2] * x[:, 5] > 0  # neither is informative alone
    >>> HSICSelector(2).fit(x, y).get_support(indices=True)
    array([2, 5])
    """

    def __init__(
        self,
        n_features_to_select: int | float | None = None,
        *,
        direction: Direction | None = None,
        kernel: Kernel | None = None,
        target_kernel: Kernel | None = None,
        measure: Callable[[Any, Any], float] | None = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.direction = direction
        self.kernel = kernel
        self.target_kernel = target_kernel
        self.measure = measure

    def _rank(self, x: np.ndarray, y: np.ndarray, number: int) -> Ranked:
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel, such as RBF(1.0), or None")
        direction = Backward() if self.direction is None else self.direction
        validate.instance("direction", direction, Direction, "Backward(), Forward() or None")
        scores = self._scores(x, y)
        ranked = direction.search(scores, number)
        self.hsic_ = scores.of(ranked.order[:number].tolist())
        return ranked

    def _scores(self, x: np.ndarray, y: np.ndarray) -> Scores:
        """Dependence of sets of features and the target."""
        if self.measure is None:
            target = UCentered.of(target_gram(self.target_kernel, y))
            return SetScores(standardized(x) if self.kernel is None else x, target, self.kernel)
        if not callable(self.measure):
            raise TypeError(
                "measure must be a function of two variables, such as mercer.info.mutual_information, or None, "
                f"got {self.measure!r}"
            )
        if self.kernel is not None or self.target_kernel is not None:
            raise ValueError(
                "kernel and target_kernel are those of HSIC: leave them out with a measure"
            )
        return MeasureScores(x, label_codes(y), self.measure)


class Direction(ABC):
    """Search strategy over sets of features."""

    @abstractmethod
    def search(self, scores: Scores, number: int, /) -> Ranked:
        """Rank all features, of which the first `number` are selected."""


@dataclass(frozen=True)
class Forward(Direction):
    """Forward selection: start with no feature and add the one that maximises HSIC (FOHSIC)."""

    def search(self, scores: Scores, number: int, /) -> Ranked:
        """Rank all features; those not selected by their gain in the last round."""
        outside = list(range(scores.features.shape[1]))
        inside: list[int] = []
        gains = np.zeros(len(outside), dtype=np.float64)
        reached = 0.0
        while len(inside) < number:
            values = scores.with_each(inside, outside)
            gains[outside] = values - reached
            best = int(np.argmax(values))
            reached = float(values[best])
            inside.append(outside.pop(best))
        unused = sorted(outside, key=lambda j: -gains[j])
        return Ranked(np.array(inside + unused), gains)


@dataclass(frozen=True)
class Backward(Direction):
    """Backward elimination: start with all features and drop the least useful ones (BAHSIC).

    Each round drops a fraction `share` of the remaining features, and at least one. A smaller share costs
    more and is more accurate.
    """

    share: float = 0.1

    def __post_init__(self) -> None:
        validate.between("share", self.share, 0.0, 1.0)

    def search(self, scores: Scores, number: int, /) -> Ranked:
        """Rank all features; the remaining ones by the HSIC that would be lost without them."""
        inside, dropped_order = list(range(scores.features.shape[1])), []
        gains = np.zeros(len(inside), dtype=np.float64)
        while True:
            gains[inside] = scores.of(inside) - scores.without(inside)
            inside.sort(key=lambda j: -gains[j])
            if len(inside) == number:
                return Ranked(np.array(inside + dropped_order[::-1]), gains)
            dropped = min(max(int(self.share * len(inside)), 1), len(inside) - number)
            dropped_order += inside[-dropped:][::-1]
            inside = inside[:-dropped]
