"""What mercer raises beside ValueError and TypeError."""


class NoRule(TypeError):
    """No closed form is registered for these types; the message says what to do instead."""


class MemoryBudgetError(MemoryError):
    """The operation cannot stay inside the memory budget; the message names the alternative."""


class NotConverged(UserWarning):
    """An iterative solver stopped before it reached its tolerance."""
