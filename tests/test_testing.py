"""The assertion for tests of users: silent when samples agree, telling when they do not."""

import numpy as np
import pytest

from mercer.htest import MMD
from mercer.testing import assert_same_distribution
from tests.support.sequential_level import assert_level


def samples(shift: float, n: int = 120):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)), rng.normal(shift, 1.0, size=(n, 2))


def test_samples_that_agree():
    assert_same_distribution(*samples(0.0))
    assert_same_distribution(*samples(0.0), test=MMD())


def test_samples_that_differ_are_told():
    with pytest.raises(AssertionError, match="the samples differ\n") as caught:
        assert_same_distribution(*samples(1.0))
    assert "p = 0.001" in str(caught.value)
    assert "column 0" in str(caught.value)


def test_small_differences_can_be_allowed():
    x, y = samples(1.0)
    area = MMD().test(x, y, rng=0).effect().auc
    assert_same_distribution(x, y, test=MMD(), min_effect=area + 0.01)
    with pytest.raises(AssertionError):
        assert_same_distribution(x, y, test=MMD(), min_effect=area - 0.01)


def test_false_alarms_are_as_rare_as_the_level():
    def alarms(seed):
        x, y = np.random.default_rng(seed).normal(size=(2, 20, 1))
        try:
            assert_same_distribution(x, y, test=MMD(), level=0.05)
        except AssertionError:
            return True
        return False

    assert_level(alarms)


@pytest.mark.parametrize("wrong", [{"level": 0.0}, {"level": 2.0}, {"min_effect": 0.2}])
def test_wrong_numbers(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        assert_same_distribution(*samples(0.0), **wrong)


def test_wrong_tests():
    with pytest.raises(TypeError, match="two-sample test or None"):
        assert_same_distribution(*samples(0.0), test="mmd")  # type: ignore[arg-type]
