"""Every kernel of the zoo obeys every law, on every array library; wrong kernels are caught."""

from __future__ import annotations

import inspect

import pytest

import mercer.kernels
from mercer.kernels import Kernel, SmoothRadial
from tests.conformance import kernel_laws as laws
from tests.conformance.wrong_kernels import WRONG, OddRepr, _Right
from tests.support.arrays import INSTALLED
from tests.support.object_zoo import OBJECT_ZOO
from tests.support.zoo import IDS, NORMAL, ZOO, Entry

every_kernel = pytest.mark.parametrize("entry", ZOO, ids=IDS)


def only(keep):
    chosen = [(e, i) for e, i in zip(ZOO, IDS, strict=True) if keep(e)]
    return pytest.mark.parametrize("entry", [e for e, _ in chosen], ids=[i for _, i in chosen])


# One test for each kernel and law, and the array libraries inside: thousands of tests of a
# millisecond each cost more to collect and to hand out than to run.
@pytest.mark.parametrize(
    "law",
    [law for law in laws.EVERYWHERE if law is not laws.definite],
    ids=lambda law: law.__name__,
)
@every_kernel
def test_formula(entry: Entry, law):
    in_every_library(law, entry)


@only(lambda e: e.definite)
def test_definite(entry: Entry):
    in_every_library(laws.definite, entry)


@only(lambda e: e.shift)
def test_far_off_data(entry: Entry):
    for law in laws.FAR:
        in_every_library(law, entry)


def in_every_library(law, entry: Entry) -> None:
    for library in INSTALLED:
        try:
            law(entry, library)
        except Exception as error:
            error.add_note(f"{law.__name__} with arrays of {library}")
            raise


@every_kernel
def test_object(entry: Entry):
    for law in laws.OBJECTS:
        law(entry)


@only(lambda e: e.readable)
def test_repr_is_code(entry: Entry):
    laws.readable(entry)


@only(lambda e: isinstance(e.kernel, SmoothRadial))
def test_derivatives(entry: Entry):
    laws.derivatives(entry)


@pytest.mark.parametrize(
    "law", [laws.finite_gradients, laws.right_gradients], ids=lambda f: f.__name__
)
@only(lambda e: e.gradient)
def test_gradients(entry: Entry, law):
    law(entry)


def test_kernels_that_are_not_definite_say_so_and_are_not():
    for entry in ZOO:
        if entry.definite is False:
            assert "not" in entry.kernel.__doc__
            with pytest.raises(AssertionError):
                laws.definite(entry)


@pytest.mark.parametrize(
    ("law", "entry", "library"),
    WRONG,
    ids=[f"{law.__name__}-{type(e.kernel).__name__}" for law, e, _ in WRONG],
)
def test_a_wrong_kernel_is_caught(law, entry: Entry, library, monkeypatch):
    monkeypatch.setattr(mercer.kernels, "OddRepr", OddRepr, raising=False)
    with pytest.raises((AssertionError, TypeError, ValueError)):
        law(entry, *library)


def test_every_law_has_a_wrong_kernel_and_spares_a_right_one():
    caught = {law for law, _, _ in WRONG}
    everything = {value for _, value in inspect.getmembers(laws, inspect.isfunction)}
    known = {v for v in everything if "entry" in next(iter(inspect.signature(v).parameters), "")}
    helpers = {laws.samples, laws._gridded}
    assert known - helpers - caught == set()
    right = Entry(_Right(), NORMAL)
    for law in (*laws.EVERYWHERE, *laws.OBJECTS, laws.finite_gradients, laws.right_gradients):
        law(right, *(["torch"] if law is laws.libraries else []))


def test_every_public_kernel_is_in_the_zoo():
    public = {
        value
        for name in mercer.kernels.__all__
        if isinstance(value := getattr(mercer.kernels, name), type)
        and issubclass(value, Kernel)
        and not inspect.isabstract(value)
    }
    shown = {type(part) for entry in (*ZOO, *OBJECT_ZOO) for part in _all_parts(entry.kernel)}
    assert public - shown == set()


def _all_parts(kernel: Kernel):
    yield kernel
    for part in kernel.parts().values():
        yield from _all_parts(part)
