"""Stein features of chains and other series: forms of their slowest cosines, and chains that have not mixed."""

from __future__ import annotations

from mercer.htest.slow_contrasts import SlowForms, refusal, wanders

_NOT_MIXED = "As draws of a chain these have not mixed: draw more of them, thin the chain, and leave out its start"


def chain_forms(forms: SlowForms) -> SlowForms:
    """The forms of a chain; an error where it wanders.

    Under the model Stein features have mean zero, so that their sum over a stationary chain is as random as its slowest
    cosines. A chain that has not mixed has neither a distribution to compare with the model nor a spectrum at zero.
    """
    (share,) = forms.wandering
    if wanders(share):
        raise refusal("x", share, _NOT_MIXED)
    return forms
