"""Stein kernels, built from a kernel and the score of a distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mercer import validate
from mercer.backend import Array, ArrayT, astype, double, namespace, zeros
from mercer.errors import NoRule
from mercer.kernels.base import Kernel, Points, require_kernels
from mercer.kernels.jets import Jets, Pairs, jets
from mercer.kernels.metric import squared_distances, squared_norms
from mercer.kernels.smooth import Profile, radial_form


@dataclass(frozen=True)
class Stein(Kernel):
    """The Stein kernel of k and of a distribution p, known by its score s = grad log p.

    k_p(x, y) = s(x)'s(y) k + s(x)' grad_y k + s(y)' grad_x k + tr(grad_x grad_y' k)

    (Liu, Lee & Jordan 2016, eq. 8; Chwialkowski, Strathmann & Gretton 2016, eq. 2): a kernel
    again, with E k_p(X, y) = 0 for every y if X has the distribution p. The normalising constant of p
    is not needed. The density of p must be positive on R^d and differentiable, and its product with k
    must vanish at infinity.

    Parameters
    ----------
    kernel : Kernel
        A smooth function of the distance: `RBF`, `InverseMultiquadric`, `RationalQuadratic`, `Cauchy`,
        `Matern` with nu > 2; or of the dot product: `Linear`, `Polynomial`, `ExponentialDot`; their
        sums, products, powers and multiples, with columns scaled, selected or grouped (`Tensor`).
        Functions of the distance are fastest.
    score : callable
        x -> the gradients of log p at the rows of x, an array (n, d) of the library of x.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> k = Stein(RBF(1.0), lambda x: -x)  # of the standard normal distribution
    >>> k([[0.0], [1.0]])
    array([[ 1.        , -0.60653066],
           [-0.60653066,  2.        ]])
    >>> x = np.random.default_rng(0).normal(size=100_000)
    >>> bool(abs(k(x, [0.5]).mean()) < 0.01)
    True
    """

    kernel: Kernel
    score: Callable[[Points], Array]

    def __post_init__(self) -> None:
        require_kernels(kernel=self.kernel)
        if not callable(self.score):
            raise TypeError(
                f"score must be a function that gives the gradients of log p, got {self.score!r}"
            )
        _ = self.scored  # raises NoRule where the kernel is not smooth enough

    @property
    def scored(self) -> Scored:
        """The same kernel on points with their scores, as rows [x, s(x)]."""
        return Scored(self.kernel)

    def accept(self, x: Any, name: str = "x") -> Points:
        x = self.kernel.accept(x, name)
        scores = self.score(x)
        label = f"score({name})"
        scores = validate.real(scores, label)
        if tuple(scores.shape) != tuple(x.shape):
            raise ValueError(
                f"{label} must have the shape of {name}, {tuple(x.shape)}, one gradient for each "
                f"point; got {tuple(scores.shape)}"
            )
        validate.finite(scores, label)
        validate.same_library(x, scores, (name, label))
        return x

    def move(self, x: Points, /) -> Array:
        """Rows [x, s(x)], the points of `scored`: (n, 2d)."""
        scores = astype(validate.real(self.score(x), "score(x)"), x.dtype)
        return namespace(x, scores).concat([x, scores], axis=1)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        x_scored = self.move(x)
        return self.scored.pairwise(x_scored, x_scored if y is x else self.move(y))

    def paired(self, x: Points, y: Points, /) -> Array:
        return self.scored.paired(self.move(x), self.move(y))

    def diag(self, x: Points, /) -> Array:
        return self.scored.diag(self.move(x))


@dataclass(frozen=True)
class Scored(Kernel):
    """The Stein kernel on rows [x, s(x)] of 2d numbers.

    With k = f(r2), u = x - y and d dimensions,

        k_p = s(x)'s(y) f + 2 f' ((s(y) - s(x))'u - d) - 4 r2 f'',

    which needs two matrix products instead of d arrays of n x n. Derivatives of other smooth kernels
    are computed coordinate by coordinate (`mercer.kernels.jets`).
    """

    kernel: Kernel

    def __post_init__(self) -> None:
        require_kernels(kernel=self.kernel)
        _ = self.jets  # raises NoRule where the kernel is not smooth enough

    @property
    def radial(self) -> bool:
        """Whether k is known to be a smooth function of the distance."""
        form = radial_form(self.kernel)
        return form is not None and form.slope is not None and form.curvature is not None

    @property
    def jets(self) -> Jets:
        """The derivatives of k, coordinate by coordinate."""
        derivatives = jets(self.kernel)
        if derivatives is None:
            raise NoRule(
                f"a Stein kernel needs two derivatives, and those of kernel={self.kernel!r} are not "
                "known: use RBF, InverseMultiquadric, Matern(nu > 2), polynomials, or sums and "
                "products of such"
            )
        return derivatives

    @property
    def form(self) -> tuple[Profile, Profile, Profile]:
        """f, f' and f''."""
        form = radial_form(self.kernel)
        if form is None or form.slope is None or form.curvature is None:
            raise NoRule(
                f"kernel={self.kernel!r} is not known to be a smooth function of the distance: use "
                "RBF, InverseMultiquadric, Matern(nu > 2), or sums and products of such"
            )
        return form.profile, form.slope, form.curvature

    def pairwise(self, x: Points, y: Points, /) -> Array:
        (a, s), (b, t) = halves(x), halves(y)
        if not self.radial:
            return self._by_coordinates(Pairs(a, a if y is x else b, True), Pairs(s, t, True))
        form = self.form
        r2 = squared_distances(a, a if y is x else b, form[0])
        products = s @ namespace(s, t).permute_dims(t, (1, 0))
        return stein_values(form, r2, products, _steps(a, s, b, t) - a.shape[1])

    def paired(self, x: Points, y: Points, /) -> Array:
        (a, s), (b, t) = halves(x), halves(y)
        if not self.radial:
            return self._by_coordinates(Pairs(a, b, False), Pairs(s, t, False))
        xp, u = namespace(a, b), a - b
        steps = xp.sum((t - s) * u, axis=1) - a.shape[1]
        return stein_values(self.form, squared_norms(u), xp.sum(s * t, axis=1), steps)

    def diag(self, x: Points, /) -> Array:
        """|s|^2 f(0) - 2 d f'(0)."""
        if not self.radial:
            return self.paired(x, x)
        a, s = halves(x)
        profile, slope, _ = self.form
        at = zeros((a.shape[0],), a)
        return squared_norms(s) * profile(at) - 2 * a.shape[1] * slope(at)

    def _by_coordinates(self, points: Pairs, scores: Pairs) -> Array:
        """The Stein kernel by its definition, coordinate by coordinate."""
        jet = self.jets(points)
        value = scores.dots() * jet.value
        for c in range(points.width):
            partials = jet.at(c)
            if partials is not None:
                s, t = scores.column(c)
                value = value + s * partials.y + t * partials.x + partials.xy
        return value


def stein_values(
    form: tuple[Profile, Profile, Profile], r2: Array, products: Array, steps: Array
) -> Array:
    """k_p from f, f', f'' at r2, products s(x)'s(y) and steps (s(y) - s(x))'u - d."""
    profile, slope, curvature = form
    return products * profile(r2) + 2 * slope(r2) * steps - 4 * r2 * curvature(r2)


def halves(x: ArrayT) -> tuple[ArrayT, ArrayT]:
    """The points and their scores."""
    d = x.shape[1] // 2
    return x[:, :d], x[:, d:]


def _steps(a: Array, s: Array, b: Array, t: Array) -> Array:
    """(t_j - s_i)'(a_i - b_j), from centred points to avoid cancellation: (n, m)."""
    xp = namespace(a, b)
    wide = astype(a, double(a))
    middle = xp.mean(wide, axis=0)
    a = astype(wide - middle, a.dtype)
    b = astype(astype(b, double(b)) - middle, b.dtype)
    x_rows, y_rows = xp.concat([a, s], axis=1), xp.concat([t, b], axis=1)
    row_terms, column_terms = xp.sum(a * s, axis=1), xp.sum(b * t, axis=1)
    return x_rows @ xp.permute_dims(y_rows, (1, 0)) - row_terms[:, None] - column_terms[None, :]
