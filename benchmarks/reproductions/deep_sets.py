"""Deep sets, the baseline: rho(mean of phi(x) over a bag), both of three layers (Zaheer et al. 2017, section 4.1.1).

Tuned as the others are, inside what is learnt from: four settings of learning rate and weight decay, each on three
folds, stopped where the fold that was left out is predicted best. The setting with the least error there is taken,
and its three networks are averaged. All twelve networks are trained at once, as stacked matrices.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer.backend import to_numpy
from mercer.rkhs import Bags

MISSING = "needs torch" if find_spec("torch") is None else ""
SETTINGS = ((1e-3, 0.0), (3e-3, 0.0), (1e-2, 0.0), (3e-3, 1.0))  # learning rate, weight decay
FOLDS, WIDTH, EVERY = 3, 32, 50
POINTS, AT_ONCE = 500, 4096  # of a bag, and of all bags of a step, drawn anew in every step
_MOST = 500  # points of a bag by which training is stopped


@cache
def device() -> str:
    """Where networks are trained, and expected kernels are computed: on a GPU if there is one."""
    if MISSING:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def deep_sets(
    learnt: Bags, y: np.ndarray, asked: Bags, rng: np.random.Generator, steps: int = 1500
) -> np.ndarray:
    """What the networks predict for the bags that are asked about: (n,)."""
    import torch

    torch.set_num_threads(1)
    with torch.device(device()):
        return _trained(learnt, y, asked, rng, steps)


def _trained(
    learnt: Bags, y: np.ndarray, asked: Bags, rng: np.random.Generator, steps: int
) -> np.ndarray:
    import torch

    centre, scale = y.mean(), max(float(y.std()), 1e-12)
    target = torch.as_tensor((y - centre) / scale, dtype=torch.float32)
    parts = np.array_split(rng.permutation(len(y)), FOLDS)
    seen = [np.setdiff1d(np.arange(len(y)), part) for part in parts] * len(SETTINGS)
    nets = _Networks(learnt.values.shape[1], len(seen), rng)
    values, offsets = to_numpy(learnt.values).astype(np.float32), learnt.offsets
    points = torch.as_tensor(values)
    drawn = min(POINTS, int(learnt.sizes.max()))
    number = min(AT_ONCE // drawn, *map(len, seen))
    fewer = _some(learnt, _MOST, rng)
    for step in range(1, steps + 1):
        rows = np.stack([rng.choice(own, number, replace=False) for own in seen])
        within = rng.random((*rows.shape, drawn))
        at = offsets[rows][..., None] + (within * learnt.sizes[rows][..., None]).astype(np.int64)
        loss = (nets.of(points[torch.as_tensor(at)]) - target[torch.as_tensor(rows)]) ** 2
        nets.learn(loss.mean(dim=1).sum(), 0.5 * (1 + np.cos(np.pi * step / steps)))
        if step % EVERY == 0:
            with torch.no_grad():
                errors = (nets.whole(*fewer) - target) ** 2
            found = to_numpy(errors.cpu())
            nets.keep([float(found[i, parts[i % FOLDS]].mean()) for i in range(len(seen))])
    best = int(np.argmin(np.reshape(nets.errors, (len(SETTINGS), FOLDS)).mean(axis=1)))
    nets.back()
    with torch.no_grad():
        found = nets.whole(torch.as_tensor(to_numpy(asked.values).astype(np.float32)), asked.sizes)
    taken = found[FOLDS * best : FOLDS * (best + 1)].mean(dim=0)
    return centre + scale * to_numpy(taken.cpu())


def _some(bags: Bags, most: int, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Points of all bags, and how many of each: not more than `most`."""
    import torch

    kept = [
        np.arange(a, b) if b - a <= most else a + rng.choice(b - a, most, replace=False)
        for a, b in zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
    ]
    values = to_numpy(bags.values)[np.concatenate(kept)].astype(np.float32)
    return torch.as_tensor(values), np.array([len(k) for k in kept])


class _Networks:
    """Networks side by side, and Adam with a learning rate and a decay for each (Loshchilov and Hutter 2019)."""

    def __init__(self, dim: int, number: int, rng: np.random.Generator) -> None:
        import torch

        shapes = [(dim, WIDTH), *[(WIDTH, WIDTH)] * 4, (WIDTH, 1)]
        self.parameters: list[Any] = []
        for n, m in shapes:
            drawn = rng.standard_normal((number, n, m)) * (2 / n) ** 0.5
            matrix = torch.as_tensor(drawn, dtype=torch.float32)
            self.parameters += [
                matrix.requires_grad_(),
                torch.zeros((number, 1, m)).requires_grad_(),
            ]
        self._first = [torch.zeros_like(p) for p in self.parameters]
        self._second = [torch.zeros_like(p) for p in self.parameters]
        rates = np.repeat(np.array(SETTINGS), number // len(SETTINGS), axis=0)
        self._rate, self._decay = torch.as_tensor(rates.T, dtype=torch.float32)[:, :, None, None]
        self._steps = 0
        self.errors = np.full(number, np.inf)
        self._best = [p.detach().clone() for p in self.parameters]

    def of(self, x: Any) -> Any:
        """Outputs (networks, bags) for points (networks, bags, points, columns)."""
        k, b, n, d = x.shape
        return self._after(self._points(x.reshape(k, b * n, d)).reshape(k, b, n, WIDTH).mean(dim=2))

    def whole(self, points: Any, sizes: np.ndarray) -> Any:
        """Outputs (networks, bags) for the points of all bags, which every network sees."""
        import torch

        owner = torch.as_tensor(np.repeat(np.arange(len(sizes)), sizes))
        inner = self._points(points.expand(len(self.errors), *points.shape))
        sums = torch.zeros((inner.shape[0], len(sizes), WIDTH)).index_add_(1, owner, inner)
        return self._after(sums / torch.as_tensor(sizes, dtype=torch.float32)[None, :, None])

    def learn(self, loss: Any, pace: float) -> None:
        """A step of AdamW."""
        import torch

        grads = torch.autograd.grad(loss, self.parameters)
        self._steps += 1
        with torch.no_grad():
            for p, g, m, v in zip(self.parameters, grads, self._first, self._second, strict=True):
                m.mul_(0.9).add_(g, alpha=0.1)
                v.mul_(0.999).addcmul_(g, g, value=0.001)
                move = (m / (1 - 0.9**self._steps)) / ((v / (1 - 0.999**self._steps)).sqrt() + 1e-8)
                p.sub_(pace * self._rate * (move + self._decay * p))

    def keep(self, errors: list[float]) -> None:
        """Remember the networks whose error was never so small."""
        import torch

        better = np.asarray(errors) < self.errors
        self.errors = np.where(better, errors, self.errors)
        where = torch.as_tensor(better)[:, None, None]
        self._best = [
            torch.where(where, p.detach(), b)
            for p, b in zip(self.parameters, self._best, strict=True)
        ]

    def back(self) -> None:
        """Every network as it was at its best."""
        self.parameters = self._best

    def _points(self, x: Any) -> Any:
        return self._layers(x, self.parameters[:6])

    def _after(self, x: Any) -> Any:
        return self._layers(x.relu(), self.parameters[6:])[..., 0]

    def _layers(self, x: Any, parameters: list[Any]) -> Any:
        import torch

        for i in range(0, len(parameters), 2):
            x = torch.baddbmm(parameters[i + 1], x.relu() if i else x, parameters[i])
        return x
