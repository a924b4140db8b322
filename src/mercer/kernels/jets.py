"""Kernels with their first and mixed derivatives, coordinate by coordinate, closed under the algebra.

For kernels that are not radial, such as k(Ax, Ay) with a factor for each column, products over columns
and polynomials: d/dx_c, d/dy_c and d^2/dx_c dy_c, with the sum, product and chain rules for combinations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import NamedTuple

from mercer.backend import Array, array_like, namespace
from mercer.kernels.algebra import Exp, Multiple, Power, Product, Sum
from mercer.kernels.base import Kernel, Points
from mercer.kernels.compose import Tensor
from mercer.kernels.dot import Binomial, ExponentialDot, Linear, Polynomial, Taylor
from mercer.kernels.metric import squared_distances, squared_norms
from mercer.kernels.rules import Rule
from mercer.kernels.smooth import Profile, radial_form
from mercer.kernels.wrappers import Scaled, Select


class Partials(NamedTuple):
    """dk/dx_c, dk/dy_c and d^2 k / dx_c dy_c of one coordinate c."""

    x: Array
    y: Array
    xy: Array


@dataclass(frozen=True)
class Jet:
    """k at pairs of points, and its derivatives in coordinate c; None where k does not depend on it."""

    value: Array
    at: Callable[[int], Partials | None]


@dataclass(frozen=True)
class Pairs:
    """Pairs of points: every x_i with every y_j, or x_i with y_i."""

    x: Array
    y: Array
    crossed: bool

    @property
    def width(self) -> int:
        """The number of columns of the points."""
        return int(self.x.shape[1])

    def column(self, c: int) -> tuple[Array, Array]:
        """Coordinate c of both points, in shapes that broadcast."""
        a, b = self.x[:, c], self.y[:, c]
        return (a[:, None], b[None, :]) if self.crossed else (a, b)

    def moved(self, change: Callable[[Points], Points]) -> Pairs:
        """The same pairs of transformed points."""
        x = change(self.x)
        return Pairs(x, x if self.y is self.x else change(self.y), self.crossed)

    def squared_distances(self, profile: Profile) -> Array:
        """|x - y|^2, as exact as `profile` needs them."""
        if self.crossed:
            return squared_distances(self.x, self.y, profile)
        return squared_norms(self.x - self.y)

    def dots(self) -> Array:
        """<x, y>."""
        xp = namespace(self.x, self.y)
        if self.crossed:
            return self.x @ xp.permute_dims(self.y, (1, 0))
        return xp.sum(self.x * self.y, axis=1)


Jets = Callable[[Pairs], Jet]


def jets(kernel: Kernel) -> Jets | None:
    """The function from pairs to the jet of a kernel; None where its derivatives are not known."""
    form = radial_form(kernel)
    if form is not None and form.slope is not None and form.curvature is not None:
        return _radial(form.profile, form.slope, form.curvature)
    return _rule.apply(kernel)


_rule = Rule("derivatives", "use a smooth function of the distance or of the dot product")


@_rule(Kernel)
def _unknown(kernel: Kernel) -> None:
    return None


def _radial(profile: Profile, slope: Profile, curvature: Profile) -> Jets:
    """f(r2): with u = x_c - y_c, 2 f' u, -2 f' u and -2 f' - 4 f'' u^2."""

    def jet(pairs: Pairs) -> Jet:
        r2 = pairs.squared_distances(profile)
        first, second = 2 * slope(r2), 4 * curvature(r2)

        def at(c: int) -> Partials:
            a, b = pairs.column(c)
            u = a - b
            return Partials(first * u, -first * u, -first - second * u * u)

        return Jet(profile(r2), at)

    return jet


# ---- functions of the dot product ---------------------------------------------------------


def _dot(f: Profile, slope: Profile, curvature: Profile) -> Jets:
    """f(<x, y>): f' y_c, f' x_c and f' + f'' x_c y_c."""

    def jet(pairs: Pairs) -> Jet:
        dot = pairs.dots()
        first, second = slope(dot), curvature(dot)

        def at(c: int) -> Partials:
            a, b = pairs.column(c)
            return Partials(first * b, first * a, first + second * a * b)

        return Jet(f(dot), at)

    return jet


@_rule(Linear)
def _linear(kernel: Linear) -> Jets:
    """x'Ay: (Ay)_c, (Ax)_c and A_cc."""
    if kernel.metric is None:
        return _dot(lambda t: t, lambda t: 0 * t + 1, lambda t: 0 * t)
    metric = kernel.metric

    def jet(pairs: Pairs) -> Jet:
        value = pairs.moved(kernel.embed).dots()
        transformed = pairs.moved(lambda x: x @ array_like(metric, x))

        def at(c: int) -> Partials:
            a, b = transformed.column(c)
            return Partials(b + 0 * value, a + 0 * value, metric[c][c] + 0 * value)

        return Jet(value, at)

    return jet


@_rule(Polynomial)
def _polynomial(kernel: Polynomial) -> Jets:
    n, c = kernel.degree, kernel.offset
    if n == 1:
        return _dot(kernel.profile, lambda t: 0 * t + 1, lambda t: 0 * t)
    return _dot(
        kernel.profile,
        lambda t: n * (t + c) ** (n - 1),
        lambda t: n * (n - 1) * (t + c) ** (n - 2),
    )


@_rule(Taylor)
def _taylor(kernel: Taylor) -> Jets:
    first = _derived(kernel.coefficients)
    second = _derived(first)
    return _dot(kernel.profile, Taylor(first).profile, Taylor(second).profile)


def _derived(coefficients: tuple[float, ...]) -> tuple[float, ...]:
    """Coefficients of the derivative of a polynomial."""
    return tuple(n * a for n, a in enumerate(coefficients))[1:] or (0.0,)


