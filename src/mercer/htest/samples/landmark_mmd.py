"""MMD^2 in linear time: kernels projected onto the span of a few landmarks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer import linalg
from mercer.backend import Array, array_like, astype, is_numpy, namespace, to_numpy
from mercer.config import settings
from mercer.gram.kernel_family import Family
from mercer.gram.resampling_weights import CodedColumns
from mercer.gram.threads import in_order, spans
from mercer.htest.nulls import Permutation
from mercer.htest.samples.pooled_sample import Pooled, labellings, loss, within
from mercer.htest.ties import coincide, few_points
from mercer.kernels.base import Kernel, Points
from mercer.rkhs.sample_rows import taken, widened

_MAX_POINTS_PER_TILE, _MIN_POINTS_PER_TILE = 4096, 256  # columns of a tile of landmarks by points
_TILES_PER_TASK = 4  # in memory: distances, kernel values, the same centred, and in float32
_COPIES_OF_SUMS = 4  # of the sums at the landmarks, in memory at the same time
_RELATIVE_RANK = 1e-7  # eigenvalues below this share of the largest one are noise
_FLOAT32_ERROR, _FLOAT64_ERROR = 1e-6, 1e-10  # rounding of a statistic, relative to the largest


class LandmarkStatistics(ABC):
    """MMD^2 by several kernels, each projected onto the span of k(l, .) of some landmarks l.

    The projection of a kernel is a kernel, and the landmarks are drawn from the pooled sample
    without a look at the labels: permutation tests with it are exact. Pairs i = j are included.
    """

    precise: bool  # whether resampled statistics are in float64
    tie_tolerances: (
        np.ndarray
    )  # (kernels,), largest difference by rounding between equal statistics

    def resampled(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """MMD^2 of the labellings in some columns, (kernels, B); column 0 is the observed one.

        Call it first with columns that start at 0: that call decides whether all later ones use
        float64.
        """
        if columns.start == 0 and not self.precise and few_points(self._some_points):
            self._be_precise()
        values = self._resampled(null, columns, seed)
        if (
            columns.start == 0
            and not self.precise
            and coincide(values, _FLOAT32_ERROR * _size(values))
        ):
            self._be_precise()
            values = self._resampled(null, columns, seed)
        if columns.start == 0:
            self.tie_tolerances = _FLOAT64_ERROR * _size(values)
        return values

    @property
    @abstractmethod
    def _some_points(self) -> Points:
        """Points among which copies are as frequent as among all."""

    @abstractmethod
    def _be_precise(self) -> None:
        """Compute in float64 from now on, the kernel values of float32 points too."""

    @abstractmethod
    def _resampled(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        """MMD^2 of the labellings in some columns: (kernels, B)."""


class LandmarkDiscrepancies(LandmarkStatistics):
    """The statistics of samples in memory."""

    def __init__(
        self, pooled: Pooled, kernels: Sequence[Kernel], number: int, rng: np.random.Generator
    ) -> None:
        self.pooled = pooled
        self.landmarks = taken(pooled.points, landmark_rows(pooled.n + pooled.m, number, rng))
        self.family = Family(kernels, self.landmarks, pooled.points)
        self.tie_tolerances = np.zeros(len(kernels), dtype=np.float64)
        self.precise = False
        self._basis = LandmarkBasis(self.family, self.landmarks)

    @property
    def _some_points(self) -> Points:
        return self.pooled.points

    def _be_precise(self) -> None:
        self.precise = True
        self.landmarks, points = widened(self.landmarks), widened(self.pooled.points)
        self.family = Family(self.family.kernels, self.landmarks, points)
        self._basis = LandmarkBasis(self.family, self.landmarks)

    def _resampled(self, null: Permutation, columns: slice, seed: int) -> np.ndarray:
        labels = labellings(self.pooled.n, self.pooled.m, null, seed)
        parts, beside = [], _COPIES_OF_SUMS * 8 * len(self.family) * self.family.shape[0]
        for chunk in within(columns, labels.chunks(settings().memory // 2, beside)):
            coded = labels.columns(chunk, np.empty(0, dtype=np.float32))
            parts.append(self._values(coded))
        return np.concatenate(parts, axis=1)

    def _values(self, coded: CodedColumns) -> np.ndarray:
        weights, (n, m) = self.pooled.weights, (self.pooled.n, self.pooled.m)
        scaled = None if weights is None else weights * np.repeat([n, m], [n, m])
        work = _LandmarkSums(self.family, coded, scaled, self._basis.shift, self.precise)
        parallel = is_numpy(self.family.like)
        number = self.family.shape[0]
        step = _points_per_tile(number)
        total = np.zeros((len(self.family), number, coded.width + 1), np.float64)
        task_bytes = total.nbytes + step * (_TILES_PER_TASK * 8 * number + 4 * coded.width)
        for sums_of_span in in_order(work, spans(n + m, step), parallel=parallel, held=task_bytes):
            total += sums_of_span
        plus, rows = total[:, :, 1:], total[:, :, :1]
        w = np.ones(n + m, dtype=np.float64) if scaled is None else scaled
        powers = np.stack([w, w**2])
        sums, total_weights = _ones(coded).project(powers), powers.sum(axis=1, keepdims=True)
        forms = []
        for root, first, all_points in zip(self._basis.roots, plus, rows, strict=True):
            with np.errstate(divide="ignore", invalid="ignore"):
                gap = first / sums[0] - (all_points - first) / (total_weights[0] - sums[0])
            forms.append(np.sum((root @ gap) ** 2, axis=0))
        lost = float(self.pooled.contrast @ self.pooled.contrast)  # under the observed labels
        return np.nan_to_num(np.stack(forms) * (lost / loss(sums, total_weights)), nan=np.inf)


@dataclass(frozen=True)
class LandmarkBasis:
    """An orthonormal basis of the span of the landmarks for every kernel, and centring of its values."""

    family: Family
    landmarks: Points

    @cached_property
    def roots(self) -> list[np.ndarray]:
        """A with A'A = K(l, l)^-1 on the numerical range, for every kernel: (rank, landmarks)."""
        roots = []
        for kernel in self.family.kernels:
            gram = to_numpy(kernel.pairwise(self.landmarks, self.landmarks)).astype(np.float64)
            values, vectors = linalg.eigh((gram + gram.T) / 2)
            significant = values > _RELATIVE_RANK * values[-1]
            roots.append((vectors[:, significant] / np.sqrt(values[significant])).T)
        return roots

    @cached_property
    def shift(self) -> list[Array]:
        """Approximate mean kernel value of every landmark; subtracting it reduces rounding."""
        number, n = self.family.shape
        points = min(n, _MAX_POINTS_PER_TILE)
        sums: list[Any] = [0.0] * len(self.family)
        for span in spans(points, _points_per_tile(number)):
            for k, tile in enumerate(self.family.tiles(slice(0, number), span)):
                sums[k] = sums[k] + namespace(tile).sum(tile, axis=1)
        return [total[:, None] / points for total in sums]


