"""Simulated audio, faces, songs and videos have the sizes of the real ones, and differ or depend as they say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mercer.datasets import AmplitudeModulation, ExpressiveFaces, SongYears, VideoCaptions
from mercer.htest import HSIC, Permutation
from mercer.kernels import Linear

SIZES = {
    AmplitudeModulation(): (1000, 1000),
    ExpressiveFaces(): (1632, 1632),  # 48 x 34
    SongYears(): (90, 1),
    VideoCaptions(): (2000, 1878),
}
NULLS = [
    AmplitudeModulation(same=True),
    ExpressiveFaces(same=True),
    SongYears(0.0),
    VideoCaptions(0.0),
]


@pytest.mark.parametrize(("problem", "columns"), SIZES.items(), ids=repr)
def test_sizes_are_those_of_the_real_data(problem, columns):
    samples = problem.sample(5, rng=0)
    assert tuple(s.shape for s in samples) == tuple((5, d) for d in columns)
    for sample, again in zip(samples, problem.sample(5, rng=0), strict=True):
        assert_array_equal(sample, again)


def test_the_truth_is_known():
    assert [p.null for p in SIZES] == [False] * 4
    assert [p.null for p in NULLS] == [True] * 4


@pytest.mark.parametrize(("problem", "differs"), [(ExpressiveFaces(), True), (NULLS[1], False)])
def test_the_middle_of_a_smile_is_low(problem, differs):
    """Darkness below the middle of the mouth: ten standard errors apart, or fewer than four."""
    scores = [
        s.reshape(-1, 48, 34)[:, 36:38, 15:19].mean(axis=(1, 2)) for s in problem.sample(400, rng=1)
    ]
    error = np.sqrt(sum(s.var() / len(s) for s in scores))
    distance = (scores[1].mean() - scores[0].mean()) / error
    assert distance > 10 if differs else abs(distance) < 4


def test_signals_carry_two_keys():
    """The spectrum has its largest peak at the carrier, and its side bands differ between the songs."""
    spectra = [
        np.abs(np.fft.rfft(s, axis=1)).mean(axis=0)
        for s in AmplitudeModulation(noise=0.1).sample(200, rng=2)
    ]
    frequencies = np.fft.rfftfreq(1000, 1 / 8000)
    assert_allclose([frequencies[np.argmax(s)] for s in spectra], 2000)
    bands = [s[(frequencies > 2200) & (frequencies < 2600)] for s in spectra]
    assert np.corrcoef(*bands)[0, 1] < 0.9
    same = [
        np.abs(np.fft.rfft(s, axis=1)).mean(axis=0)[(frequencies > 2200) & (frequencies < 2600)]
        for s in AmplitudeModulation(noise=0.1, same=True).sample(200, rng=2)
    ]
    assert np.corrcoef(*same)[0, 1] > 0.95


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_years_depend_on_songs(strength):
    """Linear regression on the songs explains more than a tenth of the variance, or what 90 columns explain by chance."""
    x, y = SongYears(strength).sample(3000, rng=3)
    x, y = x - x.mean(axis=0), y - y.mean(axis=0)
    share = 1 - np.sum((y - x @ np.linalg.lstsq(x, y, rcond=None)[0]) ** 2) / np.sum(y**2)
    chance = 90 / 3000
    assert share > 0.1 if strength else abs(share - chance) < 5 * np.sqrt(2 * 90) / 3000
    assert SongYears().sample(50, rng=0)[1].min() >= 1922
    assert SongYears().sample(50, rng=0)[1].max() <= 2011


def test_captions_are_frequencies_and_follow_topics():
    x, y = VideoCaptions(1.0).sample(400, rng=4)
    assert_allclose(y.sum(axis=1), 1.0)
    near = np.argsort(-(x @ x.T - 1e9 * np.eye(400)), axis=1)[:, 0]  # most alike videos
    shared = (np.minimum(y, y[near])).sum(axis=1).mean()
    other = (np.minimum(y, np.roll(y, 1, axis=0))).sum(axis=1).mean()
    assert shared > 3 * other


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="strength must be between 0 and 1, got 2"):
        VideoCaptions(2.0)
    with pytest.raises(ValueError, match="noise"):
        AmplitudeModulation(noise=0.0)


@pytest.mark.parametrize(
    ("problem", "kernels"),
    [(SongYears, (None, None)), (VideoCaptions, (Linear(), Linear()))],
    ids=["songs", "videos"],
)
def test_dependence_is_detected_where_there_is_any(problem, kernels):
    """400 songs, or 200 videos: p-values of HSIC are small with dependence, and of 20 without it at most four."""
    n = 200 if problem is VideoCaptions else 400
    test = HSIC(*kernels, null=Permutation(99))
    assert test.test(*problem(1.0).sample(n, rng=0), rng=0).pvalue == 0.01
    broken = [test.test(*problem(0.0).sample(n, rng=i), rng=i).pvalue for i in range(20)]
    assert np.sum(np.array(broken) <= 0.05) <= 4  # chance of more: 0.003
