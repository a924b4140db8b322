"""All cases of the memory promise: one call or more for each public name that takes data.

A name is the public name and, after a comma, what is special about the call. Sizes are such that an
n x n matrix, or the labels of all resamples as floats, would go far beyond the limit.
"""

from __future__ import annotations

from tests.memory.case import Case
from tests.memory.causal_cases import CAUSAL_CASES
from tests.memory.htest_cases import HTEST_CASES
from tests.memory.learn_cases import LEARN_CASES
from tests.memory.rkhs_cases import FEATURE_CASES, GRAM_CASES, RKHS_CASES
from tests.memory.stream_cases import STREAM_CASES

CASES: dict[str, Case] = {
    **GRAM_CASES,
    **FEATURE_CASES,
    **RKHS_CASES,
    **HTEST_CASES,
    **LEARN_CASES,
    **STREAM_CASES,
    **CAUSAL_CASES,
}
