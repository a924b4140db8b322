"""In which columns a model does not fit: the Stein discrepancy, column by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer import validate
from mercer.backend import Array, zeros
from mercer.gram import Gram
from mercer.htest.goodness.misfit import Discrepancy, Misfit
from mercer.htest.goodness.stein_sample import Sample
from mercer.kernels.base import Kernel, Points
from mercer.kernels.metric import squared_distances, squared_norms
from mercer.kernels.stein import Stein


@dataclass(frozen=True)
class MisfitColumn:
    """How far a model is off in one column, given the others.

    The score of a column is that of its conditional distribution given the others, so that `misfit` is
    zero where this one is right, whatever the model says about the others.
    """

    name: str
    misfit: Misfit

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {"name": self.name, **self.misfit.to_dict()}


def misfit_columns(sample: Sample, confidence: float) -> tuple[MisfitColumn, ...]:
    """Every column, the one that is furthest off first; intervals that hold together."""
    validate.between("confidence", confidence, 0.0, 1.0)
    each = 1 - (1 - confidence) / sample.width  # Bonferroni's
    found = [MisfitColumn(name, _misfit(sample, j, each)) for j, name in enumerate(sample.names)]
    return tuple(sorted(found, key=lambda column: -column.misfit.relative))


def _misfit(sample: Sample, column: int, confidence: float) -> Misfit:
    gram = Gram(SteinColumn(sample.kernel, column), sample.points)
    return Discrepancy(gram).misfit(confidence)


@dataclass(frozen=True)
class SteinColumn(Kernel):
    """The part of a Stein kernel that is about column l; all columns add up to it.

    k_p = sum_l [s_l(x) s_l(y) f + 2 f' ((s_l(y) - s_l(x)) u_l - 1) - 4 u_l^2 f''], u = x - y: inner
    products of the features s_l(x) k(x, .) + d/dx_l k(x, .), and so a kernel too.
    """

    stein: Stein
    column: int

    def accept(self, x: Any, name: str = "x") -> Points:
        return self.stein.accept(x, name)

    def pairwise(self, x: Points, y: Points, /) -> Array:
        (a, s), (b, t) = self._both(x), self._both(y)
        profile, slope, curvature = self.stein.scored.form
        r2 = squared_distances(x, y, profile)
        u = a[:, None] - b[None, :]
        value = s[:, None] * t[None, :] * profile(r2)
        value = value + 2 * slope(r2) * ((t[None, :] - s[:, None]) * u - 1)
        return value - 4 * u * u * curvature(r2)

    def paired(self, x: Points, y: Points, /) -> Array:
        (a, s), (b, t) = self._both(x), self._both(y)
        profile, slope, curvature = self.stein.scored.form
        r2, u = squared_norms(x - y), a - b
        value = s * t * profile(r2) + 2 * slope(r2) * ((t - s) * u - 1)
        return value - 4 * u * u * curvature(r2)

    def diag(self, x: Points, /) -> Array:
        """s_l^2 f(0) - 2 f'(0)."""
        _, s = self._both(x)
        profile, slope, _ = self.stein.scored.form
        at = zeros((x.shape[0],), x)
        return s * s * profile(at) - 2 * slope(at)

    def _both(self, x: Points) -> tuple[Array, Array]:
        """The column and its score: (n,) each."""
        moved = self.stein.move(x)
        d = moved.shape[1] // 2
        return moved[:, self.column], moved[:, d + self.column]
