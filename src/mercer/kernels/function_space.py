"""Properties of the functions of an RKHS: smoothness, behaviour at infinity, and density in C_0 and C_b."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf

from mercer import validate
from mercer.kernels.algebra import Constant, Multiple, Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.columns_used import reads
from mercer.kernels.compose import Tensor
from mercer.kernels.discrete import Chi2, Delta
from mercer.kernels.facts import facts
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
from mercer.kernels.rules import Rule
from mercer.kernels.semigroup import GammaSemigroup, StableSemigroup
from mercer.kernels.shift_invariant import BSpline, Cosine, Dirichlet, Fejer, Poisson, Sinc
from mercer.kernels.sobolev import BandLimited, Brownian, HalfLine, Sobolev
from mercer.kernels.wrappers import Scaled, Select

_COMPACT_DOMAINS = ("[0, 1]^d",)
_SEPARABLE_DOMAINS = ("R^d", "[0, 1]^d", "(0, inf)^d", "[0, inf)^d", "the open unit ball")


@dataclass(frozen=True)
class FunctionSpace:
    """Known properties of the functions of an RKHS; None where no theorem applies.

    Attributes
    ----------
    smoothness : int, inf or None
        All functions have so many continuous derivatives: the order m of k in C^(m, m), at least
        (Steinwart and Christmann 2008, corollary 4.36). inf for analytic kernels.
    vanishing : bool or None
        All functions tend to 0 at infinity, that is, k is bounded and all k(., y) are in C_0. True on compact domains.
    c0_universal : bool or None
        The functions are in C_0 and uniformly dense in it, which for a vanishing kernel is the same as
        `integrally_strict` (Sriperumbudur, Fukumizu and Lanckriet 2011, proposition 4).
    cb_universal : bool or None
        Dense in the bounded continuous functions: on a compact domain `universal`; elsewhere impossible for a
        vanishing kernel, since uniform limits of functions that tend to 0 do so, too.
    separable : bool or None
        The space has a countable dense subset, as that of every continuous kernel on R^d, or on a subset of it, has
        (Steinwart and Christmann 2008, lemma 4.33).
    """

    smoothness: float | None
    vanishing: bool | None
    c0_universal: bool | None
    cb_universal: bool | None
    separable: bool | None = None


def function_space(kernel: Kernel) -> FunctionSpace:
    """Known smoothness, behaviour at infinity and density of the functions of an RKHS.

    Examples
    --------
    >>> from mercer.kernels import RBF, Matern, Polynomial
    >>> function_space(Matern(2.5))
    FunctionSpace(smoothness=2, vanishing=True, c0_universal=True, cb_universal=False, separable=True)
    >>> function_space(RBF(1.0) + Polynomial(2)).vanishing
    False
    """
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    known, vanishing = facts(kernel), vanishing_rule.apply(kernel)
    compact = known.domain in _COMPACT_DOMAINS
    vanishing = True if compact and known.continuous else vanishing
    if known.bounded is False:
        vanishing = False
    c0 = None if vanishing is None else vanishing and known.integrally_strict
    cb = known.universal if compact else False if vanishing else None
    smoothness = inf if known.analytic else smoothness_rule.apply(kernel)
    separable = True if known.continuous and known.domain in _SEPARABLE_DOMAINS else None
    return FunctionSpace(smoothness, vanishing, c0, cb, separable)


# ---- derivatives --------------------------------------------------------------------------------

smoothness_rule = Rule("smoothness", "nothing is known")  # never raises: there is a case for Kernel
smoothness_rule(Kernel)(lambda kernel: None)
for _kind in (Exponential, Laplace, Brownian, HalfLine, StableSemigroup):
    smoothness_rule(_kind)(lambda kernel: 0)
smoothness_rule(Energy)(lambda kernel: inf if kernel.power == 2 else 0)
# |x|^(2 nu) times an analytic function is the leading irregular term of k at 0
smoothness_rule(Matern)(lambda kernel: ceil(kernel.nu) - 1)
smoothness_rule(BSpline)(lambda kernel: (kernel.order - 1) // 2)
smoothness_rule(Sobolev)(lambda kernel: kernel.order - 1)
smoothness_rule(Select)(lambda kernel: function_space(kernel.kernel).smoothness)
smoothness_rule(Scaled)(lambda kernel: function_space(kernel.kernel).smoothness)
smoothness_rule(Multiple)(lambda kernel: function_space(kernel.kernel).smoothness)


@smoothness_rule(Sum)
@smoothness_rule(Product)
@smoothness_rule(Tensor)
def _least_smooth(kernel: Kernel) -> float | None:
    parts = [function_space(part).smoothness for part in kernel.parts().values()]
    known = [part for part in parts if part is not None]
    return min(known) if len(known) == len(parts) else None


# ---- infinity -----------------------------------------------------------------------------------

vanishing_rule = Rule("vanishing", "nothing is known")
vanishing_rule(Kernel)(lambda kernel: None)
for _kind in (
    RBF, RationalQuadratic, Cauchy, InverseMultiquadric, Exponential, Matern, Laplace, BSpline,
    Sinc, BandLimited, Chi2, Delta, StableSemigroup, GammaSemigroup,
):  # fmt: skip
    vanishing_rule(_kind)(lambda kernel: True)
for _kind in (Cosine, Poisson, Dirichlet, Fejer, Constant, Energy, Brownian):
    vanishing_rule(_kind)(lambda kernel: False)
vanishing_rule(Select)(lambda kernel: function_space(kernel.kernel).vanishing)
vanishing_rule(Multiple)(lambda kernel: function_space(kernel.kernel).vanishing or None)


@vanishing_rule(Scaled)
def _scaled_vanishing(kernel: Scaled) -> bool | None:
    factors = kernel.factors if isinstance(kernel.factors, tuple) else (kernel.factors,)
    return function_space(kernel.kernel).vanishing if all(factors) else None


@vanishing_rule(Tensor)
def _tensor_vanishing(kernel: Tensor) -> bool | None:
    """On different columns one of the factors is small far out, and the others are bounded."""
    return all(function_space(part).vanishing for part in kernel.kernels) or None


@vanishing_rule(Sum)
def _sum_vanishing(kernel: Sum) -> bool | None:
    """A sum of functions of the same columns; of different columns one term may stay where the other vanishes."""
    if reads(kernel.left) != reads(kernel.right):
        return None
    left, right = (function_space(part).vanishing for part in (kernel.left, kernel.right))
    if left and right:
        return True
    return False if (left, right) in ((True, False), (False, True)) else None


@vanishing_rule(Product)
def _product_vanishing(kernel: Product) -> bool | None:
    """A bounded function times one that vanishes, both of the same columns."""
    if reads(kernel.left) != reads(kernel.right):
        return None
    for factor, other in ((kernel.left, kernel.right), (kernel.right, kernel.left)):
        if function_space(factor).vanishing and facts(other).bounded:
            return True
    return None
