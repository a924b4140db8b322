"""Inference after selection: truncated p-values are those of brute force, and hold where naive ones do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from mercer.htest import post_selection
from mercer.htest.dependence.all_pairs import varying_columns
from mercer.htest.dependence.post_selection import _block_hsic, _truncated_tail, selective_pvalue
from mercer.kernels import RBF
from mercer.rkhs import hsic
from mercer.rkhs.paired_samples import variables


@pytest.mark.parametrize("seed", range(6))
def test_selective_p_values_are_integrals_over_the_selection(seed):
    """T runs over a grid; what is independent of T stays; the selection is checked point by point."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(5, 5))
    covariance = root @ root.T
    means = rng.multivariate_normal(np.zeros(5), covariance)
    selected = np.argsort(-means)[:2]
    for j in selected:
        scale = np.sqrt(covariance[j, j])
        grid = np.linspace(-9 * scale, 9 * scale, 200_001)
        slopes = covariance[:, j] / covariance[j, j]
        moved = means[:, None] + slopes[:, None] * (grid - means[j])
        others = np.setdiff1d(np.arange(5), selected)
        inside = np.min(moved[selected], axis=0) >= np.max(moved[others], axis=0)
        density = stats.norm.pdf(grid, scale=scale) * inside
        want = density[grid >= means[j]].sum() / density.sum()
        ours = selective_pvalue(means, covariance, selected, int(j))
        assert_allclose(ours, want, atol=2e-3)  # two ends of the grid, a step of 1e-4 each


def test_tails_far_out_are_stable():
    law = stats.truncnorm(8.0, np.inf)
    assert_allclose(_truncated_tail(9.0, 8.0, np.inf), law.sf(9.0), rtol=1e-6)
    assert _truncated_tail(40.0, 39.9, np.inf) == pytest.approx(0.0181, rel=0.05)
    assert _truncated_tail(1.0, -np.inf, np.inf) == pytest.approx(stats.norm.sf(1.0))


def test_terms_are_hsic_of_blocks():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    kernel = RBF(0.7)
    (target,) = variables((kernel,), (y,), ("y",))
    terms = _block_hsic(varying_columns(x), kernel, target, 5, np.random.default_rng(1))
    blocks = np.random.default_rng(1).permutation(100).reshape(20, 5)
    want = [[hsic(kernel, kernel, x[b, j], y[b], unbiased=True) for b in blocks] for j in (0, 1)]
    assert_allclose(terms, want, rtol=1e-9, atol=1e-12)


def test_selective_p_values_hold_and_naive_ones_do_not():
    """100 runs: a rate of 0.05 is within 0.155 of three standard errors; the naive rate is about 0.4."""
    selective = naive = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        result = post_selection(
            rng.normal(size=(100, 8)), rng.normal(size=100), k=1, block=5, rng=0
        )
        selective += result.features[0].pvalue <= 0.05
        naive += result.features[0].naive <= 0.05
    assert selective <= 12
    assert naive >= 20


def test_strong_dependence_is_found_and_told():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(500, 4)), columns=list("abcd"))
    frame["group"] = rng.choice(["u", "v"], 500)
    result = post_selection(frame, frame["b"] ** 2 + 0.3 * rng.normal(size=500), k=2, rng=0)
    assert result.features[0].name == "b"
    assert "b" in result.dependent()
    assert "b: HSIC" in str(result)
    assert list(result.to_frame().columns) == ["name", "statistic", "pvalue", "naive"]
    assert result.to_dict()["number"] == 5
    assert "<table>" in result._repr_html_()


def test_bad_arguments_are_refused():
    x, y = np.random.default_rng(0).normal(size=(2, 100, 3))
    with pytest.raises(ValueError, match="k must be at most"):
        post_selection(x, y[:, 0], k=4)
    with pytest.raises(ValueError, match="at least 20 blocks"):
        post_selection(x, y[:, 0], block=10)
    with pytest.raises(ValueError, match="frame has NaN or infinite"):
        post_selection(np.where(x > 2.3, np.nan, x), y[:, 0], block=4)
    with pytest.raises(ValueError, match="NaN or infinite"):
        post_selection(x, np.full(100, np.inf), block=4)
    with pytest.raises(TypeError, match="kernel must be"):
        post_selection(x, y[:, 0], kernel="rbf")
    with pytest.raises(ValueError, match="same number of observations"):
        post_selection(x, y[:50, 0], block=4)