@dataclass(frozen=True)
class _LandmarkSums:
    """points -> sums of k(l, x) over them, of all and of those with label +1: (k, l, 1 + B)."""

    family: Family
    coded: CodedColumns
    weights: np.ndarray | None
    shift: list[Array]
    precise: bool

    def __call__(self, points: slice) -> np.ndarray:
        kind = np.float64 if self.precise else np.float32
        labels = labels_after_ones(self.coded.codes[:, points], kind)
        if self.weights is not None:
            labels *= self.weights[points].astype(kind)
        return sums_at_landmarks(self.family, points, labels, self.shift)


def _points_per_tile(landmarks: int) -> int:
    """Points whose kernel values at so many landmarks are computed at a time."""
    affordable = settings().memory // (64 * _TILES_PER_TASK * 8 * landmarks)
    return min(max(affordable, _MIN_POINTS_PER_TILE), _MAX_POINTS_PER_TILE)


def landmark_rows(total: int, number: int, rng: np.random.Generator) -> np.ndarray:
    """Positions of random landmarks among so many points."""
    return np.sort(rng.choice(total, min(number, total), replace=False))


def labels_after_ones(codes: np.ndarray, kind: Any) -> np.ndarray:
    """Labels 0 and 1 as numbers, after a row of ones: (1 + B, points)."""
    labels = np.empty((1 + len(codes), codes.shape[1]), dtype=kind)
    labels[0], labels[1:] = 1.0, codes
    return labels


def sums_at_landmarks(
    family: Family, points: slice, labels: np.ndarray, shift: Sequence[Array]
) -> np.ndarray:
    """sum_i (k(l, x_i) - shift) t_i over some points for the labels t (labels, points): (k, landmarks, labels)."""
    like, xp = family.like, namespace(family.like)
    dtype = xp.float64 if labels.dtype == np.float64 else xp.float32
    right = xp.permute_dims(array_like(labels, like, dtype), (1, 0))
    number = family.shape[0]
    out = np.empty((len(family), number, len(labels)), dtype=labels.dtype)
    tiles = zip(family.tiles(slice(0, number), points), shift, strict=True)
    for k, (tile, middle) in enumerate(tiles):
        out[k] = to_numpy(astype(tile - middle, dtype) @ right)
    return out


def _ones(coded: CodedColumns) -> CodedColumns:
    return CodedColumns(coded.codes, np.array([0.0, 1.0]), coded.like)


def _size(values: np.ndarray) -> np.ndarray:
    """The largest finite statistic of every kernel: (kernels,)."""
    return np.max(np.where(np.isfinite(values), np.abs(values), 0.0), axis=1)
