"""Entropies, divergences and mutual information in nats, and distances of distributions."""

from mercer.info.adaptive_partition import AdaptivePartition
from mercer.info.association import (
    AssociationMeasure,
    Blomqvist,
    CopulaMMD,
    Hoeffding,
    SchweizerWolff,
    Spearman,
    SpearmanTail,
    association,
)
from mercer.info.characteristic_function import CharacteristicFunction
from mercer.info.corrected_ksg import CorrectedKSG
from mercer.info.correntropy import (
    CentredCorrentropy,
    Correntropy,
    CorrentropyCoefficient,
    CorrentropyMetric,
)
from mercer.info.density_estimates import KDE
from mercer.info.divergence_kernels import (
    DensityProduct,
    ExponentiatedDivergence,
    JensenTsallisKernel,
)
from mercer.info.entropies import conditional_entropy, cross_entropy, divergence, entropy
from mercer.info.estimate import InformationEstimate, estimate
from mercer.info.estimator import Estimator
from mercer.info.hilbertian_metric import HilbertianMetric
from mercer.info.indicator_metrics import kolmogorov, total_variation
from mercer.info.information_measures import (
    KL,
    L2,
    Bhattacharyya,
    Chi2,
    FDivergence,
    Hellinger,
    Measure,
    Phi,
    Renyi,
    Shannon,
    SharmaMittal,
    Tsallis,
)
from mercer.info.knn import KNN
from mercer.info.ksg import KSG, MixedKSG
from mercer.info.metric_value import MetricValue
from mercer.info.mixed_entropy import CategoriesAndNumbers
from mercer.info.mixture_measures import (
    Bregman,
    CauchySchwarz,
    Jeffreys,
    JensenRenyi,
    JensenShannon,
    JensenTsallis,
    K,
    L,
    SymmetricBregman,
)
from mercer.info.moment_entropies import Edgeworth, MaximumEntropy, Parametric
from mercer.info.mutual_information import (
    interaction_information,
    mutual_information,
    transfer_entropy,
)
from mercer.info.neighbour_graph import NeighbourGraph
from mercer.info.plug_in import NSB, BiasCorrection, ChaoShen, Grassberger, MillerMadow, PlugIn
from mercer.info.random_ties import RandomTies
from mercer.info.semigroup_kernels import EntropyKernel, InverseGeneralizedVariance
from mercer.info.sliced_transport import sliced_wasserstein
from mercer.info.spacings import Correa, Ebrahimi, Spacing, VanEs, Vasicek
from mercer.info.spanning_tree import SpanningTree
from mercer.info.transport_metrics import MaxNorm, SumNorm, dudley, kantorovich, wasserstein
from mercer.rkhs.kernel_information import kernel_generalized_variance, kernel_mutual_information

__all__ = [
    "KDE",
    "KL",
    "KNN",
    "KSG",
    "L2",
    "NSB",
    "AdaptivePartition",
    "AssociationMeasure",
    "Bhattacharyya",
    "BiasCorrection",
    "Blomqvist",
    "Bregman",
    "CategoriesAndNumbers",
    "CauchySchwarz",
    "CentredCorrentropy",
    "ChaoShen",
    "CharacteristicFunction",
    "Chi2",
    "CopulaMMD",
    "Correa",
    "CorrectedKSG",
    "Correntropy",
    "CorrentropyCoefficient",
    "CorrentropyMetric",
    "DensityProduct",
    "Ebrahimi",
    "Edgeworth",
    "EntropyKernel",
    "Estimator",
    "ExponentiatedDivergence",
    "FDivergence",
    "Grassberger",
    "Hellinger",
    "HilbertianMetric",
    "Hoeffding",
    "InformationEstimate",
    "InverseGeneralizedVariance",
    "Jeffreys",
    "JensenRenyi",
    "JensenShannon",
    "JensenTsallis",
    "JensenTsallisKernel",
    "K",
    "L",
    "MaxNorm",
    "MaximumEntropy",
    "Measure",
    "MetricValue",
    "MillerMadow",
    "MixedKSG",
    "NeighbourGraph",
    "Parametric",
    "Phi",
    "PlugIn",
    "RandomTies",
    "Renyi",
    "SchweizerWolff",
    "Shannon",
    "SharmaMittal",
    "Spacing",
    "SpanningTree",
    "Spearman",
    "SpearmanTail",
    "SumNorm",
    "SymmetricBregman",
    "Tsallis",
    "VanEs",
    "Vasicek",
    "association",
    "conditional_entropy",
    "cross_entropy",
    "divergence",
    "dudley",
    "entropy",
    "estimate",
    "interaction_information",
    "kantorovich",
    "kernel_generalized_variance",
    "kernel_mutual_information",
    "kolmogorov",
    "mutual_information",
    "sliced_wasserstein",
    "total_variation",
    "transfer_entropy",
    "wasserstein",
]


def __dir__() -> list[str]:
    return __all__
