"""Contests of kernels on objects with the packages that have them: the data, both calls, and whether they agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer import kernels as K
from mercer.datasets import fetch_mutag

Call = Callable[[], Any]
_LETTERS = {"DNA": "ACGT", "letters": "abcdefghijklmnopqrstuvwxyz"}


@dataclass(frozen=True)
class Contest:
    """Calls of mercer and of a peer that compute the same matrix, up to a factor where `scaled`."""

    name: str
    package: str  # of the peer, as it is imported
    mercer: Call
    peer: Callable[[], Call]  # imports the package and returns the call
    bar: float | None = None  # the peer's time over mercer's is to be at least this
    share: float = 1.0  # of the work that the peer's call does
    tolerance: float | None = (
        1e-9  # relative to the largest value; None: the peer computes something else
    )
    scaled: bool = False
    rounds: int = field(default=5)


def contests(quick: bool) -> list[Contest]:
    """All contests; small ones if `quick`."""
    return [
        *(_spectrum(name, k, quick) for name, k in (("DNA", 5), ("letters", 5), ("letters", 3))),
        _mismatch(quick),
        _kendall(quick),
        *_graphs(quick),
        *_diagrams(quick),
        _alignment(quick),
        *_signatures(quick),
    ]


def texts(n: int, length: int, kind: str = "DNA") -> list[str]:
    """Random strings."""
    letters = np.array(list(_LETTERS[kind]))
    drawn = np.random.default_rng(0).choice(letters, size=(n, length))
    return ["".join(row) for row in drawn]


def walks(n: int, length: int = 100, channels: int = 3) -> np.ndarray:
    """Random walks with steps of about 0.17."""
    steps = np.random.default_rng(0).standard_normal((n, length, channels))
    return 0.1 * steps.cumsum(axis=1)


def rankings(n: int, items: int = 50) -> np.ndarray:
    """Random rankings."""
    rng = np.random.default_rng(0)
    return np.array([rng.permutation(items) for _ in range(n)], dtype=np.float64)


def diagrams(n: int, points: int = 50) -> list[np.ndarray]:
    """Random persistence diagrams."""
    rng = np.random.default_rng(0)
    births = rng.uniform(0, 1, size=(n, points))
    return list(np.stack([births, births + rng.exponential(0.3, size=births.shape)], axis=2))


def random_graphs(n: int, nodes: int = 40) -> list[tuple[np.ndarray, list[int]]]:
    """Random graphs with four neighbours on average and three labels, as (adjacency, labels)."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(size=(n, nodes, nodes)) < 4 / nodes, 1)
    labels = rng.integers(3, size=(n, nodes)).tolist()
    return list(zip((upper | upper.transpose(0, 2, 1)).astype(float), labels, strict=True))


def molecules() -> list[tuple[np.ndarray, list[int]]]:
    """The graphs of MUTAG, as (adjacency, labels)."""
    out = []
    for graph in fetch_mutag().graphs:
        size = len(graph.nodes)
        matrix = np.zeros((size, size))
        first, last = np.asarray(graph.edges).reshape(-1, 2).T
        matrix[first, last] = matrix[last, first] = 1.0
        out.append((matrix, np.asarray(graph.nodes).ravel().tolist()))
    return out


# ---- strings and rankings -----------------------------------------------------------------------


def _spectrum(kind: str, length: int, quick: bool) -> Contest:
    strings = texts(20 if quick else 200, 200, kind)

    def peer() -> Call:
        from sklearn.feature_extraction.text import HashingVectorizer

        options: dict[str, Any] = {"norm": None, "alternate_sign": False, "lowercase": False}
        size = (length, length)
        hashing = HashingVectorizer(analyzer="char", ngram_range=size, **options)

        def call() -> np.ndarray:
            counts = hashing.transform(strings)
            return (counts @ counts.T).toarray()

        return call

    name = f"Spectrum({length}), {len(strings)} strings of 200 {kind}, scikit-learn's hashing"
    kernel = K.Spectrum(length)  # hashes collide, which changes a count in a thousand
    return Contest(name, "sklearn", lambda: kernel(strings), peer, 3.0, tolerance=0.02)


