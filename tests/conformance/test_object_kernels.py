"""Every kernel on objects obeys the laws of kernels; values do not depend on when an object was read."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mercer.kernels
from mercer.gram import Gram
from mercer.kernels import facts
from tests.bad_input.bank import BANK
from tests.bad_input.checks import OURS, says, unchanged
from tests.support.object_zoo import OBJECT_IDS, OBJECT_KERNELS, OBJECT_ZOO, ObjectEntry

N, M = 12, 7

every_kernel = pytest.mark.parametrize("entry", OBJECT_ZOO, ids=OBJECT_IDS)


def samples(entry: ObjectEntry, seed: int = 0):
    """Two samples, read one after the other, and the dense matrices of both and of the second."""
    rng = np.random.default_rng(seed)
    x, y = entry.sample(rng, N), entry.sample(rng, M)
    return x, y


def close(actual, expected, entry: ObjectEntry) -> None:
    scale = max(1e-3, float(np.abs(expected).max()))
    assert_allclose(actual, expected, rtol=0, atol=entry.tolerance * scale)


@every_kernel
def test_formulas_agree(entry: ObjectEntry):
    """Symmetric, the same in pieces, pairs and tiles, and whether objects are read together or not."""
    k, (x, y) = entry.kernel, samples(entry)
    whole = k(x, y)
    assert whole.shape == (N, M)
    close(k(y, x).T, whole, entry)
    square = k(x)
    close(square, square.T, entry)
    a, b = k.accept(x), k.accept(y)
    close(k.diag(a), np.diagonal(square), entry)
    close(k.paired(a[:M], b), np.diagonal(whole[:M]), entry)
    close(k.pairwise(a[2:5], b[1:]), whole[2:5, 1:], entry)
    one_by_one = [[float(k(x[i : i + 1], y[j : j + 1])[0, 0]) for j in range(M)] for i in range(4)]
    close(np.array(one_by_one), whole[:4], entry)
    rows = np.array([3, 0, 3])
    close(k.pairwise(a.taken(rows), b), whole[rows], entry)
    both = a.joined(b)
    assert len(both) == N + M
    close(k.pairwise(both, both)[:N, N:], whole, entry)
    close(Gram(k, x, y) @ np.ones(M), whole.sum(axis=1), entry)
    close(Gram(k, x).block(slice(3, 8), slice(0, 6)), square[3:8, :6], entry)


@every_kernel
def test_definite_as_facts_say(entry: ObjectEntry):
    known = facts(entry.kernel)
    assert known.domain is not None
    assert known.positive_definite in ((True, None) if entry.definite else (False,))
    if entry.definite:
        rng = np.random.default_rng(5)
        values = np.linalg.eigvalsh(entry.kernel(entry.sample(rng, 60)))
        assert values[0] >= -10 * 60 * entry.tolerance * max(1.0, values[-1])


@every_kernel
def test_value_object(entry: ObjectEntry):
    k, (x, _) = entry.kernel, samples(entry)
    for twin in (copy.deepcopy(k), pickle.loads(pickle.dumps(k)), k.with_params()):
        assert twin == k
        assert hash(twin) == hash(k)
    if entry.readable:
        assert eval(repr(k), dict(vars(mercer.kernels))) == k
    points = pickle.loads(pickle.dumps(k.accept(x)))
    close(k.pairwise(points, points), k(x), entry)


# Kernels that check their objects by one function have one door.
DOORS = {kind.items.__qualname__: kind for kind in reversed(OBJECT_KERNELS)}


@pytest.mark.parametrize("kind", DOORS.values(), ids=lambda kind: kind.__name__)
def test_bank_of_bad_input(kind):
    """What are no objects of this kernel is refused by name, with a remedy; nothing is written into."""
    k, numbers = OBJECT_KERNELS[kind].kernel, np.random.default_rng(0).normal(size=(5, 2))
    good = OBJECT_KERNELS[kind].sample(np.random.default_rng(1), 4)
    wrong = {}
    for item in BANK:
        for name, call in (("x", lambda x: k(x)), ("y", lambda y: k(good, y))):
            try:
                values = unchanged(call, [item.make(numbers)])
                assert np.all(np.isfinite(values))
            except OURS as error:
                try:
                    says(error, (name,))
                except AssertionError as problem:
                    wrong[item.name] = str(problem)
            except Exception as error:
                wrong[item.name] = repr(error)
    assert not wrong, wrong
