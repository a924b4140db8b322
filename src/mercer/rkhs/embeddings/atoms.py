"""Atoms of distributions: points, Gaussians and boxes, many of one kind in one container."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import is_array
from mercer.kernels.base import Points
from mercer.kernels.wrappers import InputWrapper, Scaled, Select
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.uniform import Uniform


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Normal distributions N(m_i, C_i) on R^d.

    Parameters
    ----------
    means : array (n, d)
    covs : array (n, d) or (n, d, d)
        Variances of independent coordinates, or covariance matrices.
    """

    means: np.ndarray
    covs: np.ndarray

    @classmethod
    def of(cls, parts: Sequence[Gaussian]) -> Gaussians:
        """Stack Gaussians; covariances stay diagonal if all of them are."""
        means = np.stack([p.mean for p in parts])
        if all(p.cov.ndim == 1 for p in parts):
            return cls(means, np.stack([p.cov for p in parts]))
        full = [np.diag(p.cov) if p.cov.ndim == 1 else p.cov for p in parts]
        return cls(means, np.stack(full))

    def __len__(self) -> int:
        return len(self.means)

    def __getitem__(self, rows: Any) -> Gaussians:
        return Gaussians(self.means[rows], self.covs[rows])

    @property
    def width(self) -> int:
        """The d of R^d."""
        return self.means.shape[1]

    @property
    def full(self) -> np.ndarray:
        """Covariance matrices: (n, d, d)."""
        if self.covs.ndim == 3:
            return self.covs
        return self.covs[:, :, None] * np.eye(self.width, dtype=np.float64)

    def marginal(self, columns: Sequence[int]) -> Gaussians:
        """Marginal distributions of the coordinates `columns`."""
        at = list(columns)
        covs = self.covs[:, at] if self.covs.ndim == 2 else self.covs[:, at][:, :, at]
        return Gaussians(self.means[:, at], covs)

    def scaled(self, factors: np.ndarray) -> Gaussians:
        """Distributions of the coordinates times `factors`, (d,)."""
        products = factors**2 if self.covs.ndim == 2 else np.outer(factors, factors)
        return Gaussians(self.means * factors, self.covs * products)

    def independent(self, groups: Sequence[slice]) -> bool:
        """Whether the groups of coordinates are independent under all distributions."""
        if self.covs.ndim == 2:
            return True
        group = np.repeat(np.arange(len(groups)), [g.stop - g.start for g in groups])
        return not np.any(self.covs[:, group[:, None] != group])


@dataclass(frozen=True, eq=False)
class Boxes:
    """Uniform distributions on boxes: corners (n, d)."""

    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, parts: Sequence[Uniform]) -> Boxes:
        """Stack uniform distributions."""
        return cls(np.stack([p.lower for p in parts]), np.stack([p.upper for p in parts]))

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, rows: Any) -> Boxes:
        return Boxes(self.lower[rows], self.upper[rows])

    @property
    def width(self) -> int:
        """The d of R^d."""
        return self.lower.shape[1]

    def marginal(self, columns: Sequence[int]) -> Boxes:
        """Marginal distributions of the coordinates `columns`."""
        at = list(columns)
        return Boxes(self.lower[:, at], self.upper[:, at])

    def scaled(self, factors: np.ndarray) -> Boxes:
        """Distributions of the coordinates times `factors`, (d,)."""
        a, b = self.lower * factors, self.upper * factors
        return Boxes(np.minimum(a, b), np.maximum(a, b))

    def independent(self, groups: Sequence[slice]) -> bool:
        """Always True: the coordinates of a uniform distribution on a box are independent."""
        return True


Atoms = Points | Gaussians | Boxes


def is_points(atoms: Any) -> bool:
    """Whether the atoms are points rather than Gaussians or boxes."""
    return not isinstance(atoms, Gaussians | Boxes)


def width(atoms: Any) -> int | None:
    """The d of R^d; None where the atoms are objects without coordinates."""
    if is_points(atoms):
        return int(atoms.shape[1]) if is_array(atoms) else None
    return atoms.width


def transformed_atoms(wrapper: InputWrapper, atoms: Any) -> Any:
    """Atoms of the transformed coordinates, for the inner kernel of `Select` or `Scaled`."""
    if is_points(atoms):
        return wrapper.move(atoms)
    if isinstance(wrapper, Select):
        return atoms.marginal([int(c) % atoms.width for c in wrapper.columns])
    assert isinstance(wrapper, Scaled)
    return atoms.scaled(np.broadcast_to(np.asarray(wrapper.factors, np.float64), (atoms.width,)))


def grouped(atoms: Any, groups: Sequence[slice]) -> list[Any]:
    """The atoms of each group of coordinates."""
    if is_points(atoms):
        return [atoms[:, g] for g in groups]
    return [atoms.marginal(range(g.start, g.stop)) for g in groups]
