"""Expected kernel `MeanMap`: a kernel whose points are distributions."""

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
    """Expected kernel K(P, Q) = E k(X, Y) of independent X ~ P, Y ~ Q: inner products of embeddings.

    Its points are distributions: bags of points, `Empirical`, `Bags`, `Gaussian`, `Mixture`,
    `Uniform`, `Dirac` and plain vectors (point masses), in any combination. Samples are averaged over
    all pairs of their points; Gaussians, mixtures and boxes use a closed form where the kernel has one
    (RBF, `Linear`, `Polynomial`, their sums and multiples, on all or some columns), and raise `NoRule`
    otherwise.

    In a list, an object that occurs several times is computed once, and histograms over the same code
    words, ``[Empirical(words, h) for h in histograms]``, need only the Gram matrix of the words.

    `on` gives level-2 kernels: ``RBF(0.5).on(MeanMap(RBF(1.0)))`` is exp(-MMD^2 / (2 * 0.5^2)).

    Parameters
    ----------
    kernel : Kernel
        Kernel of the points. If it is characteristic, K distinguishes all distributions.

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
    """Facts: the embedding is injective for characteristic kernels and weakly continuous for bounded ones.

    With both properties a Gaussian kernel on top is universal on compact sets of distributions
    (Christmann & Steinwart 2010, example 1). `MeanMap` alone is linear in P, so for a random
    distribution only its mean matters.
    """
    inner = facts(kernel.kernel)
    return Facts(
        bounded=inner.bounded or None,
        characteristic=False,
        universal=False,
        positive_definite=inner.positive_definite or None,
        continuous=(inner.bounded and inner.continuous) or None,
        separates=inner.characteristic if inner.positive_definite else None,
        domain="distributions",
    )
