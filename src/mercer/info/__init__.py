"""Entropies, divergences and mutual information, in nats."""

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
from mercer.info.metric_value import MetricValue
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
from mercer.info.sliced_transport import sliced_wasserstein
from mercer.info.transport_metrics import MaxNorm, SumNorm, dudley, kantorovich, wasserstein

__all__ = [
    "KL",
    "L2",
    "Bhattacharyya",
    "Bregman",
    "CauchySchwarz",
    "Chi2",
    "FDivergence",
    "Hellinger",
    "Jeffreys",
    "JensenRenyi",
    "JensenShannon",
    "JensenTsallis",
    "K",
    "L",
    "MaxNorm",
    "Measure",
    "MetricValue",
    "Phi",
    "Renyi",
    "Shannon",
    "SharmaMittal",
    "SumNorm",
    "SymmetricBregman",
    "Tsallis",
    "dudley",
    "kantorovich",
    "kolmogorov",
    "sliced_wasserstein",
    "total_variation",
    "wasserstein",
]
