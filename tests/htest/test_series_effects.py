"""Effect sizes of series: rows are predicted from other stretches of time, not from their neighbours."""

from __future__ import annotations

import numpy as np

import mercer
from mercer.htest.out_of_fold import splits
from mercer.htest.separation_auc import separation
from mercer.kernels import RBF


def wandering(rows, rng):
    values = np.zeros(rows)
    for i, step in enumerate(rng.normal(size=rows - 1)):
        values[i + 1] = 0.95 * values[i] + step
    return values


def test_folds_of_series_are_stretches():
    (folds,) = splits((12, 10), series=True)
    for group in (folds[:12], folds[12:]):
        assert (np.diff(group) >= 0).all()
        assert set(group) == {0, 1, 2, 3, 4}


def test_neighbours_in_time_do_not_tell_samples_apart():
    """Halves of one series: random folds find an area far above one half, which is none of the distribution."""
    rng = np.random.default_rng(0)
    areas = {False: [], True: []}
    for _ in range(4):
        x = wandering(400, rng)
        for series, found in areas.items():
            told = separation(x[:, None], (200, 200), None, RBF(1.0), series=series)
            found.append(told.auc)
    assert np.mean(areas[False]) > 0.6
    assert np.mean(areas[True]) < 0.56


def test_neighbours_in_time_do_not_explain_another_series():
    rng = np.random.default_rng(1)
    shares = {False: [], True: []}
    for _ in range(4):
        x, y = wandering(200, rng), wandering(200, rng)
        for series, found in shares.items():
            found.append(
                mercer.independence(x, y, series=series, rng=0).effect().explained[0].share
            )
    assert np.mean(shares[True]) < np.mean(shares[False]) - 0.05


def test_doors_for_series_use_stretches():
    rng = np.random.default_rng(2)
    x, y = 0.5 * rng.normal(size=(2, 100))
    plain = mercer.two_sample(x, y, rng=0).effect().auc
    series = mercer.two_sample(x, y, series=True, rng=0).effect().auc
    points = np.concatenate([x, y])[:, None]
    assert plain == separation(points, (100, 100), None, RBF(1.0)).auc
    assert series == separation(points, (100, 100), None, RBF(1.0), series=True).auc
    assert (
        mercer.two_sample(x, x[::-1].copy(), rng=0).effect().sentence().count("interval 50%") == 1
    )
