"""Every hypothesis test and learner gives the same on a Dask cluster as in one process, bit by bit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import mercer
from mercer.backend import to_numpy
from mercer.gram.cluster import batches
from tests.conformance.backend_cases import REFERENCE, htest_cases, learner_cases

CASES = [*htest_cases(), *learner_cases()]
# One case in so many runs in every continuous integration, the others once a week with -m slow. Most of the time is the
# start of the workers and their imports.
EVERY = 8
NUMBERS = [
    pytest.param(i, id=f"{c.name}-{i}", marks=[] if i % EVERY == 0 else [pytest.mark.slow])
    for i, c in enumerate(CASES)
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two workers in processes of their own; work goes to them however small it is."""
    distributed = pytest.importorskip("distributed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "MIN_SECONDS_TO_SEND", 0)
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0"
            ) as local,
            distributed.Client(local, set_as_default=False) as client,
        ):
            yield client


def numbers(answer: Any) -> list[np.ndarray]:
    """What a test or a learner says, as arrays."""
    if hasattr(answer, "pvalue"):
        return [np.array([answer.statistic, answer.pvalue]), np.asarray(answer.null)]
    return [to_numpy(part) for part in (answer if isinstance(answer, tuple) else [answer])]


@pytest.mark.parametrize("number", NUMBERS)
def test_as_in_one_process(number: int, client: Any):
    case = CASES[number]
    here = case.run(REFERENCE)
    with mercer.config(executor=client):
        there = case.run(REFERENCE)
    for ours, theirs in zip(numbers(here), numbers(there), strict=True):
        np.testing.assert_array_equal(ours, theirs)
