"""Tests, kernels and numbers as a reader of a report wants them: names of the field, and four digits."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from mercer.htest.format_number import figure
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.kernel_collection import told_apart
from mercer.kernels.base import Kernel
from mercer.report.kernel_names import kernels_in_words
from mercer.report.page import brief

# The null distribution, the model and its fit have entries of their own.
_SHOWN_ELSEWHERE = {"null", "model", "fit"}
_MOST_CHARACTERS = 300  # of a setting; longer ones are not read


def described_test(test: HypothesisTest) -> str:
    """Name of a test, and what it is, from the first line of its docstring.

    Examples
    --------
    >>> from mercer.htest import MMD
    >>> described_test(MMD())
    'MMD: two-sample test by the squared maximum mean discrepancy'
    """
    name = type(test).__name__
    first = (inspect.getdoc(type(test)) or "").split("\n", 1)[0].replace("`", "").rstrip(".")
    if not first or first.startswith(name):
        return brief(first or name, _MOST_CHARACTERS)
    return brief(f"{name}: {first[0].lower()}{first[1:]}", _MOST_CHARACTERS)


def settings_in_words(test: HypothesisTest) -> str:
    """Parameters of a test that differ from their defaults, with numbers of four digits; not its null.

    Examples
    --------
    >>> from mercer.htest import MMD, Permutation
    >>> from mercer.kernels import RBF
    >>> settings_in_words(MMD(RBF(1 / 3), null=Permutation(199)))
    'kernel: Gaussian (bandwidth 0.333)'
    """
    values = [(f.name, getattr(test, f.name)) for f in fields(test)] if is_dataclass(test) else []
    shown = (
        f"{name}: {_value_in_words(value)}"
        for name, value in values
        if name not in _SHOWN_ELSEWHERE and value is not None and not _is_default(test, name, value)
    )
    return brief("; ".join(shown), _MOST_CHARACTERS) or "defaults"


def kernel_in_words(kernel: Kernel) -> str:
    """Formula of a kernel by the names of the field: "Gaussian (bandwidth 0.3333)"."""
    return brief(four_digits(kernels_in_words(told_apart([kernel], 0))), _MOST_CHARACTERS)


def four_digits(text: str) -> str:
    """Text with numbers of more than four digits after the point rounded to four digits.

    Examples
    --------
    >>> four_digits("RBF(bandwidth=0.3333333333), 12 columns, 1e-05")
    'RBF(bandwidth=0.3333), 12 columns, 1e-05'
    """
    return re.sub(r"\d+\.\d{4,}(?:e[-+]?\d+)?", lambda m: figure(float(m[0])), text)


def _is_default(test: Any, name: str, value: Any) -> bool:
    """Whether a parameter has the default value of its class."""
    default = next(f.default for f in fields(test) if f.name == name)
    return bool(type(default) is type(value) and default == value)


def _value_in_words(value: Any) -> str:
    if isinstance(value, Kernel):
        return kernel_in_words(value)
    if isinstance(value, HypothesisTest):
        return type(value).__name__
    if isinstance(value, Sequence) and len(value) > 0 and all(isinstance(v, Kernel) for v in value):
        return f"{len(value):,} kernels"
    return four_digits(repr(value))
