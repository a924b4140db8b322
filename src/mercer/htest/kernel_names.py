"""Kernels in a few words, and which of several kernels saw most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from mercer.kernels.algebra import Constant, Multiple, Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.wrappers import Scaled, Select

LEVEL = 0.05  # at which kernels are said to see something
_LONGEST = 80  # letters of a parameter that is no number and no kernel

CHOSEN = (
    "The effect size is that by this kernel, which was chosen on the same data: it leans to the "
    "large side, and its interval does not know of the choice."
)


def sees_most(kernels: Sequence[Kernel], best: int) -> tuple[str, ...]:
    """For the notes of a result: the kernel that saw most, and what that means for the effect."""
    name = told_apart(kernels, best)
    if len(kernels) == 1:
        return (f"Kernel: {name}.",)
    return (f"Of {len(kernels)} kernels {name} sees most.", CHOSEN)


def rejecting(kernels: Sequence[Kernel], best: int, number: int) -> tuple[str, ...]:
    """The same where it is known how many of the kernels reject, at level 0.05."""
    if len(kernels) == 1:
        return sees_most(kernels, best)
    name = told_apart(kernels, best)
    if number == 0:
        said = f"None of {len(kernels)} kernels rejects at level {LEVEL:g}; {name} comes closest."
    else:
        reject = "rejects" if number == 1 else "reject"
        said = (
            f"{number} of {len(kernels)} kernels {reject} at level {LEVEL:g}, first of all {name}."
        )
    return (said, CHOSEN)


def told_apart(kernels: Sequence[Kernel], one: int) -> str:
    """One of the kernels without the factors that all of them have."""
    parts = [list(_factors(kernel)) for kernel in kernels]
    shared = [f for f in parts[one] if len(parts) > 1 and all(f in others for others in parts)]
    own = [f for f in parts[one] if f not in shared] or parts[one]
    unit = " in standard deviations of the columns" if any(_is_scaled(f) for f in own) else ""
    return (formula(own[0]) if len(own) == 1 else " * ".join(map(_bracketed, own))) + unit


def formula(kernel: Kernel) -> str:
    """A kernel with numbers of three digits, without the columns it looks at and their units.

    Examples
    --------
    >>> from mercer.kernels import RBF, Delta
    >>> formula(RBF(1 / 3).scaled((2.0, 5.0)).select(("a", "b")) * (0.5 + 0.25 * Delta()))
    'RBF(bandwidth=0.333) * (0.5 + 0.25 Delta())'
    """
    if isinstance(kernel, Select | Scaled):
        return formula(kernel.kernel)
    if isinstance(kernel, Constant):
        return f"{kernel.value:.3g}"
    if isinstance(kernel, Multiple):
        return f"{kernel.factor:.3g} {_bracketed(kernel.kernel)}"
    if isinstance(kernel, Sum):
        return f"{formula(kernel.left)} + {formula(kernel.right)}"
    if isinstance(kernel, Product):
        return f"{_bracketed(kernel.left)} * {_bracketed(kernel.right)}"
    held = fields(kernel) if is_dataclass(kernel) else ()
    shown = (f"{f.name}={_value(getattr(kernel, f.name))}" for f in held)
    return f"{type(kernel).__name__}({', '.join(shown)})"


def _bracketed(kernel: Kernel) -> str:
    text = formula(kernel)
    return f"({text})" if isinstance(_unwrapped(kernel), Sum) else text


def _value(value: Any) -> str:
    if isinstance(value, Kernel):
        return formula(value)
    if isinstance(value, float):
        return f"{value:.3g}"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _factors(kernel: Kernel) -> Iterator[Kernel]:
    if isinstance(kernel, Product):
        yield from _factors(kernel.left)
        yield from _factors(kernel.right)
    else:
        yield kernel


def _unwrapped(kernel: Kernel) -> Kernel:
    return _unwrapped(kernel.kernel) if isinstance(kernel, Select | Scaled) else kernel


def _is_scaled(kernel: Kernel) -> bool:
    return isinstance(kernel, Scaled) or (isinstance(kernel, Select) and _is_scaled(kernel.kernel))
