"""Regression on a basis with one variance for each block of features, estimated by maximum likelihood.

The model of a target t is t = F c + e with independent normal coefficients of variance w_b in block b and noise
of variance s: a Gaussian process whose kernel is a weighted sum of the kernels of the blocks. Weights of effects
that are not there go to zero by themselves. With V = F W F' + s I and P = V^-1 the likelihood is stationary where
w_b t'P F_b F_b' P t = w_b tr(F_b' P F_b) for every block, which gives the updates (MacKay 1992).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import linalg

from mercer.htest.conditional.basis import EffectBasis
from mercer.linalg import cholesky, threads_for

UPDATES = 14
_PRUNED_AFTER = (2, 6)  # updates, after which blocks of negligible weight are dropped
_NEGLIGIBLE = 1e-3  # share of the largest weight
_LEAST_WEIGHT = 1e-7  # so that a weight can grow again, and logarithms stay finite
_LIKELIHOOD_DROP = 1.35  # half the 90% quantile of a chi-square with one degree of freedom
_HIDDEN_SHARES = (0.0, 0.01, 0.02, 0.035, 0.05, 0.07, 0.1, 0.14, 0.2, 0.27, 0.35, 0.5, 0.7, 0.9)
_HIDING = (
    "rough",
    "levels",
    "products",
    "joint",
    "pair",
    "index",
)  # effects that are easily overlooked


@dataclass(frozen=True)
class Components:
    """Variances of the blocks of a basis, and of the noise, for a target of variance one."""

    basis: EffectBasis
    weights: np.ndarray  # (blocks,)
    noise: float

    @property
    def scales(self) -> np.ndarray:
        """The standard deviation of every coefficient: (p,)."""
        return np.sqrt(np.repeat(self.weights, self.basis.sizes))

    def shrunk(self) -> np.ndarray:
        """s I + W^1/2 F'F W^1/2, or V where that is smaller."""
        basis, q = self.basis, self.scales
        if basis.wide:
            scaled = basis.features * q
            matrix = scaled @ scaled.T
        else:
            matrix = (q[:, None] * basis.gram) * q
        matrix.flat[:: len(matrix) + 1] += self.noise
        return matrix

    def log_likelihood(self, target: np.ndarray) -> float:
        """The log likelihood up to a constant."""
        basis = self.basis
        factor = self._factor
        log_root = float(np.sum(np.log(np.diag(factor))))
        if basis.wide:
            v = linalg.solve_triangular(factor, target, lower=True, check_finite=False)
            return -log_root - float(v @ v) / 2
        products = self.scales * (basis.features.T @ target)
        v = linalg.solve_triangular(factor, products, lower=True, check_finite=False)
        left = (float(target @ target) - float(v @ v)) / self.noise
        extra = (basis.n - len(v)) * np.log(self.noise)
        return -log_root - (extra + left) / 2

    def updated(self, target: np.ndarray) -> Components:
        """One update of all variances."""
        basis, q, noise = self.basis, self.scales, self.noise
        inverse = _inverse(self.shrunk())
        if basis.wide:
            scaled = basis.features * q
            left = inverse @ target  # P t
            along, degrees = scaled.T @ left, np.einsum("ij,ij->j", scaled, inverse @ scaled)
            squares, trace = float(left @ left), float(np.trace(inverse))
        else:
            products = basis.features.T @ target
            along, degrees = inverse @ (q * products), 1 - noise * np.diag(inverse)
            fitted = q * along
            remaining = target @ target - 2 * products @ fitted + fitted @ (basis.gram @ fitted)
            squares, trace = remaining / noise**2, (basis.n - np.sum(degrees)) / noise
        signal, used = (np.add.reduceat(v, basis.starts) for v in (along**2, degrees))
        weights = self.weights * signal / np.maximum(used, 1e-300)
        return replace(
            self,
            weights=np.maximum(weights, _LEAST_WEIGHT),
            noise=max(noise * squares / trace, _LEAST_WEIGHT),
        )

    def left_over(self, target: np.ndarray) -> np.ndarray:
        """s P t, the residuals of the posterior mean: (n,)."""
        return self._without_fit(target[:, None])[:, 0]

    def _without_fit(self, values: np.ndarray) -> np.ndarray:
        """s P A for values A: (n, k)."""
        basis, factor = self.basis, self._factor
        if basis.wide:
            return self.noise * linalg.cho_solve((factor, True), values, check_finite=False)
        products = self.scales[:, None] * (basis.features.T @ values)
        coefficients = linalg.cho_solve((factor, True), products, check_finite=False)
        return values - basis.features @ (self.scales[:, None] * coefficients)

    @cached_property
    def _factor(self) -> np.ndarray:
        return cholesky(self.shrunk())

    def coefficients(self, target: np.ndarray) -> np.ndarray:
        """Posterior means of the coefficients, W F' P t: (p,)."""
        return self.scales**2 * (self.basis.features.T @ self.left_over(target)) / self.noise

    def lacks(self, features: np.ndarray, target: np.ndarray) -> bool:
        """Whether the likelihood rises with the variance of these features, |F'Pt|^2 > tr F'PF."""
        left = self._without_fit(np.column_stack([features, target]))  # s P (F, t)
        along = features.T @ left[:, -1]
        return float(along @ along) > self.noise * float(np.sum(features * left[:, :-1]))

    def with_hidden_effects(self, target: np.ndarray) -> tuple[Components, float]:
        """A model with as many hidden effects as the data do not exclude, and their share of the noise.

        For every kind of effect that is easily overlooked a share of the noise is given to its blocks, as
        long as the likelihood falls by no more than a 90% confidence limit allows. With many columns and
        few observations that is nearly all of the noise.
        """
        bottom = self.log_likelihood(target) - _LIKELIHOOD_DROP
        weights, largest = self.weights.copy(), 0.0
        for blocks in self._hiding():
            share = self._hidden_share(blocks, target, bottom)
            weights += share * self.noise * blocks
            largest = max(largest, share)
        return replace(self, weights=weights, noise=(1 - largest) * self.noise), largest

    def _hiding(self) -> list[np.ndarray]:
        """For every kind of hidden effects, equal shares of its blocks: (blocks,) each."""
        kinds = np.array([block.kind for block in self.basis.blocks])
        present = [kind for kind in _HIDING if kind in kinds] or list(np.unique(kinds))
        return [(kinds == kind) / np.count_nonzero(kinds == kind) for kind in present]

    def _hidden_share(self, blocks: np.ndarray, target: np.ndarray, bottom: float) -> float:
        """The largest share of the noise that these blocks may have for a likelihood above `bottom`."""
        low, high = 0, len(_HIDDEN_SHARES)
        while high - low > 1:
            middle = (low + high) // 2
            share = _HIDDEN_SHARES[middle]
            weights = self.weights + share * self.noise * blocks
            moved = replace(self, weights=weights, noise=(1 - share) * self.noise)
            fits = moved.log_likelihood(target) >= bottom
            low, high = (middle, high) if fits else (low, middle)
        return _HIDDEN_SHARES[low]