def _mismatch(quick: bool) -> Contest:
    strings = texts(20 if quick else 200, 200)
    some = strings[: len(strings) // 10]

    def peer() -> Call:
        from strkernel.mismatch_kernel import MismatchKernel

        numbers = [["ACGT".index(letter) for letter in text] for text in some]
        return lambda: MismatchKernel(l=4, k=5, m=1).get_kernel(numbers, normalize=False).kernel

    name = f"Mismatch(5, 1), {len(strings)} strings of 200 DNA, strkernel on a tenth"
    kernel = K.Mismatch(5, 1, alphabet="ACGT")
    return Contest(name, "strkernel", lambda: kernel(strings), peer, 300.0, share=0.1, rounds=2)


def _kendall(quick: bool) -> Contest:
    ranks = rankings(50 if quick else 500)

    def peer() -> Call:
        import pandas as pd

        frame = pd.DataFrame(ranks.T)
        return lambda: frame.corr("kendall").to_numpy()

    name = f"Kendall(), {len(ranks)} rankings of 50, pandas"
    return Contest(name, "pandas", lambda: K.Kendall()(ranks), peer, 30.0)


# ---- graphs -------------------------------------------------------------------------------------


def _graphs(quick: bool) -> list[Contest]:
    samples = {"MUTAG": molecules(), "random graphs of 40": random_graphs(20 if quick else 200)}
    out = []
    for name, graphs in samples.items():
        packed = K.Graphs.of(graphs)
        for kernel, bar in ((K.WeisfeilerLehman(5), 15.0), (K.ShortestPath(), 50.0)):
            title = f"{kernel!r}, {len(graphs)} {name}"
            peer = _grakel(kernel, graphs)
            out.append(
                Contest(f"{title}, packed, grakel", "grakel", _of(kernel, packed), peer, bar)
            )
            out.append(
                Contest(f"{title}, from a list, grakel", "grakel", _of(kernel, graphs), peer)
            )
    return out


def _of(kernel: K.Kernel, objects: Any) -> Call:
    return lambda: kernel(objects)


def _grakel(kernel: K.Kernel, graphs: Sequence[tuple[np.ndarray, list[int]]]) -> Callable[[], Call]:
    def peer() -> Call:
        import grakel

        theirs = [[matrix, dict(enumerate(labels))] for matrix, labels in graphs]
        if isinstance(kernel, K.ShortestPath):
            return lambda: grakel.ShortestPath().fit_transform(theirs)
        base = grakel.VertexHistogram
        return lambda: grakel.WeisfeilerLehman(n_iter=5, base_graph_kernel=base).fit_transform(
            theirs
        )

    return peer


# ---- diagrams and series ------------------------------------------------------------------------


def _diagrams(quick: bool) -> list[Contest]:
    data = diagrams(10 if quick else 100)
    sigma = 0.5
    width = 2 * sigma**0.5  # exp(-r^2 / 8 sigma) = exp(-r^2 / 2 width^2)
    pairs: list[tuple[K.Kernel, str, dict[str, Any], float | None]] = [
        (K.PersistenceScaleSpace(sigma), "PersistenceScaleSpace", {"bandwidth": width}, 40.0),
        (
            K.PersistenceWeightedGaussian(1.0),
            "PersistenceWeightedGaussian",
            {"bandwidth": 1.0, "weight": lambda p: np.arctan(p[1] - p[0])},
            40.0,
        ),
        (
            K.PersistenceFisher(1.0),
            "PersistenceFisher",
            {"bandwidth_fisher": 1.0, "bandwidth": 1.0},
            40.0,
        ),
        (
            K.PersistenceSlicedWasserstein(1.0, directions=10),
            "SlicedWasserstein",
            {"bandwidth": 1.0, "num_directions": 10},
            None,
        ),
    ]
    return [_gudhi(*pair, data) for pair in pairs]


def _gudhi(
    kernel: K.Kernel, name: str, options: dict[str, Any], bar: float | None, data: list[np.ndarray]
) -> Contest:
    def peer() -> Call:
        from gudhi import representations

        theirs = getattr(representations, f"{name}Kernel")(**options)
        return lambda: theirs.fit(data).transform(data)

    title = f"{name}, {len(data)} diagrams of 50 points, gudhi"
    tolerance = None if bar is None else 1e-9  # gudhi's slices leave a direction out
    call = _of(kernel, data)
    return Contest(title, "gudhi", call, peer, bar, tolerance=tolerance, scaled=True, rounds=2)


def _alignment(quick: bool) -> Contest:
    series = walks(20 if quick else 300)
    kernel = K.GlobalAlignment(1.5).normalized()

    def peer() -> Call:
        from tslearn.metrics import cdist_gak

        return lambda: cdist_gak(series, sigma=1.5, n_jobs=1)

    name = f"GlobalAlignment, {len(series)} series 100 x 3, tslearn"
    return Contest(name, "tslearn", _of(kernel, series), peer, 5.0, rounds=3)


def _signatures(quick: bool) -> list[Contest]:
    series = walks(16 if quick else 300)
    solvers = [("PDE, dyadic order", k, {"dyadic_order": k}) for k in range(5)]
    solvers += [("polynomials of order", k, {"method": "polynomial", "order": k}) for k in (8, 12)]
    out = []
    for solver, k, options in solvers:

        def peer(options: dict[str, Any] = options) -> Call:
            import pysiglib

            block = series[: max(len(series) // 10, 1)].copy()
            return lambda: pysiglib.sig_kernel_gram(block, series, n_jobs=1, **options)

        name = f"Signature(None), {len(series)} series 100 x 3, pysiglib's {solver} {k} on a tenth"
        out.append(
            Contest(
                name,
                "pysiglib",
                _of(K.Signature(None), series),
                peer,
                5.0 if k == 4 else None,
                share=0.2,  # a tenth of the matrix, of which mercer computes one half
                tolerance=None,
                rounds=2,
            )
        )
    return out
