"""Bags with numbers to learn from them: entropy, skewness, small bags, patients, clusters of galaxies.

Where protocols come from. `entropy`: the program that Szabo et al. published with their toolbox ITE (100 Gaussians,
500 points, angles from 0 to pi, 25 to learn, 25 to choose, 50 to test); it gives the entropy of the first coordinate as
log(2 pi e v^2) / 2 with v the variance, where log(2 pi e v) / 2 is right: twice its spread, so that errors are twice
ours. `skewness`: Poczos et al. 2013 learn the skewness of beta distributions; Beta(a, 3) with a from 3 to 20 and 500
points are from memory and could not be confirmed. `small`: the program of Law et al. 2018 (y uniform on (4, 8),
chi-square variables of y degrees of freedom over y, five columns; half of the bags have 5 points, a quarter 20, a
quarter 100), with 300 bags to learn from where they have 1,000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from mercer.datasets import fetch_galaxies, fetch_parkinsons
from mercer.rkhs import Bags

Sampled = tuple[list[np.ndarray], np.ndarray]
VOICE = 16  # measures of the voice, the last columns of the table
_WITHOUT_LOGARITHM = ("HNR", "RPDE", "DFA", "PPE")


@dataclass(frozen=True, eq=False)
class Split:
    """Bags, a number each, which of them are learnt from and which predicted.

    Every column has mean zero and variance one over all points that are learnt from.
    """

    bags: Bags
    y: np.ndarray
    train: np.ndarray
    test: np.ndarray

    @classmethod
    def of(cls, samples: list[np.ndarray], y: np.ndarray, train: np.ndarray) -> Split:
        """The rest of the bags is predicted."""
        points = np.concatenate([samples[i] for i in train])
        centre, scale = points.mean(axis=0), points.std(axis=0)
        bags = Bags.of([(sample - centre) / scale for sample in samples])
        return cls(bags, y, train, np.setdiff1d(np.arange(len(y)), train))

    @property
    def learnt(self) -> tuple[Bags, np.ndarray]:
        """The bags and numbers to learn from."""
        return self.bags[self.train], self.y[self.train]

    @property
    def asked(self) -> tuple[Bags, np.ndarray]:
        """Those to predict."""
        return self.bags[self.test], self.y[self.test]


@dataclass(frozen=True)
class Study:
    """A problem: its splits in run number `seed`, how often it is run, and what is predicted."""

    splits: Callable[[int], Iterable[Split]]
    runs: int
    target: str


# ---- made up --------------------------------------------------------------------------------


def rotated(rng: np.random.Generator, number: int = 100, points: int = 500) -> Sampled:
    """Samples of N(0, R S R') for rotations R by 0 to pi, and the entropies of their first coordinates."""
    root = rng.random((2, 2))
    samples, y = [], np.empty(number)
    for i, angle in enumerate(np.linspace(0, np.pi, number)):
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ root
        samples.append(rng.standard_normal((points, 2)) @ turn.T)
        y[i] = 0.5 * np.log(2 * np.pi * np.e * np.sum(turn[0] ** 2))
    return samples, y


def betas(rng: np.random.Generator, number: int = 100, points: int = 500) -> Sampled:
    """Samples of Beta(a, 3) for a from 3 to 20, and their skewnesses."""
    a, b = rng.uniform(3, 20, size=number), 3.0
    samples = [rng.beta(shape, b, size=(points, 1)) for shape in a]
    return samples, 2 * (b - a) * np.sqrt(a + b + 1) / ((a + b + 2) * np.sqrt(a * b))


def shapes(rng: np.random.Generator) -> Sampled:
    """The same, every sample with mean zero and variance one: only the shape is left to learn from."""
    samples, y = betas(rng)
    return [(sample - sample.mean()) / sample.std() for sample in samples], y


def gammas(rng: np.random.Generator, number: int = 600) -> Sampled:
    """Chi-square variables over their degrees of freedom y, in bags of 5, 20 and 100 points."""
    y = rng.uniform(4, 8, size=number)
    sizes = rng.choice([5, 20, 100], size=number, p=[0.5, 0.25, 0.25])
    return [rng.chisquare(k, size=(n, 5)) / k for k, n in zip(y, sizes, strict=True)], y


def satellite(rng: np.random.Generator, number: int = 300, pixels: int = 100) -> Sampled:
    """Pixels of 12 reflectances and 4 angles over areas, and the logarithms of their aerosol optical depths.

    A stand-in for MISR1, of the same columns and pixels: light that aerosols scatter is added to that of the ground,
    which they dim, and up to half of the pixels of an area are clouds. Only the clear ones tell of the aerosols.
    """
    channels = np.linspace(0.5, 1.5, 12)
    depths = np.exp(rng.normal(np.log(0.2), 0.7, number))
    samples = []
    for depth in depths:
        angles = rng.uniform(0.5, 1.0, 4)  # cosines
        ground = rng.gamma(4.0, 0.05, (pixels, 1)) * rng.uniform(0.7, 1.3, 12)
        dimmed = ground * np.exp(-2 * depth * channels / angles.mean())
        light = dimmed + 0.3 * (1 - np.exp(-depth / channels / angles[0]))
        cloudy = rng.random((pixels, 1)) < rng.uniform(0, 0.5)
        light = np.where(cloudy, rng.uniform(0.5, 1.0, (pixels, 1)), light)
        seen = light + 0.01 * rng.standard_normal((pixels, 12))
        samples.append(np.hstack([seen, angles + 0.01 * rng.standard_normal((pixels, 4))]))
    return samples, np.log(depths)


def _halves(make: Callable[[np.random.Generator], Sampled], code: int, learnt: int) -> Callable:
    """One split a run: so many bags to learn from, drawn at random, the rest to predict."""

    def splits(seed: int) -> Iterator[Split]:
        rng = np.random.default_rng([seed, code])
        samples, y = make(rng)
        yield Split.of(samples, y, np.sort(rng.permutation(len(y))[:learnt]))

    return splits


# ---- real -----------------------------------------------------------------------------------


def patients() -> Sampled:
    """The recordings of 42 patients, 16 measures each, and the patients' mean total UPDRS scores.

    Logarithms of the measures that are positive and long-tailed. Age, sex and time are left out.
    """
    table = fetch_parkinsons()
    names = table.names[-VOICE:]
    voice = table.numbers(names)
    long = np.array([name not in _WITHOUT_LOGARITHM for name in names])
    voice[:, long] = np.log(voice[:, long])
    owner, score = table.columns["subject#"], table.columns["total_UPDRS"]
    people = np.unique(owner)
    return [voice[owner == p] for p in people], np.array([score[owner == p].mean() for p in people])


def hidden_component() -> Sampled:
    """Clusters of galaxies without the first component of the spectrum, and its mean over each cluster.

    The catalogue has no number for a cluster, so one is made of what the bags do not show. All components go
    through asinh, which keeps a few galaxies from deciding everything.
    """
    bags = [np.arcsinh(bag) for bag in fetch_galaxies().bags]
    return [bag[:, 1:] for bag in bags], np.array([bag[:, 0].mean() for bag in bags])


def other_half(rng: np.random.Generator) -> Sampled:
    """Half of the galaxies of each cluster, and how much the other half is spread out.

    The logarithm of the mean absolute deviation of its first component from the median.
    """
    samples, y = [], []
    for bag in fetch_galaxies().bags:
        galaxies = np.arcsinh(bag[rng.permutation(len(bag))])
        half = len(galaxies) // 2
        rest = galaxies[half:, 0]
        samples.append(galaxies[:half])
        y.append(np.log(np.mean(np.abs(rest - np.median(rest)))))
    return samples, np.array(y)


def _folds(make: Callable[[np.random.Generator], Sampled], code: int, number: int) -> Callable:
    """Cross-validation: as many splits a run as there are folds."""

    def splits(seed: int) -> Iterator[Split]:
        rng = np.random.default_rng([seed, code])
        samples, y = make(rng)
        for left_out in np.array_split(rng.permutation(len(y)), number):
            yield Split.of(samples, y, np.setdiff1d(np.arange(len(y)), left_out))

    return splits


STUDIES = {
    "entropy": Study(_halves(rotated, 1, 50), 25, "entropy of a coordinate, 50 bags of 500 points"),
    "entropy-many": Study(
        _halves(lambda rng: rotated(rng, 500, 100), 2, 400),
        5,
        "entropy of a coordinate, 400 bags of 100 points",
    ),
    "skewness": Study(_halves(betas, 3, 50), 20, "skewness of Beta(a, 3), 50 bags of 500 points"),
    "shape": Study(
        _halves(shapes, 8, 50), 10, "the same skewness from standardized samples of 500 points"
    ),
    "small": Study(
        _halves(gammas, 4, 300), 10, "degrees of freedom, 300 bags of 5, 20 and 100 points"
    ),
    "satellite": Study(
        _folds(satellite, 9, 5),
        4,
        "logarithm of the aerosol depth, 300 areas of 100 pixels, a stand-in for MISR1",
    ),
    "patients": Study(
        _folds(lambda _: patients(), 5, 6), 6, "total UPDRS, 42 patients of 101 to 168 recordings"
    ),
    "galaxies": Study(
        _folds(lambda _: hidden_component(), 6, 5),
        4,
        "mean of the first component, 505 clusters of 10 to 49 galaxies without it",
    ),
    "spread": Study(
        _folds(other_half, 7, 5),
        4,
        "spread of the other half of a cluster, 505 bags of 5 to 24 galaxies",
    ),
}
