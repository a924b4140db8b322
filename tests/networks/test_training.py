"""Training of networks: what is kept, when it stops, seeds, threads, progress and Ctrl-C."""

from __future__ import annotations

from itertools import repeat

import pytest

import mercer
from mercer.networks import training
from mercer.networks.training import Schedule, need_torch, seeded, trained

torch = pytest.importorskip("torch")


def slope(start: float = 3.0):
    """A module of one number."""
    module = torch.nn.Module()
    module.value = torch.nn.Parameter(torch.tensor(start, dtype=torch.float64))
    return module


def number(module) -> float:
    return float(module.value.detach())


def losses(module):
    while True:
        yield (module.value - 1.0) ** 2


def test_a_quadratic_is_minimised():
    module = slope()
    score = trained(
        module, losses(module), lambda: (number(module) - 1) ** 2, Schedule(400, 0.05, 0.0), ""
    )
    assert abs(number(module) - 1) < 1e-2
    assert score == (number(module) - 1) ** 2


def test_what_scored_best_is_kept():
    """Steps lead from 3 to 1, and the score is least at 2; the first score counts, too."""
    module = slope()
    trained(module, losses(module), lambda: abs(number(module) - 2), Schedule(400, 0.05, 0), "")
    assert abs(number(module) - 2) < 0.3  # scores are ten steps of 0.05 apart, at most
    module = slope()
    trained(module, losses(module), lambda: -number(module), Schedule(40, 0.05, 0), "")
    assert number(module) == 3.0
    trained(module, losses(module), lambda: float("nan"), Schedule(40, 0.05, 0), "")
    assert number(module) == 3.0


def test_patience_ends_the_training():
    module, steps = slope(), []

    def counted():
        for loss in losses(module):
            steps.append(1)
            yield loss

    trained(module, counted(), lambda: 0.0, Schedule(4000, 0.05, 0.0), "")
    assert len(steps) == training.PATIENCE * (4000 // training.CHECKS)


def test_weights_decay_but_not_all():
    module = torch.nn.Module()
    module.one, module.other = (torch.nn.Parameter(torch.ones(())) for _ in range(2))
    nothing = (0.0 * (module.one + module.other) for _ in repeat(None))
    scores = iter(range(100, 0, -1))
    schedule = Schedule(40, 0.01, 1.0)
    trained(module, nothing, lambda: next(scores), schedule, "", undecayed=[module.other])
    assert 0.6 < float(module.one.detach()) < 0.9
    assert float(module.other.detach()) == 1.0


def test_seeds_and_the_state_of_torch():
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    draws = []
    for _ in range(2):
        with seeded(5):
            draws.append(torch.rand(3))
    assert torch.equal(*draws)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert torch.get_num_threads() == threads


def test_gradients_are_recorded_inside_no_grad():
    with torch.no_grad(), seeded(0):
        assert torch.is_grad_enabled()


def test_progress_counts_the_steps(monkeypatch):
    counted = []

    def shown(answers, total, what):
        counted.append((total, what))
        return answers

    monkeypatch.setattr(training, "shown", shown)
    module = slope()
    for progress in (False, True):
        with mercer.config(progress=progress):
            trained(module, losses(module), lambda: 0.0, Schedule(5, 0.1, 0.0), "learning a slope")
    assert counted == [(5, "learning a slope")]


def test_without_torch(monkeypatch):
    monkeypatch.setattr(training, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"DeepMMD needs torch: pip install 'mercer\[torch\]'"):
        need_torch("DeepMMD")
