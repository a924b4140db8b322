"""A deep kernel learnt on two samples, for the power of a test on others (Liu et al. 2020, algorithm 1)."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backend import Array, array_like, count, is_torch, torch_threads
from mercer.config import settings
from mercer.kernels.take import taken
from mercer.networks.deep_kernel import (
    DeepKernel,
    Numbers,
    PointBatch,
    estimated_power,
    standardized,
    vector_network,
)
from mercer.networks.training import Schedule, seeded, trained

_VALIDATION = 0.2  # share of the rows that are held out to stop the training
_EPS = 0.1  # at first
# Bandwidths of q where learning begins, in median distances of the rows.
_BROAD, _NARROWER = 2.0, (0.0625, 0.125, 0.25, 0.5, 1.0)
_SEEN = 0.5  # standard deviations of MMD_u^2, beyond which a narrower q is tried, too
_ROWS_FOR_SCALES = 500  # of each sample

Indices = tuple[np.ndarray, np.ndarray]  # rows of the first and of the second sample


@dataclass(frozen=True, eq=False)
class TrainingSamples:
    """Two samples, centred and in units of their scale; a network of the user sees unit * x + center."""

    x: Array  # (n, d)
    y: Array  # (m, d)
    center: np.ndarray  # (d,)
    unit: np.ndarray  # (d,)


@dataclass(frozen=True)
class LearntKernel:
    """A network, the numbers of a deep kernel, and its estimated power J on validation rows."""

    network: Any
    numbers: Numbers
    power: float


def learnt_kernel(
    samples: TrainingSamples,
    network: Any,
    schedule: Schedule,
    batch: int,
    rng: np.random.Generator,
) -> LearntKernel:
    """The deep kernel of largest J; what is kept is the best on rows that were held out.

    A network of the user sees the rows as they are, the default one (None) in units of their scale. `batch` rows of each
    sample are compared in a step.
    """
    like, seed = _like(samples, network), int(rng.integers(2**31))
    with seeded(seed, like.device):
        begun = vector_network(len(samples.unit)) if network is None else network
        begun = deepcopy(begun).to(like.device)
        with torch_threads(begun, settings().workers):
            rows = _Batches(samples, like, raw=network is not None)
            seen, unseen = _parted(samples, rng)
            learning = _Learning(rows, seen, [*_epoch(unseen, batch, rng)], schedule, batch, rng)
            starts = _starts(DeepKernel(begun, like), rows, seen, rng)
            ends = [learning.of(deepcopy(begun), like, start) for start in starts]
    return max(ends, key=lambda end: end.power)


@dataclass(frozen=True, eq=False)
class _Learning:
    """Steps on batches of the rows `seen`, scored by batches that were held out."""

    rows: _Batches
    seen: Indices
    held_out: list[Indices]
    schedule: Schedule
    batch: int
    rng: np.random.Generator

    def of(self, network: Any, like: Any, start: Numbers) -> LearntKernel:
        """What becomes of a network with these numbers at the start."""
        kernel = DeepKernel(network, like)
        kernel.set_numbers(start)
        best = trained(
            kernel.module,
            self._losses(kernel),
            lambda: -self._power(kernel),
            self.schedule,
            "learning a deep kernel",
            undecayed=[kernel.module.numbers],
        )
        return LearntKernel(network, kernel.numbers, -best)

    def _losses(self, kernel: DeepKernel) -> Iterator[Any]:
        while True:
            for at in _epoch(self.seen, self.batch, self.rng):
                yield -estimated_power(kernel.contrasts(*self.rows.at(at)))

    def _power(self, kernel: DeepKernel) -> float:
        contrasts = (kernel.contrasts(*self.rows.at(at)) for at in self.held_out)
        return sum(float(estimated_power(h)) for h in contrasts) / len(self.held_out)


class _Batches:
    """Rows of the samples as tensors, taken when a step needs them."""

    def __init__(self, samples: TrainingSamples, like: Any, raw: bool) -> None:
        self._samples, self._like, self._raw = samples, like, raw

    def at(self, rows: Indices) -> tuple[PointBatch, PointBatch]:
        """These rows of both samples."""
        return self._rows(self._samples.x, rows[0]), self._rows(self._samples.y, rows[1])

    def _rows(self, points: Array, rows: np.ndarray) -> PointBatch:
        values = taken(points, rows)
        scaled = array_like(values, self._like)
        if not self._raw:
            return PointBatch(scaled, scaled)
        unit, center = (array_like(v, values) for v in (self._samples.unit, self._samples.center))
        return PointBatch(array_like(values * unit + center, self._like), scaled)


def _like(samples: TrainingSamples, network: Any) -> Any:
    """A tensor of the dtype and on the device of the work: those of the network, but the device of tensors."""
    import torch

    device = samples.x.device if is_torch(samples.x) else None
    for weights in [] if network is None else network.parameters():
        return torch.empty(0, dtype=weights.dtype, device=device or weights.device)
    return torch.empty(0, dtype=torch.float32, device=device)


def _parted(samples: TrainingSamples, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Rows of both samples to learn from, and rows to validate by."""
    seen, unseen = [], []
    for points in (samples.x, samples.y):
        order = rng.permutation(count(points))
        cut = max(round(_VALIDATION * len(order)), 2)
        seen.append(order[cut:])
        unseen.append(order[:cut])
    return (seen[0], seen[1]), (unseen[0], unseen[1])


def _epoch(rows: Indices, batch: int, rng: np.random.Generator) -> Iterator[Indices]:
    """Random batches of as many rows of both samples; the smaller sample is gone through again."""
    smaller, larger = sorted(map(len, rows))
    size = min(batch, smaller)
    number = max(round(larger / size), 1)
    x, y = (_repeated(each, number * size, rng) for each in rows)
    for start in range(0, number * size, size):
        yield x[start : start + size], y[start : start + size]


def _repeated(rows: np.ndarray, number: int, rng: np.random.Generator) -> np.ndarray:
    """So many of the rows in random order, each once before any comes again."""
    rounds = -(-number // len(rows))
    return np.concatenate([rng.permutation(rows) for _ in range(rounds)])[:number]


def _starts(
    kernel: DeepKernel, rows: _Batches, seen: Indices, rng: np.random.Generator
) -> list[Numbers]:
    """Where learning begins: a broad q, and the narrower one that sees most, if any sees something.

    A narrow q must not hide what a network could learn, and a broad one gives no gradient where the
    difference is on a small scale.
    """
    import torch

    size = min(_ROWS_FOR_SCALES, *map(len, seen))
    x, y = rows.at((rng.permutation(seen[0])[:size], rng.permutation(seen[1])[:size]))
    with torch.no_grad():
        bandwidth = _median_distance(torch.cat([kernel.features(x), kernel.features(y)]))
        median = _median_distance(torch.cat([x.scaled, y.scaled]))
        narrower = [Numbers(bandwidth, factor * median, _EPS) for factor in _NARROWER]
        deviations = []
        for numbers in narrower:
            kernel.set_numbers(numbers)
            deviations.append(float(standardized(kernel.contrasts(x, y))))
    broad = Numbers(bandwidth, _BROAD * median, _EPS)
    best = int(np.argmax(np.nan_to_num(deviations, nan=-np.inf)))
    return [broad, narrower[best]] if deviations[best] > _SEEN else [broad]


def _median_distance(points: Any) -> float:
    """Median distance of different rows; 1 where all are equal."""
    import torch

    distances = torch.pdist(points if points.dtype == torch.float64 else points.float())
    positive = distances[distances > 1e-6 * distances.max()]
    return float(positive.median()) if len(positive) else 1.0
