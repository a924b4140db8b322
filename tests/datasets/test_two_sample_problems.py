"""Problems are what they say: their moments, their densities, and whether the null holds."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.datasets import (
    Blobs,
    Counts,
    HeavyTails,
    MeanShift,
    MixedColumns,
    PerturbedUniform,
    Problem,
    SameGaussian,
    VarianceShift,
)

ALTERNATIVES = [
    MeanShift(),
    VarianceShift(),
    Blobs(),
    PerturbedUniform(1, 2),
    PerturbedUniform(2, 2),
    PerturbedUniform(3, 1),
    HeavyTails(),
    Counts(),
    MixedColumns(),
]
NULLS = [
    SameGaussian(),
    MeanShift(shift=0.0),
    VarianceShift(ratio=1.0),
    Blobs(stretch=1.0),
    PerturbedUniform(2, 0),
    PerturbedUniform(1, 2, scale=0.0),
    HeavyTails(shift=0.0),
    Counts(rate=2.0, other=2.0),
    MixedColumns(drift=0.0),
]
every_problem = pytest.mark.parametrize("problem", ALTERNATIVES + NULLS, ids=repr)


def as_array(sample) -> np.ndarray:
    return sample if isinstance(sample, np.ndarray) else sample.to_numpy()


@every_problem
def test_samples_have_the_sizes_asked_for(problem):
    x, y = problem.sample(7, 4, rng=0)
    assert (len(x), len(y)) == (7, 4)
    assert as_array(x).shape[1] == as_array(y).shape[1]
    assert [len(s) for s in problem.sample(3, rng=0)] == [3, 3]


@every_problem
def test_one_seed_gives_one_pair_of_samples(problem):
    for a, b in zip(problem.sample(9, 5, rng=1), problem.sample(9, 5, rng=1), strict=True):
        assert_array_equal(as_array(a), as_array(b))
    assert not np.array_equal(
        as_array(problem.sample(9, rng=1)[0]), as_array(problem.sample(9, rng=2)[0])
    )


def test_the_truth_is_known():
    assert [p.null for p in ALTERNATIVES] == [False] * len(ALTERNATIVES)
    assert [p.null for p in NULLS] == [True] * len(NULLS)


@pytest.mark.parametrize("problem", [p for p in NULLS if not isinstance(p, MixedColumns)], ids=repr)
def test_both_samples_of_a_null_have_one_distribution(problem):
    """Each coordinate by itself, by a test that is not ours: no p-value is tiny."""
    from scipy.stats import ks_2samp

    x, y = problem.sample(2000, 3000, rng=3)
    pvalues = [ks_2samp(x[:, i], y[:, i]).pvalue for i in range(x.shape[1])]
    assert min(pvalues) * len(pvalues) > 1e-3


def test_shifts_move_the_first_coordinate_only():
    x, y = MeanShift(dim=4, shift=0.7).sample(40_000, rng=0)
    assert_allclose(y.mean(axis=0) - x.mean(axis=0), [0.7, 0, 0, 0], atol=5 * 2**0.5 / 200)
    x, y = VarianceShift(dim=3, ratio=2.0).sample(40_000, rng=0)
    assert_allclose(y.var(axis=0), [2.0, 1.0, 1.0], atol=0.1)
    x, y = HeavyTails(dim=2, degrees=1.0, shift=3.0).sample(40_000, rng=0)
    assert_allclose(np.median(y, axis=0) - np.median(x, axis=0), [3.0, 0.0], atol=0.1)


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi / 4])
def test_blobs_differ_within_each_blob_only(angle):
    problem = Blobs(side=3, distance=40.0, stretch=3.0, angle=angle)
    x, y = problem.sample(30_000, rng=0)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    wanted = turn @ np.diag([3.0, 1.0]) @ turn.T
    centres = []
    for sample, covariance in ((x, np.eye(2)), (y, wanted)):
        cell = np.rint(sample / 40.0)
        centres.append(np.unique(cell, axis=0))
        assert_allclose(np.cov((sample - 40.0 * cell).T), covariance, atol=0.1)
    assert_array_equal(centres[0], centres[1])
    assert len(centres[0]) == 9


@pytest.mark.parametrize(("dim", "bumps"), [(1, 1), (1, 4), (2, 1), (2, 3)])
def test_perturbed_density(dim, bumps):
    """Its mass is 1, in every cell as much as the uniform one's; it follows the paper's sum."""
    problem = PerturbedUniform(dim, bumps)
    signs = problem.signs(0)
    side = (np.arange(120 * bumps) + 0.5) / (120 * bumps)
    grid = np.stack(np.meshgrid(*[side] * dim, indexing="ij"), axis=-1)
    density = problem.density(grid.reshape(-1, dim), signs)
    assert_allclose(density.mean(), 1.0, rtol=1e-12)
    assert density.min() >= 0
    cell = (grid.reshape(-1, dim) < 1 / bumps).all(axis=1)
    assert_allclose(density[cell].mean(), 1.0, rtol=1e-12)
    x = np.random.default_rng(1).random((50, dim))
    assert_allclose(problem.density(x, signs), [naive_density(p, bumps, signs) for p in x])


def naive_density(x: np.ndarray, bumps: int, signs: np.ndarray) -> float:
    """Equation 17 of Schrab et al. 2023, term by term."""

    def g(t: float) -> float:
        if -1 < t < -0.5:
            return np.exp(-1 / (1 - (4 * t + 3) ** 2))
        return -np.exp(-1 / (1 - (4 * t + 1) ** 2)) if -0.5 < t < 0 else 0.0

    total = 0.0
    for v in np.ndindex(signs.shape):
        total += signs[v] * np.prod([g(bumps * a - (b + 1)) for a, b in zip(x, v, strict=True)])
    return 1 + {1: 2.7, 2: 7.3}[len(x)] / bumps * total


def test_perturbed_samples_follow_their_density():
    problem = PerturbedUniform(1, 2)
    rng = np.random.default_rng(5)
    x, y = problem.draw(200_000, 10, rng)
    signs = problem.signs(np.random.default_rng(5))
    edges = np.linspace(0, 1, 41)
    seen = np.histogram(x, edges)[0] / len(x) * 40
    middles = np.linspace(0.5 / 4000, 1 - 0.5 / 4000, 4000)[:, None]
    wanted = problem.density(middles, signs).reshape(40, 100).mean(axis=1)
    assert_allclose(seen, wanted, atol=5 * (40 / 200_000) ** 0.5)
    assert y.min() >= 0
    assert y.max() <= 1


def test_mixed_columns_are_frames_with_numbers_and_categories():
    x, y = MixedColumns(drift=0.8).sample(4000, rng=0)
    assert list(x.columns) == ["age", "income", "visits", "plan", "region"]
    assert_allclose(y["age"].mean() - x["age"].mean(), 8.0, atol=1.0)
    assert_allclose(np.mean(y["plan"] == "free"), 0.1, atol=0.05)
    assert_allclose(np.mean(x["plan"] == "free"), 0.5, atol=0.05)


def test_frames_come_from_what_is_installed(monkeypatch):
    from mercer.datasets import records

    monkeypatch.setattr(records, "find_spec", lambda name: name == "polars" or None)
    assert type(MixedColumns().sample(3, rng=0)[0]).__module__.startswith("polars")
    monkeypatch.setattr(records, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"mercer\[frames\]"):
        MixedColumns().sample(3, rng=0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MeanShift(dim=0), "dim must be a whole number of at least 1, got 0"),
        (lambda: MeanShift(shift=float("nan")), "shift must be a number, got nan"),
        (lambda: VarianceShift(ratio=-1.0), "ratio must be a positive number, got -1.0"),
        (lambda: Blobs(stretch=0.0), "stretch must be a positive number, got 0.0"),
        (lambda: PerturbedUniform(1, -1), "bumps must be a whole number of at least 0, got -1"),
        (lambda: PerturbedUniform(1, 1, scale=3.0), "scale must be at most 2.718 here"),
        (lambda: HeavyTails(degrees=0.0), "degrees must be a positive number"),
        (lambda: Counts(rate=0.0), "rate must be a positive number"),
        (lambda: MixedColumns(drift=1.5), "drift must be between 0 and 1, got 1.5"),
        (lambda: SameGaussian().sample(0), "n must be a whole number of at least 1, got 0"),
        (lambda: SameGaussian().sample(5, 0), "m must be a whole number of at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_parameters_may_be_numpy_numbers():
    plain = PerturbedUniform(2, 3, smoothness=1.0).sample(5, rng=0)
    dressed = PerturbedUniform(np.int8(2), np.int64(3), smoothness=np.float32(1)).sample(5, rng=0)
    assert_array_equal(plain[0], dressed[0])
    assert replace(MeanShift(), dim=np.int8(120)).sample(2, rng=0)[0].shape == (2, 120)


def test_a_problem_is_abstract():
    with pytest.raises(TypeError):
        Problem()  # type: ignore[abstract]
