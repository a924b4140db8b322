"""Every number a kernel is made of: wrong ones are refused by name, right ones work in any clothes."""

from __future__ import annotations

from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF, Kernel, sample_frequencies
from tests.bad_input.arguments import NUMBER_DOORS
from tests.bad_input.checks import OURS, says
from tests.bad_input.doors import K
from tests.support.arrays import INSTALLED, torch
from tests.support.zoo import ZOO, Entry

NEVER: dict[str, Any] = {
    "NaN": np.nan,
    "infinity": np.inf,
    "minus infinity": -np.inf,
    "1e200": 1e200,
    "-1e200": -1e200,
    "huge int": 10**400,
    "huge Fraction": Fraction(10**400),
    "text": "1",
    "None": None,
    "True": True,
    "NumPy True": np.True_,
    "complex": 1j,
    "Decimal": Decimal("1.5"),
    "array": np.array(1.0),
    "set": {1.0},
}
if "torch" in INSTALLED:
    NEVER["tensor"] = torch.tensor(1.0)
# What a parameter may be in other clothes, and the plain number it then is.
CLOTHES: dict[str, tuple[Any, Any]] = {
    "Fraction": (Fraction(3, 2), 1.5),
    "float32": (np.float32(1.5), 1.5),
    "float16": (np.float16(300.0), 300.0),  # its square is infinite
    "float64": (np.float64(0.75), 0.75),
    "longdouble": (np.longdouble(0.75), 0.75),
    "int8": (np.int8(100), 100),  # its square is 16
    "int64": (np.int64(10**10), 10**10),  # its square is negative
    "uint8": (np.uint8(1), 1),
    "int": (2, 2),
    "large": (1e100, 1e100),
    "small": (1e-100, 1e-100),
    "-1e-200": (-1e-200, -1e-200),
}
NEGATIVE = {("Sigmoid", "offset"), ("Scaled", "factors")}
ZERO = NEGATIVE | {
    ("Polynomial", "offset"),
    ("Constant", "value"),
    ("Multiple", "factor"),
    ("Power", "exponent"),
    ("Exp", "scale"),
    ("ArcCosine", "degree"),
}


def numeric(entry: Entry) -> list[str]:
    """The fields of a kernel that hold a number."""
    values = ((f.name, getattr(entry.kernel, f.name)) for f in fields(entry.kernel))
    return [name for name, value in values if isinstance(value, int | float)]


FIELDS = {
    f"{type(entry.kernel).__name__}.{name}": (entry, name)
    for entry in ZOO
    for name in numeric(entry)
}


def fields_where(condition):
    chosen = {key: field for key, field in FIELDS.items() if condition(*field)}
    return pytest.mark.parametrize(("entry", "name"), chosen.values(), ids=chosen)


every_field = fields_where(lambda entry, name: True)


def refused(entry: Entry, name: str, value: Any) -> None:
    with pytest.raises(OURS) as caught:
        replace(entry.kernel, **{name: value})
    says(caught.value, (name,))
    with pytest.raises(OURS):
        entry.kernel.with_params(**{name: value})


@every_field
def test_wrong_number(entry: Entry, name):
    for value in NEVER.values():
        refused(entry, name, value)


@every_field
def test_sign(entry: Entry, name):
    key, kind = (type(entry.kernel).__name__, name), type(getattr(entry.kernel, name))
    for value, allowed in ((kind(-1), NEGATIVE), (kind(0), ZERO)):
        if key in allowed:
            replace(entry.kernel, **{name: value})
        else:
            refused(entry, name, value)


@fields_where(lambda entry, name: isinstance(getattr(entry.kernel, name), int))
def test_counts_are_whole(entry: Entry, name):
    refused(entry, name, 2.0)
    refused(entry, name, 2.5)


@every_field
def test_clothes_of_a_number(entry: Entry, name):
    """Refused by name, or the same kernel as with the plain number, and one that can be used."""
    for value, plain in CLOTHES.values():
        _same_in_clothes(entry, name, value, plain)


def _same_in_clothes(entry: Entry, name: str, value: Any, plain: Any) -> None:
    try:
        kernel = replace(entry.kernel, **{name: value})
    except OURS as error:
        says(error, (name,))
        with pytest.raises(type(error)):
            replace(entry.kernel, **{name: plain})
        return
    expected = replace(entry.kernel, **{name: plain})
    assert kernel == expected
    assert repr(kernel) == repr(expected)
    x = entry.sample(np.random.default_rng(0), 6)
    for points in (x, x.astype(np.float32), *([torch.tensor(x)] if "torch" in INSTALLED else [])):
        try:
            with np.errstate(
                over="ignore"
            ):  # 1e100 is infinite in float32, and exp(-r / 1e100) is 1
                values, others = kernel(points), expected(points)
        except OURS as error:
            says(error, ("x",))
        else:
            assert np.all(np.isfinite(np.asarray(values)))
            assert_allclose(np.asarray(values), np.asarray(others))


# ---- numbers that meet kernels ----------------------------------------------------------------

OPERATIONS = {
    "times": ("factor", lambda k, v: k * v),
    "plus": ("summand", lambda k, v: k + v),
    "power": ("exponent", lambda k, v: k**v),
    "exp": ("scale", lambda k, v: k.exp(v)),
    "scaled": ("factors", lambda k, v: k.scaled(v)),
    "select": ("columns", lambda k, v: k.select(v)),
    "from_gamma": ("gamma", lambda k, v: RBF.from_gamma(v)),
}


def a_column(value: Any) -> bool:
    """A column may have any name, and whether there is one with this number, the data tell."""
    return isinstance(value, str | int) and value is not True


@pytest.mark.parametrize("operation", OPERATIONS)
def test_wrong_operand(operation):
    name, apply = OPERATIONS[operation]
    for value in NEVER.values():
        if operation != "select" or not a_column(value):
            refused_by(lambda v: apply(RBF(), v), name, value)


def refused_by(call: Any, name: str, value: Any) -> None:
    """The call refuses the value, and its message names the argument."""
    with pytest.raises(OURS) as caught:
        call(value)
    says(caught.value, (name,))


def test_numpy_leaves_kernels_to_themselves():
    assert np.float64(2.0) * RBF() == RBF() * 2.0
    assert isinstance(np.int64(2) + RBF(), Kernel)
    with pytest.raises(TypeError, match="a factor must be a kernel or a non-negative number"):
        np.ones(3) * RBF()


# ---- numbers elsewhere ------------------------------------------------------------------------


@pytest.mark.parametrize("name", NUMBER_DOORS)
def test_wrong_number_elsewhere(name):
    argument, call = NUMBER_DOORS[name]
    for value in NEVER.values():
        refused_by(call, argument, value)


@pytest.mark.parametrize("rng", [-1, 1.5, "0", True, [1], np.random])
def test_wrong_rng(rng):
    with pytest.raises(OURS, match="rng must be") as caught:
        sample_frequencies(K, 3, 2, rng=rng)
    says(caught.value, ("rng",))
