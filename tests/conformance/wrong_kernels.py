"""Kernels with one fault each, and the law that must notice it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mercer.backend import namespace, to_numpy
from mercer.kernels import RBF, Kernel, Radial, SmoothRadial
from mercer.kernels.metric import squared_distances
from tests.conformance import kernel_laws as laws
from tests.support.zoo import CUBE, NORMAL, Entry


@dataclass(frozen=True)
class _Right(Kernel):
    """A linear kernel, right in everything: the faulty ones change one thing."""

    weight: float = 1.0

    def pairwise(self, x, y, /):
        return self.weight * (x @ namespace(x, y).permute_dims(y, (1, 0)))

    def paired(self, x, y, /):
        return self.weight * namespace(x, y).sum(x * y, axis=1)


@dataclass(frozen=True)
class Asymmetric(_Right):
    def pairwise(self, x, y, /):
        return super().pairwise(x, y) + x[:, 0][:, None]


@dataclass(frozen=True)
class Indefinite(Radial):
    def profile(self, r2, /):
        return 1 / (1 + r2) - 0.5


@dataclass(frozen=True)
class Negated(_Right):
    def pairwise(self, x, y, /):
        return -super().pairwise(x, y)

    def paired(self, x, y, /):
        return -super().paired(x, y)


@dataclass(frozen=True)
class WrongDiagonal(_Right):
    def diag(self, x, /):
        return 1.0001 * self.paired(x, x)


@dataclass(frozen=True)
class WrongPairs(_Right):
    def paired(self, x, y, /):
        return super().paired(x, y) * (1 + namespace(x, y).sum((x - y) ** 2, axis=1))


@dataclass(frozen=True)
class SampleDependent(_Right):
    """Centred by the sample: the value of a pair changes with its company."""

    def pairwise(self, x, y, /):
        return super().pairwise(x - namespace(x).mean(x, axis=0), y)


@dataclass(frozen=True)
class IdentityDependent(_Right):
    """Adds to the diagonal when x and y are one object: noise is no part of a kernel."""

    def pairwise(self, x, y, /):
        k = super().pairwise(x, y)
        return k + namespace(k).eye(k.shape[0], dtype=k.dtype, device=k.device) if y is x else k


@dataclass(frozen=True)
class LeavesLibrary(_Right):
    def pairwise(self, x, y, /):
        return to_numpy(x) @ to_numpy(y).T


@dataclass(frozen=True)
class LeavesDevice(_Right):
    def pairwise(self, x, y, /):
        xp = namespace(x, y)
        return xp.asarray(to_numpy(super().pairwise(x, y)), dtype=x.dtype)


@dataclass(frozen=True)
class Widens(_Right):
    def diag(self, x, /):
        return self.paired(x, x) * namespace(x).ones((x.shape[0],), dtype=namespace(x).float64)


@dataclass(frozen=True)
class Writes(_Right):
    def pairwise(self, x, y, /):
        k = super().pairwise(x, y)
        x -= 1.0
        return k


@dataclass(frozen=True)
class Naive(Radial):
    """Squared distances by expansion, uncentred: wrong far from the origin."""

    def profile(self, r2, /):
        return namespace(r2).exp(-r2 / 2)

    def pairwise(self, x, y, /):
        xp = namespace(x, y)
        nx, ny = xp.sum(x * x, axis=1)[:, None], xp.sum(y * y, axis=1)[None, :]
        return self.profile(xp.clip(nx + ny - 2 * x @ xp.permute_dims(y, (1, 0)), 0, None))


@dataclass(frozen=True)
class Centred(Naive):
    """Centred first: right after a shift, wrong in clusters far apart."""

    def pairwise(self, x, y, /):
        middle = namespace(x).mean(x, axis=0)
        return super().pairwise(x - middle, y - middle)


@dataclass(frozen=True)
class WrongSlope(SmoothRadial):
    def profile(self, r2, /):
        return RBF().profile(r2)

    def slope(self, r2, /):
        return -2 * RBF().profile(r2)

    def curvature(self, r2, /):
        return RBF().curvature(r2)


@dataclass(frozen=True)
class WrongCurvature(WrongSlope):
    def slope(self, r2, /):
        return RBF().slope(r2)

    def curvature(self, r2, /):
        return -RBF().curvature(r2)


@dataclass(frozen=True)
class InfiniteGradient(Radial):
    """sqrt has no derivative at 0."""

    def profile(self, r2, /):
        xp = namespace(r2)
        return xp.exp(-xp.sqrt(r2))


@dataclass(frozen=True)
class WrongGradient(_Right):
    """Hides half of the formula from autograd."""

    def pairwise(self, x, y, /):
        k = super().pairwise(x, y)
        return (k + k.detach()) / 2 if hasattr(k, "detach") else k


@dataclass(frozen=True)
class SwallowsNaN(_Right):
    def accept(self, x, name="x"):
        return np.nan_to_num(np.asarray(x, dtype=float))


@dataclass(frozen=True)
class OddRepr(_Right):
    def __repr__(self):
        return "OddRepr(weight=2.0)"


@dataclass(frozen=True)
class Unhashable(_Right):
    centre: list[float] = field(default_factory=lambda: [0.0])


@dataclass(eq=False, frozen=True)
class NeverEqual(_Right):
    __hash__ = object.__hash__
    __eq__ = object.__eq__


@dataclass
class Thawed(Kernel):
    weight: float = 1.0

    def pairwise(self, x, y, /):
        return squared_distances(x, y)

    def paired(self, x, y, /):
        return namespace(x, y).sum((x - y) ** 2, axis=1)


Law = Callable[..., None]
WRONG: list[tuple[Law, Entry, tuple[str, ...]]] = [
    (laws.symmetric, Entry(Asymmetric(), NORMAL), ("numpy",)),
    (laws.pairs, Entry(Asymmetric(), NORMAL), ("numpy",)),
    (laws.definite, Entry(Indefinite(), NORMAL), ("numpy",)),
    (laws.definite, Entry(Negated(), NORMAL), ("numpy",)),
    (laws.diagonal, Entry(Negated(), NORMAL), ("numpy",)),
    (laws.diagonal, Entry(WrongDiagonal(), NORMAL), ("numpy",)),
    (laws.pairs, Entry(WrongPairs(), NORMAL), ("numpy",)),
    (laws.slices, Entry(SampleDependent(), NORMAL), ("numpy",)),
    (laws.slices, Entry(IdentityDependent(), NORMAL), ("numpy",)),
    (laws.diagonal, Entry(IdentityDependent(), NORMAL), ("numpy",)),
    (laws.libraries, Entry(LeavesLibrary(), NORMAL), ("torch",)),
    (laws.libraries, Entry(LeavesDevice(), NORMAL), ("strict-device1",)),
    (laws.single, Entry(Widens(), NORMAL), ("numpy",)),
    (laws.arguments_kept, Entry(Writes(), NORMAL), ("numpy",)),
    (laws.arguments_kept, Entry(Writes(), NORMAL), ("torch",)),
    (laws.shifted, Entry(Naive(), NORMAL, shift=True), ("numpy",)),
    (laws.shifted, Entry(_Right(), NORMAL, shift=True), ("numpy",)),
    (laws.clustered, Entry(Centred(), NORMAL, shift=True), ("numpy",)),
    (laws.algebra, Entry(WrongDiagonal(), CUBE), ("numpy",)),
    (laws.derivatives, Entry(WrongSlope(), NORMAL), ()),
    (laws.derivatives, Entry(WrongCurvature(), NORMAL), ()),
    (laws.finite_gradients, Entry(InfiniteGradient(), NORMAL), ()),
    (laws.right_gradients, Entry(WrongGradient(), NORMAL), ()),
    (laws.door, Entry(SwallowsNaN(), NORMAL), ()),
    (laws.readable, Entry(OddRepr(), NORMAL), ()),
    (laws.value_object, Entry(Unhashable(), NORMAL), ()),
    (laws.value_object, Entry(NeverEqual(), NORMAL), ()),
    (laws.frozen, Entry(Thawed(), NORMAL), ()),
]
