"""Checks and their messages, beside what the bank of bad inputs drives through every door."""

from __future__ import annotations

import array
from fractions import Fraction

import array_api_strict
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import validate
from tests.support.arrays import torch

X = np.random.default_rng(0).standard_normal((5, 2))


# ---- points -----------------------------------------------------------------------------------


def test_what_needs_no_change_is_not_copied():
    assert validate.points(X) is X
    tensor = torch.tensor(X, requires_grad=True)
    assert validate.points(tensor) is tensor
    assert np.shares_memory(validate.points(X[:, 0]), X)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        *((single, "f4") for single in ("f2", "f4", ">f4")),
        *((d, "f8") for d in ("d", "g", "?", "b", "H", "q")),
    ],
)
def test_precision(given, kept):
    found = validate.points(np.ones((2, 2)).astype(given))
    assert found.dtype == np.dtype(kept)
    assert found.dtype.isnative


def test_tensors_stay_where_they_are():
    half = validate.points(torch.ones(3, dtype=torch.bfloat16))
    assert (half.dtype, tuple(half.shape)) == (torch.float32, (3, 1))
    other = array_api_strict.asarray([1, 2], device=array_api_strict.Device("device1"))
    found = validate.points(other)
    assert found.device == other.device
    assert found.dtype == array_api_strict.float64


def test_rows_that_are_tensors_are_stacked_with_their_gradients():
    rows = [torch.tensor(row, requires_grad=True) for row in X]
    found = validate.points(rows)
    found.sum().backward()
    assert_array_equal(rows[0].grad, [1.0, 1.0])
    with pytest.raises(TypeError, match="x must be one tensor, got a list of tensors: stack them"):
        validate.points([[value for value in row] for row in rows])  # noqa: C416


def test_the_first_bad_point_is_named():
    bad = X.copy()
    bad[[2, 4], 1] = np.nan, np.inf
    with pytest.raises(ValueError, match=r"2 of 5 points \(first: point 2\)"):
        validate.points(bad)


def test_squares_must_not_overflow():
    for dtype, limit in ((np.float64, 1e153), (np.float32, 1e18)):
        validate.points(np.full((2, 2), limit, dtype=dtype))
        with pytest.raises(ValueError, match=f"whose squares overflow {np.dtype(dtype)}: divide"):
            validate.points(np.full((2, 2), 10 * limit, dtype=dtype))


def test_integers_that_float64_holds():
    assert_array_equal(validate.points([-(2**53), 2**53]), [[-(2.0**53)], [2.0**53]])
    assert_array_equal(validate.points(torch.tensor([2**53]), "x"), [[2.0**53]])
    small = np.array([1, 2], dtype=object)
    with pytest.raises(TypeError, match=r"dtype object with int inside.*\.astype\(float\)"):
        validate.points(small)


def test_what_is_a_sequence_of_objects():
    for objects in (["a", "b"], [{1}, {2}], [np.ones((2, 1)), np.ones((3, 1))], np.array(["a"])):
        assert validate.points_or_objects(objects) is objects
    ragged = [np.ones(2), np.ones(3)]  # bags on the line
    assert validate.points_or_objects(ragged) is ragged
    for points in ([1.0, 2.0], [[1, 2]], range(3), array.array("d", [1.0]), [np.ones(2)] * 3):
        assert validate.points_or_objects(points).dtype == np.float64
    for nothing in ([], (), np.array([], dtype=str), np.array("a")):
        with pytest.raises(ValueError, match="x must (have|be)"):
            validate.points_or_objects(nothing)


# ---- vectors ----------------------------------------------------------------------------------


def test_vectors_take_the_library_of_the_matrix():
    like = torch.ones(1, dtype=torch.float32)
    found = validate.vectors(X, 5, like, "w")
    assert found.dtype == torch.float64
    assert validate.vectors(torch.ones(5), 5, X, "w").dtype == np.float32
    grown = torch.ones(5, requires_grad=True)
    assert validate.vectors(grown, 5, like, "w").requires_grad
    with pytest.raises(TypeError, match="w requires gradients, which NumPy loses: detach it"):
        validate.vectors(grown, 5, X, "w")
    with pytest.raises(ValueError, match=r"w must have shape \(5,\) or \(5, k\), got \(4,\)"):
        validate.vectors(np.ones(4), 5, X, "w")


def test_one_vector():
    assert_array_equal(validate.vector([1, 2], "w"), [1.0, 2.0])
    for wrong in (X, 1.0, []):
        with pytest.raises(ValueError, match=r"w must have shape \(n,\), n >= 1, got"):
            validate.vector(wrong, "w")


def test_two_samples_in_one_precision():
    single = X.astype(np.float32)
    assert validate.same_float(X, X)[0] is X
    assert validate.same_float(single, single)[1] is single
    assert [v.dtype for v in validate.same_float(X, single)] == [np.float64] * 2


# ---- domains ----------------------------------------------------------------------------------


def test_domains_say_what_came():
    assert validate.within(X, -9, 9, "x", "rescale") is X
    with pytest.raises(
        ValueError, match=r"x must have values in \[0, 1\], got values from -.*: rescale"
    ):
        validate.within(X, 0, 1, "x", "rescale")
    with pytest.raises(ValueError, match=r"in \(0, inf\), got values from 0 to 1: shift"):
        validate.within(np.array([0.0, 1.0]), 0, np.inf, "x", "shift", strict=True)


# ---- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "right", "wrong"),
    [
        (validate.positive, [1, 0.5, 1e-150, 1e150, Fraction(1, 3), np.float32(2)], [0, -1, 1e151]),
        (validate.non_negative, [0, 1e-300, np.int8(3)], [-1e-300, 1e151]),
        (validate.number, [-1.0, 0, 1e150], [-1e151, np.inf]),
        (validate.whole, [1, np.int64(2), 2**53], [0, -1, 2**53 + 1]),
        (lambda name, v: validate.between(name, v, 0, 1), [0.5, Fraction(1, 2)], [0, 1, 2]),
    ],
    ids=["positive", "non_negative", "number", "whole", "between"],
)
def test_numbers(check, right, wrong):
    for value in right:
        check("p", value)
    for value in (*wrong, np.nan):
        with pytest.raises((ValueError, TypeError), match="^p must be"):
            check("p", value)
    for value in (True, "1", None, 1j, [1.0], np.ones(1)):
        with pytest.raises(TypeError, match="^p must be"):
            check("p", value)


def test_generators():
    rng = np.random.default_rng(0)
    assert validate.generator(rng) is rng
    assert validate.generator(3).random() == np.random.default_rng(3).random()
    assert validate.generator(np.int64(3)).random() == np.random.default_rng(3).random()
    assert isinstance(validate.generator(None), np.random.Generator)
    with pytest.raises(ValueError, match="rng must be a non-negative int"):
        validate.generator(-1)
    with pytest.raises(TypeError, match=r"use numpy\.random\.default_rng\(seed\)"):
        validate.generator("seed")


def test_messages_are_short_whatever_came():
    assert validate.shown(np.array([1.0, 2.0])) == "array([1., 2.])"
    assert validate.shown(np.zeros((500, 2))) == "numpy.ndarray of shape (500, 2)"
    assert validate.shown(torch.zeros(20)) == "torch.Tensor of shape (20,)"
    assert len(validate.shown(list(range(1000)))) < 200
    with pytest.raises(TypeError, match=r"got numpy\.ndarray of shape \(500, 2\)$"):
        validate.instance("kernel", np.zeros((500, 2)), str, "a kernel")
