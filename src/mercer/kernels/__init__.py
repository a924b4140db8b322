"""Kernels: base classes, concrete kernels, their algebra, wrappers and theory."""

from mercer.kernels import object_facts as object_facts
from mercer.kernels.algebra import Constant, Exp, Multiple, Power, Product, Sum
from mercer.kernels.bandwidth import bandwidth_grid, median_bandwidth
from mercer.kernels.base import Coordinatewise, DotProduct, Kernel, Radial, SmoothRadial
from mercer.kernels.canonical_distance import canonical_distance
from mercer.kernels.compose import Composed, Tensor
from mercer.kernels.default import default_kernel
from mercer.kernels.definite import is_positive_definite
from mercer.kernels.diagrams.diagram_kernels import (
    PersistenceFisher,
    PersistenceScaleSpace,
    PersistenceSlicedWasserstein,
    PersistenceWeightedGaussian,
)
from mercer.kernels.discrete import Chi2, Delta, Intersection
from mercer.kernels.dot import (
    ArcCosine,
    Binomial,
    ExponentialDot,
    Linear,
    Polynomial,
    Sigmoid,
    Taylor,
)
from mercer.kernels.dynamics.cauchy_binet import CauchyBinet
from mercer.kernels.dynamics.sequence_models import HiddenMarkov, LinearSystem
from mercer.kernels.dynamics.sequence_products import HiddenMarkovProduct, LinearSystemProduct
from mercer.kernels.facts import Facts, facts
from mercer.kernels.from_functions import DistanceInduced, FromCallable, FromPairs
from mercer.kernels.function_space import FunctionSpace, function_space
from mercer.kernels.graphs.graphlets import Graphlets
from mercer.kernels.graphs.multiscale_laplacian import MultiscaleLaplacian
from mercer.kernels.graphs.packed_graphs import Graphs
from mercer.kernels.graphs.propagation import Propagation
from mercer.kernels.graphs.random_walks import Factorial, Geometric, RandomWalk
from mercer.kernels.graphs.shortest_paths import ShortestPath
from mercer.kernels.graphs.weisfeiler_lehman import OptimalAssignmentWL, WeisfeilerLehman
from mercer.kernels.network_map import NetworkMap
from mercer.kernels.own_domain import facts_on_circle, facts_on_points
from mercer.kernels.precomputed import Precomputed
from mercer.kernels.radial import (
    RBF,
    Cauchy,
    Energy,
    Exponential,
    InverseMultiquadric,
    Laplace,
    Matern,
    RationalQuadratic,
)
from mercer.kernels.rankings.rankings import Kendall, Mallows, Spearman
from mercer.kernels.rules import Rule
from mercer.kernels.semigroup import GammaSemigroup, SemigroupKernel, StableSemigroup
from mercer.kernels.series.alignment_kernels import (
    DynamicTimeWarping,
    GlobalAlignment,
    SoftDTW,
)
from mercer.kernels.series.cyclic_shift import CyclicShift
from mercer.kernels.series.series_data import Series
from mercer.kernels.series.signature import Signature
from mercer.kernels.sets.common_elements import Dice, Jaccard, SetIntersection, WeightedJaccard
from mercer.kernels.sets.element_pairs import BestMatch, Convolution
from mercer.kernels.sets.fuzzy_sets import (
    FuzzyCrossProduct,
    FuzzyIntersection,
    GaussianNonsingleton,
    MinimumNorm,
    Nonsingleton,
    ProductNorm,
)
from mercer.kernels.shift_invariant import (
    BSpline,
    Cosine,
    Dirichlet,
    Fejer,
    Poisson,
    ShiftInvariant,
    Sinc,
)
from mercer.kernels.smooth import RadialForm, radial_form
from mercer.kernels.sobolev import BandLimited, Brownian, HalfLine, Sobolev
from mercer.kernels.spectral_density import sample_frequencies, spectral_density, spectral_masses
from mercer.kernels.stein import Stein
from mercer.kernels.strings.gapped import GappyKmers, GappyPairs, WeightedDegree
from mercer.kernels.strings.mismatch import Mismatch
from mercer.kernels.strings.spectrum import Spectrum
from mercer.kernels.strings.subsequences import AllSubsequences, Subsequence, Substrings
from mercer.kernels.trees.tree_kernels import PartialTree, SubsetTree, Subtree
from mercer.kernels.wrappers import Normalized, Scaled, Select, Transformed, Weighted

__all__ = [
    "RBF",
    "AllSubsequences",
    "ArcCosine",
    "BSpline",
    "BandLimited",
    "BestMatch",
    "Binomial",
    "Brownian",
    "Cauchy",
    "CauchyBinet",
    "Chi2",
    "Composed",
    "Constant",
    "Convolution",
    "Coordinatewise",
    "Cosine",
    "CyclicShift",
    "Delta",
    "Dice",
    "Dirichlet",
    "DistanceInduced",
    "DotProduct",
    "DynamicTimeWarping",
    "Energy",
    "Exp",
    "Exponential",
    "ExponentialDot",
    "Factorial",
    "Facts",
    "Fejer",
    "FromCallable",
    "FromPairs",
    "FunctionSpace",
    "FuzzyCrossProduct",
    "FuzzyIntersection",
    "GammaSemigroup",
    "GappyKmers",
    "GappyPairs",
    "GaussianNonsingleton",
    "Geometric",
    "GlobalAlignment",
    "Graphlets",
    "Graphs",
    "HalfLine",
    "HiddenMarkov",
    "HiddenMarkovProduct",
    "Intersection",
    "InverseMultiquadric",
    "Jaccard",
    "Kendall",
    "Kernel",
    "Laplace",
    "Linear",
    "LinearSystem",
    "LinearSystemProduct",
    "Mallows",
    "Matern",
    "MinimumNorm",
    "Mismatch",
    "Multiple",
    "MultiscaleLaplacian",
    "NetworkMap",
    "Nonsingleton",
    "Normalized",
    "OptimalAssignmentWL",
    "PartialTree",
    "PersistenceFisher",
    "PersistenceScaleSpace",
    "PersistenceSlicedWasserstein",
    "PersistenceWeightedGaussian",
    "Poisson",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "ProductNorm",
    "Propagation",
    "Radial",
    "RadialForm",
    "RandomWalk",
    "RationalQuadratic",
    "Rule",
    "Scaled",
    "Select",
    "SemigroupKernel",
    "Series",
    "SetIntersection",
    "ShiftInvariant",
    "ShortestPath",
    "Sigmoid",
    "Signature",
    "Sinc",
    "SmoothRadial",
    "Sobolev",
    "SoftDTW",
    "Spearman",
    "Spectrum",
    "StableSemigroup",
    "Stein",
    "Subsequence",
    "SubsetTree",
    "Substrings",
    "Subtree",
    "Sum",
    "Taylor",
    "Tensor",
    "Transformed",
    "Weighted",
    "WeightedDegree",
    "WeightedJaccard",
    "WeisfeilerLehman",
    "bandwidth_grid",
    "canonical_distance",
    "default_kernel",
    "facts",
    "facts_on_circle",
    "facts_on_points",
    "function_space",
    "is_positive_definite",
    "median_bandwidth",
    "radial_form",
    "sample_frequencies",
    "spectral_density",
    "spectral_masses",
]


def __dir__() -> list[str]:
    return __all__
