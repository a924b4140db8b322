"""Every hypothesis test and learner gives the same on every backend, up to its precision."""

from __future__ import annotations

import inspect
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from mercer import htest, learn
from tests.conformance.backend_cases import BACKENDS, REFERENCE, Backend, htest_cases, learner_cases

TESTS, LEARNERS = htest_cases(), learner_cases()
CASES = [*TESTS, *LEARNERS]
each_backend = pytest.mark.parametrize("backend", BACKENDS, ids=[b.name for b in BACKENDS])
IDS = [f"{c.name}-{i}" for i, c in enumerate(CASES)]
each_case = pytest.mark.parametrize("number", range(len(CASES)), ids=IDS)


@cache
def reference(number: int) -> Any:
    return CASES[number].run(REFERENCE)


@each_backend
@each_case
def test_as_on_numpy_in_float64(number: int, backend: Backend):
    if backend.missing:
        pytest.skip(backend.missing)
    case = CASES[number]
    assert case.difference(case.run(backend), reference(number), backend) == ""


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("number", range(len(TESTS), len(CASES)), ids=IDS[len(TESTS) :])
def test_half_precision_is_taken_as_float32(number: int, dtype: str):
    """NumPy has no bfloat16, so that every conversion on the way has to know of it.

    Here by learners; tests and measures meet both kinds in the bank of bad inputs.
    """
    torch = pytest.importorskip("torch")

    def halved(x: np.ndarray) -> np.ndarray:
        return torch.tensor(x).to(getattr(torch, dtype)).double().numpy()

    case = CASES[number].changed(halved)
    single = Backend("torch float32", "torch", "float32")
    found, wanted = case.run(Backend(dtype, "torch", dtype)), case.run(single)
    assert case.difference(found, wanted, single) == ""


def test_every_test_has_a_case():
    public = {getattr(htest, name) for name in htest.__all__}
    tests = {
        c
        for c in public
        if inspect.isclass(c) and issubclass(c, htest.HypothesisTest) and not inspect.isabstract(c)
    }
    assert {c.__name__ for c in tests} == {type(case.test).__name__ for case in TESTS}


def test_every_learner_has_a_case():
    public = (getattr(learn, name) for name in learn.__all__)
    learners = {c for c in public if inspect.isclass(c) and issubclass(c, BaseEstimator)}
    assert learners == {type(case.learner) for case in LEARNERS}


def test_differences_are_seen():
    wanted, backend = reference(0), BACKENDS[0]
    for wrong in (
        replace(wanted, statistic=1.01 * wanted.statistic),
        replace(wanted, pvalue=wanted.pvalue + 0.05),
        replace(wanted, statistic=float("nan")),
        replace(wanted, pvalue=float("nan")),
    ):
        assert CASES[0].difference(wrong, wanted, backend)
    number = next(i for i, case in enumerate(CASES) if case.name == "KernelRidge")
    answers = reference(number)
    for wrong in (answers + 0.01 * np.std(answers), answers[:-1], answers * np.nan):
        assert CASES[number].difference(wrong, answers, backend)
    torch = next(b for b in BACKENDS if b.library == "torch")
    assert "returned" in CASES[number].difference(answers, answers, torch)
