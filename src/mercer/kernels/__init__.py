"""What a kernel is; the zoo of kernels; their algebra, wrappers and theory."""

from mercer.kernels.algebra import Constant, Exp, Multiple, Power, Product, Sum
from mercer.kernels.base import Coordinatewise, DotProduct, Kernel, Radial, SmoothRadial
from mercer.kernels.compose import Composed, Tensor
from mercer.kernels.discrete import Chi2, Delta, Intersection
from mercer.kernels.distances import Energy, Laplace
from mercer.kernels.dot import ArcCosine, Binomial, ExponentialDot, Linear, Polynomial, Sigmoid
from mercer.kernels.radial import (
    RBF,
    Cauchy,
    Exponential,
    InverseMultiquadric,
    Matern,
    RationalQuadratic,
)
from mercer.kernels.shift import BSpline, Cosine, Dirichlet, Fejer, Poisson, ShiftInvariant, Sinc
from mercer.kernels.sobolev import BandLimited, Brownian, HalfLine, Sobolev
from mercer.kernels.wrappers import Normalized, Scaled, Select, Transformed, Weighted

__all__ = [
    "RBF",
    "ArcCosine",
    "BSpline",
    "BandLimited",
    "Binomial",
    "Brownian",
    "Cauchy",
    "Chi2",
    "Composed",
    "Constant",
    "Coordinatewise",
    "Cosine",
    "Delta",
    "Dirichlet",
    "DotProduct",
    "Energy",
    "Exp",
    "Exponential",
    "ExponentialDot",
    "Fejer",
    "HalfLine",
    "Intersection",
    "InverseMultiquadric",
    "Kernel",
    "Laplace",
    "Linear",
    "Matern",
    "Multiple",
    "Normalized",
    "Poisson",
    "Polynomial",
    "Power",
    "Product",
    "Radial",
    "RationalQuadratic",
    "Scaled",
    "Select",
    "ShiftInvariant",
    "Sigmoid",
    "Sinc",
    "SmoothRadial",
    "Sobolev",
    "Sum",
    "Tensor",
    "Transformed",
    "Weighted",
]
