"""Exceptions and warnings of mercer, and the representation of values in messages."""

from __future__ import annotations

import math

_MAX_VALUES_SHOWN = 10  # a larger array is shown by its shape
_MAX_REPR_LENGTH = 160  # two lines of a terminal


class NoRule(TypeError):
    """No rule is registered for these types; the message says what to do instead."""


class MemoryBudgetError(MemoryError):
    """An operation would exceed the memory budget; the message names an alternative."""


class NotConverged(UserWarning):
    """An iterative solver stopped before it reached its tolerance."""


class Approximated(UserWarning):
    """A learner solved an approximate problem, because the exact one exceeds the memory budget."""


class UnseenCategory(UserWarning):
    """A category that the learner was not fitted on; kernels treat it as different from all others."""


class InconsistentVersion(UserWarning):
    """An estimator was pickled by another version of mercer than the one that loads it."""


def shown(value: object) -> str:
    """`value` for a message, on one short line: its repr, or the shape of an array or table."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and math.prod(shape) > _MAX_VALUES_SHOWN:
        library = type(value).__module__.split(".")[0]
        return f"{library}.{type(value).__name__} of shape {tuple(shape)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= _MAX_REPR_LENGTH else f"{text[:_MAX_REPR_LENGTH]}..."
