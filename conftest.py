"""Random numbers of tests and of examples in docstrings: the same in every run, on every process, in any order.

Many test modules draw from a generator of their own. Without this, a test would get the numbers that the tests before it
left, and these depend on the process to which pytest-xdist gives it; calls without a seed would differ from run to run.
``MERCER_TEST_DRAWS=2 make test`` takes other numbers: what then fails has a tolerance that is too narrow.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> None:
    """Begin the generators of a module anew for what several tests share."""
    if fixturedef.scope != "function":
        _begin_anew(getattr(request, "module", None), f"{fixturedef.baseid}::{fixturedef.argname}")


@pytest.fixture(autouse=True)
def _random_numbers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers that depend on the name of the test alone."""
    seed = _begin_anew(getattr(request, "module", None), request.node.nodeid)
    monkeypatch.setattr(np.random, "default_rng", _seeded(np.random.default_rng, seed))
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what scikit-learn takes without random_state


def _begin_anew(module: Any, name: str) -> int:
    """Give all generators of a module the numbers that belong to a name; their seed."""
    seed = zlib.crc32((name + os.environ.get("MERCER_TEST_DRAWS", "")).encode())
    for value in vars(module).values() if module is not None else ():
        if isinstance(value, np.random.Generator):
            fresh = type(value.bit_generator)(seed)
            value.bit_generator.state = fresh.state
    return seed


def _seeded(default_rng: Callable[[Any], Any], seed: int) -> Callable[[Any], Any]:
    """`default_rng`, whose generators without a seed get one after the other of a sequence."""
    seeds = np.random.SeedSequence(seed)

    def generator(given: Any = None) -> Any:
        return default_rng(seeds.spawn(1)[0] if given is None else given)

    return generator
