"""Problems of independence are what they say: their densities, and whether the variables depend."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.datasets import (
    GaussianSign,
    IndependentGaussians,
    PairedProblem,
    RotatedUniform,
    Sinusoid,
)

ALTERNATIVES = [Sinusoid(1.0), Sinusoid(3.5), GaussianSign(1), GaussianSign(4), RotatedUniform()]
ALTERNATIVES += [RotatedUniform(0.1, 2)]
NULLS = [IndependentGaussians(3, 1), Sinusoid(0.0), RotatedUniform(0.0), RotatedUniform(math.pi, 1)]
NULLS += [RotatedUniform(-math.pi / 2)]
every_problem = pytest.mark.parametrize("problem", ALTERNATIVES + NULLS, ids=repr)


@every_problem
def test_observations_come_in_pairs(problem):
    x, y = problem.sample(7, rng=0)
    assert len(x) == len(y) == 7
    assert x.ndim == y.ndim == 2
    assert problem.sample(1, rng=0)[0].shape == (1, x.shape[1])


@every_problem
def test_one_seed_gives_one_sample(problem):
    for a, b in zip(problem.sample(9, rng=1), problem.sample(9, rng=1), strict=True):
        assert_array_equal(a, b)
    assert not np.array_equal(problem.sample(9, rng=1)[0], problem.sample(9, rng=2)[0])


def test_the_truth_is_known():
    assert [p.null for p in ALTERNATIVES] == [False] * len(ALTERNATIVES)
    assert [p.null for p in NULLS] == [True] * len(NULLS)


@every_problem
def test_chi_square_of_a_table_tells_the_truth(problem):
    """The sign of products of columns against that of y, in a contingency table of SciPy."""
    from scipy.stats import chi2_contingency

    x, y = problem.sample(40_000, rng=3)
    if isinstance(problem, GaussianSign):
        cells = np.prod(np.sign(x), axis=1) > 0, y[:, 0] > 0
    else:
        edges = np.linspace(-3, 3, 13)
        cells = np.digitize(x[:, 0], edges), np.digitize(y[:, 0], edges)
    table = np.histogram2d(*(np.asarray(c, dtype=float) for c in cells), bins=14)[0]
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    assert (chi2_contingency(table).pvalue > 1e-3) == problem.null


@pytest.mark.parametrize("omega", [1.0, 2.5])
def test_sinusoid_follows_its_density(omega):
    problem = Sinusoid(omega)
    x, y = problem.sample(400_000, rng=0)
    edges = np.linspace(-math.pi, math.pi, 21)
    width = edges[1] - edges[0]
    seen = np.histogram2d(x[:, 0], y[:, 0], bins=[edges, edges])[0] / len(x)
    fine = np.linspace(-math.pi, math.pi, 401)[:-1] + math.pi / 400
    values = problem.density(fine[:, None], fine[None, :])
    assert_allclose(values.sum() * (2 * math.pi / 400) ** 2, 1.0, atol=0.02)
    wanted = values.reshape(20, 20, 20, 20).mean(axis=(1, 3)) * width**2
    assert_allclose(seen, wanted / wanted.sum(), atol=5 * (0.005 / 400_000) ** 0.5)


def test_gaussian_signs_need_all_columns():
    x, y = GaussianSign(3).sample(50_000, rng=0)
    signs = np.sign(x)
    assert_allclose(np.sign(y[:, 0]), signs.prod(axis=1))
    for some in ([0], [1, 2], [0, 2]):
        shared = np.mean(signs[:, some].prod(axis=1) * y[:, 0])
        assert abs(shared) < 5 / 50_000**0.5
    assert_allclose(np.mean(y**2), 1.0, atol=0.05)


def test_rotated_uniforms_are_uncorrelated():
    for angle in (0.1, math.pi / 4):
        x, y = RotatedUniform(angle, noise=1).sample(100_000, rng=0)
        assert x.shape == y.shape == (100_000, 2)
        assert_allclose(np.cov(np.hstack([x, y]).T), np.eye(4) / 3, atol=0.01)
    x, y = RotatedUniform(math.pi / 4).sample(100_000, rng=0)
    assert np.max(np.abs(x) + np.abs(y)) <= 2**0.5 + 1e-12  # a square on its corner


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: IndependentGaussians(0), "dim_x must be a whole number of at least 1, got 0"),
        (lambda: IndependentGaussians(1, 0), "dim_y must be a whole number"),
        (lambda: Sinusoid(math.nan), "omega must be a number, got nan"),
        (lambda: GaussianSign(0), "dim must be a whole number of at least 1, got 0"),
        (lambda: RotatedUniform(noise=-1), "noise must be a whole number of at least 0, got -1"),
        (lambda: RotatedUniform(angle=math.inf), "angle must be a finite number"),
        (lambda: Sinusoid().sample(0), "n must be a whole number of at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_problem_is_abstract():
    with pytest.raises(TypeError):
        PairedProblem()  # type: ignore[abstract]
