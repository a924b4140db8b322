"""Expected kernels of Gaussians: RBF, linear, exponential, and polynomial kernels by cumulants."""

from __future__ import annotations

from math import comb, factorial, log
from typing import Any

import numpy as np

from mercer import linalg
from mercer.kernels.dot import ExponentialDot, Linear, Polynomial
from mercer.kernels.radial import RBF
from mercer.rkhs.embeddings.atoms import Boxes, Gaussians
from mercer.rkhs.embeddings.expected import expected_kernel

# Pairs of Gaussians computed at a time: with 5 dimensions 2048 sums of covariances take 400 KiB,
# which fits in the L2 cache.
_PAIRS_PER_BLOCK = 2048

# ---- the Gaussian kernel ------------------------------------------------------------------


@expected_kernel(RBF, Gaussians, Gaussians)
def _(kernel: RBF, x: Gaussians, y: Gaussians) -> np.ndarray:
    """exp(-(m - n)' S^-1 (m - n) / 2) / det(S / s^2)^(1/2) with S = C + D + s^2 I."""
    r2, log_det = sums_of_covariances(x, y, kernel.bandwidth**2)
    return np.exp(-0.5 * (r2 + log_det) + x.width * log(kernel.bandwidth))


def sums_of_covariances(
    x: Gaussians, y: Gaussians, added: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Forms (m - n)' S^-1 (m - n) and log det S of all pairs, S = C + D + `added` I: each (n, m)."""
    diagonal = x.covs.ndim == 2 and y.covs.ndim == 2
    covs_x, covs_y = (a.covs.T if diagonal else _atoms_last(a) for a in (x, y))
    r2, log_det = np.empty((2, len(x), len(y)), dtype=np.float64)
    step = max(_PAIRS_PER_BLOCK // len(y), 1)
    for i in range(0, len(x), step):
        rows = slice(i, i + step)
        shape = r2[rows].shape
        s = (covs_x[..., rows, None] + covs_y[..., None, :]).reshape(*covs_x.shape[:-1], -1)
        z = (x.means.T[:, rows, None] - y.means.T[:, None, :]).reshape(x.width, -1)
        forms = _diagonal_forms(s, z, added) if diagonal else _full_forms(s, z, added)
        r2[rows], log_det[rows] = (form.reshape(shape) for form in forms)
    return r2, log_det


def _atoms_last(atoms: Gaussians) -> np.ndarray:
    """Covariance matrices with the atoms on the last axis, for loops over the entries: (d, d, n)."""
    return np.ascontiguousarray(np.moveaxis(atoms.full, 0, -1))


def _diagonal_forms(s: np.ndarray, z: np.ndarray, added: float) -> tuple[np.ndarray, np.ndarray]:
    """Forms z'S^-1 z and log det S of p diagonal matrices s (d, p)."""
    s += added
    return np.sum(z**2 / s, axis=0), np.sum(np.log(s), axis=0)


def _full_forms(s: np.ndarray, z: np.ndarray, added: float) -> tuple[np.ndarray, np.ndarray]:
    """Forms z'S^-1 z and log det S of p matrices s (d, d, p), by a Cholesky factorization in place."""
    for j in range(len(z)):
        column = s[j:, j]
        column[0] += added
        if j:
            column -= np.einsum("ikp,kp->ip", s[j:, :j], s[j, :j])
            z[j] -= np.einsum("kp,kp->p", s[j, :j], z[:j])
        root = np.sqrt(column[0])
        column /= root
        z[j] /= root
    roots = np.einsum("iip->ip", s)
    return np.einsum("kp,kp->p", z, z), 2 * np.sum(np.log(roots), axis=0)


@expected_kernel(RBF, np.ndarray, Gaussians)
def _(kernel: RBF, x: np.ndarray, y: Gaussians) -> np.ndarray:
    """E k(x, Y) with points as Gaussians of variance 0; one Cholesky factor serves all points."""
    s2 = kernel.bandwidth**2
    if y.covs.ndim == 2:
        points = Gaussians(np.asarray(x, np.float64), np.zeros((len(x), y.width), np.float64))
        return expected_kernel.apply(kernel, points, y)
    lower = linalg.cholesky(y.covs + s2 * np.eye(y.width))
    whitening = linalg.inv(lower)  # triangular, so as accurate as solving
    volume = np.prod(np.diagonal(lower, axis1=1, axis2=2) ** 2 / s2, axis=1)
    out = np.empty((len(x), len(y)), dtype=np.float64)
    for j in range(len(y)):
        z = (x - y.means[j]) @ whitening[j].T
        out[:, j] = np.exp(-0.5 * np.einsum("id,id->i", z, z)) / np.sqrt(volume[j])
    return out


# ---- kernels of the dot product -----------------------------------------------------------


@expected_kernel(Linear, Gaussians, Gaussians)
@expected_kernel(Linear, np.ndarray, Gaussians)
@expected_kernel(Linear, np.ndarray, Boxes)
@expected_kernel(Linear, Gaussians, Boxes)
@expected_kernel(Linear, Boxes, Boxes)
def _(kernel: Linear, x: Any, y: Any) -> np.ndarray:
    """E <X, Y> = <E X, E Y>; a trace term would appear only for E k(X, X) of a single draw."""
    return kernel.embed(_mean(x)) @ kernel.embed(_mean(y)).T


def _mean(atoms: Any) -> np.ndarray:
    """Means of the atoms: (n, d)."""
    if isinstance(atoms, Gaussians):
        return atoms.means
    return (atoms.lower + atoms.upper) / 2 if isinstance(atoms, Boxes) else np.asarray(atoms)


@expected_kernel(Polynomial, Gaussians, Gaussians)
def _(kernel: Polynomial, x: Gaussians, y: Gaussians) -> np.ndarray:
    """Moment E (<X, Y> + c)^p from the cumulants of <X, Y>, which have closed forms.

    The cumulants are the coefficients of log E exp(t <X, Y>), a Gaussian integral. For X ~ N(m, C) and
    Y ~ N(n, D): kappa_1 = m'n, kappa_2k+1 = (2k+1)! m'(DC)^k n and
    kappa_2k = (2k)!/2 [tr((CD)^k) / k + n'C(DC)^(k-1)n + m'D(CD)^(k-1)m].
    """
    cumulants = _cumulants(x, y, kernel.degree)
    cumulants[0] += kernel.offset
    moments = [np.ones_like(cumulants[0])]
    for n in range(1, kernel.degree + 1):
        terms = (comb(n - 1, k - 1) * cumulants[k - 1] * moments[n - k] for k in range(1, n + 1))
        moments.append(sum(terms, np.zeros_like(moments[0])))
    return moments[-1]


@expected_kernel(Polynomial, np.ndarray, Gaussians)
def _(kernel: Polynomial, x: np.ndarray, y: Gaussians) -> np.ndarray:
    zero = np.zeros((len(x), y.width), dtype=np.float64)
    return expected_kernel.apply(kernel, Gaussians(np.asarray(x, np.float64), zero), y)


@expected_kernel(ExponentialDot, np.ndarray, Gaussians)
def _(kernel: ExponentialDot, x: np.ndarray, y: Gaussians) -> np.ndarray:
    """E exp(a x'Y) = exp(a x'n + a^2 x'Dx / 2), the moment generating function of Y ~ N(n, D) at a x."""
    t = kernel.scale * np.asarray(x, np.float64)
    forms = t**2 @ y.covs.T if y.covs.ndim == 2 else np.einsum("id,jde,ie->ij", t, y.covs, t)
    return np.exp(t @ y.means.T + forms / 2)


@expected_kernel(ExponentialDot, Gaussians, Gaussians)
def _(kernel: ExponentialDot, x: Gaussians, y: Gaussians) -> np.ndarray:
    """E exp(a <X, Y>), finite where all eigenvalues of a^2 C D are below one.

    With A = a^2 C and G = (I - DA)^-1 for X ~ N(m, C) and Y ~ N(n, D) it is
    exp([a^2 m'GDm + 2 a m'Gn + n'AGn] / 2) / det(I - DA)^(1/2), by completing the square.
    """
    a, out = kernel.scale, np.empty((len(x), len(y)), dtype=np.float64)
    eye, covs_x, covs_y = np.eye(x.width), x.full, y.full
    for i in range(len(x)):
        m, curvature = x.means[i], a**2 * covs_x[i]
        matrices = eye - covs_y @ curvature  # (len(y), d, d)
        if np.min(np.linalg.eigvals(matrices).real) <= 0:
            raise ValueError(
                f"E exp(a <X, Y>) is infinite for Gaussians as wide as these with scale a = {a:g}: "
                "use a smaller scale, or narrower distributions"
            )
        right = np.stack([covs_y @ (a * m), y.means], axis=-1)  # (len(y), d, 2)
        solved = linalg.solve(matrices, right)
        exponent = solved[..., 0] @ (a * m) / 2 + solved[..., 1] @ (a * m)
        exponent += np.einsum("jd,jd->j", y.means @ curvature, solved[..., 1]) / 2
        out[i] = np.exp(exponent) / np.sqrt(np.linalg.det(matrices))
    return out


def _cumulants(x: Gaussians, y: Gaussians, order: int) -> list[np.ndarray]:
    """Cumulants kappa_1 ... kappa_order of <X_i, Y_j>, each (n, m)."""
    cumulants = [x.means @ y.means.T] + [
        np.empty((len(x), len(y)), np.float64) for _ in range(order - 1)
    ]
    if order > 1:
        covs_x, covs_y = x.full, y.full
        for i in range(len(x)):  # products of matrices for all y at once
            _fill_row(cumulants, i, (x.means[i], covs_x[i]), (y.means, covs_y))
    return cumulants


def _fill_row(
    cumulants: list[np.ndarray],
    i: int,
    gaussian: tuple[np.ndarray, np.ndarray],
    others: tuple[np.ndarray, np.ndarray],
) -> None:
    """Write the cumulants kappa_2, kappa_3, ... of N(m, C) with all N(n, D) into row i."""
    (m, c), (means, covs) = gaussian, others
    powers_m, powers_n = np.broadcast_to(m, means.shape), means  # (CD)^k m and (DC)^k n
    product = c @ covs
    power = np.broadcast_to(np.eye(len(m)), product.shape)  # (CD)^k
    for r in range(2, len(cumulants) + 1):
        k = r // 2
        if r % 2 == 0:
            power = power @ product
            trace = np.trace(power, axis1=1, axis2=2) / k
            forms = np.einsum("jd,jd->j", powers_n @ c, means)
            forms = forms + np.einsum("jde,jd,e->j", covs, powers_m, m)
            cumulants[r - 1][i] = factorial(r) / 2 * (trace + forms)
        else:
            powers_m = np.einsum("jde,je->jd", covs, powers_m) @ c
            powers_n = np.einsum("jde,je->jd", covs, powers_n @ c)
            cumulants[r - 1][i] = factorial(r) * (powers_n @ m)
