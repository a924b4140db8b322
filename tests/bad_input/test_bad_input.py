"""Every input of the bank through every door: right, or refused by name; nothing written, no warning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import validate
from mercer.gram import (
    Centered,
    Gram,
    Hadamard,
    Reweighted,
    Rounded,
    ridge_solve,
    top_eigenpairs,
)
from mercer.kernels import RBF
from mercer.kernels.prepare import as_table
from mercer.rkhs import Function
from tests.bad_input.arguments import KERNEL_DOORS
from tests.bad_input.bank import BANK, COLUMN_PAIRS, POINT_PAIRS, Input, pandas, same
from tests.bad_input.causal_doors import CAUSAL_DOORS
from tests.bad_input.checks import OURS, numbers, says, unchanged
from tests.bad_input.compression_doors import COMPRESSION_DOORS
from tests.bad_input.doors import DOORS as OTHER_DOORS
from tests.bad_input.doors import Door
from tests.bad_input.embedding_doors import EMBEDDING_DOORS
from tests.bad_input.everything import gone, without_a_door
from tests.bad_input.function_doors import FUNCTION_DOORS
from tests.bad_input.goodness_doors import GOODNESS_DOORS
from tests.bad_input.information_doors import INFORMATION_DOORS
from tests.bad_input.joint_doors import JOINT_DOORS
from tests.bad_input.metric_doors import METRIC_DOORS
from tests.bad_input.public import NO_DATA
from tests.bad_input.sample_doors import SAMPLE_DOORS
from tests.bad_input.variable_doors import VARIABLE_DOORS

DOORS = [
    *OTHER_DOORS,
    *SAMPLE_DOORS,
    *VARIABLE_DOORS,
    *CAUSAL_DOORS,
    *JOINT_DOORS,
    *GOODNESS_DOORS,
    *EMBEDDING_DOORS,
    *COMPRESSION_DOORS,
    *FUNCTION_DOORS,
    *INFORMATION_DOORS,
    *METRIC_DOORS,
]


def doors_where(condition):
    """The doors that a test is about."""
    chosen = [door for door in DOORS if condition(door)]
    return pytest.mark.parametrize("door", chosen, ids=[d.name for d in chosen])


every_door = doors_where(lambda door: True)


@every_door
def test_bank(door: Door):
    """All inputs; one test for each pair of door and input would take a minute longer."""
    wrong = {item.name: error for item in BANK if (error := failure(door, item))}
    assert not wrong, "\n".join(f"{name}: {error}" for name, error in wrong.items())


def failure(door: Door, item: Input) -> str:
    """What went wrong, in a line or none."""
    try:
        through(door, item)
    except (Exception, pytest.fail.Exception) as error:
        return f"{type(error).__name__} {str(error).strip()[:300]}"
    return ""


def through(door: Door, item: Input) -> None:
    """An input of the bank through a door, in every place."""
    for call in door.calls:
        if item.kind in ("clothes", "values"):
            same_as_twin(door, item, call)
        elif item.kind in door.takes or item.name in door.accepts:
            taken(door, item, call)
        elif item.kind not in door.skips:
            for place in range(len(door.samples)):
                refused(door, item, call, place)


def same_as_twin(door: Door, item: Input, call: Any) -> None:
    """Numbers in any clothes give what plain numbers give, or are refused as they are."""
    samples = [item.make(s) for s in door.samples]
    names = (*door.arguments, *door.also)
    if item.name in door.refuses:
        with pytest.raises(OURS) as caught:
            unchanged(call, samples)
        says(caught.value, names)
        return
    try:
        expected = of_plain_numbers(door, item, call)
    except OURS as error:
        says(error, names)
        assert item.kind == "values", f"the plain sample was refused: {error}"
        with pytest.raises(OURS) as caught:
            unchanged(call, samples)
        says(caught.value, names)
        return
    limit = max(2e-4 if item.single else 0.0, door.tolerance)
    assert_close(unchanged(call, samples), expected, limit)


def of_plain_numbers(door: Door, item: Input, call: Any) -> Any:
    """The result for the twin, in a plain frame where that matters; of the sample itself it is kept."""
    frame = door.own_units and as_table(item.make(door.samples[0]), "x") is not None
    if item.twin is not same:
        twins = [item.twin(s) for s in door.samples]
        return unchanged(call, [pandas(t) for t in twins] if frame else twins)
    if (call, frame) not in KEPT:
        samples = [pandas(s) for s in door.samples] if frame else door.samples
        KEPT[call, frame] = unchanged(call, samples)
    return KEPT[call, frame]


KEPT: dict[Any, Any] = {}


def assert_close(result: Any, expected: Any, limit: float, what: str = "") -> None:
    """Finite numbers, equal up to `limit` times the largest, or times 1e-6 where that is smaller.

    A statistic that vanishes is a difference of numbers around one, and so has their rounding.
    """
    for ours, theirs in zip(numbers(result), numbers(expected), strict=True):
        assert np.all(np.isfinite(theirs)), what
        assert np.all(np.isfinite(ours)), what
        size = max(np.abs(theirs).max(), 1e-6)
        assert_allclose(ours, theirs, rtol=0, atol=limit * size, err_msg=what)


def refused(door: Door, item: Input, call: Any, place: int) -> None:
    """What holds no numbers is refused, in whatever place it comes."""
    samples: list[Any] = list(door.samples)
    samples[place] = item.make(samples[place])
    with pytest.raises(OURS) as caught:
        unchanged(call, samples)
    says(caught.value, (door.arguments[place],))


def taken(door: Door, item: Input, call: Any) -> None:
    """Labels and objects are points to some doors, who may still refuse some of the objects."""
    try:
        result = unchanged(call, [item.make(s) for s in door.samples])
    except OURS as error:
        assert item.kind == "objects", error
        says(error, door.arguments)
    else:
        assert all(np.all(np.isfinite(part)) for part in numbers(result))


# ---- two samples that do not fit each other ---------------------------------------------------


@doors_where(lambda door: door.columns)
def test_two_samples_of_different_columns(door: Door):
    x, y = door.samples
    for name, (left, right, fits) in COLUMN_PAIRS.items():
        for call in door.calls:
            if fits(x.shape[1]):
                frame = door.own_units and as_table(left(x), "x") is not None
                expected = call(pandas(x), pandas(y)) if frame else call(x, y)
                assert_close(call(left(x), right(y)), expected, 2e-4, name)
            else:
                with pytest.raises(OURS) as caught:
                    call(left(x), right(y))
                says(caught.value, (*door.arguments, *door.also))


@doors_where(lambda door: door.points)
def test_two_samples_of_different_numbers_of_points(door: Door):
    x, y = door.samples
    for other in POINT_PAIRS.values():
        for call in door.calls:
            with pytest.raises(OURS) as caught:
                call(x, other(y))
            says(caught.value, door.arguments[1:])


# ---- kernels where kernels are needed ---------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [RBF, "rbf", 1.0, lambda x, y: 0.0, [RBF()], np.eye(3)],
    ids=["class", "name", "number", "function", "list", "array"],
)
@pytest.mark.parametrize("name", KERNEL_DOORS)
def test_no_kernel(name, wrong):
    argument, call = KERNEL_DOORS[name]
    with pytest.raises(TypeError) as caught:
        call(wrong)
    says(caught.value, (argument,))


WRONG = {"array": np.eye(3), "number": 1.0, "kernel": RBF(), "None": None}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_no_matrix(wrong):
    gram = Gram(RBF(), np.eye(3))
    for name, call in (
        ("left", lambda: Hadamard(wrong, gram)),
        ("right", lambda: Hadamard(gram, wrong)),
        ("matrix", lambda: Centered.of(wrong)),
        ("matrix", lambda: Rounded(wrong)),
        ("matrix", lambda: Reweighted(wrong, np.ones(3))),
        ("matrix", lambda: ridge_solve(wrong, np.ones(3), 1.0)),
        ("matrix", lambda: top_eigenpairs(wrong, 1)),
        ("other", lambda: gram.inner(wrong)),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        says(caught.value, (name,))


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_no_function(wrong):
    f = Function(RBF(), np.eye(3), np.ones(3))
    with pytest.raises(TypeError) as caught:
        f.inner(wrong)
    says(caught.value, ("other",))


# ---- the bank and the doors are complete ------------------------------------------------------


def test_everything_public_has_a_door_or_a_reason():
    registered = {entry for door in DOORS for entry in door.entries} | NO_DATA.keys()
    assert without_a_door(registered) == [], "add lines to tests/bad_input/doors.py or public.py"
    assert gone(registered) == []


def written(x: Any) -> float:
    if isinstance(x, np.ndarray) and x.flags.writeable:
        x[0] = 1.0
    return 0.0


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x: 0.0, "NaN"),  # accepts
        (lambda x: np.nan, "plain"),  # not finite
        (lambda x: float(len(x[0])), "lists"),  # a KeyError for data frames
        (lambda x: {}[0], "NaN"),  # an error of another kind
        (lambda x: validate.points(x, "y"), "NaN"),  # the wrong name
        (lambda x: np.linalg.inv(x), "text"),  # NumPy's own words
        (lambda x: float(np.asarray(x).dtype.itemsize), "float32"),  # another result
        (written, "plain"),
    ],
    ids=["accepts", "not finite", "frames", "KeyError", "name", "NumPy", "result", "writes"],
)
def test_a_wrong_door_is_caught(call, name):
    door = Door("wrong", (), ("x",), (np.linspace(0, 2, 6).reshape(3, 2),), (call,))
    assert any(failure(door, item) for item in BANK if item.name in (name, "pandas"))


def test_the_bank_is_large():
    assert len({item.name for item in BANK}) == len(BANK) >= 60


def test_every_number_of_the_bank_is_right_for_some_kernel():
    rbf = next(door for door in DOORS if "-RBF(" in door.name)
    for item in BANK:
        if item.kind == "values":
            rbf.calls[0](*(item.make(s) for s in rbf.samples))
