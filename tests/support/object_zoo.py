"""One line per kernel on objects: instances of every class, objects they take, and what they promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import (
    RBF,
    AllSubsequences,
    BestMatch,
    CauchyBinet,
    Convolution,
    CyclicShift,
    Dice,
    DistanceInduced,
    DynamicTimeWarping,
    Exponential,
    FromPairs,
    FuzzyCrossProduct,
    FuzzyIntersection,
    GappyKmers,
    GappyPairs,
    GaussianNonsingleton,
    GlobalAlignment,
    Graphlets,
    HiddenMarkov,
    HiddenMarkovProduct,
    Jaccard,
    Kendall,
    Kernel,
    LinearSystem,
    LinearSystemProduct,
    Mallows,
    Mismatch,
    MultiscaleLaplacian,
    Nonsingleton,
    OptimalAssignmentWL,
    PartialTree,
    PersistenceFisher,
    PersistenceScaleSpace,
    PersistenceSlicedWasserstein,
    PersistenceWeightedGaussian,
    Precomputed,
    ProductNorm,
    Propagation,
    RandomWalk,
    SetIntersection,
    ShortestPath,
    Signature,
    SoftDTW,
    Spearman,
    Spectrum,
    Subsequence,
    SubsetTree,
    Substrings,
    Subtree,
    WeightedDegree,
    WeightedJaccard,
    WeisfeilerLehman,
)
from mercer.kernels.objects import ObjectKernel

ObjectSampler = Callable[[np.random.Generator, int], Any]


def words(letters: str, longest: int) -> ObjectSampler:
    """Strings of random lengths, the first of them empty."""

    def sample(rng: np.random.Generator, n: int) -> list[str]:
        lengths = [0, *rng.integers(0, longest + 1, n - 1)]
        return ["".join(rng.choice(list(letters), size)) for size in lengths]

    return sample


def subsets(rng: np.random.Generator, n: int) -> list[set[int]]:
    """Sets of small numbers, the first of them empty."""
    return [set(), *(set(rng.integers(0, 7, rng.integers(0, 6)).tolist()) for _ in range(n - 1))]


def bags(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    """Sets of points in the plane, the first of them empty."""
    return [np.empty((0, 2)), *(rng.normal(size=(rng.integers(1, 5), 2)) for _ in range(n - 1))]


def orders(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rankings of five items."""
    return rng.permuted(np.tile(np.arange(5.0), (n, 1)), axis=1)


