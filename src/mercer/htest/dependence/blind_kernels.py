"""Which dependences kernels can see, by what theory says about them."""

from __future__ import annotations

from collections.abc import Sequence

from mercer.htest.dependence.observed_variables import listed
from mercer.kernels import Tensor, facts
from mercer.kernels.base import Kernel


def i_characteristic(kernels: Sequence[Kernel]) -> bool | None:
    """Whether the product kernel tells every joint distribution from the product of its margins.

    Two characteristic kernels do (Gretton 2015). For three and more that is not enough (Szabo and
    Sriperumbudur 2018): bounded, continuous, shift-invariant characteristic kernels on
    R^d do, and so does every product that is integrally strictly positive definite. None
    where no theorem applies.

    Examples
    --------
    >>> from mercer.kernels import RBF, Energy, Linear
    >>> i_characteristic([RBF(1.0), RBF(2.0), RBF(1.0)])
    True
    >>> i_characteristic([Energy(), Energy()]), i_characteristic([Energy(), Energy(), Energy()])
    (True, None)
    >>> i_characteristic([RBF(1.0), Linear()])
    False
    """
    known = [facts(kernel).characteristic for kernel in kernels]
    if False in known:
        return False  # what one kernel does not see, the product does not see
    if all(known) and len(kernels) == 2:
        return True
    return facts(Tensor(*kernels)).integrally_strict or None


def blindness(kernels: Sequence[Kernel], names: Sequence[str]) -> tuple[str, ...]:
    """A note for the result where the kernels may miss, or do miss, some dependences."""
    found = i_characteristic(kernels)
    if found is not None:
        return certain_blindness(kernels, names)
    if len(kernels) > 2 and all(facts(kernel).characteristic for kernel in kernels):
        return (
            f"The kernels are characteristic, which for {len(kernels)} variables is not enough: their "
            "product is not known to see every dependence. Bounded continuous shift-invariant "
            "kernels, such as RBF, do.",
        )
    return ("It is not known whether the product of the kernels sees every dependence.",)


def certain_blindness(kernels: Sequence[Kernel], names: Sequence[str]) -> tuple[str, ...]:
    """A note for the result where the kernels do miss some dependences."""
    blind = [n for n, k in zip(names, kernels, strict=True) if facts(k).characteristic is False]
    if not blind:
        return ()
    subject = f"kernel of {blind[0]} is" if len(blind) == 1 else f"kernels of {listed(blind)} are"
    return (
        f"The {subject} not characteristic: there are dependences that this test cannot see, "
        "however many observations there are.",
    )
