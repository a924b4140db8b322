"""Tags of scikit-learn for estimators that wrap another one."""

from __future__ import annotations

from typing import Any


def with_inner_tags(tags: Any, estimator: Any) -> Any:
    """The tags, with what the wrapped estimator says of its kind and its targets."""
    inner = estimator.__sklearn_tags__()
    for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags"):
        setattr(tags, name, getattr(inner, name))
    return tags
