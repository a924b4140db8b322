"""The timeline of batches shows what was computed, and `plot()` of every result draws on one Axes."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.axes import Axes

import mercer
from mercer.htest import (
    DHSIC,
    KSD,
    MMD,
    KSample,
    Monitor,
    drift,
    pairwise_independence,
    power,
    sample_size,
)
from mercer.plot import plot_drift, plot_null
from mercer.plot.style import POSITIVE
from mercer.plot.timeline import drifting_columns
from mercer.rkhs import Gaussian

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def months():
    shifts = {"May": 0.0, "June": 0.0, "July": 1.5}
    batches = {m: RNG.normal([s, 0.0], 1.0, size=(40, 2)) for m, s in shifts.items()}
    return drift(RNG.normal(size=(60, 2)), batches, resamples=199, rng=0)


def test_the_timeline_has_every_batch_in_order(months):
    ax = months.plot()
    assert [label.get_text() for label in ax.get_xticklabels()] == ["May", "June", "July"]
    drawn = {line.get_label(): line for line in ax.get_lines()}
    assert drawn["different"].get_xdata().tolist() == [2]
    assert drawn["different"].get_ydata()[0] == pytest.approx(months.batches[2].effect.auc)
    assert drawn["not different"].get_xdata().tolist() == [0, 1]


def test_nothing_found_is_drawn_without_red(months):
    calm = plot_drift(months, level=1e-9)
    assert "different" not in {line.get_label() for line in calm.get_lines()}
    assert POSITIVE not in {line.get_color() for line in calm.get_lines()}


def test_columns_that_differ_are_on_the_map(months):
    names, sizes = drifting_columns(months, 0.05)
    assert names == ["column 0"]
    assert np.isnan(sizes[0, :2]).all()
    assert sizes[0, 2] == pytest.approx(months.batches[2].features["column 0"].standardized)
    assert [t.get_text() for t in months.plot_columns().get_yticklabels()] == ["column 0"]


def test_a_null_is_red_only_where_the_test_rejects():
    x, y = RNG.normal(size=(30, 1)), RNG.normal(2.0, 1.0, size=(30, 1))
    result = MMD().test(x, y, rng=0)
    assert result.rejects()
    assert any(line.get_color() == POSITIVE for line in result.plot().get_lines()) or any(
        text.get_color() == POSITIVE for text in result.plot().texts
    )
    quiet = plot_null(result, level=1e-9)
    assert not any(a.get_color() == POSITIVE for a in (*quiet.get_lines(), *quiet.texts))


def test_plot_of_every_result_draws_on_one_axes():
    x, y = RNG.normal(size=(40, 2)), RNG.normal(0.7, 1.0, size=(40, 2))
    model = Gaussian([0.0, 0.0], 1.0)
    results = [
        mercer.two_sample(x, y, resamples=99, rng=0),
        mercer.independence(x, y, resamples=99, rng=0),
        KSD(model).test(x, rng=0),
        DHSIC().test(x[:, 0], x[:, 1], y[:, 0], rng=0),
        KSample().test(x, y, x + 1, rng=0),
    ]
    for result in results:  # tests: the null distribution
        ax = plt.subplots()[1]
        assert result.plot(ax) is ax
        assert "under the null hypothesis" in ax.get_xlabel()
    for other in (
        MMD().test(x, y, rng=0).features(resamples=99, rng=0),
        pairwise_independence(x, rng=0),
        power(MMD(), x, y, n=[20, 40], asymptotic=True),
        sample_size(MMD(), x, y, asymptotic=True),
        Monitor().update(x, y),
        drift(x, [y], resamples=99, rng=0),
    ):
        ax = plt.subplots()[1]
        assert other.plot(ax) is ax
        assert isinstance(other.plot(), Axes)


def test_clustered_columns_are_the_same_pairs_in_another_order():
    a, b = RNG.normal(size=(2, 60))
    frame = np.stack([a, b, a + 0.1 * RNG.normal(size=60), b + 0.1 * RNG.normal(size=60)], axis=1)
    result = pairwise_independence(frame, rng=0)
    ordered = result.clustered()
    assert sorted(ordered.names) == sorted(result.names)
    places = {name: i for i, name in enumerate(ordered.names)}
    assert abs(places["0"] - places["2"]) == 1  # the columns that depend on each other
    assert abs(places["1"] - places["3"]) == 1
    for pair in ordered.pairs:
        i, j = result.names.index(pair.first), result.names.index(pair.second)
        assert (pair.pvalue, pair.effect) == (result.pvalues[i, j], result.effects[i, j])
