"""Tests of named null distributions against SciPy's frozen ones."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from mercer.htest.named_law import NamedLaw

VALUES = np.array([-3.0, -0.1, 0.0, 0.3, 1.0, 4.0, 40.0])


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("chi2", (3,)),
        ("f", (2, 17)),
        ("gamma", (1.7,)),
        ("norm", ()),
        ("t", (5,)),
        ("halfnorm", ()),
    ],
)
@pytest.mark.parametrize(("loc", "scale"), [(0.0, 1.0), (-0.4, 2.5)])
def test_tails_and_methods_are_those_of_scipy(name, args, loc, scale):
    law = NamedLaw(name, args, loc, scale)
    frozen = getattr(stats, name)(*args, loc=loc, scale=scale)
    assert_allclose(law.sf(VALUES), frozen.sf(VALUES), rtol=1e-12, atol=1e-300)
    assert law.mean() == frozen.mean()
    assert law.support() == frozen.support()


def test_it_survives_a_pickle():
    law = NamedLaw("gamma", (2.0,), scale=3.0)
    law.mean()
    assert pickle.loads(pickle.dumps(law)) == law
    with pytest.raises(AttributeError):
        _ = law.no_such_method
