"""Training of networks: minibatches, a validation score that stops it, seeds, and a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from math import cos, inf, pi
from typing import Any

from mercer.backend import is_torch_module
from mercer.config import settings
from mercer.gram.progress import shown

CHECKS, PATIENCE = 40, 12  # validations of a training, and those without improvement that end it
_LAST_RATE = 0.05  # of the learning rate, at the end of the cosine


@dataclass(frozen=True)
class Schedule:
    """How long and how fast: steps of minibatches, learning rate and weight decay of AdamW (Loshchilov and Hutter 2019).

    The rate falls along half a cosine. The validation score is computed `CHECKS` times; training ends early when
    it has not improved `PATIENCE` times in a row.
    """

    steps: int
    learning_rate: float
    weight_decay: float


def need_torch(what: str) -> None:
    """Raise ImportError, with what to install, where torch is missing."""
    if find_spec("torch") is None:
        raise ImportError(f"{what} needs torch: pip install 'mercer[torch]'")


def check_module(name: str, module: Any) -> None:
    """Raise TypeError unless it is a `torch.nn.Module` or None."""
    if module is not None and not is_torch_module(module):
        raise TypeError(f"{name} must be a torch.nn.Module or None, got {type(module).__name__}")


@contextmanager
def seeded(seed: int, device: Any = "cpu") -> Iterator[None]:
    """Context in which torch draws from this seed; its own state returns afterwards."""
    import torch

    on = torch.device(device)
    with torch.random.fork_rng([on] if on.type == "cuda" else []), torch.enable_grad():
        torch.manual_seed(seed)
        yield


def trained(
    module: Any,
    losses: Iterator[Any],
    score: Callable[[], float],
    schedule: Schedule,
    what: str,
    undecayed: Sequence[Any] = (),
) -> float:
    """Minimise the losses of minibatches, one for each step; returns the smallest validation score.

    `losses` never ends; `score` is that of what is held out. The module is left with the weights of its smallest score, those it
    came with included. Weights do not decay where `undecayed` names them.
    """
    optimizer = _optimizer(module, schedule, undecayed)
    best, since, kept = _validated(module, score), 0, _state(module)
    every = max(schedule.steps // CHECKS, 1)
    with _training(module):
        for step in _counted(schedule.steps, what):
            _set_rate(optimizer, schedule, step)
            optimizer.zero_grad(set_to_none=True)
            next(losses).backward()
            optimizer.step()
            if (step + 1) % every:
                continue
            value = _validated(module, score)
            if value < best:
                best, since, kept = value, 0, _state(module)
            else:
                since += 1
            if since >= PATIENCE:
                break
    module.load_state_dict(kept)
    return best


def _optimizer(module: Any, schedule: Schedule, undecayed: Sequence[Any]) -> Any:
    import torch

    free = {id(each) for each in undecayed}
    decayed = [p for p in module.parameters() if p.requires_grad and id(p) not in free]
    groups = [{"params": decayed}, {"params": [*undecayed], "weight_decay": 0.0}]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=schedule.learning_rate,
        weight_decay=schedule.weight_decay,
    )


@contextmanager
def _training(module: Any) -> Iterator[None]:
    """The module in training mode, and in evaluation mode afterwards."""
    module.train()
    try:
        yield
    finally:
        module.eval()


def _validated(module: Any, score: Callable[[], float]) -> float:
    """The score in evaluation mode and without gradients; what is not a number counts as infinite."""
    import torch

    was_training = module.training
    module.eval()
    with torch.no_grad():
        value = score()
    module.train(was_training)
    return value if value == value else inf


def _state(module: Any) -> dict[str, Any]:
    return {name: value.detach().clone() for name, value in module.state_dict().items()}


def _set_rate(optimizer: Any, schedule: Schedule, step: int) -> None:
    share = _LAST_RATE + (1 - _LAST_RATE) * 0.5 * (1 + cos(pi * step / schedule.steps))
    for group in optimizer.param_groups:
        group["lr"] = schedule.learning_rate * share


def _counted(steps: int, what: str) -> Iterator[int]:
    counted = iter(range(steps))
    return shown(counted, steps, what) if settings().progress else counted
