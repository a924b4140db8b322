"""Pictures of functions: drawn, labelled, in sensible ranges."""

import matplotlib as mpl

mpl.use("Agg")

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.kernels import RBF, Brownian, Kernel, Linear
from mercer.plot import plot_function
from mercer.rkhs import Function, Quadrature, mercer_expansion, witness

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def drawn(ax):
    """How much of the picture is not background."""
    ax.figure.canvas.draw()
    pixels = np.asarray(ax.figure.canvas.buffer_rgba())[..., :3]
    return np.mean(np.any(pixels != 255, axis=-1))


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_line_shows_the_function_its_points_and_weights():
    f = Function(RBF(0.5), [0.0, 1.0, 2.0], [1.0, -2.0, 0.5])
    ax = f.plot()
    assert isinstance(ax, plt.Axes)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "f(x)")
    (line,) = (l for l in ax.lines if l.get_label() == "f(x)")
    x, y = line.get_data()
    assert_allclose(y, f(x), atol=1e-12)
    assert x.min() < 0 < 2 < x.max()
    assert texts(ax) == ["f(x)", "positive weights", "negative weights"]
    ticks = [segment for c in ax.collections for segment in c.get_segments()]
    assert sorted(t[0][0] for t in ticks) == [0, 1, 2]
    heights = {t[0][0]: t[1][1] - t[0][1] for t in ticks}
    assert_allclose([heights[0] / heights[1], heights[2] / heights[1]], [-0.5, -0.25])
    assert drawn(ax) > 0.02


def test_several_functions_are_lines():
    expansion = mercer_expansion(Brownian(), Quadrature.legendre(0, 1, 50), 3)
    ax = plot_function(expansion.eigenfunctions, label="eigenfunction")
    assert texts(ax) == ["eigenfunction 0", "eigenfunction 1", "eigenfunction 2"]
    low, high = ax.get_xlim()  # not beyond the kernel's domain
    assert 0 <= low < high <= 1


def test_a_map_has_labels_a_colourbar_and_both_signs():
    w = witness(RBF(0.7), RNG.normal(size=(30, 2)), RNG.normal(1.0, 1.0, size=(20, 2)))
    ax = w.plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("$x_1$", "$x_2$")
    (bar,) = ax.child_axes
    assert bar.get_ylabel() == "f(x)"
    assert_allclose(np.sum(bar.get_ylim()), 0, atol=1e-12)  # symmetric about zero
    assert texts(ax) == ["positive weights", "negative weights"]
    assert ax.get_aspect() == 1
    (low, high), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert np.all((w.points > [low, bottom]) & (w.points < [high, top]))
    assert drawn(ax) > 0.3


def test_a_map_of_one_sign_has_a_sequential_scale():
    ax = Function(RBF(1.0), RNG.normal(size=(10, 2)), np.ones(10)).plot()
    low, high = ax.child_axes[0].get_ylim()
    assert 0 <= low < high
    assert ax.get_legend() is None


def test_many_points_are_thinned_and_the_legend_says_so():
    n = 1000
    ax = witness(RBF(1.0), RNG.normal(size=(n, 2)), RNG.normal(1.0, 1.0, size=(50, 2))).plot()
    assert texts(ax) == ["positive weights (200 of 1000)", "negative weights"]


def test_columns_give_their_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"age": [20.0, 50.0, 60.0], "income": [1.0, 2.0, 4.0]})
    ax = Function(RBF(5.0), frame, [1.0, 2.0, 1.0]).plot()
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "income")
    assert ax.get_aspect() == "auto"
    ax = Function(RBF(5.0), frame[["age"]], [1.0, 2.0, 1.0]).plot()
    assert ax.get_xlabel() == "age"


def test_tensors_are_drawn():
    torch = pytest.importorskip("torch")
    for columns in (1, 2):
        f = Function(RBF(1.0), torch.rand(5, columns, dtype=torch.float64), torch.ones(5))
        assert drawn(f.plot()) > 0.02


def test_an_axes_and_limits_may_be_given():
    figure, (left, right) = plt.subplots(1, 2)
    f = Function(RBF(1.0), [0.0, 1.0], [1.0, 1.0])
    assert f.plot(ax=right) is right
    plot_function(f, ax=left, limits=(-3, 4), label="a bump")
    assert left.get_xlim() == (-3, 4)
    assert left.get_ylabel() == "a bump"
    plot_function(5 * f, ax=left)  # on top of the first
    assert left.get_ylim()[1] > 5
    g = Function(RBF(1.0), [[0.0, 1.0]], [1.0])
    ax = plot_function(g, limits=((-1, 1), (0, 2)))
    assert (ax.get_xlim(), ax.get_ylim()) == ((-1, 1), (0, 2))
    assert len(figure.axes) == 2


@pytest.mark.parametrize("columns", [1, 2])
def test_extreme_functions_are_drawn(columns):
    one = np.zeros((1, columns))
    for f in (
        Function(RBF(1.0), one, [1.0]),  # a single point
        Function(RBF(1.0), one, [0.0]),  # zero
        Function(Linear(), np.ones((3, columns)), [1.0, 1.0, 1.0]),  # no bandwidth, no span
        Function(RBF(1e-3), one + 1e6, [1e-8]),
        Function(RBF(1.0) * 0.0 + 1.0, one, [2.0]),  # constant
    ):
        assert drawn(f.plot()) > 0.01


@dataclass(frozen=True)
class Words(Kernel):
    """The product of lengths."""

    def accept(self, x, name="x"):
        return list(x)

    def pairwise(self, x, y, /):
        return np.outer([float(len(a)) for a in x], [float(len(b)) for b in y])

    def paired(self, x, y, /):
        return np.array([float(len(a) * len(b)) for a, b in zip(x, y, strict=True)])


def test_refusals_say_why():
    with pytest.raises(ValueError, match="these points have 3 columns"):
        Function(RBF(1.0), np.zeros((2, 3)), [1.0, 1.0]).plot()
    with pytest.raises(ValueError, match="these points have no columns"):
        Function(Words(), ["a", "bc"], [1.0, 1.0]).plot()
    with pytest.raises(ValueError, match="a map shows one function"):
        Function(RBF(1.0), np.zeros((2, 2)), np.ones((2, 2))).plot()
    f = Function(RBF(1.0), [0.0, 1.0], [1.0, 1.0])
    with pytest.raises(TypeError, match="ax must be a matplotlib Axes"):
        f.plot(ax=plt.subplots(1, 2)[1])
    with pytest.raises(ValueError, match=r"limits must be \(low, high\) with low < high"):
        plot_function(f, limits=(1, 0))
    with pytest.raises(TypeError, match="function must be a Function"):
        plot_function(np.sin)
    assert len(plt.get_fignums()) == 1  # nothing opened for what was refused
