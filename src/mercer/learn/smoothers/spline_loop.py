"""The information filter of smoothing splines in machine code (the extra `compiled`), point after point.

`spline_filter.py` explains the filter and has it in NumPy, for many points side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.gram.threads import spans
from mercer.native import helper, is_quick, native_loop

_SIGNATURE = (
    "double* double* double* double* double* double* double* long long long long long long long"
)
# Steps of m^2 (m + q) operations in a call: about a tenth of a second, for which Ctrl-C has to wait.
_MAX_OPERATIONS_PER_CALL = 2**26


def is_quickly_compiled() -> bool:
    """Whether the loop is stored, or can be."""
    return is_quick(_filter, _SIGNATURE)


def compiled_informations(
    gaps: np.ndarray, y: np.ndarray, smoothings: np.ndarray, m: int
) -> tuple[np.ndarray, np.ndarray]:
    """J (m, m, L, S, n) and e (m, q, L, S, n), as `spline_filter.informations`."""
    (sides, n, q), number = y.shape, len(smoothings)
    J = np.zeros((m, m, number, sides, n), dtype=np.float64)
    e = np.zeros((m, q, number, sides, n), dtype=np.float64)
    work = np.empty((3, m, m), dtype=np.float64), np.empty((m, m + q), dtype=np.float64)
    data = (np.ascontiguousarray(array, dtype=np.float64) for array in (gaps, y, smoothings))
    arrays = *data, J, e, *work
    loop = native_loop(_filter, _SIGNATURE)
    steps = max(_MAX_OPERATIONS_PER_CALL // (number * sides * m * m * (m + q)), 1)
    for span in spans(n - 1, steps):
        loop(*arrays, number, sides, n, m, q, span.start, span.stop)
    return J, e


def _filter(numba: Any) -> Callable[..., int]:
    """The loop, built from its helpers."""
    called, carray = helper(numba), numba.carray
    set_move, gather, solve, pull = (called(f) for f in (_set_move, _gather, _solve, _pull))

    def run(h, y, lam, J, e, work, right, L, sides, n, m, q, first, last):  # pragma: no cover
        gaps, targets, smoothings = (
            carray(h, (sides, n - 1)),
            carray(y, (sides, n, q)),
            carray(lam, L),
        )
        matrices, vectors = carray(J, (m, m, L, sides, n)), carray(e, (m, q, L, sides, n))
        squares, known = carray(work, (3, m, m)), carray(right, (m, m + q))
        for s in range(sides):
            for t in range(first, last):
                set_move(squares, gaps[s, t], m)
                for k in range(L):
                    gather(squares, matrices, vectors, targets, smoothings[k], k, s, t, known)
                    solve(squares, known)
                    pull(squares, known, matrices, vectors, k, s, t + 1)
        return 0

    return run


# Matrices of a step, (3, m, m).
_A, _Q, _SYSTEM = 0, 1, 2


def _set_move(squares, h, m):  # pragma: no cover
    """Transition and noise over a gap h: h^(k-i) / (k-i)!, and integrals of products of such terms."""
    for i in range(m):
        term = 1.0
        for k in range(m):
            squares[_A, i, k] = 0.0
        for k in range(i, m):
            squares[_A, i, k] = term
            term *= h / (k - i + 1)
    for i in range(m):
        for k in range(m):
            terms = squares[_A, 0, m - 1 - i] * squares[_A, 0, m - 1 - k]
            squares[_Q, i, k] = terms * h / (2 * m - 1 - i - k)


def _gather(squares, J, e, y, smoothing, k, s, t, known):  # pragma: no cover
    """The system I + JQ and the right sides [J A, e], with the observation at t in J and e."""
    m, q = J.shape[0], e.shape[1]
    for i in range(m):
        precision = 1.0 / smoothing if i == 0 else 0.0
        for c in range(m):
            noise, onward = precision * squares[_Q, 0, c], precision * squares[_A, 0, c]
            for j in range(m):
                noise += J[i, j, k, s, t] * squares[_Q, j, c]
                onward += J[i, j, k, s, t] * squares[_A, j, c]
            squares[_SYSTEM, i, c] = noise + 1.0 if i == c else noise
            known[i, c] = onward
        for c in range(q):
            known[i, m + c] = e[i, c, k, s, t] + precision * y[s, t, c]


def _solve(squares, known):  # pragma: no cover
    """Solve the system for all columns of `known`, in place, by elimination with pivots."""
    m, width = known.shape
    for c in range(m):
        p = c
        for i in range(c + 1, m):
            if abs(squares[_SYSTEM, i, c]) > abs(squares[_SYSTEM, p, c]):
                p = i
        for k in range(m):
            upper = squares[_SYSTEM, p, k]
            squares[_SYSTEM, p, k] = squares[_SYSTEM, c, k]
            squares[_SYSTEM, c, k] = upper
        for k in range(width):
            upper = known[p, k]
            known[p, k] = known[c, k]
            known[c, k] = upper
        for i in range(c + 1, m):
            ratio = squares[_SYSTEM, i, c] / squares[_SYSTEM, c, c]
            for k in range(c + 1, m):
                squares[_SYSTEM, i, k] -= ratio * squares[_SYSTEM, c, k]
            for k in range(width):
                known[i, k] -= ratio * known[c, k]
    for i in range(m - 1, -1, -1):
        for k in range(width):
            total = known[i, k]
            for j in range(i + 1, m):
                total -= squares[_SYSTEM, i, j] * known[j, k]
            known[i, k] = total / squares[_SYSTEM, i, i]


def _pull(squares, known, J, e, k, s, t):  # pragma: no cover
    """J and e about the state at t: A' times what is known, with J symmetric."""
    m, q = J.shape[0], e.shape[1]
    for i in range(m):
        for c in range(i + 1):
            lower, upper = 0.0, 0.0
            for j in range(m):
                lower += squares[_A, j, i] * known[j, c]
                upper += squares[_A, j, c] * known[j, i]
            J[i, c, k, s, t] = (lower + upper) / 2
            J[c, i, k, s, t] = (lower + upper) / 2
        for c in range(q):
            total = 0.0
            for j in range(m):
                total += squares[_A, j, i] * known[j, m + c]
            e[i, c, k, s, t] = total
