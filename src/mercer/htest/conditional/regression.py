"""Regression of a variable on z for a test: residuals with little bias, and a bound on the bias that is left.

What a regression misses of E[x | z] and of E[y | z] looks like dependence of x and y given z. Two things keep
it small here. The model of the regression gives hidden effects as much variance as the data allow
(`Components.with_hidden_effects`), and every direction in which effects may vary by more than a few hundredths of
the noise is taken out of the residuals, so far that the test is as sharp as it can be with its bias allowed for
(`sharpest_weights`). And where few observations are near, what may be left is known, and the test gives these
observations little weight. Variance does no harm: errors of two regressions come from different noise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer import linalg
from mercer.htest.conditional.basis import (
    EffectBasis,
    NumericTable,
    additive_basis,
    telling_pairs,
    with_joint_effects,
)
from mercer.htest.conditional.bias_variance import sharpest_weights
from mercer.htest.conditional.variance_components import (
    UPDATES,
    Components,
    extended_components,
    fitted_components,
)

_SCREENING_UPDATES = 8  # of the additive model whose residuals choose the pairs of columns
_EIGENVALUE_TOLERANCE = 1e-9  # share of the largest below which a direction is rounding
_MIN_RESIDUAL_SHARE = 0.01  # of its variance in a residual, so that dividing by it stays bounded


@dataclass(frozen=True)
class SmoothedResiduals:
    """Residuals (I - S) t of a target of variance one after smoothing, S = U diag(1 - g) U'.

    `bias` is the expected square of what is left of E[t | z] at each observation, by the model with hidden
    effects; `sparse` is what is left of it because no other observation is near.
    """

    values: np.ndarray  # (n,)
    vectors: np.ndarray  # U, (n, m)
    shares: np.ndarray  # g, (m,): of each direction in the residuals
    bias: np.ndarray  # (n,)
    sparse: np.ndarray  # (n,)
    noise: float
    hidden: float  # share of the noise that may be hidden effects of z

    @property
    def degrees(self) -> float:
        """Effective degrees of freedom, the trace of S."""
        return 1 + float(np.sum(1 - self.shares))

    @cached_property
    def removed(self) -> np.ndarray:
        """Diagonal of I - (I - S)^2, the share of the noise of each observation that is removed: (n,)."""
        return 1 / len(self.values) + self.vectors**2 @ (1 - self.shares**2)

    @property
    def explained(self) -> float:
        """Share of the variance that z explains, at observations left out one by one."""
        leverage = 1 / len(self.values) + self.vectors**2 @ (1 - self.shares)
        left_out = self.values / np.maximum(1 - leverage, _MIN_RESIDUAL_SHARE)
        return 1 - float(np.mean(left_out**2))

    @cached_property
    def standardized(self) -> np.ndarray:
        """Residuals divided by what the smoother leaves of the noise, of variance about one: (n,)."""
        scaled = self.values / np.sqrt(np.maximum(1 - self.removed, _MIN_RESIDUAL_SHARE))
        return scaled / max(float(np.std(scaled)), 1e-12)

    def local_bias(self, neighbours: np.ndarray) -> tuple[float, float]:
        """Mean product of residuals of neighbouring observations, and its value in standard errors.

        It estimates the square of what is left of E[t | z], of whatever kind. Smoothing makes
        residuals of neighbours negatively dependent, which is taken out.
        """
        u, g = self.vectors, 1 - self.shares**2
        expected = -self.noise * (1 / len(u) + np.einsum("ik,ik->i", u * g, u[neighbours]))
        products = self.values * self.values[neighbours] - expected
        error = float(np.std(products)) / np.sqrt(len(products))
        mean = float(np.mean(products))
        return mean, mean / error if error > 0 else 0.0

    def trace_with(self, other: SmoothedResiduals) -> float:
        """tr (I - S)^2 (I - R)^2 for the smoother R of the other residuals."""
        a, b = 1 - self.shares**2, 1 - other.shares**2
        overlap = np.sqrt(a)[:, None] * (self.vectors.T @ other.vectors) * np.sqrt(b)
        return len(self.values) - 1 - float(np.sum(a) + np.sum(b) - np.sum(overlap**2))


def standard(values: np.ndarray) -> np.ndarray:
    """Values of mean 0 and variance 1; zeros for a constant."""
    centred = values - np.mean(values)
    deviation = float(np.std(centred))
    return centred / deviation if deviation > 0 else centred


def regress(
    basis: EffectBasis, target: np.ndarray, start: Components | None = None
) -> SmoothedResiduals:
    """Residuals of a target (n,) of mean 0 and variance 1; `start` are variances of the first blocks."""
    if start is None:
        fitted = fitted_components(basis, target)
    else:
        fitted = extended_components(basis, target, start)
    generous, hidden = fitted.with_hidden_effects(target)
    vectors, values = _directions(generous)
    unbiased = basis.n - 1 - len(values)
    shares = np.sqrt(sharpest_weights(values / generous.noise, max(unbiased, 0)))
    return SmoothedResiduals(
        target - vectors @ ((1 - shares) * (vectors.T @ target)),
        vectors,
        shares,
        vectors**2 @ (values * shares**2),
        _sparse(fitted, generous),
        fitted.noise,
        hidden,
    )


def regress_on(
    z: NumericTable, targets: list[np.ndarray]
) -> tuple[EffectBasis, list[SmoothedResiduals]]:
    """The basis of z, and the residuals of several targets.

    Additive regressions come first; the pairs of columns that explain most of their residuals get
    blocks of their own.
    """
    additive = additive_basis(z)
    starts = [fitted_components(additive, t, updates=_SCREENING_UPDATES) for t in targets]
    pairs: list[tuple[int, int]] = []
    if z.values.shape[1] > 1:
        left = [start.left_over(t) for start, t in zip(starts, targets, strict=True)]
        pairs = telling_pairs(z.values, left)
    basis = with_joint_effects(additive, z, pairs, _indices(additive, targets) if pairs else [])
    pairs_of = zip(targets, starts, strict=True)
    return basis, [regress(basis, target, start) for target, start in pairs_of]


def _indices(additive: EffectBasis, targets: list[np.ndarray]) -> list[np.ndarray]:
    """The linear combination of the columns of z that predicts each target best: (n,) each."""
    lines = additive.only("line")
    fits = [fitted_components(lines, target, _SCREENING_UPDATES) for target in targets]
    return [target - fit.left_over(target) for fit, target in zip(fits, targets, strict=True)]


def fitted_on_part(
    table: NumericTable,
    target: np.ndarray,
    train: np.ndarray,
    additive: EffectBasis | None = None,
    updates: tuple[int, int] = (_SCREENING_UPDATES, UPDATES),
) -> np.ndarray:
    """Predictions for all rows (n,) from those of a mask or of indices.

    `additive` are the blocks of single columns, where they are known; `updates` the numbers of updates of
    variances without and with effects of several columns.
    """
    additive = additive_basis(table) if additive is None else additive
    start = fitted_components(additive.rows(train), target[train], updates=updates[0])
    left = start.left_over(target[train])
    pairs = telling_pairs(table.values[train], [left]) if table.values.shape[1] > 1 else []
    basis = with_joint_effects(additive, table, pairs, ())
    fitted = extended_components(basis.rows(train), target[train], start, updates[1])
    return basis.features @ fitted.coefficients(target[train])


def _directions(components: Components) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvectors and eigenvalues of F W F': (n, m) and (m,)."""
    basis, q = components.basis, components.scales
    scaled = basis.features * q
    if basis.wide:
        values, vectors = linalg.eigh(scaled @ scaled.T)
    else:
        values, vectors = linalg.eigh((q[:, None] * basis.gram) * q)
    large = values > _EIGENVALUE_TOLERANCE * values[-1]
    values, vectors = values[large], vectors[:, large]
    return (vectors if basis.wide else scaled @ (vectors / np.sqrt(values))), values


def _sparse(fitted: Components, generous: Components) -> np.ndarray:
    """Variance of effects at each observation that no feature expresses: (n,)."""
    total = np.zeros(fitted.basis.n)
    pairs = zip(fitted.basis.blocks, fitted.weights, generous.weights, strict=True)
    for block, weight, generous_weight in pairs:
        if block.missed is not None:
            total += (weight if block.kind == "pair" else generous_weight) * block.missed
    return total