@_rule(ExponentialDot)
def _exponential(kernel: ExponentialDot) -> Jets:
    a, f = kernel.scale, kernel.profile
    return _dot(f, lambda t: a * f(t), lambda t: a**2 * f(t))


@_rule(Binomial)
def _binomial(kernel: Binomial) -> Jets:
    a = kernel.exponent
    return _dot(
        kernel.profile,
        lambda t: a * (1 - t) ** (-a - 1),
        lambda t: a * (a + 1) * (1 - t) ** (-a - 2),
    )


# ---- the algebra ------------------------------------------------------------------------


@_rule(Sum)
def _sum(kernel: Sum) -> Jets | None:
    f, g = jets(kernel.left), jets(kernel.right)
    if f is None or g is None:
        return None

    def jet(pairs: Pairs) -> Jet:
        k, m = f(pairs), g(pairs)

        def at(c: int) -> Partials | None:
            p, q = k.at(c), m.at(c)
            if p is None or q is None:
                return p or q
            return Partials(p.x + q.x, p.y + q.y, p.xy + q.xy)

        return Jet(k.value + m.value, at)

    return jet


@_rule(Product)
def _product(kernel: Product) -> Jets | None:
    f, g = jets(kernel.left), jets(kernel.right)
    return None if f is None or g is None else _times(f, g)


def _times(f: Jets, g: Jets) -> Jets:
    """(km)_x = k_x m + k m_x and (km)_xy = k_xy m + k_x m_y + k_y m_x + k m_xy."""

    def jet(pairs: Pairs) -> Jet:
        k, m = f(pairs), g(pairs)

        def at(c: int) -> Partials | None:
            p, q = k.at(c), m.at(c)
            if p is None:
                return None if q is None else Partials(*(k.value * derivative for derivative in q))
            if q is None:
                return Partials(*(derivative * m.value for derivative in p))
            return Partials(
                p.x * m.value + k.value * q.x,
                p.y * m.value + k.value * q.y,
                p.xy * m.value + p.x * q.y + p.y * q.x + k.value * q.xy,
            )

        return Jet(k.value * m.value, at)

    return jet


@_rule(Multiple)
def _multiple(kernel: Multiple) -> Jets | None:
    a = kernel.factor
    return _chain(jets(kernel.kernel), lambda k: a * k, lambda k: a + 0 * k, lambda k: 0 * k)


@_rule(Power)
def _power(kernel: Power) -> Jets | None:
    f, n = jets(kernel.kernel), kernel.exponent
    if n < 2:  # 0: a constant, which is radial
        return f if n == 1 else _chain(f, lambda k: 0 * k + 1, lambda k: 0 * k, lambda k: 0 * k)
    return _chain(
        f, lambda k: k**n, lambda k: n * k ** (n - 1), lambda k: n * (n - 1) * k ** (n - 2)
    )


@_rule(Exp)
def _exp(kernel: Exp) -> Jets | None:
    s, e = kernel.scale, kernel._exp
    return _chain(jets(kernel.kernel), e, lambda k: s * e(k), lambda k: s**2 * e(k))


def _chain(f: Jets | None, h: Profile, dh: Profile, ddh: Profile) -> Jets | None:
    """h(k): h' k_x, h' k_y and h'' k_x k_y + h' k_xy."""
    if f is None:
        return None

    def jet(pairs: Pairs) -> Jet:
        k = f(pairs)
        first, second = dh(k.value), ddh(k.value)

        def at(c: int) -> Partials | None:
            p = k.at(c)
            if p is None:
                return None
            return Partials(first * p.x, first * p.y, second * p.x * p.y + first * p.xy)

        return Jet(h(k.value), at)

    return jet


# ---- transformed points -----------------------------------------------------------------------


@_rule(Scaled)
def _scaled(kernel: Scaled) -> Jets | None:
    """k(ax, ay): a_c, a_c and a_c^2 times those of k."""
    f, factors = jets(kernel.kernel), kernel.factors
    if f is None:
        return None

    def jet(pairs: Pairs) -> Jet:
        k = f(pairs.moved(kernel.move))

        def at(c: int) -> Partials | None:
            p = k.at(c)
            a = factors[c] if isinstance(factors, tuple) else factors
            return None if p is None else Partials(a * p.x, a * p.y, a * a * p.xy)

        return Jet(k.value, at)

    return jet


@_rule(Select)
def _select(kernel: Select) -> Jets | None:
    """Derivatives in the selected columns; the kernel does not depend on the others."""
    f = jets(kernel.kernel)
    if f is None:
        return None

    def jet(pairs: Pairs) -> Jet:
        k = f(pairs.moved(kernel.move))
        places = {int(c) % pairs.width: i for i, c in enumerate(kernel.columns)}
        if len(places) < len(kernel.columns):
            raise ValueError(f"derivatives need distinct columns, got {kernel.columns}")
        return Jet(k.value, lambda c: k.at(places[c]) if c in places else None)

    return jet


@_rule(Tensor)
def _tensor(kernel: Tensor) -> Jets | None:
    """A product of kernels on groups of columns."""
    known = [f for factor in kernel.kernels if (f := jets(factor)) is not None]
    if len(known) < len(kernel.kernels):
        return None

    def jet(pairs: Pairs) -> Jet:
        spans = kernel.spans(pairs.width, "x")
        return reduce(_times, map(_on, known, spans))(pairs)

    return jet


def _on(f: Jets, span: slice) -> Jets:
    """The jets of a kernel on a group of columns."""

    def jet(pairs: Pairs) -> Jet:
        k = f(pairs.moved(lambda x: x[:, span]))
        return Jet(k.value, lambda c: k.at(c - span.start) if span.start <= c < span.stop else None)

    return jet
