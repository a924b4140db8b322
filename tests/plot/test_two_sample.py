"""Pictures of two-sample results: drawn, labelled, and true to their numbers."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import (
    MMD,
    Bound,
    Gamma,
    KernelGCM,
    Monitor,
    Permutation,
    power,
    sample_size,
)
from mercer.kernels import RBF
from mercer.plot import plot_null, plot_shares


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 2)), rng.normal((0.0, 0.5), 1.0, size=(50, 2))
    return MMD(null=Permutation(199)).test(x, y, rng=0)


@pytest.fixture(scope="module")
def mixed():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(1)
    x = pd.DataFrame({"age $": rng.normal(size=60), "town": rng.choice(["Rome", "Oslo"], 60)})
    y = pd.DataFrame({"age $": rng.normal(size=50), "town": rng.choice(["Oslo", "Bern"], 50)})
    return MMD(null=Permutation(99)).test(x, y, rng=0)


def drawn(ax):
    """How much of the picture is not background."""
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba())[..., :3]
    return np.mean(np.any(pixels != 255, axis=-1))


def texts(ax):
    return [t.get_text() for t in ax.texts]


def test_bars_beyond_the_statistic_are_the_p_value(result):
    ax = result.plot()
    bars = ax.patches
    beyond = sum(b.get_height() for b in bars if b.get_x() >= result.observed - 1e-12)
    assert_allclose((1 + beyond) / (1 + len(result.null)), result.pvalue)
    assert sum(b.get_height() for b in bars) == len(result.null)
    colours = {b.get_facecolor() for b in bars if b.get_x() >= result.observed - 1e-12}
    assert len(colours) == 1
    assert any(f"p = {result.pvalue:.3g}" in t for t in texts(ax))
    assert ax.get_xlabel() == "MMD under the null hypothesis"
    low, high = ax.get_xlim()
    assert low < result.null.min()
    assert result.observed < high
    assert drawn(ax) > 0.02


def test_a_statistic_far_away_is_an_arrow():
    rng = np.random.default_rng(2)
    far = MMD(RBF(1.0), null=Permutation(99)).test(
        rng.normal(size=50), 9 + rng.normal(size=50), rng=0
    )
    ax = far.plot()
    assert ax.get_xlim()[1] < 0.5 * far.observed
    assert any("observed" in t for t in texts(ax))
    assert drawn(ax) > 0.02


def test_a_law_is_a_density(result):
    rng = np.random.default_rng(3)
    fitted = MMD(null=Gamma()).test(rng.normal(size=40), rng.normal(size=30), rng=0)
    ax = fitted.plot()
    x, y = ax.lines[0].get_data()
    assert_allclose(np.trapezoid(np.nan_to_num(y), x), 1.0, atol=0.05)
    assert drawn(ax) > 0.02


def test_a_bound_and_discrete_nulls_have_pictures():
    rng = np.random.default_rng(4)
    bound = MMD(RBF(1.0), null=Bound()).test(rng.normal(size=30), rng.normal(size=30))
    assert "no null distribution" in texts(bound.plot())[0]
    assert texts(bound.plot())[0].startswith("p \N{LESS-THAN OR EQUAL TO} ")
    given = KernelGCM().test(*rng.normal(size=(3, 60)))
    assert texts(given.plot())[0].startswith("p = ")  # not a bound
    constant = MMD(RBF(1.0), null=Permutation(19)).test(np.zeros(4), np.zeros(4), rng=0)
    assert drawn(constant.plot()) > 0.001


def test_the_observed_value_stands_above_the_bars():
    x, y = np.random.default_rng(6).normal(size=(2, 80))
    figure, ax = plt.subplots(figsize=(4.6, 2.4))
    ax = MMD(RBF(1.0), null=Permutation(199)).test(x, y, rng=0).plot(ax=ax)
    figure.canvas.draw()
    (text,) = [t for t in ax.texts if t.get_text().startswith("observed")]
    lowest = text.get_window_extent().y0
    assert lowest >= max(bar.get_window_extent().y1 for bar in ax.patches)


def test_an_axes_may_be_given(result):
    _, (left, right) = plt.subplots(1, 2)
    assert plot_null(result, ax=left) is left
    assert result.plot_features(right, rng=0) is right
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes"):
        result.plot(ax="here")


def test_witness_of_the_plane_names_the_samples(result):
    ax = result.plot_witness()
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["first sample", "second sample"]
    assert ax.child_axes[0].get_ylabel() == "witness"


def test_one_column_shows_both_samples(result, mixed):
    ax = result.plot_witness(1)
    lines = {line.get_label(): line.get_data() for line in ax.lines}
    x, first = lines["first sample"]
    _, second = lines["second sample"]
    assert first[np.argmin(np.abs(x + 1))] > second[np.argmin(np.abs(x + 1))]  # y is moved up
    assert ax.get_xlabel() == "column 1"
    ax = mixed.plot_witness("age $")
    assert ax.get_xlabel() == "age $"
    assert drawn(ax) > 0.02
    with pytest.raises(ValueError, match="no column 'height'"):
        mixed.plot_witness("height")


def test_categories_are_shares(mixed):
    ax = mixed.plot_witness()  # the column that differs most
    assert ax.get_xlabel() == "town (share of the sample)"
    assert ax.get_title(loc="left") == ""  # the legend is there
    assert {t.get_text() for t in ax.get_yticklabels()} == {"Rome", "Oslo", "Bern"}
    widths = [b.get_width() for b in ax.patches]
    assert_allclose(sum(widths), 2.0)
    many = plot_shares([f"level {i}" for i in range(30)], np.full(30, 1 / 30), np.full(30, 1 / 30))
    assert many.get_xlabel() == "x (share of the sample, 10 of 30 categories)"


def test_features_are_bars(mixed):
    found = mixed.features(rng=0)
    ax = found.plot()
    widths = {
        t.get_text(): b.get_width() for t, b in zip(ax.get_yticklabels(), ax.patches, strict=True)
    }
    assert_allclose(widths["town"], found["town"].standardized)
    assert next(iter(widths)) == "town"
    ax = found.plot(most=1)
    assert ax.get_xlabel() == "standardized distance (1 of 2 shown)"


def test_power_is_a_curve_with_a_band():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(60, 2)), rng.normal(1.0, 1.0, size=(60, 2))
    curve = power(MMD(), x, y, n=[10, 20, 80], asymptotic=True)
    ax = curve.plot()
    (line,) = (l for l in ax.lines if l.get_label() == "power")
    assert_allclose(line.get_ydata(), curve.power)
    assert ax.get_ylabel() == "power of MMD"
    needed = sample_size(MMD(), x, y, asymptotic=True)
    assert any(f"n = {needed.n:,}" in t for t in texts(needed.plot()))
    one = power(MMD(), x, y, n=[10], asymptotic=True).plot()
    assert drawn(one) > 0.01


def test_wealth_is_a_path():
    rng = np.random.default_rng(6)
    state = Monitor()
    for _ in range(4):
        state = state.update(rng.normal(size=(20, 1)), rng.normal(2.0, 1.0, size=(20, 1)))
    ax = state.plot()
    path = next(l for l in ax.lines if len(l.get_xdata()) == 5)
    assert_allclose(path.get_ydata()[1:], np.exp(state.path))
    assert any("alarm at 20" in t for t in texts(ax))
    assert Monitor().update([0.0], [1.0]).plot().get_ylabel() == "wealth"
