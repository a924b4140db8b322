"""Mutual information from counts of neighbours: the estimators of Kraskov, Stoegbauer and Grassberger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import namespace, scalar, to_numpy
from mercer.info.estimator import Estimator
from mercer.info.neighbours import (
    joint_norm,
    joint_radii_and_counts,
    joint_widths_and_counts,
)
from mercer.info.sample import Sample, more_points_than

_GAP = 4.0  # distance of two categories, in diameters of the numbers: no number bridges it


@dataclass(frozen=True)
class KSG(Estimator):
    """Mutual information of continuous variables from counts of neighbours (Kraskov et al. 2004).

    r_i is the distance of observation i to its k-th neighbour in the joint space, the largest of the
    distances of the variables, and n_x(i) the number of others whose x is closer than r_i. Kind 1 is
    psi(k) + psi(n) - mean(psi(n_x + 1) + psi(n_y + 1)). Kind 2 has a width for each variable, those of the box
    of the k neighbours, counts n_x(i) up to this width, and is
    psi(k) - 1/k + psi(n) - mean(psi(n_x) + psi(n_y)). With m variables, psi(n) and 1/k count m - 1 times. Given z,
    kind 1 is psi(k) - mean(psi(n_xz + 1) + psi(n_yz + 1) - psi(n_z + 1)) (Frenzel and Pompe 2007).

    Columns are brought to unit standard deviation first, so that no value depends on their units. The distance
    within a variable is the largest difference of a column in 12 columns altogether and fewer, and beyond the root of the
    mean squared difference of its columns, up to a common factor.
    Values are biased towards zero in many dimensions, and cannot exceed about log n.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import mutual_information
    >>> x, noise = np.random.default_rng(0).normal(size=(2, 2000))
    >>> round(mutual_information(x, x + noise, estimator=KSG()), 2)  # log(2) / 2 = 0.35
    0.3...
    """

    k: int = 3
    kind: int = 1

    def __post_init__(self) -> None:
        validate.whole("k", self.k)
        validate.whole("kind", self.kind)
        if self.kind > 2:
            raise ValueError(f"kind must be 1 or 2, got {self.kind}")

    def information(self, variables: Sequence[Sample], given: Sample | None = None) -> float:
        return float(np.mean(self.local(variables, given)))

    def local(self, variables: Sequence[Sample], given: Sample | None = None) -> np.ndarray:
        """Terms of the observations, of which the information is the mean: (n,)."""
        more_points_than(variables[0], self.k, repr(self))
        points = [v.numbers("KSG") for v in (*variables, *([given] if given is not None else []))]
        if self.kind == 2:
            return self._by_widths([_scaled(p) for p in points], given is not None)
        return local_information([_scaled(p) for p in points], self.k, given is not None)

    def _by_widths(self, points: list[Any], conditional: bool) -> np.ndarray:
        from scipy.special import digamma

        if conditional:
            raise ValueError("KSG with kind=2 takes no `given`: use kind=1")
        counts, zero = joint_widths_and_counts(points, self.k)
        _refuse_ties(zero, len(counts[0]))
        m, k = len(points), self.k
        constant = digamma(k) + (m - 1) * (digamma(len(counts[0])) - 1 / k)
        return constant - sum(digamma(c) for c in counts)


@dataclass(frozen=True)
class MixedKSG(Estimator):
    """Mutual information of discrete, continuous and mixed variables (Gao et al. 2017; Mesner and Shalizi 2021).

    As `KSG`, and where the k nearest neighbours of an observation are equal to it, k is the number of equal
    observations. Different categories are farther apart than any numbers. Consistent for discrete variables,
    continuous ones, both together, and for variables with atoms, such as amounts that are often zero. For a category
    and a number it is the estimator of Ross (2014). The program of Gao et al. has log n in place of psi(n), with which
    values of two variables are larger by log n - psi(n), about 1 / (2n).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.info import mutual_information
    >>> rng = np.random.default_rng(0)
    >>> label = rng.integers(0, 2, 2000)
    >>> round(mutual_information(label, label + rng.uniform(size=2000), estimator=MixedKSG()), 2)  # log 2
    0.69
    """

    k: int = 3

    def __post_init__(self) -> None:
        validate.whole("k", self.k)

    def information(self, variables: Sequence[Sample], given: Sample | None = None) -> float:
        return float(np.mean(self.local(variables, given)))

    def local(self, variables: Sequence[Sample], given: Sample | None = None) -> np.ndarray:
        """Terms of the observations, of which the information is the mean: (n,)."""
        more_points_than(variables[0], self.k, repr(self))
        parts = [_spread_categories(v) for v in variables]
        if given is not None:
            parts.append(_spread_categories(given))
        return local_information(parts, self.k, given is not None, mixed=True)


def local_information(
    parts: list[Any], k: int, conditional: bool, *, mixed: bool = False
) -> np.ndarray:
    """Terms of the first KSG estimator, given the last variable if `conditional`: (n,)."""
    from scipy.special import digamma

    m = len(parts) - conditional
    last = (m,) if conditional else ()
    everything = (tuple(range(len(parts))),) if mixed else ()
    subsets = [*((j, *last) for j in range(m)), *([last] if conditional else []), *everything]
    radii, counts = joint_radii_and_counts(_comparable(parts), k, subsets)
    n, tied = len(radii), radii == 0
    if not mixed:
        _refuse_ties(tied, n)
    joint = digamma(np.where(tied, counts[-1] + 1, k)) if mixed else digamma(k)
    outside = digamma(counts[m] + 1) if conditional else digamma(n)
    return joint + (m - 1) * outside - sum(digamma(c + 1) for c in counts[:m])


def _comparable(parts: list[Any]) -> list[Any]:
    """Variables whose distances are about equally large, also where their numbers of columns differ.

    Euclidean distances grow with the square root of the number of columns. Without this, those of a variable of
    20 columns exceed all of a variable of one column, of which all observations are then neighbours.
    """
    columns = [int(p.shape[1]) for p in parts]
    fewest = min(columns)
    if joint_norm(parts) == np.inf or fewest == max(columns):
        return parts
    return [p * (fewest / d) ** 0.5 for p, d in zip(parts, columns, strict=True)]


def _refuse_ties(tied: np.ndarray, n: int) -> None:
    if tied.any():
        raise ValueError(
            f"KSG needs continuous variables, but {int(tied.sum())} of {n} observations have their k nearest "
            "neighbours at distance zero: use MixedKSG() for discrete and mixed data"
        )


def _scaled(points: Any) -> Any:
    """Columns centred and in units of their spread, which no variable's information depends on."""
    xp = namespace(points)
    low, high = xp.min(points, axis=0), xp.max(points, axis=0)
    spread = high / 2 - low / 2
    spread = xp.where(spread > 0, spread, xp.ones_like(spread))
    centred = (points - (low / 2 + high / 2)) / spread
    return centred / xp.where(
        xp.std(centred, axis=0) > 0, xp.std(centred, axis=0), xp.ones_like(spread)
    )


def _spread_categories(sample: Sample) -> Any:
    """Columns of one scale, with categories as numbers so far apart that no other column bridges the gap."""
    if sample.weights is not None:
        raise ValueError(f"MixedKSG takes no weights, but {sample.name} is weighted: resample it")
    if not any(sample.categorical):
        return _scaled(sample.values)
    values = to_numpy(sample.values)
    numbers = [j for j, flag in enumerate(sample.categorical) if not flag]
    columns = np.empty_like(values)
    diameter = 100.0  # of scaled variables elsewhere, which are a few standard deviations wide
    if numbers:
        columns[:, numbers] = _scaled(values[:, numbers])
        diameter = max(diameter, scalar(np.max(np.ptp(columns[:, numbers], axis=0))))
    gap = (
        _GAP * diameter * values.shape[1] ** 0.5
    )  # Euclidean distances of numbers are so much larger
    for j, flag in enumerate(sample.categorical):
        if flag:
            _, codes = np.unique(values[:, j], return_inverse=True)
            columns[:, j] = gap * codes
    return columns
