"""Functions of an RKHS, measures of difference and dependence, Mercer expansions, bases of L2."""

from mercer.rkhs.approximation import Series, expand
from mercer.rkhs.bases import (
    Basis,
    CosineBasis,
    FourierBasis,
    HaarBasis,
    LegendreBasis,
    TensorBasis,
)
from mercer.rkhs.dependence import cka, coco, dhsic, kcca, nocco
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.expansion import MercerExpansion, mercer_expansion
from mercer.rkhs.function import Function
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.measures import hsic, mmd2, witness
from mercer.rkhs.mixture import Mixture
from mercer.rkhs.quadrature import Quadrature
from mercer.rkhs.stein import ksd2

__all__ = [
    "Basis",
    "CosineBasis",
    "Empirical",
    "FourierBasis",
    "Function",
    "Gaussian",
    "HaarBasis",
    "LegendreBasis",
    "MercerExpansion",
    "Mixture",
    "Quadrature",
    "Series",
    "TensorBasis",
    "cka",
    "coco",
    "dhsic",
    "expand",
    "hsic",
    "kcca",
    "ksd2",
    "mercer_expansion",
    "mmd2",
    "nocco",
    "witness",
]
