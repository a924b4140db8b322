"""mercer: kernel methods on points and on probability distributions."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from mercer.config import config, settings
from mercer.errors import (
    Approximated,
    InconsistentVersion,
    MemoryBudgetError,
    NoRule,
    NotConverged,
    UnseenCategory,
)

if TYPE_CHECKING:
    from mercer import (
        causal,
        cli,
        datasets,
        features,
        gram,
        htest,
        info,
        kernels,
        learn,
        plot,
        report,
        rkhs,
        testing,
    )
    from mercer.htest import goodness_of_fit, independence, two_sample

__version__ = "0.1.0"

_SUBMODULES = (
    "causal",
    "cli",
    "datasets",
    "features",
    "gram",
    "htest",
    "info",
    "kernels",
    "learn",
    "plot",
    "report",
    "rkhs",
    "testing",
)
_FUNCTIONS = {
    "goodness_of_fit": "mercer.htest",
    "independence": "mercer.htest",
    "two_sample": "mercer.htest",
}
__all__ = [
    "Approximated",
    "InconsistentVersion",
    "MemoryBudgetError",
    "NoRule",
    "NotConverged",
    "UnseenCategory",
    "causal",
    "cli",
    "config",
    "datasets",
    "features",
    "goodness_of_fit",
    "gram",
    "htest",
    "independence",
    "info",
    "kernels",
    "learn",
    "plot",
    "report",
    "rkhs",
    "settings",
    "testing",
    "two_sample",
]


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        return importlib.import_module(f"mercer.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(_FUNCTIONS[name]), name)
    raise AttributeError(f"module 'mercer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
