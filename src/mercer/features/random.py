"""Random states of scikit-learn as generators of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate


def generator(random_state: Any) -> np.random.Generator:
    """A generator from a `random_state`: None, an int, a Generator or a RandomState.

    What is drawn from the global state of NumPy is drawn nowhere: None is a fresh seed.
    """
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31 - 1))
    return validate.generator(random_state)
