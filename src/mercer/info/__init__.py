"""Entropies, divergences and mutual information, in nats."""

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
from mercer.info.corrected_ksg import CorrectedKSG
from mercer.info.correntropy import (
    CentredCorrentropy,
    Correntropy,
    CorrentropyCoefficient,
    CorrentropyMetric,
)
from mercer.info.entropies import conditional_entropy, cross_entropy, divergence, entropy
from mercer.info.estimator import Estimator
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
from mercer.info.mutual_information import (
    interaction_information,
    mutual_information,
    transfer_entropy,
)
from mercer.info.plug_in import NSB, BiasCorrection, ChaoShen, Grassberger, MillerMadow, PlugIn
from mercer.info.sliced_transport import sliced_wasserstein
from mercer.info.transport_metrics import MaxNorm, SumNorm, dudley, kantorovich, wasserstein
from mercer.rkhs.kernel_information import kernel_generalized_variance, kernel_mutual_information

__all__ = [
    "KL",
    "KNN",
    "KSG",
    "L2",
    "NSB",
    "AssociationMeasure",
    "Bhattacharyya",
    "BiasCorrection",
    "Blomqvist",
    "Bregman",
    "CategoriesAndNumbers",
    "CauchySchwarz",
    "CentredCorrentropy",
    "ChaoShen",
    "Chi2",
    "CopulaMMD",
    "CorrectedKSG",
    "Correntropy",
    "CorrentropyCoefficient",
    "CorrentropyMetric",
    "Estimator",
    "FDivergence",
    "Grassberger",
    "Hellinger",
    "Hoeffding",
    "Jeffreys",
    "JensenRenyi",
    "JensenShannon",
    "JensenTsallis",
    "K",
    "L",
    "MaxNorm",
    "Measure",
    "MetricValue",
    "MillerMadow",
    "MixedKSG",
    "Phi",
    "PlugIn",
    "Renyi",
    "SchweizerWolff",
    "Shannon",
    "SharmaMittal",
    "Spearman",
    "SpearmanTail",
    "SumNorm",
    "SymmetricBregman",
    "Tsallis",
    "association",
    "conditional_entropy",
    "cross_entropy",
    "divergence",
    "dudley",
    "entropy",
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
