"""Entropy, divergence and mutual information of tensors by stripes, on a GPU, against those of NumPy's arrays.

Beside the GPU, the same code is run with tensors of the host that are treated as those of a GPU.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.backend import is_torch
from mercer.info import (
    KL,
    KNN,
    KSG,
    CorrectedKSG,
    MixedKSG,
    Renyi,
    divergence,
    entropy,
    mutual_information,
    neighbours,
    sample,
    transfer_entropy,
)
from mercer.info.neighbours import joint_radii_and_counts, kth_distances

torch = pytest.importorskip("torch")

# Distances are rounded otherwise by sums of squares in another order, about 1e-15 of the norms of the points; the
# products beyond twelve columns square the numbers first and so lose half of the digits of small distances.
_CLOSE, _PRODUCTS = 1e-12, 1e-7


@pytest.fixture(params=["host", "cuda"])
def tensor(request, monkeypatch):
    """Makes tensors whose neighbours are found by stripes of all distances."""
    if request.param == "cuda":
        if not torch.cuda.is_available():
            pytest.skip("needs a GPU: torch.cuda.is_available() is false")
    else:
        monkeypatch.setattr(neighbours, "on_accelerator", is_torch)
        monkeypatch.setattr(sample, "on_gpu", is_torch)
        monkeypatch.setattr(neighbours, "_GPU_STRIPE_BYTES", 2**18)  # several stripes
    device = "cpu" if request.param == "host" else "cuda"
    return lambda values: torch.tensor(values, device=device)


@pytest.fixture
def striped(monkeypatch):
    """Counts the stripes, so that no test passes by another road."""
    calls, ask = [], neighbours.distance_stripe

    def counted(x, y, p):
        calls.append(x)
        return ask(x, y, p)

    monkeypatch.setattr(neighbours, "distance_stripe", counted)
    return lambda: any(is_torch(x) for x in calls)


@pytest.mark.parametrize(("d", "rtol"), [(1, _CLOSE), (3, _CLOSE), (12, _CLOSE), (20, _PRODUCTS)])
def test_distances_of_neighbours(tensor, striped, d, rtol):
    rng = np.random.default_rng(d)
    x, y = rng.standard_normal((700, d)) + 10, rng.standard_normal((300, d)) + 10
    for k in (1, 5):
        assert_allclose(kth_distances(tensor(x), k), kth_distances(x, k), rtol=rtol)
        assert_allclose(kth_distances(tensor(x), k, tensor(y)), kth_distances(x, k, y), rtol=rtol)
    assert striped()


@pytest.mark.parametrize(
    ("widths", "digits"),
    [((1, 1), 1), ((1, 1), 15), ((2, 3), 1), ((2, 3), 15), ((6, 6), 1), ((8, 14), 15)],
)
def test_counts_of_neighbours(tensor, striped, widths, digits):
    """Rounded to eighths the coordinates have ties, and some points are equal.

    Not beyond twelve columns, where sums of squares are rounded and ties are broken by chance.
    """
    rng = np.random.default_rng(0)
    parts = [np.round(8 * rng.standard_normal((400, d)), digits - 1) / 8 for d in widths]
    subsets = [(0,), (1,), (0, 1)]
    radii, counts = joint_radii_and_counts(parts, 3, subsets)
    tensors = joint_radii_and_counts([tensor(p) for p in parts], 3, subsets)
    assert_allclose(tensors[0], radii, rtol=_PRODUCTS, atol=1e-12)
    assert_array_equal(tensors[1], counts)
    assert striped()


@pytest.mark.parametrize("d", [1, 3, 15])
def test_entropy_and_divergence(tensor, striped, d):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((600, d)), 1.2 * rng.standard_normal((500, d))
    for measure in (KL(), Renyi(0.8)):
        value = divergence(tensor(x), tensor(y), measure, estimator=KNN(4))
        assert_allclose(value, divergence(x, y, measure, estimator=KNN(4)), rtol=1e-7, atol=1e-9)
    assert_allclose(
        entropy(tensor(x), estimator=KNN(4)), entropy(x, estimator=KNN(4)), rtol=1e-9, atol=1e-9
    )
    assert striped()


@pytest.mark.parametrize("estimator", [KSG(3), MixedKSG(3), CorrectedKSG(), None])
@pytest.mark.parametrize("d", [1, 5, 8])
def test_mutual_information(tensor, striped, estimator, d):
    rng = np.random.default_rng(2)
    x, noise, z = rng.standard_normal((3, 500, d))
    y = 0.6 * x + 0.8 * noise
    for given in (None, z):
        value = mutual_information(
            tensor(x),
            tensor(y),
            given=None if given is None else tensor(given),
            estimator=estimator,
        )
        expected = mutual_information(x, y, given=given, estimator=estimator)
        # Whitening, and sums of squares in many columns, round: points on the boundary of a ball, as the grid
        # of normal scores has them, may move across it. Each of them changes the mean of 500 terms by 1 / 500 / count.
        exact = d < 8 and estimator in (KSG(3), MixedKSG(3))
        assert_allclose(value, expected, atol=1e-9 if exact else 2e-3)
    assert striped()


def test_mixed_data_and_series(tensor, striped):
    rng = np.random.default_rng(3)
    label = rng.integers(0, 3, 400).astype(float)
    amount = np.where(rng.uniform(size=400) < 0.4, 0.0, label + rng.standard_normal(400))
    assert_allclose(
        mutual_information(tensor(label), tensor(amount), estimator=MixedKSG()),
        mutual_information(label, amount, estimator=MixedKSG()),
        atol=1e-9,
    )
    source, target = rng.standard_normal((2, 400))
    target[1:] += source[:-1]
    assert_allclose(
        transfer_entropy(tensor(source), tensor(target), lags=1, estimator=KSG()),
        transfer_entropy(source, target, lags=1, estimator=KSG()),
        atol=1e-9,
    )
    assert striped()


def test_equal_points_are_refused_on_either_road(tensor):
    x = np.repeat(np.random.default_rng(4).standard_normal((100, 2)), 5, axis=0)
    with pytest.raises(ValueError, match="PlugIn"):
        entropy(tensor(x), estimator=KNN(3))
    with pytest.raises(ValueError, match="MixedKSG"):
        mutual_information(tensor(x), tensor(x), estimator=KSG(3))
