"""Functions of an RKHS, distributions and their embeddings, measures, Mercer expansions, bases of L2."""

from mercer.rkhs.approximation import BasisSeries as Series
from mercer.rkhs.approximation import expand
from mercer.rkhs.bases import (
    Basis,
    CosineBasis,
    FourierBasis,
    HaarBasis,
    LegendreBasis,
    TensorBasis,
)
from mercer.rkhs.compression.greedy import kernel_herding, stein_points, stein_thinning
from mercer.rkhs.compression.prototypes import Prototypes, prototypes
from mercer.rkhs.compression.thinning import kernel_thinning
from mercer.rkhs.dependence_measures import cka, coco, dhsic, kcca, nocco
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.embeddings.bags import Bags
from mercer.rkhs.embeddings.belief_propagation import KernelBeliefPropagation
from mercer.rkhs.embeddings.conditional_embedding import ConditionalEmbedding
from mercer.rkhs.embeddings.divergences import JensenShannon, SlicedWasserstein
from mercer.rkhs.embeddings.embedding import Embedding, ProductEmbedding, mean_embedding
from mercer.rkhs.embeddings.functions import transformed
from mercer.rkhs.embeddings.latent_meanmap import LatentMeanMap
from mercer.rkhs.embeddings.meanmap import MeanMap
from mercer.rkhs.embeddings.operators import CovarianceOperator
from mercer.rkhs.embeddings.probability import ProbabilityProduct
from mercer.rkhs.embeddings.shrinkage import ShrunkMeanMap
from mercer.rkhs.expansion import MercerExpansion, mercer_expansion
from mercer.rkhs.finite_set import fsic
from mercer.rkhs.function import Function
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.kernel_information import (
    NormPenalty,
    SquaredShift,
    kernel_generalized_variance,
    kernel_mutual_information,
)
from mercer.rkhs.logdensity import LogDensity, Scores
from mercer.rkhs.mean_matching import abc_posterior, kernel_mean_matching
from mercer.rkhs.measures import hsic, mmd2, witness
from mercer.rkhs.mixture import Mixture
from mercer.rkhs.partial_correlation import partial_distance_correlation
from mercer.rkhs.quadrature import Quadrature
from mercer.rkhs.rbm import GaussBernoulliRBM
from mercer.rkhs.stein_discrepancy import ksd2
from mercer.rkhs.uniform import Dirac, Uniform

__all__ = [
    "Bags",
    "Basis",
    "ConditionalEmbedding",
    "CosineBasis",
    "CovarianceOperator",
    "Dirac",
    "Embedding",
    "Empirical",
    "FourierBasis",
    "Function",
    "GaussBernoulliRBM",
    "Gaussian",
    "HaarBasis",
    "JensenShannon",
    "KernelBeliefPropagation",
    "LatentMeanMap",
    "LegendreBasis",
    "LogDensity",
    "MeanMap",
    "MercerExpansion",
    "Mixture",
    "NormPenalty",
    "ProbabilityProduct",
    "ProductEmbedding",
    "Prototypes",
    "Quadrature",
    "Scores",
    "Series",
    "ShrunkMeanMap",
    "SlicedWasserstein",
    "SquaredShift",
    "TensorBasis",
    "Uniform",
    "abc_posterior",
    "cka",
    "coco",
    "dhsic",
    "expand",
    "fsic",
    "hsic",
    "kcca",
    "kernel_generalized_variance",
    "kernel_herding",
    "kernel_mean_matching",
    "kernel_mutual_information",
    "kernel_thinning",
    "ksd2",
    "mean_embedding",
    "mercer_expansion",
    "mmd2",
    "nocco",
    "partial_distance_correlation",
    "prototypes",
    "stein_points",
    "stein_thinning",
    "transformed",
    "witness",
]


def __dir__() -> list[str]:
    return __all__
