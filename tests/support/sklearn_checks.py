"""scikit-learn's own checks of an estimator, all at once."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.utils.estimator_checks import check_estimator

from mercer.errors import NotConverged


def results_of_checks(estimator: Any, expected: dict[str, str]) -> None:
    """Run every check; those named in `expected`, and only those, must fail."""
    with warnings.catch_warnings():  # on random points rounding decides what converges
        warnings.simplefilter("ignore", NotConverged)
        results = check_estimator(
            estimator, expected_failed_checks=expected, on_fail=None, on_skip=None
        )
    ran = [r for r in results if r["status"] != "skipped"]
    assert len(ran) > 30  # the others need what the estimator does not have
    wrong = {r["check_name"]: r["exception"] for r in ran if r["status"] == "failed"}
    for name, error in wrong.items():
        error.add_note(f"in {name}; all that failed: {', '.join(wrong)}")
        raise error
    failed = {r["check_name"] for r in ran if r["status"] == "xfail"}
    known = {r["check_name"] for r in results}
    assert expected.keys() & known == failed, "an expected failure passed"
