"""Conversion between scikit-learn's `random_state` and NumPy generators."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer import validate


def generator(random_state: Any) -> np.random.Generator:
    """NumPy generator from a `random_state`: None, an int, a Generator or a RandomState.

    None is a fresh seed; the global state of NumPy is never used.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return validate.generator(random_state, "random_state")


def state(random_state: Any) -> np.random.RandomState:
    """RandomState for functions of scikit-learn, which accept no Generator; it shares the bit stream."""
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    if not isinstance(random_state, np.random.RandomState):
        validate.generator(random_state, "random_state")
    return check_random_state(random_state)