def partial_orders(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rankings of five items with ties, in which some items are missing."""
    ranks = rng.integers(0, 4, (n, 5)).astype(float)
    ranks[rng.random((n, 5)) < 0.3] = np.nan
    return ranks


def random_tree(rng: np.random.Generator, depth: int = 0) -> Any:
    """A tree of depth at most 3."""
    children = rng.integers(0, 3 if depth < 3 else 1)
    return str(rng.choice(list("ab"))), [random_tree(rng, depth + 1) for _ in range(children)]


def trees(rng: np.random.Generator, n: int) -> list[Any]:
    """Trees, the first of them one node."""
    return ["a", *(random_tree(rng) for _ in range(n - 1))]


def random_graph(rng: np.random.Generator, n: int) -> tuple[np.ndarray, list[str]]:
    """A graph with labels, perhaps with self-loops and not connected."""
    upper = np.triu(rng.random((n, n)) < 0.35).astype(float)
    return np.maximum(upper, upper.T), rng.choice(list("ab"), n).tolist()


def graphs(rng: np.random.Generator, n: int) -> list[Any]:
    """Graphs, the first of them one node."""
    return [
        random_graph(rng, 1),
        *(random_graph(rng, int(rng.integers(2, 7))) for _ in range(n - 1)),
    ]


@dataclass(frozen=True)
class ObjectEntry:
    kernel: Kernel
    sample: ObjectSampler
    definite: bool = True  # positive semi-definite, which `facts` says too
    tolerance: float = 1e-12  # relative to the largest value
    readable: bool = True  # repr is code that makes it again


WORDS = words("abc", 12)


def paths(longest: int, channels: int = 2, equal: bool = False) -> ObjectSampler:
    """Random walks of random lengths, the first of length 1; or all of the same length."""

    def sample(rng: np.random.Generator, n: int) -> list[np.ndarray]:
        lengths = [longest] * n if equal else [1, *rng.integers(1, longest + 1, n - 1)]
        return [0.4 * np.cumsum(rng.normal(size=(size, channels)), axis=0) for size in lengths]

    return sample


PATHS = paths(9)


def diagrams(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    """Persistence diagrams of random sizes, the first empty."""
    births = [rng.uniform(size=size) for size in [0, *rng.integers(0, 5, n - 1)]]
    return [np.stack([b, b + rng.exponential(0.3, len(b))], axis=1) for b in births]


def fuzzy_sets(rng: np.random.Generator, n: int) -> list[dict[Any, float]]:
    """Fuzzy sets of letters and numbers, the first of them empty."""
    elements = ["a", "b", 1, 2.5]
    return [
        {},
        *({e: float(rng.random()) for e in elements if rng.random() < 0.6} for _ in range(n - 1)),
    ]


def fuzzy_points(rng: np.random.Generator, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Fuzzy sets of points in the plane, the first of them empty."""
    return [(points, rng.random(len(points))) for points in bags(rng, n)]


def fuzzy_vectors(rng: np.random.Generator, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Vectors with Gaussian membership functions."""
    return [(rng.normal(size=2), rng.random(2) + 0.05) for _ in range(n)]


def markov_models(gaussian: bool = False) -> ObjectSampler:
    """Hidden Markov models of one to three states, with three symbols or with vectors in the plane."""

    def sample(rng: np.random.Generator, n: int) -> list[HiddenMarkov]:
        return [random_markov_model(rng, int(rng.integers(1, 4)), gaussian) for _ in range(n)]

    return sample


def random_markov_model(rng: np.random.Generator, states: int, gaussian: bool) -> HiddenMarkov:
    """A hidden Markov model; symbols have probability 0 now and then."""
    start, transitions = rng.dirichlet(np.ones(states)), rng.dirichlet(np.ones(states), states)
    if not gaussian:
        return HiddenMarkov(start, transitions, rng.dirichlet(0.3 * np.ones(3), states))
    roots = rng.normal(size=(states, 2, 2))
    covariances = roots @ roots.transpose(0, 2, 1) + 0.3 * np.eye(2)
    return HiddenMarkov(start, transitions, rng.normal(size=(states, 2)), covariances)


def linear_systems(rng: np.random.Generator, n: int) -> list[LinearSystem]:
    """Linear dynamical systems of one to three states, observed in the plane, with noise."""

    def one(states: int) -> LinearSystem:
        root, other = rng.normal(size=(states, states)), rng.normal(size=(2, 2))
        return LinearSystem(
            rng.normal(size=states),
            0.3 * rng.normal(size=(states, states)),
            rng.normal(size=(2, states)),
            0.5 * np.eye(states),
            root @ root.T,
            other @ other.T + 0.5 * np.eye(2),
        )

    return [one(int(rng.integers(1, 4))) for _ in range(n)]


def common_letters(a: str, b: str) -> int:
    """Number of letters that two strings have in common, each counted once."""
    return len(set(a) & set(b))


def different_letters(a: str, b: str) -> int:
    """Number of letters that only one of two strings has: an L1 distance, of negative type."""
    return len(set(a) ^ set(b))


def indices(rng: np.random.Generator, n: int) -> np.ndarray:
    """Row indices of a matrix of twenty points."""
    return rng.integers(0, 20, n)


_LINE = np.arange(20.0)
LAPLACE_MATRIX = np.exp(-np.abs(_LINE[:, None] - _LINE))

OBJECT_ZOO = [
    ObjectEntry(Spectrum(2), WORDS),
    ObjectEntry(Spectrum(3, up_to=True), words("aßc\U0001f600", 9)),
    ObjectEntry(Spectrum(2, binary=True), WORDS),
    ObjectEntry(Mismatch(3, 1, alphabet="abc"), WORDS),
    ObjectEntry(Subsequence(3, 0.5), WORDS),
    ObjectEntry(Substrings(0.5, longest=4), WORDS),
    ObjectEntry(AllSubsequences(), WORDS),
    ObjectEntry(GappyKmers(4, 2), WORDS),
    ObjectEntry(GappyPairs(1, 2), WORDS),
    ObjectEntry(WeightedDegree(3), WORDS),
    ObjectEntry(SetIntersection(), subsets),
    ObjectEntry(Jaccard(), subsets),
    ObjectEntry(Dice(), subsets),
    ObjectEntry(WeightedJaccard({0: 2.0, 3: 0.5}), subsets),
    ObjectEntry(Convolution(RBF(1.0)), bags),
    ObjectEntry(BestMatch(RBF(1.0)), bags, definite=False),
    ObjectEntry(Kendall(), partial_orders),
    ObjectEntry(Mallows(0.2), orders),
    ObjectEntry(Spearman(), partial_orders),
    ObjectEntry(SubsetTree(0.6), trees),
    ObjectEntry(Subtree(0.6), trees),
    ObjectEntry(PartialTree(0.6), trees),
    # persistence diagrams
    ObjectEntry(PersistenceScaleSpace(0.5), diagrams),
    ObjectEntry(PersistenceWeightedGaussian(0.5, 2.0), diagrams),
    ObjectEntry(PersistenceSlicedWasserstein(0.7), diagrams),
    ObjectEntry(PersistenceSlicedWasserstein(0.7, directions=7), diagrams),
    ObjectEntry(PersistenceFisher(0.5, 2.0), diagrams, definite=False),
    # series
    ObjectEntry(GlobalAlignment(0.8), PATHS),
    ObjectEntry(GlobalAlignment(0.8, triangular=3), PATHS),
    ObjectEntry(GlobalAlignment(2.0).normalized(), paths(25, 1)),
    ObjectEntry(SoftDTW(0.5), PATHS, definite=False),
    ObjectEntry(DynamicTimeWarping(0.9), PATHS, definite=False),
    ObjectEntry(DynamicTimeWarping(0.9, window=2), PATHS, definite=False),
    ObjectEntry(Signature(3), PATHS),
    ObjectEntry(Signature(2, base=RBF(1.0)), PATHS),
    ObjectEntry(Signature(None), PATHS),
    ObjectEntry(Signature(None, base=RBF(0.7)), PATHS),
    ObjectEntry(CyclicShift(RBF(1.5)), paths(5, equal=True)),
    ObjectEntry(RBF(0.7).on(Signature(2).normalized()), PATHS, tolerance=1e-9),
    ObjectEntry(WeisfeilerLehman(2), graphs),
    ObjectEntry(OptimalAssignmentWL(2), graphs),
    ObjectEntry(ShortestPath(), graphs),
    ObjectEntry(Graphlets(3), graphs),
    ObjectEntry(RandomWalk(0.02), graphs),
    ObjectEntry(RandomWalk(0.1, kind=Exponential()), graphs),
    ObjectEntry(Propagation(2), graphs),
    ObjectEntry(MultiscaleLaplacian(1, gamma=0.3, eta=0.5), graphs, tolerance=1e-11),
    # models of sequences
    ObjectEntry(HiddenMarkovProduct(4), markov_models()),
    ObjectEntry(HiddenMarkovProduct(3), markov_models(gaussian=True)),
    ObjectEntry(HiddenMarkovProduct(400).normalized(), markov_models(), tolerance=1e-11),
    ObjectEntry(LinearSystemProduct(3), linear_systems, tolerance=1e-11),
    ObjectEntry(LinearSystemProduct(2, rho=1.0), linear_systems, tolerance=1e-11),
    ObjectEntry(CauchyBinet(0.3), linear_systems, tolerance=1e-11),
    ObjectEntry(CauchyBinet(0.3, order=2), linear_systems, tolerance=1e-11),
    # fuzzy sets
    ObjectEntry(FuzzyIntersection(), fuzzy_sets),
    ObjectEntry(FuzzyIntersection(ProductNorm()), fuzzy_sets),
    ObjectEntry(FuzzyCrossProduct(RBF(1.0)), fuzzy_points),
    ObjectEntry(Nonsingleton(), fuzzy_sets, definite=False),
    ObjectEntry(GaussianNonsingleton(), fuzzy_vectors, definite=False),
    # given by users
    ObjectEntry(FromPairs(common_letters), WORDS, readable=False),
    ObjectEntry(DistanceInduced(different_letters, ""), WORDS, readable=False),
    ObjectEntry(Precomputed(LAPLACE_MATRIX), indices, readable=False),
    # algebra and wrappers
    ObjectEntry(Spectrum(2) + 0.5 * Spectrum(3).normalized(), WORDS),
    ObjectEntry(RBF(0.7).on(Spectrum(1).normalized()) * Spectrum(1), WORDS, tolerance=1e-9),
]
OBJECT_KERNELS = {type(e.kernel): e for e in OBJECT_ZOO if isinstance(e.kernel, ObjectKernel)}
OBJECT_IDS = [f"{i}-{repr(e.kernel)[:40].replace(' ', '')}" for i, e in enumerate(OBJECT_ZOO)]
