"""Known properties of each kernel: bounded, stationary, characteristic, universal, analytic."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import linalg
from mercer.kernels.algebra import Constant
from mercer.kernels.base import Kernel, Radial
from mercer.kernels.diagrams import diagram_facts as diagram_facts
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
from mercer.kernels.from_functions import FromCallable
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
from mercer.kernels.semigroup import GammaSemigroup, StableSemigroup
from mercer.kernels.series import series_facts as series_facts
from mercer.kernels.shift_invariant import BSpline, Cosine, Dirichlet, Fejer, Poisson, Sinc
from mercer.kernels.sobolev import BandLimited, Brownian, HalfLine, Sobolev
from mercer.kernels.stein import Stein
from mercer.kernels.theory import Facts, facts, facts_rule

__all__ = ["Facts", "facts"]


def _always(*kinds: type[Kernel], **known: Any) -> None:
    """Register facts that do not depend on the parameters."""
    for kind in kinds:
        facts_rule(kind)(lambda kernel: Facts(**{"positive_definite": True, **known}))


facts_rule(Kernel)(lambda kernel: Facts(domain=None))
facts_rule(FromCallable)(lambda kernel: Facts(domain=None))  # known to the author of the function
_always(Radial, stationary=True, positive_definite=None)  # radial kernels defined elsewhere

# Bounded, continuous, stationary: k is the Fourier transform of a finite measure (Bochner). Where
# its support is all of R^d, and only there, k is characteristic, and integrally strictly so
# (Sriperumbudur et al. 2010, theorem 9). Densities are positive but for isolated zeros.
_FULL = {"stationary": True, "continuous": True, "integrally_strict": True}
_always(RBF, RationalQuadratic, Cauchy, InverseMultiquadric, **_FULL, analytic=True)
_always(Exponential, Matern, Laplace, BSpline, **_FULL, analytic=False)
# Support a cube: not R^d, but a set of uniqueness of entire functions (Micchelli et al. 2006)
_always(Sinc, BandLimited, stationary=True, analytic=True, characteristic=False, universal=True)
# Periodic on the line. (On the circle Poisson is universal and characteristic.)
_always(Cosine, Poisson, Dirichlet, Fejer, stationary=True, analytic=True, separates=False)

# Taylor kernels with positive coefficients: universal by Stone-Weierstrass (Steinwart 2001).
# The embedding of a measure determines all its moments; that of exp(a <x, y>) = w(x) w(y) RBF(x, y) is
# the RBF embedding of w times the measure.
_TAYLOR = {"bounded": False, "analytic": True, "integrally_strict": True}
_always(ExponentialDot, **_TAYLOR)
_always(Binomial, **_TAYLOR, domain="the open unit ball")
# tanh(a + b) < 1: a matrix [[tanh(a + b), ~1], [~1, ~1]] has a negative determinant
_always(Sigmoid, bounded=True, stationary=False, analytic=True, positive_definite=False)

# The space of Sobolev's kernel contains the polynomials, those of the next two the smooth functions
# with compact support in the open domain: each separates finite measures and is dense.
_SOBOLEV = {"stationary": False, "continuous": True, "analytic": False, "integrally_strict": True}
_always(Sobolev, **_SOBOLEV, bounded=True, domain="[0, 1]^d")
_always(Brownian, HalfLine, **_SOBOLEV, bounded=False, domain="(0, inf)^d")
# RBF.on(k) with k(x, y) = sum 2 x_k y_k / (x_k + y_k): see `Composed`. Analytic but for the border.
_CHI2 = {"stationary": False, "continuous": True, "integrally_strict": True}
_always(Chi2, **_CHI2, bounded=True, domain="[0, inf)^d")
# Laplace transforms of measures whose support is [0, inf)^d (Fukumizu et al. 2009, theorem 8): see `SemigroupKernel`.
# (x + y)^p is not analytic at the origin.
_LAPLACE = {"stationary": False, "continuous": True, "integrally_strict": True, "bounded": True}
_always(StableSemigroup, **_LAPLACE, analytic=False, domain="[0, inf)^d")
_always(GammaSemigroup, **_LAPLACE, analytic=True, domain="[0, inf)^d")
# A sum over the columns depends on marginals only; every function of its space is 0 at the origin.
_SUM = {"continuous": True, "analytic": False, "characteristic": False, "universal": False}
_always(Intersection, **_SUM, bounded=False, separates=True, domain="[0, inf)^d")
_always(Delta, stationary=True, continuous=True, integrally_strict=True, domain="discrete sets")


@facts_rule(Energy)
def _energy(kernel: Energy) -> Facts:
    """Strong negative type for p < 2 (Szekely & Rizzo 2005), but every function is 0 at the origin."""
    if kernel.power == 2:
        return facts(Linear())
    known: dict[str, Any] = {"bounded": False, "continuous": True, "analytic": False}
    known["strictly_positive_definite"] = False  # k(0, 0) = 0
    return Facts(**known, characteristic=True, universal=False, positive_definite=True)


@facts_rule(Stein)
def _stein(kernel: Stein) -> Facts:
    """<xi(x), xi(y)> with xi(x) = s(x) k(x, .) + grad k(x, .): a kernel; the embedding of p is 0.

    All other properties depend on the score, about which nothing is known.
    """
    return Facts(positive_definite=facts(kernel.kernel).positive_definite)


@facts_rule(Linear)
def _linear(kernel: Linear) -> Facts:
    """The embedding is the mean."""
    if kernel.metric is None:
        return _moments(separates=True)
    rank = linalg.matrix_rank(np.asarray(kernel.metric))
    return _moments(separates=rank == len(kernel.metric)) if rank else facts(Constant(0.0))


@facts_rule(Taylor)
def _taylor(kernel: Taylor) -> Facts:
    """Finitely many moments; x and -x look the same where only even orders count."""
    orders = [n for n, a in enumerate(kernel.coefficients) if n and a > 0]
    if not orders:
        return facts(Constant(kernel.coefficients[0]))
    return _moments(separates=any(n % 2 for n in orders))


@facts_rule(Polynomial)
def _polynomial(kernel: Polynomial) -> Facts:
    """The embedding consists of finitely many moments; an even degree alone cannot tell x from -x."""
    return _moments(separates=kernel.degree % 2 == 1 or kernel.offset > 0)


def _moments(separates: bool) -> Facts:
    known: dict[str, Any] = {"bounded": False, "characteristic": False, "universal": False}
    known["strictly_positive_definite"] = False  # finitely many features
    return Facts(**known, analytic=True, separates=separates, positive_definite=True)


@facts_rule(ArcCosine)
def _arc_cosine(kernel: ArcCosine) -> Facts:
    """phi(c x) = c^n phi(x) for c > 0: a mass at x looks like masses at 0 and at 2 x."""
    smooth = kernel.degree > 0  # of degree 0 it depends on directions only, which jump at 0
    known: dict[str, Any] = {"characteristic": False, "universal": False, "analytic": False}
    known |= {"bounded": not smooth, "continuous": smooth, "separates": smooth}
    return Facts(**known, stationary=False, positive_definite=True)
