"""Known properties of kernels on series."""

from __future__ import annotations

from mercer.kernels.series.alignment_kernels import DynamicTimeWarping, GlobalAlignment, SoftDTW
from mercer.kernels.series.cyclic_shift import CyclicShift
from mercer.kernels.series.signature import Signature
from mercer.kernels.theory import Facts, facts, facts_rule


@facts_rule(GlobalAlignment)
def _global_alignment(kernel: GlobalAlignment) -> Facts:
    """k / (2 - k) is a local kernel that makes the sum positive definite (Cuturi 2011, theorem 1).

    Constant series have as many alignments as their lengths allow, all of the value 1.
    """
    bounded = None if kernel.triangular == 1 else False
    return Facts(bounded=bounded, positive_definite=True, domain=kernel.domain)


@facts_rule(SoftDTW)
def _soft(kernel: SoftDTW) -> Facts:
    """All series of up to four of the values 0, s and 2s with s^2 = gamma / 50 have a matrix that is not definite."""
    return Facts(bounded=False, positive_definite=False, domain=kernel.domain)


@facts_rule(DynamicTimeWarping)
def _warping(kernel: DynamicTimeWarping) -> Facts:
    """(0, 1) and (0, 0, 1) are at the distance 0, but at different distances of others."""
    known = {"bounded": True, "positive_definite": False}
    return Facts(**known, domain=kernel.domain)


@facts_rule(Signature)
def _signature(kernel: Signature) -> Facts:
    """Repeated points change a series, but not its path."""
    definite = True if kernel.base is None else facts(kernel.base).positive_definite or None
    return Facts(positive_definite=definite, separates=False, domain=kernel.domain)


@facts_rule(CyclicShift)
def _cyclic(kernel: CyclicShift) -> Facts:
    base = facts(kernel.base)
    return Facts(
        bounded=base.bounded or None,
        positive_definite=base.positive_definite or None,
        separates=False,
        domain="series of one length",
    )
