"""Newton's method for a smooth loss with an RKHS penalty: every step is a weighted ridge problem.

The kernel matrix is dense, lazy or a product of factors of low rank; with a lazy one the ridge problems are
solved by conjugate gradients.
"""

from __future__ import annotations

from dataclasses import dataclass

from mercer.backend import Array, array_like, astype, namespace, scalar, zeros
from mercer.gram import LazyMatrix, Reweighted, ridge_solve
from mercer.gram.positive_definite import add_to_diagonal, solve_positive
from mercer.learn.regression.landmark_matrix import FactoredMatrix
from mercer.learn.regression.losses import SmoothLoss
from mercer.linalg import threads_for_product

_MAX_HALVINGS = 40  # of a step, before it is given up: 1e-12 of its length
_MAX_STALLED_STEPS = 3  # shortened steps without progress, after which only rounding remains


@dataclass(frozen=True, eq=False)
class Fit:
    """f = sum_i a_i k(x_i, .) + b: coefficients (n,), intercept, steps, and relative gap."""

    coefficients: Array
    intercept: float
    steps: int
    gap: float


@dataclass(frozen=True, eq=False)
class Penalised:
    """sum_i w_i l(y_i, f(x_i) + b) + ridge |f|^2 of a kernel matrix K."""

    matrix: Array | LazyMatrix | FactoredMatrix
    y: Array
    loss: SmoothLoss
    ridge: float
    weights: Array
    intercept: bool

    def value(self, f: Array, norm2: float) -> float:
        """The objective at values f (n,), intercept included, of a function of squared norm norm2."""
        lost = namespace(f).sum(self.weights * self.loss.value(self.y, f))
        return scalar(lost) + self.ridge * norm2

    def step(self, f: Array) -> tuple[Array, float]:
        """Coefficients and intercept of the next function.

        The quadratic that meets the loss at f has its minimum where (WK + 2 ridge I) a = Wf - g - Wb
        and, with an intercept, 1'a = 0. With S = W^1/2 and B = 2 ridge I + SKS the inverse is
        (I - S B^-1 S K) / 2 ridge (Rasmussen and Williams 2006, eq. 3.26): points of curvature 0 stay
        outside B. Where the loss is flat at all points, its steps are those of the squared loss.
        """
        xp = namespace(f)
        w = self.weights * self.loss.curvature(self.y, f)
        g = self.weights * self.loss.slope(self.y, f)
        if not scalar(xp.max(w)) > 0:
            w = 2 * self.weights
        if isinstance(self.matrix, LazyMatrix):
            solved = self._on_tiles(self.matrix, f, w, g)
        elif isinstance(self.matrix, FactoredMatrix):
            right = xp.stack([w * f - g, w], axis=1)
            solved = _definite(self.matrix.ridge_solved(w, right, 2 * self.ridge))
        else:
            solved = self._directly(self.matrix, f, w, g)
        if not self.intercept:
            return solved[:, 0], 0.0
        b = scalar(xp.sum(solved[:, 0])) / scalar(xp.sum(solved[:, 1]))
        return solved[:, 0] - b * solved[:, 1], b

    def image(self, a: Array) -> Array:
        """K a in float64: (n,)."""
        return _image(self.matrix, a)

    def _directly(self, matrix: Array, f: Array, w: Array, g: Array) -> Array:
        """Solve the system of a dense matrix by Cholesky, on the points of positive curvature."""
        xp = namespace(f)
        active = xp.nonzero(w > 0)[0]
        root = xp.sqrt(xp.take(w, active, axis=0))
        right = xp.stack([w * f - g, w], axis=1)
        rows = xp.take(matrix, active, axis=0)  # (active, n)
        system = root[:, None] * xp.take(rows, active, axis=1) * root[None, :]
        add_to_diagonal(system, 2 * self.ridge)
        with threads_for_product(2 * int(rows.shape[0]) * int(rows.shape[1])):
            image = rows @ right
        solved = solve_positive(system, root[:, None] * image)
        if solved is None:
            raise ValueError(
                "the kernel must be positive definite, but its matrix is not: use a larger ridge, "
                "or another kernel"
            )
        spread = _put(zeros(tuple(right.shape), right), active, root[:, None] * solved)
        return (right - spread) / (2 * self.ridge)

    def _on_tiles(self, matrix: LazyMatrix, f: Array, w: Array, g: Array) -> Array:
        """The same: a = -g / 2 ridge where W = 0, and elsewhere a = Sc with Bc = S^-1 (Wf - g - W K a)."""
        xp, flat = namespace(f), w <= 0
        outside = xp.where(flat, -g / (2 * self.ridge), 0 * g)
        root = xp.sqrt(w)
        slope = xp.where(flat, 0 * g, g / xp.where(flat, xp.ones_like(root), root))
        residual = f - self.image(outside) if bool(xp.any(flat)) else f
        right = array_like(xp.stack([root * residual - slope, root], axis=1), matrix.like)
        weighted = Reweighted(matrix, array_like(root, matrix.like))
        solved = astype(ridge_solve(weighted, right, 2 * self.ridge), f.dtype)
        return root[:, None] * solved + xp.stack([outside, 0 * outside], axis=1)


def minimise(problem: Penalised, iterations: int, tolerance: float) -> Fit:
    """Newton's method with steps that are halved until the objective falls."""
    xp = namespace(problem.y)
    a, b = xp.zeros_like(problem.y), 0.0
    u = xp.zeros_like(problem.y)  # K a
    value, gap, still = problem.value(u + b, 0.0), float("inf"), 0
    for step in range(1, iterations + 1):
        coefficients, intercept = problem.step(u + b)
        image = problem.image(coefficients)
        da, db, du = coefficients - a, intercept - b, image - u
        length, trial = 1.0, value
        for _ in range(_MAX_HALVINGS):
            norm2 = scalar(xp.sum((a + length * da) * (u + length * du)))
            trial = problem.value(u + b + length * (du + db), max(norm2, 0.0))
            if trial <= value + 1e-13 * abs(value):
                break
            length /= 2
        a, b, u = a + length * da, b + length * db, u + length * du
        gap, value = (value - trial) / max(abs(trial), 1e-300), trial
        still = still + 1 if gap <= tolerance else 0
        if still and (length == 1.0 or still == _MAX_STALLED_STEPS):
            return Fit(a, b, step, max(gap, 0.0))
    return Fit(a, b, iterations, gap)


def squared_norm(matrix: Array | LazyMatrix | FactoredMatrix, fit: Fit) -> float:
    """|f|^2 = a'Ka."""
    a = fit.coefficients
    return max(scalar(namespace(a).sum(a * _image(matrix, a))), 0.0)


def _image(matrix: Array | LazyMatrix | FactoredMatrix, a: Array) -> Array:
    """K a in the precision of a: (n,)."""
    if isinstance(matrix, LazyMatrix):
        return astype(matrix @ array_like(a, matrix.like), a.dtype)
    with threads_for_product(int(a.shape[0]) ** 2):
        return matrix @ a


def _definite(solved: Array | None) -> Array:
    """The solution of a system that must be positive definite."""
    if solved is None:
        raise ValueError(
            "the kernel must be positive definite, but its matrix is not: use a larger ridge, "
            "or another kernel"
        )
    return solved


def _put(out: Array, rows: Array, values: Array) -> Array:
    """`out` with some rows replaced; the standard has no assignment at positions."""
    try:
        out[rows, :] = values
    except IndexError:
        for i in range(int(rows.shape[0])):
            out[int(rows[i]), :] = values[i, :]
    return out
