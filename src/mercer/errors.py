"""What mercer raises beside ValueError and TypeError, and how messages name what came."""

from __future__ import annotations

import math

_FEW = 10  # numbers of an array that messages show; of more, its shape
_LONG = 160  # characters of a repr that they show


class NoRule(TypeError):
    """No closed form is registered for these types; the message says what to do instead."""


class MemoryBudgetError(MemoryError):
    """The operation cannot stay inside the memory budget; the message names the alternative."""


class NotConverged(UserWarning):
    """An iterative solver stopped before it reached its tolerance."""


class UnseenCategory(UserWarning):
    """A category that was not among those a learner was fitted on; to kernels it equals none of them."""


class InconsistentVersion(UserWarning):
    """An estimator was pickled by another version of mercer than the one that loads it."""


def shown(value: object) -> str:
    """A value as messages name it: its repr, of arrays and tables the shape, on one short line."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and math.prod(shape) > _FEW:
        library = type(value).__module__.split(".")[0]
        return f"{library}.{type(value).__name__} of shape {tuple(shape)}"
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."
