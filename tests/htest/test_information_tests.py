"""Tests of mutual information, given a variable or not, and of transfer entropy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import (
    ConditionalMutualInformation,
    MutualInformation,
    Permutation,
    TransferEntropy,
)
from mercer.info import KSG, MixedKSG, mutual_information, transfer_entropy
from mercer.rkhs import Empirical

rng = np.random.default_rng(8)
X, Y, Z = rng.normal(size=(3, 120))


def test_statistics_are_the_estimates():
    y = X + Y
    expected = mutual_information(X, y, estimator=KSG(4))
    assert_allclose(MutualInformation(KSG(4)).statistic(X, y), expected)
    assert_allclose(
        MutualInformation().statistic(X, y), mutual_information(X, y, estimator=MixedKSG(12))
    )
    given = ConditionalMutualInformation(KSG(4), resamples=9)
    expected = mutual_information(X, y, given=Z, estimator=KSG(4))
    assert_allclose(given.statistic(X, y, Z), expected)
    transfer = TransferEntropy(KSG(4), lags=(1, 3), resamples=9)
    assert_allclose(transfer.statistic(X, y), transfer_entropy(X, y, lags=[1, 3], estimator=KSG(4)))


def test_permuted_statistics_are_those_of_permuted_variables():
    test = MutualInformation(KSG(3), null=Permutation(3))
    evidence = test._evidence(X, Y)
    values = evidence.permuted(Permutation(3), slice(0, 4), seed=1)
    assert_allclose(values[0], test.statistic(X, Y))
    assert len(set(values.tolist())) == 4


def test_groups_of_equal_z_are_kept():
    z = rng.integers(3, size=120).astype(float)
    result = ConditionalMutualInformation(resamples=19).test(z + X, z + Y, z, rng=0)
    assert "with the same z, which has 3 values" in result.notes[0]
    apart = ConditionalMutualInformation(resamples=19).test(X, Y, Z, rng=0)
    assert "8 nearest neighbours in z" in apart.notes[0]


def test_refusals():
    with pytest.raises(TypeError, match="estimator must be an estimator, such as KSG"):
        MutualInformation("ksg")
    with pytest.raises(ValueError, match="neighbours must be a whole number of at least 2"):
        ConditionalMutualInformation(neighbours=1)
    with pytest.raises(TypeError, match="source must be a sample without weights"):
        TransferEntropy().test(Empirical(X, np.full(120, 1 / 120)), Y)
    with pytest.raises(ValueError, match="at least 8 observations after the lags, got 5"):
        TransferEntropy(lags=5).test(X[:10], Y[:10])


def test_summary_of_transfer_entropy_names_the_series():
    text = TransferEntropy(resamples=9).test(X, Y, rng=0).summary()
    assert "the past of source" in text
    assert "the present of target" in text
    assert "given the past of target" in text
