"""Measures of information: what they refuse, and what they are of."""

from __future__ import annotations

import pytest

from mercer.errors import NoRule
from mercer.info import KL, FDivergence, Phi, Renyi


@pytest.mark.parametrize("measure", [Phi, FDivergence])
@pytest.mark.parametrize("wrong", [None, 1.0, "log"])
def test_what_is_no_function_is_refused(measure, wrong):
    with pytest.raises(TypeError, match="f must be a function of an array, got"):
        measure(wrong)


def test_order_one_is_refused():
    with pytest.raises(ValueError, match="other than 1, got 1: use Shannon"):
        Renyi(1)


def test_a_divergence_is_no_entropy():
    with pytest.raises(NoRule, match="is a divergence, not an entropy"):
        KL().entropy(None)
    with pytest.raises(NoRule, match="is an entropy, not a divergence"):
        Phi(abs).divergence(None)
