"""Heat maps, histograms and figures for pages: what they draw is what they were given."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from mercer.gram import Gram
from mercer.kernels import RBF
from mercer.plot import plot_gram, plot_histograms
from mercer.plot.svg import save_figure, svg_figure


@pytest.fixture(autouse=True)
def closed():
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    with mpl.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


def test_the_heat_map_is_the_matrix():
    x = np.random.default_rng(0).normal(size=(30, 2))
    picture = plot_gram(Gram(RBF(1.0), x)).images[0].get_array()
    np.testing.assert_allclose(picture, RBF(1.0)(x), rtol=1e-12)


def test_rows_are_ordered_within_their_group():
    x = np.array([3.0, 1.0, 2.0, 5.0, 4.0])
    picture = plot_gram(Gram(RBF(1.0), x), sizes=[3, 2], order=x).images[0].get_array()
    np.testing.assert_allclose(picture, RBF(1.0)(np.array([1.0, 2.0, 3.0, 4.0, 5.0])), rtol=1e-12)


def test_of_many_points_some_of_each_group_are_shown():
    x = np.random.default_rng(0).normal(size=(900, 2))
    ax = plot_gram(Gram(RBF(1.0), x), sizes=[890, 10], names=["many", "few"])
    rows = ax.images[0].get_array().shape[0]
    assert 100 < rows <= 170
    assert [label.get_text() for label in ax.get_yticklabels()] == ["many", "few"]


def test_what_is_no_gram_matrix_of_one_sample():
    x = np.zeros((4, 1))
    with pytest.raises(TypeError, match="a Gram matrix"):
        plot_gram(np.eye(3))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one sample with itself"):
        plot_gram(Gram(RBF(1.0), x, np.ones((4, 1))))
    with pytest.raises(ValueError, match="add up to 4"):
        plot_gram(Gram(RBF(1.0), x), sizes=[1, 2])
    with pytest.raises(ValueError, match="order must have 4 numbers"):
        plot_gram(Gram(RBF(1.0), x), order=[1.0, 2.0])


def test_histograms_add_up_to_one():
    rng = np.random.default_rng(0)
    ax = plot_histograms(rng.normal(size=200), rng.normal(size=100))
    for patch in ax.patches:
        np.testing.assert_allclose(patch.get_data().values.sum(), 1.0)
    ax = plot_histograms([1.0, 1.0], [1.0, 1.0], height=3.0)
    assert max(patch.get_data().values.max() for patch in ax.patches) == 3.0
    with pytest.raises(ValueError, match="x"):
        plot_histograms([np.nan], [1.0])


def test_a_figure_for_a_page_is_one_element():
    def draw(ax):
        ax.plot([0, 1], [0, 1], color="#222222")
        ax.set_title("</svg><script>alert(1)</script> costs $3 or $4")

    first, second = (svg_figure(draw, name="p", alt='a "line" & <more>') for _ in range(2))
    assert first == second
    assert first.startswith("<svg ")
    assert first.rstrip().endswith("</svg>")
    assert first.count("</svg>") == 1
    assert "<script" not in first
    assert "$3 or $4" in first
    assert "var(--ink, #222222)" in first
    assert "<more>" not in first


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_figure_can_be_saved(tmp_path, suffix):
    save_figure(lambda ax: ax.plot([0, 1], [0, 1]), tmp_path / f"a.{suffix}")
    assert (tmp_path / f"a.{suffix}").stat().st_size > 500
