"""HSICAgg: one test of many pairs of kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.htest import HSIC, HSICAgg, Permutation
from mercer.htest.aggregation import aggregated, shares
from mercer.htest.dependence.hsic_statistic import HSICEvidence
from mercer.htest.dependence.hsicagg import Collection, kernel_collections
from mercer.htest.dependence.sums.kernel_grid import KernelGrid
from mercer.kernels import RBF, Delta, Laplace, Linear
from mercer.rkhs.paired_samples import variables

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (90, 1))
Y = np.cos(8 * X) + 0.4 * RNG.standard_normal((90, 2))
FEW = ((RBF(0.2), RBF(1.0), Laplace(0.5)), (RBF(0.7), Linear()))
P = Permutation(199)


def _all_scales(kernels_x, kernels_y):
    return [each.scales for each in kernel_collections(kernels_x, kernels_y, X, Y)]


@pytest.mark.parametrize("blocks", [None, tuple(i % 2 for i in range(90))])
def test_every_pair_of_the_grid_is_hsic(blocks):
    null = Permutation(149, blocks=blocks)
    grid = KernelGrid(*_all_scales(*FEW))
    values = grid.permuted(null, 3)
    assert values.shape == (3, 2, 150)
    for i, k in enumerate(FEW[0]):
        for j, l in enumerate(FEW[1]):
            single = HSICEvidence.of(*variables((k, l), (X, Y)), unbiased=True)
            expected = single.permuted(null, slice(0, 150), 3)
            assert_allclose(values[i, j], expected, atol=1e-12)
            assert_allclose(grid.tolerances[i, j], single.tolerance(), rtol=0.5)


def test_factors_where_all_kernels_have_low_rank():
    kernels = (Linear(), Linear() + Linear() * Linear())
    grid = KernelGrid(*_all_scales(kernels, kernels))
    values = grid.permuted(P, 3)
    single = HSICEvidence.of(*variables((kernels[1], kernels[0]), (X, Y)), unbiased=True)
    assert_allclose(values[1, 0], single.permuted(P, slice(0, 200), 3), atol=1e-12)


def test_pvalue_is_the_smallest_level_that_rejects():
    """Twice in the definition: level u / K for every pair, u the largest that the level allows."""
    result = HSICAgg(*FEW, null=P).test(X, Y, rng=2)
    seed = int(np.random.default_rng(2).integers(2**63))
    values = KernelGrid(*_all_scales(*FEW)).permuted(P, seed).reshape(6, 200)
    p = np.stack([[np.mean(v >= w - 1e-15) for w in v] for v in values])
    smallest = p.min(axis=0) * 6
    below = np.count_nonzero(smallest < smallest[0])
    equal = np.count_nonzero(smallest == smallest[0])
    assert (below + 1) / 200 <= result.pvalue <= (below + equal) / 200


def test_one_pair_is_hsic():
    one = HSICAgg([RBF(0.3)], [RBF(0.8)], null=P).test(X, Y, rng=4)
    same = HSIC(RBF(0.3), RBF(0.8), unbiased=True, null=P).test(X, Y, rng=4)
    assert one.pvalue == same.pvalue
    assert "Kernels: RBF" in one.notes[0]


def test_finds_what_one_bandwidth_does_not():
    aggregated_p = HSICAgg(null=P).test(X, Y, rng=0).pvalue
    assert aggregated_p <= 0.02
    far = HSIC(RBF(50.0), RBF(50.0), null=P).test(X, Y, rng=0).pvalue
    assert far > 0.05


def test_frames_and_notes():
    frame = pd.DataFrame({"letter": RNG.choice(["a", "b"], 90), "x": X[:, 0]})
    result = HSICAgg(null=P).test(frame, pd.DataFrame({"y": Y[:, 0]}), rng=0)
    assert result.rejects()
    assert "pairs of kernels reject" in result.notes[0]
    assert result.variables[0].columns.names == ("letter", "x")
    letters = pd.DataFrame({"letter": frame["letter"]})
    nothing = HSICAgg(null=P).test(letters, RNG.standard_normal(90), rng=0)
    assert nothing.pvalue > 0.05
    assert "comes closest" in nothing.notes[0]


def test_a_variable_is_found_among_others_with_its_kernel():
    """Comparing their points would ask an array for its truth, as dataclasses of Python 3.13 do."""
    first, _ = variables((Laplace(0.5), Linear()), (X, Y))
    again = replace(first, points=first.points[::-1])
    assert Collection((first,), (again,)).name(again) == "Laplace(bandwidth=0.5)"


def test_aggregated_prefers_what_stands_out():
    values = np.array([[5.0, 1.0, 2.0, 3.0], [9.0, 1.0, 0.9, 1.1]])
    found = aggregated(values, np.zeros(2), shares(None, 2))
    assert found.best == 1
    assert found.rejecting(0.5) == 2
    assert np.argmax(found.scores) == 0


def test_refusals():
    with pytest.raises(ValueError, match="HSICAgg compares all permutations"):
        HSICAgg(null=Permutation(99, stop_early=True))
    with pytest.raises(TypeError, match="null must be a Permutation"):
        HSICAgg(null=999)
    with pytest.raises(ValueError, match="kernels_y must have at least one kernel"):
        HSICAgg(None, [])
    with pytest.raises(TypeError, match=r"kernels_x must be a list of kernels"):
        HSICAgg(RBF(1.0))
    with pytest.raises(ValueError, match="all points of y are equal"):
        HSICAgg().test(X, np.ones(90))
    with pytest.raises(TypeError, match="kernels_x\\[1\\]"):
        HSICAgg([Delta(), "rbf"])
