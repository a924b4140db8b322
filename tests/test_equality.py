"""Objects with arrays inside compare to True or False, and a copy from a pickle equals the original."""

from __future__ import annotations

import importlib
import inspect
import pickle
from dataclasses import fields, is_dataclass

import numpy as np
import pytest

from mercer.backend import same_values
from mercer.htest import FSSD, KSD, ME
from mercer.rkhs import (
    Bags,
    Dirac,
    Empirical,
    GaussBernoulliRBM,
    Gaussian,
    Mixture,
    Quadrature,
    Scores,
    Uniform,
)
from tests.support.arrays import torch
from tests.support.htest_zoo import IDS, ZOO

PACKAGES = ("gram", "kernels", "features", "rkhs", "htest", "learn")
TWO = np.array([[0.0, 1.0], [2.0, 3.0]])
DIFFERENT = [
    (Gaussian([0.0, 1.0], 1.0), Gaussian([0.0, 1.0], 2.0)),
    (Mixture([Gaussian(0.0, 1.0)]), Mixture([Gaussian(0.5, 1.0)])),
    (Uniform(0.0, 1.0), Uniform(0.0, 2.0)),
    (Dirac([0.0, 1.0]), Dirac([0.0, 2.0])),
    (Empirical(TWO), Empirical(TWO, [0.25, 0.75])),
    (Bags.of([TWO, TWO[:1]]), Bags.of([TWO, TWO[1:]])),
    (
        GaussBernoulliRBM(TWO, [0.0, 0.0], [0.0, 0.0]),
        GaussBernoulliRBM(TWO, [0.0, 1.0], [0.0, 0.0]),
    ),
    (Scores(TWO), Scores(2 * TWO)),
    (Quadrature([[0.0], [1.0]], [0.5, 0.5]), Quadrature([[0.0], [1.0]], [0.25, 0.75])),
    (KSD(Gaussian([0.0, 1.0], 1.0)), KSD(Gaussian([0.0, 1.0], 2.0))),
    (ME(locations=TWO), ME(locations=2 * TWO)),
    (FSSD(Gaussian([0.0, 1.0], 1.0), locations=TWO), FSSD(Gaussian([0.0, 1.0], 1.0), locations=3)),
]


@pytest.mark.parametrize("pair", DIFFERENT, ids=[type(a).__name__ for a, _ in DIFFERENT])
def test_equal_by_value(pair):
    one, other = pair
    copy = pickle.loads(pickle.dumps(one))
    assert (copy == one) is True
    assert (copy != one) is False
    assert hash(copy) == hash(one)
    assert (one == other) is False
    assert (one == 1.0) is False
    assert len({one, copy, other}) == 2


@pytest.mark.parametrize("test", [e.test for e in ZOO], ids=IDS)
def test_a_pickled_test_equals_itself(test):
    copy = pickle.loads(pickle.dumps(test))
    assert (copy == test) is True
    assert hash(copy) == hash(test)


def test_same_values():
    x = np.array([1.0, 2.0])
    assert same_values([x, "a"], [x.copy(), "a"])
    assert not same_values(x, x[:1])
    assert not same_values(x, x.astype(np.float32))
    assert not same_values(x, 1.0)
    assert not same_values(x, torch.tensor(x))
    assert same_values(torch.tensor(x), torch.tensor(x))


def test_public_dataclasses_with_arrays_do_not_compare_them_with_the_operator():
    """What dataclasses generate asks arrays for their truth value, which is an error."""
    found = []
    for name in PACKAGES:
        package = importlib.import_module(f"mercer.{name}")
        for cls in (getattr(package, public) for public in package.__all__):
            if not (inspect.isclass(cls) and is_dataclass(cls) and cls.__dataclass_params__.eq):  # type: ignore[attr-defined]
                continue
            types = [str(f.type).partition("|")[0].strip() for f in fields(cls) if f.compare]
            found += [cls.__name__ for t in types if t in ("Array", "np.ndarray", "Points")]
    assert found == []
