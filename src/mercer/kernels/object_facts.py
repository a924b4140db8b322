"""Known properties of the kernels on objects."""

from __future__ import annotations

from mercer.kernels.dynamics.cauchy_binet import CauchyBinet
from mercer.kernels.dynamics.sequence_products import HiddenMarkovProduct, LinearSystemProduct
from mercer.kernels.facts import Facts, facts
from mercer.kernels.feature_counts import FeatureCounts
from mercer.kernels.from_functions import DistanceInduced, FromPairs
from mercer.kernels.graphs.graphlets import Graphlets
from mercer.kernels.graphs.multiscale_laplacian import MultiscaleLaplacian
from mercer.kernels.graphs.propagation import Propagation
from mercer.kernels.graphs.random_walks import RandomWalk
from mercer.kernels.graphs.shortest_paths import ShortestPath
from mercer.kernels.graphs.weisfeiler_lehman import OptimalAssignmentWL, WeisfeilerLehman
from mercer.kernels.objects import ObjectKernel
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.rankings.rankings import Kendall, Mallows, Spearman
from mercer.kernels.sets.common_elements import Dice, Jaccard, SetIntersection, WeightedJaccard
from mercer.kernels.sets.element_pairs import BestMatch, Convolution
from mercer.kernels.sets.fuzzy_sets import (
    FuzzyCrossProduct,
    FuzzyIntersection,
    GaussianNonsingleton,
    Nonsingleton,
)
from mercer.kernels.strings.gapped import GappyKmers, GappyPairs, WeightedDegree
from mercer.kernels.strings.mismatch import Mismatch
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.strings.subsequences import AllSubsequences, Subsequence, Substrings
from mercer.kernels.theory import facts_rule
from mercer.kernels.trees.tree_kernels import PartialTree, SubsetTree, Subtree

_FEATURES = (
    FeatureCounts, Spectrum, Mismatch, Subsequence, Substrings, AllSubsequences, GappyKmers, GappyPairs,
    WeightedDegree, SetIntersection, Subtree, SubsetTree, PartialTree,
    WeisfeilerLehman, OptimalAssignmentWL, ShortestPath, Graphlets, RandomWalk, Propagation,
    CauchyBinet, FuzzyIntersection,
)  # fmt: skip

# Values are products of explicit features; whether these separate distributions depends on them.
facts_rule(ObjectKernel)(lambda kernel: Facts(domain=kernel.domain))
# Given by users, who know whether they are positive semi-definite. A matrix has a largest entry.
facts_rule(FromPairs)(lambda kernel: Facts(domain=kernel.domain))
facts_rule(DistanceInduced)(lambda kernel: Facts(domain=kernel.domain))
facts_rule(Precomputed)(lambda kernel: Facts(domain=kernel.domain, bounded=True))
for _kind in _FEATURES:
    facts_rule(_kind)(lambda kernel: Facts(domain=kernel.domain, positive_definite=True))
# |A n B| / |A u B| and the like: positive definite (Bouchard et al. 2013; Gower & Legendre 1986), at most 1.
for _kind in (Jaccard, WeightedJaccard, Dice, Kendall, Spearman):
    facts_rule(_kind)(
        lambda kernel: Facts(domain=kernel.domain, positive_definite=True, bounded=True)
    )
# A Gaussian kernel of signs, which differ for different orders: strictly positive definite on the finite
# set of all orders.
facts_rule(Mallows)(
    lambda kernel: Facts(
        domain=kernel.domain,
        positive_definite=True,
        bounded=True,
        characteristic=True,
        universal=True,
    )
)
# Lyu (2005): a maximum of kernels is not a kernel.
facts_rule(BestMatch)(
    lambda kernel: Facts(domain=kernel.domain, positive_definite=False, characteristic=False)
)


# {a}, {b} and {a, b} have the matrix [[1, 0, 1], [0, 1, 1], [1, 1, 1]], whose determinant is -1; two narrow Gaussians
# and a wide one come as near to it as one likes.
for _kind in (Nonsingleton, GaussianNonsingleton):
    facts_rule(_kind)(
        lambda kernel: Facts(domain=kernel.domain, positive_definite=False, bounded=True)
    )


@facts_rule(HiddenMarkovProduct)
def _expected_likelihood(kernel: HiddenMarkovProduct) -> Facts:
    """An inner product of densities, which models with other states may share."""
    return Facts(domain=kernel.domain, positive_definite=True, separates=False)


@facts_rule(LinearSystemProduct)
def _probability_product(kernel: LinearSystemProduct) -> Facts:
    """An inner product of powers of densities; the Bhattacharyya coefficient is at most 1."""
    bounded = True if kernel.rho == 0.5 else None
    return Facts(domain=kernel.domain, positive_definite=True, bounded=bounded, separates=False)


@facts_rule(MultiscaleLaplacian)
def _multiscale(kernel: MultiscaleLaplacian) -> Facts:
    """A Bhattacharyya coefficient of Gaussians, whose covariances need a positive definite base."""
    definite = kernel.base is None or facts(kernel.base).positive_definite
    return Facts(domain=kernel.domain, positive_definite=definite or None, bounded=True)


@facts_rule(Convolution)
@facts_rule(FuzzyCrossProduct)
def _convolution(kernel: Convolution | FuzzyCrossProduct) -> Facts:
    """A sum over pairs: definite where the base is, and not bounded in the number of elements."""
    definite = facts(kernel.base).positive_definite
    return Facts(domain=kernel.domain, positive_definite=definite or None)
