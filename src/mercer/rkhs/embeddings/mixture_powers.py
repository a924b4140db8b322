"""Integrals of products of powers of mixture densities, by importance sampling at fixed nodes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log, pi

import numpy as np

from mercer import linalg
from mercer.rkhs.embeddings.atoms import Gaussians
from mercer.rkhs.embeddings.batch import AtomBlock

_NODES = 16_384  # of a mixture, over all of its components
_MOST_ON_AN_AXIS = 512
_FEWEST_EVEN = 32  # evenly spaced nodes on an axis; with fewer Gauss-Hermite quadrature is better
_FEWEST_ON_AN_AXIS = 6  # fewer nodes on a grid are worse than Sobol points
_REACH = 7.5  # standard deviations, beyond which the normal density is below 1e-12
_WIDEST_GRID = 2  # dimensions


@dataclass(frozen=True, eq=False)
class PoweredMixture:
    """A mixture p = sum_c w_c N(m_c, S_c) with nodes of t = sum_c w_c^2r N(m_c, S_c)^2r, for integrals of p^r q^r.

    p^r q^r <= (p^2r + q^2r) / 2, and p^2r is at most a multiple of t: with the nodes of both mixtures, and t of both
    as the density of the nodes (the balance heuristic of multiple importance sampling), the integrand is bounded.
    """

    means: np.ndarray  # (c, d)
    roots: np.ndarray  # (c, d, d): L with S = LL'
    log_weights: np.ndarray  # (c,)
    rho: float

    def log_densities(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """log p and log t at points: (n,) each."""
        from scipy.special import logsumexp

        logs = self._log_components(x)
        sums = (logsumexp(power * logs, axis=1) for power in (1, 2 * self.rho))
        log_p, log_t = map(np.asarray, sums)
        return log_p, log_t

    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Nodes (k, d) and log-weights (k,) with which sums over the nodes are integrals over t."""
        count, d = self.means.shape
        z, log_weights = _standard_nodes(count, d)
        x = self.means[:, None] + np.einsum("kj,cij->cki", z, self.roots) / np.sqrt(2 * self.rho)
        log_det = np.sum(np.log(np.diagonal(self.roots, axis1=1, axis2=2)), axis=1)
        masses = (1 - 2 * self.rho) * (d / 2 * log(2 * pi) + log_det) - d / 2 * log(2 * self.rho)
        masses += 2 * self.rho * self.log_weights
        return x.reshape(-1, d), (masses[:, None] + log_weights).ravel()

    def _log_components(self, x: np.ndarray) -> np.ndarray:
        """log w_c N(x; m_c, S_c): (n, c)."""
        d = self.means.shape[1]
        inverses = linalg.inv(self.roots)
        out = np.empty((len(x), len(self.means)), dtype=np.float64)
        for c, (mean, inverse) in enumerate(zip(self.means, inverses, strict=True)):
            z = (x - mean) @ inverse.T
            out[:, c] = -0.5 * np.sum(z * z, axis=1) + np.sum(np.log(np.diagonal(inverse)))
        return out + self.log_weights - d / 2 * log(2 * pi)


def powered_mixtures(block: AtomBlock, rho: float) -> list[PoweredMixture]:
    """The mixtures of a block of Gaussian components."""
    atoms: Gaussians = block.atoms
    shares, offsets = block.segments.shares, block.segments.offsets
    mixtures = []
    for a, b in pairwise(offsets):
        present = np.arange(a, b)[shares[a:b] > 0]
        components = atoms[present]
        roots = linalg.cholesky(components.full)
        mixtures.append(PoweredMixture(components.means, roots, np.log(shares[present]), rho))
    return mixtures


def products_of_powers(x: list[PoweredMixture], y: list[PoweredMixture]) -> np.ndarray:
    """Integrals of p_i^r q_j^r: (n, m)."""
    values = np.empty((len(x), len(y)), dtype=np.float64)
    nodes_x, nodes_y = [_prepared(p) for p in x], [_prepared(q) for q in y]
    for i, p in enumerate(x):
        for j, q in enumerate(y):
            values[i, j] = _integral(p, q, nodes_x[i]) + _integral(q, p, nodes_y[j])
    return values


Prepared = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def _prepared(p: PoweredMixture) -> Prepared:
    """Nodes of a mixture, their log-weights, and log p and log t at them."""
    nodes, log_weights = p.nodes()
    return nodes, log_weights, *p.log_densities(nodes)


def _integral(p: PoweredMixture, q: PoweredMixture, prepared: Prepared) -> float:
    """The share of the nodes of p in the integral of p^r q^r."""
    nodes, log_weights, log_p, log_t = prepared
    other, other_t = q.log_densities(nodes)
    logs = log_weights + p.rho * (log_p + other) - np.logaddexp(log_t, other_t)
    return float(np.sum(np.exp(logs)))


def _standard_nodes(components: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (k, d) and log-weights (k,) of the standard normal distribution, fewer for many components."""
    room = _NODES / components
    on_axis = min(int(room ** (1 / d)), _MOST_ON_AN_AXIS)
    if d <= _WIDEST_GRID and on_axis >= _FEWEST_ON_AN_AXIS:
        t, w = _axis(on_axis)
        grid = np.stack(np.meshgrid(*[t] * d, indexing="ij"), axis=-1).reshape(-1, d)
        weights = np.prod(np.stack(np.meshgrid(*[w] * d, indexing="ij"), axis=-1), axis=-1)
        return grid, np.log(weights.ravel() / np.sum(weights))
    from scipy.special import ndtri

    from mercer.features.quasi import sobol_points  # which imports scikit-learn

    power = max(int(np.log2(max(room, 1.0))), 0)
    uniform = sobol_points(2**power, d, np.random.default_rng(0))
    z = ndtri(uniform) if power else np.zeros((1, d))  # a single node stands at the mean
    return z, np.full(len(z), -log(len(z)))


def _axis(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the normal distribution on the line: evenly spaced, or Gauss-Hermite if they are few.

    Components of a mixture may be much narrower than others; even spacing resolves them where Gauss-Hermite nodes do not.
    """
    if count < _FEWEST_EVEN:
        return np.polynomial.hermite_e.hermegauss(count)
    t = np.linspace(-_REACH, _REACH, count)
    return t, np.exp(-(t**2) / 2)
