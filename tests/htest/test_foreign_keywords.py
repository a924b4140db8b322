"""Arguments under the names of other packages: the error says what mercer calls them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import mercer
from mercer.htest import (
    DHSIC,
    HSIC,
    KSD,
    MMD,
    ConditionalMutualInformation,
    Permutation,
    drift,
    pairwise_independence,
    power,
)
from mercer.kernels import RBF
from mercer.rkhs import Gaussian

X = np.random.default_rng(0).normal(size=(20, 2))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: MMD().test(X, X, resamples=1000), r"MMD.test takes no 'resamples'.*MMD\(null=Permutation\(1000\)\)"),
        (lambda: HSIC().test(X, X, reps=500), r"HSIC\(null=Permutation\(500\)\).*resamples=500"),
        (lambda: MMD(n_permutations=99), r"MMD takes no 'n_permutations'.*Permutation\(99\)"),
        (lambda: MMD(random_state=7), r"seed is rng=7 where the test is called"),
        (lambda: HSIC().test(X, X, random_state=3), "seed is rng=3"),
        (lambda: HSIC().test(X, X, workers=-1), r"mercer.config\(threads=2\)"),
        (lambda: HSIC(n_jobs=2), "number of threads is a setting"),
        (lambda: HSIC(compute_distance="euclidean"), "kernels are objects"),
        (lambda: HSIC().test(X, X, auto=True), r"null=Gamma\(\)"),
        (lambda: MMD().test(X, X, alpha=0.1), r"result.rejects\(level=0.05\)"),
        (lambda: KSD(Gaussian(np.zeros(2), 1.0)).test(X, n_permutations=9), "KSD.test takes no"),
        (lambda: ConditionalMutualInformation(reps=99), "write resamples=99"),
        (lambda: mercer.two_sample(X, X, reps=99), "two_sample takes no 'reps': write resamples=99"),
        (lambda: mercer.two_sample(X, by="arm"), r"x, y = \(rows.drop\(columns='arm'\) for _, rows in frame.groupby\('arm'\)\)"),
        (lambda: mercer.two_sample(X, X, alpha=0.01), "write level=0.05"),
        (lambda: mercer.independence(X, X, seed=1), "independence takes no 'seed': the seed is rng=1"),
        (lambda: mercer.goodness_of_fit(Gaussian(np.zeros(2), 1.0), X, n_jobs=4), "goodness_of_fit takes no"),
        (lambda: drift(X, [X], n_permutations=99), "drift takes no 'n_permutations': write resamples=99"),
        (lambda: pairwise_independence(X, reps=99), r"test=HSIC\(null=Permutation\(99\)\)"),
        (lambda: power(MMD(), X, X, reps=99), r"test=MMD\(null=Permutation\(99\)\)"),
        (lambda: mercer.independence(X, X, X), r"two variables, x and y, got 3: .*DHSIC\(\).test\(x, y, z\).*given=z"),
        (lambda: mercer.independence(X), r"got 1: .*pairwise_independence\(frame\)"),
        (lambda: HSIC().test(X, X, X, rng=0), r"HSIC.test takes two variables.*DHSIC"),
        (lambda: MMD().test(X, X, X), r"two samples, x and y, got 3: .*KSample\(\)"),
        (lambda: mercer.two_sample(X), "got 1: the groups of one table"),
        (lambda: mercer.independence(X, X, given="z"), r"given=frame\[\['z'\]\]"),
        (lambda: mercer.independence(X, X, given=["z", "w"]), r"given=frame\[\['z', 'w'\]\]"),
        (lambda: MMD("gaussian"), r"got 'gaussian'.*so write RBF"),
        (lambda: mercer.two_sample(X, X, kernel="laplacian"), "so write Laplac"),
    ],
)  # fmt: skip
def test_the_error_names_what_to_write(call, said):
    with pytest.raises(TypeError, match=said):
        call()


def test_one_frame_for_a_joint_test_names_its_columns():
    with pytest.raises(ValueError, match=r"got 1: .*\*\(frame\[name\] for name in frame\)"):
        DHSIC().test(X)


def test_other_errors_and_signatures_are_as_ever():
    with pytest.raises(TypeError, match="unexpected keyword argument 'bandwith'"):
        MMD(bandwith=2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'foo'"):
        MMD().test(X, X, foo=1)
    assert next(iter(inspect.signature(MMD).parameters)) == "kernel"
    assert [*inspect.signature(MMD.test).parameters] == ["self", "x", "y", "rng"]
    assert MMD(RBF(1.0), null=Permutation(9)).test(X, X + 3, rng=0).pvalue == 0.1
