"""Models without parameters, and models that may have got theirs from the observations under test."""

from __future__ import annotations

from typing import Any


def is_family(model: Any) -> bool:
    """Whether it is a family of distributions of SciPy, such as `norm`, which has no parameters yet."""
    kind = type(model)
    return kind.__module__.startswith("scipy.stats") and (
        hasattr(model, "freeze") or kind.__name__.endswith("_gen")
    )


def unfitted(model: Any) -> ValueError:
    """The error for an estimator of scikit-learn that was not fitted."""
    name = type(model).__name__
    return ValueError(
        f"model must have its parameters, got an unfitted {name}: {_composite(f'{name}(...)')}; a model that "
        "was fitted to other observations, model.fit(others), is tested as it is"
    )


def without_parameters(family: Any) -> TypeError:
    """The error for a family of SciPy, such as `norm`, without its parameters."""
    name = getattr(family, "name", None) or type(family).__name__.removesuffix("_gen")
    known = f"where they are known beforehand, write {name}(...) with them"
    if not callable(getattr(family, "fit", None)):
        return TypeError(f"model must have its parameters, got the family {name}: {known}")
    return TypeError(
        f"model must have its parameters, got the family {name}: {_composite(name)}; {known}"
    )


def fit_note(model: Any) -> str | None:
    """That a p-value is wrong if this estimator was fitted to the same rows; None: it is no estimator."""
    if not (hasattr(model, "get_params") and callable(getattr(model, "fit", None))):
        return None
    name = type(model).__name__
    return (
        f"The p-value is right only if this {name} was not fitted to these rows; if it was, the test is "
        f"Composite({name}(...)).test(x), which fits it anew to every resample."
    )


def _composite(family: str) -> str:
    return (
        f"to estimate them from x, use Composite({family}).test(x) of mercer.htest, which allows for the fit "
        "(a model fitted to the same rows fits too well, and its p-value is too large)"
    )
