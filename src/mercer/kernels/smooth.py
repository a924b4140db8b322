"""Kernels as functions of the squared distance, with two derivatives; closed under the algebra."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mercer import validate
from mercer.backend import Array, namespace, zeros
from mercer.kernels.algebra import Constant, Exp, Multiple, Power, Product, Sum
from mercer.kernels.base import Kernel, Radial, SmoothRadial
from mercer.kernels.compose import Composed
from mercer.kernels.radial import Matern
from mercer.kernels.rules import Rule
from mercer.kernels.wrappers import Normalized, Scaled

Profile = Callable[[Array], Array]


@dataclass(frozen=True)
class RadialForm:
    """k(x, y) = f(|x - y|^2): f, and f' and f'' where every part of the kernel has them."""

    profile: Profile
    slope: Profile | None = None
    curvature: Profile | None = None


def radial_form(kernel: Kernel) -> RadialForm | None:
    """The kernel as a function of r2 = |x - y|^2, or None if it is not known to be one.

    Sums, products, powers, multiples, exponentials and normalised versions of radial kernels are
    radial, and so are a radial kernel of another one (`.on`) and one whose columns are all scaled
    by the same factor. Derivatives are with respect to r2.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels.radial import RBF
    >>> form = radial_form(2 * RBF(1.0) + 1)
    >>> r2 = np.array([0.0, 2.0])
    >>> form.profile(r2), form.slope(r2)
    (array([3.        , 1.73575888]), array([-1.        , -0.36787944]))
    """
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    f = _form(kernel)
    if f is None:
        return None
    return RadialForm(f.profile, f.slope, f.curvature) if f.smooth else RadialForm(f.profile)


class _Form(NamedTuple):
    """f, f' and f''; the derivatives of a form that is not smooth are never called."""

    profile: Profile
    slope: Profile
    curvature: Profile
    smooth: bool = True


_rule = Rule("radial form", "only functions of |x - y|^2 have one")


def _form(kernel: Kernel) -> _Form | None:
    return _rule.apply(kernel)


@_rule(Kernel)
def _not_radial(kernel: Kernel) -> None:
    return None


@_rule(Radial)
def _radial(kernel: Radial) -> _Form:
    return _Form(kernel.profile, kernel.profile, kernel.profile, smooth=False)


@_rule(SmoothRadial)
def _smooth_radial(kernel: SmoothRadial) -> _Form:
    return _Form(kernel.profile, kernel.slope, kernel.curvature)


@_rule(Matern)
def _matern(kernel: Matern) -> _Form:
    """(t^nu K_nu(t))' = -t^nu K_(nu-1)(t) (DLMF 10.29.4), so f' is the function of nu - 1."""
    nu, rate = kernel.nu, kernel.nu / (2 * kernel.bandwidth**2)
    return _Form(
        kernel.profile,
        lambda r2: -rate / (nu - 1) * kernel.lowered(r2, 1),
        lambda r2: rate / (nu - 1) * (rate / (nu - 2)) * kernel.lowered(r2, 2),
        smooth=nu > 2,
    )


@_rule(Constant)
def _constant(kernel: Constant) -> _Form:
    def flat(r2: Array) -> Array:
        return zeros(r2.shape, r2)

    return _Form(lambda r2: flat(r2) + kernel.value, flat, flat)


@_rule(Sum)
def _sum(kernel: Sum) -> _Form | None:
    f, g = _form(kernel.left), _form(kernel.right)
    if f is None or g is None:
        return None
    return _Form(
        lambda r2: f.profile(r2) + g.profile(r2),
        lambda r2: f.slope(r2) + g.slope(r2),
        lambda r2: f.curvature(r2) + g.curvature(r2),
        f.smooth and g.smooth,
    )


@_rule(Product)
def _product(kernel: Product) -> _Form | None:
    f, g = _form(kernel.left), _form(kernel.right)
    if f is None or g is None:
        return None
    return _Form(
        lambda r2: f.profile(r2) * g.profile(r2),
        lambda r2: f.slope(r2) * g.profile(r2) + f.profile(r2) * g.slope(r2),
        lambda r2: (
            f.curvature(r2) * g.profile(r2)
            + 2 * f.slope(r2) * g.slope(r2)
            + f.profile(r2) * g.curvature(r2)
        ),
        f.smooth and g.smooth,
    )


@_rule(Power)
def _power(kernel: Power) -> _Form | None:
    f, n = _form(kernel.kernel), kernel.exponent
    if f is None or n == 1:
        return f
    if n == 0:
        return _form(Constant(1.0))
    return _chain(
        f,
        lambda k: k**n,
        lambda k: n * k ** (n - 1),
        lambda k: n * (n - 1) * k ** (n - 2),
    )


@_rule(Multiple)
def _multiple(kernel: Multiple) -> _Form | None:
    f = _form(kernel.kernel)
    return None if f is None else _multiplied(f, kernel.factor)


@_rule(Normalized)
def _normalized(kernel: Normalized) -> _Form | None:
    f = _form(kernel.kernel)
    if f is None:
        return None
    top = float(f.profile(np.zeros(1, dtype=np.float64))[0])
    return _multiplied(f, 1 / top if top > 0 else 0.0)


@_rule(Exp)
def _exp(kernel: Exp) -> _Form | None:
    f, s = _form(kernel.kernel), kernel.scale
    if f is None:
        return None

    def exp(k: Array) -> Array:
        return namespace(k).exp(s * k)

    return _chain(f, exp, lambda k: s * exp(k), lambda k: s**2 * exp(k))


@_rule(Scaled)
def _scaled(kernel: Scaled) -> _Form | None:
    f, factors = _form(kernel.kernel), kernel.factors
    sizes = {abs(a) for a in (factors if isinstance(factors, tuple) else (factors,))}
    if f is None or len(sizes) > 1:
        return None
    a2 = sizes.pop() ** 2
    return _Form(
        lambda r2: f.profile(a2 * r2),
        lambda r2: a2 * f.slope(a2 * r2),
        lambda r2: a2 * (a2 * f.curvature(a2 * r2)),
        f.smooth,
    )


@_rule(Composed)
def _composed(kernel: Composed) -> _Form | None:
    """f(2 g(0) - 2 g(r2)), whose argument is never negative."""
    f, g = _form(kernel.outer), _form(kernel.inner)
    if f is None or g is None:
        return None

    def distance2(k: Array) -> Array:
        return namespace(k).clip(2 * (g.profile(zeros((1,), k)) - k), 0, None)

    return _chain(
        g,
        lambda k: f.profile(distance2(k)),
        lambda k: -2 * f.slope(distance2(k)),
        lambda k: 4 * f.curvature(distance2(k)),
        smooth=f.smooth,
    )


def _multiplied(f: _Form, factor: float) -> _Form:
    return _Form(
        lambda r2: factor * f.profile(r2),
        lambda r2: factor * f.slope(r2),
        lambda r2: factor * f.curvature(r2),
        f.smooth,
    )


def _chain(f: _Form, h: Profile, dh: Profile, ddh: Profile, smooth: bool = True) -> _Form:
    """The form of h(f) by the chain rule: h(f), h'(f) f', h''(f) f'^2 + h'(f) f''."""

    def curvature(r2: Array) -> Array:
        k = f.profile(r2)
        return ddh(k) * f.slope(r2) ** 2 + dh(k) * f.curvature(r2)

    return _Form(
        lambda r2: h(f.profile(r2)),
        lambda r2: dh(f.profile(r2)) * f.slope(r2),
        curvature,
        f.smooth and smooth,
    )
