"""Deep sets, rho(mean of phi(x) over the points of a set), learnt on sets of different sizes (Zaheer et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.backend import Array, array_like, is_torch, to_numpy, torch_threads
from mercer.config import settings
from mercer.kernels.take import taken
from mercer.networks.training import Schedule, seeded, trained

Layers = tuple[
    tuple[np.ndarray, np.ndarray], ...
]  # matrices (inputs, outputs) and offsets (outputs,)
Loss = Callable[[Any, Any], Any]  # of outputs (n, q) and targets: the mean over n


@dataclass(frozen=True, eq=False)
class TrainingSets:
    """Points of all sets, one set after the other, in units of their scale, with a target for each set."""

    points: Array  # (N, d)
    offsets: np.ndarray  # (n + 1,)
    shares: np.ndarray  # (N,), weights of the points, which add up to one in each set
    targets: np.ndarray  # (n, q) numbers, or (n,) classes

    @property
    def sizes(self) -> np.ndarray:
        """Numbers of points: (n,)."""
        return np.diff(self.offsets)


@dataclass(frozen=True)
class Architecture:
    """Layers of phi and of rho, units of each, and outputs."""

    layers: int
    width: int
    outputs: int


@dataclass(frozen=True)
class SetBatch:
    """Sets in a step, and points drawn from each of them."""

    sets: int
    points: int


def learnt_set_network(
    sets: TrainingSets,
    held_out: np.ndarray,
    architecture: Architecture,
    loss: Loss,
    schedule: Schedule,
    batch: SetBatch,
    rng: np.random.Generator,
) -> tuple[Layers, Layers, float]:
    """Layers of phi and of rho with the least loss on the sets `held_out`, and that loss; the others are learnt from."""
    import torch

    device = sets.points.device if is_torch(sets.points) else None
    like = torch.empty(0, dtype=torch.float32, device=device)
    seen = np.setdiff1d(np.arange(len(sets.sizes)), held_out)
    with seeded(int(rng.integers(2**31)), like.device):
        module = _network(sets.points.shape[1], architecture).to(like.device)
        with torch_threads(module, settings().workers):
            drawn = _Draws(sets, like, batch.points, rng)
            points, targets = drawn.of(held_out)

            def losses() -> Iterator[Any]:
                while True:
                    rows = rng.choice(seen, min(batch.sets, len(seen)), replace=False)
                    x, y = drawn.of(rows)
                    yield loss(_outputs(module, x), y)

            def score() -> float:
                return float(loss(_outputs(module, points), targets))

            best = trained(module, losses(), score, schedule, "learning deep sets")
    return _layers(module.points), _layers(module.sets), best


class _Draws:
    """As many points of every set, drawn anew, by their weights."""

    def __init__(
        self, sets: TrainingSets, like: Any, points: int, rng: np.random.Generator
    ) -> None:
        self._sets, self._like, self._rng = sets, like, rng
        self._number = min(points, int(sets.sizes.max()))
        sums = np.concatenate([[0.0], np.cumsum(sets.shares)])
        self._starts = sums[sets.offsets]
        self._sums = sums[1:]

    def of(self, rows: np.ndarray) -> tuple[Any, Any]:
        """Points (sets, points, d) and targets of these sets."""
        low, high = self._starts[rows][:, None], self._starts[rows + 1][:, None]
        heights = low + (high - low) * self._rng.random((len(rows), self._number))
        at = np.searchsorted(self._sums, heights, side="right")
        offsets = self._sets.offsets
        at = np.clip(at, offsets[rows][:, None], offsets[rows + 1][:, None] - 1)  # rounding of sums
        points = array_like(taken(self._sets.points, at.ravel()), self._like)
        targets = self._sets.targets[rows]
        return points.reshape(*at.shape, -1), self._targets(targets)

    def _targets(self, targets: np.ndarray) -> Any:
        import torch

        dtype = torch.int64 if targets.ndim == 1 else self._like.dtype
        return array_like(targets, self._like, dtype)


def _network(columns: int, architecture: Architecture) -> Any:
    """A module with `points`, which is phi, and `sets`, which is rho."""
    import torch

    width, last = architecture.width, architecture.outputs
    module: Any = torch.nn.Module()
    inner = [columns, *[width] * architecture.layers]
    module.points = torch.nn.Sequential(*_stacked(inner))
    outer = [*[width] * architecture.layers, last]
    module.sets = torch.nn.Sequential(*_stacked(outer)[:-1])
    return module


def _stacked(widths: list[int]) -> list[Any]:
    """Linear layers of these widths, each with rectified linear units behind it."""
    import torch

    stacked: list[Any] = []
    for inputs, outputs in pairwise(widths):
        stacked += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return stacked


def _outputs(module: Any, points: Any) -> Any:
    return module.sets(module.points(points).mean(dim=1))


def _layers(module: Any) -> Layers:
    """Matrices and offsets of the linear layers, in float64."""
    linear = [layer for layer in module if hasattr(layer, "weight")]
    return tuple(
        (to_numpy(layer.weight.T).astype(np.float64), to_numpy(layer.bias).astype(np.float64))
        for layer in linear
    )