def fitted_components(basis: EffectBasis, target: np.ndarray, updates: int = UPDATES) -> Components:
    """The variances of a target of mean 0 and variance 1."""
    number = len(basis.blocks)
    start = Components(basis, np.full(number, 0.5 / number), 0.5)
    with threads_for(basis.features):  # many small products, in which threads wait for each other
        return _converged(start, target, np.ones(number, dtype=bool), updates)


def extended_components(
    basis: EffectBasis, target: np.ndarray, start: Components, updates: int = UPDATES
) -> Components:
    """The variances of a target, from those of the first blocks of the basis.

    A block of the others takes part where the likelihood rises with its variance.
    """
    with threads_for(basis.features):
        return _extended(basis, target, start, updates)


def _extended(
    basis: EffectBasis, target: np.ndarray, start: Components, updates: int
) -> Components:
    known, number = len(start.weights), len(basis.blocks)
    active = np.zeros(number, dtype=bool)
    active[:known] = start.weights > _NEGLIGIBLE * np.max(start.weights)
    fitted = Components(basis.kept(active), start.weights[active[:known]], start.noise)
    active[known:] = [fitted.lacks(block.features, target) for block in basis.blocks[known:]]
    weights = np.full(number, start.noise / 2 / max(number - known, 1))
    weights[:known] = start.weights
    return _converged(Components(basis, weights, start.noise), target, active, updates)


def _converged(
    start: Components, target: np.ndarray, active: np.ndarray, updates: int
) -> Components:
    """Updated variances of the active blocks; those that become negligible are dropped on the way."""
    active = active.copy()
    current = Components(start.basis.kept(active), start.weights[active], start.noise)
    for update in range(updates):
        current = current.updated(target)
        if update in _PRUNED_AFTER:
            large = current.weights > _NEGLIGIBLE * np.max(current.weights)
            active[np.flatnonzero(active)[~large]] = False
            current = Components(current.basis.kept(large), current.weights[large], current.noise)
    weights = np.full(len(active), _LEAST_WEIGHT)
    weights[active] = current.weights
    return Components(start.basis, weights, current.noise)


def _inverse(matrix: np.ndarray) -> np.ndarray:
    """The inverse of a positive definite matrix."""
    factor = cholesky(matrix)
    (potri,) = linalg.get_lapack_funcs(("potri",), (factor,))
    with threads_for(factor):
        inverse, _ = potri(factor.T)
    upper = np.triu(inverse)
    upper += np.triu(upper, 1).T
    return upper
