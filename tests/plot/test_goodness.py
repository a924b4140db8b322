"""Pictures of where a model does not fit: what is drawn is what was computed."""

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest

from mercer.htest import FSSD, KSD
from mercer.plot import plot_columns, plot_evidence, plot_misfit
from mercer.rkhs import Gaussian
from mercer.rkhs.logdensity import Scores

LINE, PLANE = Gaussian(0.0, 1.0), Gaussian([0.0, 0.0], 1.0)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


@pytest.fixture
def on_the_line():
    x = np.concatenate([LINE.sample(90, rng=0), np.full((10, 1), 4.0)])
    return KSD(LINE).test(x, rng=0)


@pytest.fixture
def on_the_plane():
    x = np.concatenate([PLANE.sample(360, rng=0), [4.0, 0.0] + 0.2 * PLANE.sample(40, rng=1)])
    x = np.random.default_rng(0).permutation(x)
    return FSSD.optimized(PLANE, x[::2], locations=2, rng=0).test(x[1::2])


def lines(ax):
    return {line.get_label(): line for line in ax.get_lines()}


class TestLine:
    def test_the_witness_is_drawn(self, on_the_line):
        ax = on_the_line.plot_witness()
        x, y = lines(ax)["witness"].get_data()
        np.testing.assert_allclose(y, on_the_line.witness()(x[:, None]), rtol=1e-10)
        assert np.mean(y[np.abs(x - 4) < 0.3]) > 5 * np.mean(y[np.abs(x) < 0.5])

    def test_the_model_is_on_the_scale_of_the_histogram(self, on_the_line):
        ax = on_the_line.plot_witness()
        x, y = lines(ax)["model"].get_data()
        expected = np.exp(LINE.log_density(x[:, None]))
        np.testing.assert_allclose(y / y.max(), expected / expected.max(), rtol=1e-10)
        (bars,) = ax.patches
        values, edges, _ = bars.get_data()
        heights = values.sum() * (edges[1] - edges[0])  # integrates as the density does
        assert heights == pytest.approx(np.trapezoid(y, x), rel=0.02)

    def test_a_density_up_to_a_constant_is_the_same(self, on_the_line):
        def other(x):
            return LINE.log_density(x) + 50.0

        known, unknown = (
            lines(plot_misfit(on_the_line.witness(), log_density=f))["model"].get_ydata()
            for f in (LINE.log_density, other)
        )
        np.testing.assert_allclose(unknown, known, rtol=0.01)

    def test_locations_are_stars(self):
        result = FSSD(LINE, locations=[[1.0], [2.0]]).test(LINE.sample(50, rng=0))
        np.testing.assert_array_equal(
            lines(result.plot_witness())["locations"].get_xdata(), [1.0, 2.0]
        )

    def test_nothing_is_drawn_beyond_a_border(self):
        from scipy.stats import gamma

        x = np.random.default_rng(0).gamma(2.0, size=100)
        ax = KSD(gamma(2.0)).test(x, rng=0).plot_witness()
        assert ax.get_xlim()[0] == 0.0
        assert lines(ax)["witness"].get_xdata()[0] == 0.0


class TestPlane:
    def test_the_evidence_is_drawn(self, on_the_plane):
        ax = on_the_plane.plot_evidence()
        (image,) = ax.get_images()
        values = image.get_array()
        low_x, high_x, low_y, high_y = image.get_extent()
        n = values.shape[0]
        i, j = np.unravel_index(np.argmax(values), values.shape)
        place = [np.linspace(low_x, high_x, n)[j], np.linspace(low_y, high_y, n)[i]]
        assert values[i, j] == pytest.approx(on_the_plane.evidence()([place])[0])
        assert np.hypot(place[0] - 4.0, place[1]) < 1.5
        stars = np.stack(lines(ax)["locations"].get_data(), axis=1)
        np.testing.assert_allclose(stars, on_the_plane.places)

    def test_the_witness_is_drawn(self, on_the_plane):
        ax = on_the_plane.plot_witness()
        (image,) = ax.get_images()
        low, high = image.get_clim()
        assert low == -high
        assert ax.collections  # contours of the model and of zero

    def test_names_with_dollars(self):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(PLANE.sample(60, rng=0), columns=["$", "b_{"])
        ax = KSD(PLANE).test(frame, rng=0).plot_witness()
        ax.figure.canvas.draw()
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("$", "b_{")

    def test_scores_at_the_observations_have_evidence_and_no_witness(self):
        x = PLANE.sample(50, rng=0)
        result = KSD(Scores(-x)).test(x, rng=0)
        assert len(result.plot_evidence().get_images()) == 1
        line = KSD(Scores(-x[:, :1])).test(x[:, :1], rng=0)
        assert line.plot().get_xlabel() == "KSD under the null hypothesis"


def test_more_columns_have_the_null_and_bars():
    x = np.random.default_rng(0).normal([0.0, 1.0, 0.0], 1.0, size=(80, 3))
    result = KSD(Gaussian(np.zeros(3), 1.0)).test(x, rng=0)
    assert result.plot().get_xlabel() == "KSD under the null hypothesis"
    ax = result.plot_columns()
    first, *others = [label.get_text() for label in ax.get_yticklabels()]
    assert first == "column 1"
    assert sorted(others) == ["column 0", "column 2"]
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == [column.misfit.relative for column in result.columns()]
    assert len(plot_columns(result.columns(), most=2).patches) == 2


def test_what_cannot_be_drawn_is_said():
    result = KSD(Gaussian(np.zeros(3), 1.0)).test(np.random.default_rng(0).normal(size=(9, 3)))
    with pytest.raises(ValueError, match="one or two columns"):
        result.plot_witness()
    with pytest.raises(ValueError, match="one or two columns"):
        plot_evidence(result.evidence())
    with pytest.raises(TypeError, match="witness"):
        plot_misfit(np.zeros(3))  # type: ignore[arg-type]
    line = KSD(LINE).test(LINE.sample(20, rng=0), rng=0)
    with pytest.raises(ValueError, match="needs two columns"):
        line.plot_evidence()
