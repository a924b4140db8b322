"""Permutations that the host generates, as signs of half precision for a GPU."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer.backend import is_torch
from mercer.gram import PermutedWeights, resampling_weights
from mercer.gram.cuda.weight_columns import DeviceColumns
from mercer.gram.resampling_weights import CodedColumns, PairedWeights, Resamples

torch = pytest.importorskip("torch")
BLOCKS = np.arange(101) % 3


@pytest.mark.parametrize(
    "weights",
    [
        PermutedWeights(np.repeat([2.0, -1.0], [60, 41]), 170, rng=3, blocks=BLOCKS),
        PairedWeights(50, 170, rng=3, keep_first=True),
    ],
    ids=["within blocks", "within pairs"],
)
def test_columns_on_the_device_are_those_of_the_host(
    weights: Resamples, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resampling_weights, "on_gpu", is_torch)
    columns = weights.columns(slice(10, 160), torch.zeros(1, dtype=torch.float64))
    assert isinstance(columns, DeviceColumns)
    assert columns.signs.shape[0] % 128 == columns.signs.shape[1] % 64 == 0
    expected = weights.dense()[:, 10:160]
    assert_array_equal(columns.rows(slice(0, len(expected))).numpy(), expected)


def test_more_than_two_values_stay_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling_weights, "on_gpu", is_torch)
    weights = PermutedWeights(np.arange(101) % 4 / 4, 20, rng=3, blocks=BLOCKS)
    columns = weights.columns(slice(0, 20), torch.zeros(1, dtype=torch.float64))
    assert isinstance(columns, CodedColumns)
