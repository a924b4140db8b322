"""The expected kernel: distributions as points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer import validate
from mercer.backend import Array
from mercer.kernels.base import Kernel, Points
from mercer.kernels.facts import Facts, facts
from mercer.kernels.theory import facts_rule
from mercer.rkhs.embeddings import expected_boxes, expected_gaussians  # noqa: F401  (their rules)
from mercer.rkhs.embeddings.deduplicated import linked, linked_pairs, linked_products


@dataclass(frozen=True)
class MeanMap(Kernel):
    """K(P, Q) = E k(X, Y) with X ~ P and Y ~ Q independent: the inner product of mean embeddings.

    A kernel whose points are distributions: bags of points, `Empirical`, `Bags`, `Gaussian`,
    `Mixture`, `Uniform`, `Dirac` and plain vectors (which are Diracs), mixed freely. Samples are
    averaged over all pairs of their points; Gaussians, mixtures and boxes are done in closed form
    where the kernel has one (RBF, `Linear`, `Polynomial`, their sums and multiples, on all or some
    columns), and refused with `NoRule` where not.

    In a list, a distribution that comes more than once (the same object) is computed once, and
    histograms over the same code words, ``[Empirical(words, h) for h in histograms]``, take one matrix
    of the words.

    Level-2 kernels are made by `on`: ``RBF(0.5).on(MeanMap(RBF(1.0)))`` is exp(-MMD^2 / 2 * 0.5^2).

    Parameters
    ----------
    kernel : Kernel
        Of the points. For a characteristic one K tells all distributions apart.

    References
    ----------
    K. Muandet, K. Fukumizu, F. Dinuzzo, B. Schölkopf (2012). Learning from distributions via
    support measure machines. NeurIPS 25. Table 1.

    Examples
    --------
    >>> from mercer.kernels import RBF
    >>> from mercer.rkhs import Gaussian, MeanMap
    >>> k = MeanMap(RBF(1.0))
    >>> k([Gaussian(0.0, 1.0), [[-1.0], [1.0]], [2.0]]).round(3)
    array([[0.577, 0.551, 0.26 ],
           [0.551, 0.568, 0.309],
           [0.26 , 0.309, 1.   ]])
    """

    kernel: Kernel

    expensive = True  # an entry is a double sum

    def __post_init__(self) -> None:
        validate.instance("kernel", self.kernel, Kernel, "a kernel, such as RBF(1.0)")

    def accept(self, x: Any, name: str = "x") -> Points:
        return linked(self.kernel, x, name)

    def pairwise(self, x: Any, y: Any, /) -> Array:
        return linked_products(self.kernel, x, y)

    def paired(self, x: Any, y: Any, /) -> Array:
        return linked_pairs(self.kernel, x, y)


@facts_rule(MeanMap)
def _mean_map(kernel: MeanMap) -> Facts:
    """The embedding is injective for characteristic kernels, and weakly continuous for bounded ones.

    Both are what a Gaussian of the distances of embeddings needs to be universal on compact sets of
    distributions (Christmann & Steinwart 2010, example 1). By itself it is linear in P: of a random
    distribution it sees the mean only.
    """
    part = facts(kernel.kernel)
    return Facts(
        bounded=part.bounded or None,
        characteristic=False,
        universal=False,
        positive_definite=part.positive_definite or None,
        continuous=(part.bounded and part.continuous) or None,
        separates=part.characteristic if part.positive_definite else None,
        domain="distributions",
    )
