"""Facts about kernels on other domains than R^d: finite sets of points, and the circle."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.errors import NoRule
from mercer.kernels.base import Kernel
from mercer.kernels.definite import checked_matrix
from mercer.kernels.shift_invariant import Cosine, Dirichlet, Fejer, Poisson
from mercer.kernels.theory import Facts, completed


def facts_on_points(kernel: Kernel, x: Any) -> Facts:
    """Properties of a kernel on a finite set of different points x, decided by the eigenvalues of its matrix.

    On a finite set every function is continuous and every measure is a vector: the kernel is universal, and strictly
    positive definite, if the matrix is positive definite, and characteristic if it is on vectors that add up to zero.
    Eigenvalues below n eps times the largest one count as zero.

    Examples
    --------
    >>> from mercer.kernels import Linear
    >>> facts_on_points(Linear(), [-1.0, 1.0]).characteristic  # a distribution on two points is its mean
    True
    >>> facts_on_points(Linear(), [-1.0, 0.0, 1.0]).characteristic
    False
    """
    values, unit = checked_matrix(kernel, x)
    n = len(values)
    values = (values + values.T) / 2
    tolerance = n * unit * float(np.max(np.abs(linalg.eigvalsh(values))))
    contrasts = linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, 1:]]))[0][:, 1:]
    smallest = float(linalg.eigvalsh(values)[0])
    within = float(linalg.eigvalsh(contrasts.T @ values @ contrasts)[0]) if n > 1 else np.inf
    squared = np.diag(values)[:, None] + np.diag(values) - 2 * values
    np.fill_diagonal(squared, np.inf)
    strict = smallest > tolerance
    return Facts(
        bounded=True,
        characteristic=within > tolerance,
        universal=strict,
        positive_definite=smallest >= -tolerance,
        continuous=True,
        separates=bool(np.min(squared, initial=np.inf) > tolerance),
        strictly_positive_definite=strict,
        integrally_strict=strict,
        domain=f"a set of {n} points",
    )


def facts_on_circle(kernel: Kernel) -> Facts:
    """Properties of a periodic kernel on the circle, one period of its argument.

    k(x, y) = sum_j a_j e^(ij (x - y)) with a_j >= 0 is universal on the circle if all a_j are positive, and
    characteristic if all but a_0 are (Sriperumbudur et al. 2010, theorem 14). On the line no periodic kernel is.

    Examples
    --------
    >>> from mercer.kernels import Fejer, Poisson, facts
    >>> facts_on_circle(Poisson(0.5)).characteristic, facts(Poisson(0.5)).characteristic
    (True, False)
    >>> facts_on_circle(Fejer(3)).characteristic
    False
    """
    validate.instance("kernel", kernel, Kernel, "a kernel, such as Poisson(0.5)")
    if not isinstance(kernel, Poisson | Dirichlet | Fejer | Cosine):
        raise NoRule(
            f"the facts of {kernel!r} on the circle are not known: periodic kernels are Poisson, Dirichlet, "
            "Fejer and Cosine"
        )
    every = isinstance(kernel, Poisson)  # all others have finitely many frequencies
    return completed(
        Facts(
            stationary=True,
            analytic=True,
            positive_definite=True,
            separates=True,  # the frequency 1 does, on one period
            characteristic=every,
            universal=every,
            integrally_strict=every,
            strictly_positive_definite=every,
            domain="the circle",
        )
    )
