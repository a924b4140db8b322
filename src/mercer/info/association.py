"""Association of several variables: how far their copula is from that of independence."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import factorial, floor, prod, sqrt
from typing import Any, Literal

import numpy as np

from mercer import validate
from mercer.backend import detached, to_numpy
from mercer.gram.threads import spans
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.prepare import read
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.embeddings.embedding import mean_embedding
from mercer.rkhs.paired_samples import listed
from mercer.rkhs.uniform import Uniform

_MIN_ROWS = 2
_KINDS = (1, 2, 3, 4)
_ROWS = 512  # observations that are compared with all others at a time


class AssociationMeasure(ABC):
    """A measure of association of the columns of a table (n, d), d >= 2."""

    pairs_only = False  # whether d must be 2

    @abstractmethod
    def _of(self, columns: np.ndarray) -> float:
        """The measure of checked columns of numbers."""


def association(*variables: Any, measure: AssociationMeasure | None = None) -> float:
    """Association of variables of one column each, by a measure such as Spearman's rho.

    Parameters
    ----------
    *variables : columns of numbers
        Two or more of the same length; or one table, whose columns are the variables.
    measure : AssociationMeasure or None
        `Spearman`, `SpearmanTail`, `Blomqvist`, `Hoeffding`, `SchweizerWolff` and `CopulaMMD` depend on ranks
        alone, so increasing transformations of a variable change nothing; `Correntropy` and its kinds
        compare the values of two variables in one unit. None: Spearman(). Where values are tied, the copula is the
        mean over all orders of the tied values (Genest and Neslehova 2007), so that a constant is associated with
        nothing; `CopulaMMD` takes the mean rank.

    Examples
    --------
    >>> import numpy as np
    >>> x, y, z = np.random.default_rng(0).normal(size=(3, 1000))
    >>> association(x, x + y), association(x, np.exp(x + y))
    (0.6..., 0.6...)
    >>> association(x, x**2), association(x, x**2, measure=Hoeffding())
    (-0.05..., 0.50...)
    >>> association(x, y, z, measure=Blomqvist())
    0.0...
    """
    measure = Spearman() if measure is None else measure
    validate.instance("measure", measure, AssociationMeasure, "a measure, such as Spearman()")
    columns = _columns(variables)
    if measure.pairs_only and columns.shape[1] != 2:
        raise ValueError(
            f"{type(measure).__name__} is of two variables, got {columns.shape[1]}: use Hoeffding() or Spearman()"
        )
    return measure._of(columns)


# ---- by ranks -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spearman(AssociationMeasure):
    """Spearman's rho of d variables, the volume between their copula C and that of independence.

    With U the ranks divided by n and h = (d + 1) / (2^d - d - 1) (Schmid and Schmidt 2007; Nelsen 1996):

    1. h (2^d int C(u) du - 1), by the mean of prod_k (1 - U_k);
    2. h (2^d int u_1 ... u_d dC(u) - 1), by the mean of prod_k U_k;
    3. the mean of both, for which reflections of all variables change nothing;
    4. the mean over all pairs of variables.

    For two variables all of them estimate the classical rho. They lie below 1 by about 6 / n if all
    variables have the same order, because ranks are divided by n.
    """

    kind: int = 1

    def __post_init__(self) -> None:
        validate.whole("kind", self.kind)
        if self.kind not in _KINDS:
            raise ValueError(f"kind must be 1, 2, 3 or 4, got {self.kind!r}")

    def _of(self, columns: np.ndarray) -> float:
        u = copula_sample(columns)
        d = u.shape[1]
        if self.kind == 4:
            products = (1 - u).T @ (1 - u) / len(u)
            return float(12 * products[np.triu_indices(d, 1)].mean() - 3)
        lower, upper = (float(np.mean(np.prod(v, axis=1))) for v in (1 - u, u))
        mean = {1: lower, 2: upper, 3: (lower + upper) / 2}[int(self.kind)]
        return (d + 1) / (2**d - d - 1) * (2**d * mean - 1)


@dataclass(frozen=True)
class SpearmanTail(AssociationMeasure):
    """Conditional Spearman's rho of d variables in a tail of their copula.

    The volume int C(u) du over the cube [0, p]^d of the lower tail, or [1 - p, 1]^d of the upper one, between
    that of independence (0) and that of variables of the same order (1) (Schmid and Schmidt 2007). As p tends to
    0 it is a measure of tail dependence.

    Parameters
    ----------
    tail : "lower" or "upper"
    share : float or None
        p, up to 1, for which it is `Spearman` of the first kind. None: floor(sqrt(n)) / n, a tail that shrinks.
    """

    tail: Literal["lower", "upper"] = "lower"
    share: float | None = None

    def __post_init__(self) -> None:
        if self.tail not in ("lower", "upper"):
            raise ValueError(f"tail must be 'lower' or 'upper', got {self.tail!r}")
        if self.share is not None:
            validate.positive("share", self.share)
            if self.share > 1:
                raise ValueError(f"share must be at most 1, got {self.share!r}")

    def _of(self, columns: np.ndarray) -> float:
        n, d = columns.shape
        p = floor(sqrt(n)) / n if self.share is None else float(self.share)
        if self.tail == "lower":
            sides = _over_ties(columns, lambda r: np.maximum(p - r, 0.0))
            independent, same = (p**2 / 2) ** d, p ** (d + 1) / (d + 1)
        else:
            sides = _over_ties(columns, lambda r: 1 - np.maximum(r, 1 - p))
            independent = (p * (2 - p) / 2) ** d
            same = p**d * (d + 1 - p * d) / (d + 1)
        volume = float(np.mean(np.prod(sides, axis=1)))
        return (volume - independent) / (same - independent)


@dataclass(frozen=True)
class Blomqvist(AssociationMeasure):
    """Blomqvist's beta of d variables: how often all of them are on the same side of their medians.

    h (C(1/2) + C*(1/2) - 2^(1-d)) with h = 2^(d-1) / (2^(d-1) - 1), the shares of observations with all
    U <= 1/2 and with all U > 1/2 (Ubeda-Flores 2005).
    """

    def _of(self, columns: np.ndarray) -> float:
        low = _over_ties(columns, lambda r: (r <= 0.5).astype(np.float64))
        d = low.shape[1]
        same = float(np.mean(np.prod(low, axis=1)) + np.mean(np.prod(1 - low, axis=1)))
        return 2 ** (d - 1) / (2 ** (d - 1) - 1) * (same - 2.0 ** (1 - d))


@dataclass(frozen=True)
class Hoeffding(AssociationMeasure):
    """Hoeffding's Phi of d variables, the L2 distance of their copula C and that of independence.

    Phi^2 = int (C(u) - u_1 ... u_d)^2 du, divided by its value for variables of the same order, so that Phi lies
    between 0 and 1; zero for C only under independence (Gaisser, Ruppert and Schmid 2010). O(n^2) in time and
    O(n) in memory.

    Parameters
    ----------
    adjusted : bool
        True: sums over the grid of ranks, for which n observations of the same order have Phi = 1. False: the
        integral of the empirical copula, and its limit as the divisor.
    """

    adjusted: bool = True

    def __post_init__(self) -> None:
        validate.truth("adjusted", self.adjusted)

    def _of(self, columns: np.ndarray) -> float:
        u, sizes = copula_sample(columns), _tie_sizes(columns)
        n, d = u.shape
        tied = (sizes**2 - 1) / (6 * sizes * n)  # zero where a value occurs once

        def overlap(rows: slice, k: int) -> np.ndarray:
            """Share of the grid above two observations: (rows, n)."""
            above = 1 - np.maximum(u[rows, None, k], u[:, k])
            return above - tied[:, k] * (u[rows, None, k] == u[:, k]) if tied[:, k].any() else above

        joint = sum(
            float(np.sum(prod(overlap(rows, k) for k in range(d)))) for rows in spans(n, _ROWS)
        )
        spread = (
            1 - u**2 - (sizes**2 - 1) / (12 * n**2)
        )  # the mean square of the ranks of tied values
        spread = spread - (1 - u) / n if self.adjusted else spread
        cross = float(np.mean(np.prod(spread, axis=1))) / 2 ** (d - 1)
        squared = joint / n**2 - cross + self._independent(n, d)
        return sqrt(max(squared, 0.0) / self._same_order(n, d))

    def _independent(self, n: int, d: int) -> float:
        """int (u_1 ... u_d)^2 du."""
        return ((n - 1) * (2 * n - 1) / (6 * n**2) if self.adjusted else 1 / 3) ** d

    def _same_order(self, n: int, d: int) -> float:
        """Phi^2, not normalised, of variables of the same order."""
        if self.adjusted:
            i = np.arange(1, n + 1, dtype=np.float64)
            joint = np.sum((1 - i / n) ** d * (2 * i - 1)) / n**2
            cross = 2 * np.mean(((n * (n - 1) - i * (i - 1)) / (2 * n**2)) ** d)
            return float(joint - cross) + self._independent(n, d)
        cross = factorial(d) / (2**d * prod(i + 0.5 for i in range(d + 1)))
        return 2 / ((d + 1) * (d + 2)) - cross + 1 / 3**d


@dataclass(frozen=True)
class SchweizerWolff(AssociationMeasure):
    """Schweizer and Wolff's sigma of two variables, 12 int int |C(u, v) - uv| du dv.

    Between 0, only under independence, and 1, only if one variable is a monotone function of the other
    (Schweizer and Wolff 1981). A sum over the grid of ranks, 12 / (n^2 - 1) sum_ij |C(i/n, j/n) - ij/n^2|,
    in O(n^2) time and O(n) memory.
    """

    pairs_only = True

    def _of(self, columns: np.ndarray) -> float:
        n = len(columns)
        (first, second), grid = (_tie_groups(c) for c in columns.T), np.arange(1, n + 1) / n
        starts, sizes = np.cumsum(np.bincount(second)) - np.bincount(second), np.bincount(second)
        members = np.split(second[np.argsort(first, kind="stable")], np.cumsum(np.bincount(first)))
        below, total, i = np.zeros(n), 0.0, 0
        for group in members[:-1]:  # the observations with one value of the first variable
            step = np.zeros(n)
            for other in group:
                step[starts[other] : starts[other] + sizes[other]] += 1 / (n * sizes[other])
            step = np.cumsum(step) / len(group)
            for _ in group:
                below, i = below + step, i + 1  # C(i / n, .)
                total += float(np.sum(np.abs(below - i / n * grid)))
        return 12 * total / (n**2 - 1)


@dataclass(frozen=True)
class CopulaMMD(AssociationMeasure):
    """Maximum mean discrepancy between the copula of d variables and the uniform distribution.

    |mean_i k(U_i, .) - E k(V, .)| with V uniform on the cube, which is the copula of independence (Poczos, Ghahramani
    and Schneider 2012). The expectations have closed forms, so nothing is random.

    Parameters
    ----------
    kernel : Kernel or None
        On the cube, with a closed form for boxes, such as RBF. None: RBF at the median distance of the U_i.
    """

    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        check_kernel(self.kernel)

    def _of(self, columns: np.ndarray) -> float:
        u = copula_sample(columns)
        kernel = median_rbf(u, name="the ranks") if self.kernel is None else self.kernel
        d = u.shape[1]
        uniform = mean_embedding(kernel, Uniform(np.zeros(d), np.ones(d)))
        return mean_embedding(kernel, u).distance(uniform)


# ---- shared -------------------------------------------------------------------------------------


def copula_sample(columns: np.ndarray) -> np.ndarray:
    """Ranks of every column divided by n; tied values share their mean rank: (n, d)."""
    from scipy.stats import rankdata

    return rankdata(columns, axis=0) / len(columns)


def _tie_groups(column: np.ndarray) -> np.ndarray:
    """Number of the distinct value, in increasing order, that each observation has: (n,)."""
    return np.unique(column, return_inverse=True)[1].reshape(-1)


def _tie_sizes(columns: np.ndarray) -> np.ndarray:
    """How many observations have the value of each: (n, d)."""
    groups = [_tie_groups(c) for c in columns.T]
    return np.stack([np.bincount(g)[g] for g in groups], axis=1).astype(np.float64)


def _over_ties(columns: np.ndarray, f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """f of the ranks divided by n, tied values share the mean over their ranks: (n, d)."""
    values = f(np.arange(1, len(columns) + 1) / len(columns))
    groups = [_tie_groups(c) for c in columns.T]
    means = [np.bincount(np.sort(g), values) / np.bincount(g) for g in groups]
    return np.stack([mean[g] for mean, g in zip(means, groups, strict=True)], axis=1)


def check_kernel(kernel: object) -> None:
    """Raise unless a kernel or None."""
    if kernel is not None:
        validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0), or None")


def _columns(variables: tuple[Any, ...]) -> np.ndarray:
    """Checked columns of numbers of the same length: (n, d)."""
    names = ("x",) if len(variables) == 1 else tuple(f"x{i + 1}" for i in range(len(variables)))
    tables = [
        to_numpy(detached(read(VECTOR_KERNEL, v, None, name)[0])).astype(np.float64, copy=False)
        for v, name in zip(variables, names, strict=True)
    ]
    if len(tables) > 1 and any(t.shape[1] > 1 for t in tables):
        shapes = listed([str(t.shape) for t in tables])
        raise ValueError(
            f"{listed(names)} must have one column each, got shapes {shapes}: pass one table whose columns are "
            "the variables"
        )
    if len({len(t) for t in tables}) > 1:
        sizes = listed([str(len(t)) for t in tables])
        raise ValueError(f"{listed(names)} must have the same number of observations, got {sizes}")
    columns = np.concatenate(tables, axis=1) if tables else np.empty((0, 0))
    if columns.shape[1] < 2:
        raise ValueError(
            f"association needs at least two variables, got {columns.shape[1]}: pass x and y, or a table x of two "
            "or more columns"
        )
    if len(columns) < _MIN_ROWS:
        raise ValueError(
            f"{listed(names)} must have at least {_MIN_ROWS} observations, got {len(columns)}"
        )
    return columns
