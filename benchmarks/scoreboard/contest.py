"""What a contest is: a call of mercer, and calls of other libraries that do the same work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

SIZES = (50, 200, 1000, 2000, 5000, 10_000, 20_000)
DIMENSIONS = (2, 20)
OURS = "mercer"
MODULES = {  # peers, and the module that each of them is imported by
    "scikit-learn": "sklearn",
    "scikit-learn-intelex": "sklearnex",
    "SciPy": "scipy",
    "dcor": "dcor",
    "hyppo": "hyppo",
    "causal-learn": "causallearn",
    "statsmodels": "statsmodels",
    "POT": "ot",
    "KeOps": "pykeops",
    "GPyTorch": "gpytorch",
}
RIVALS = ("scikit-learn", "SciPy", "dcor", "hyppo", "causal-learn")  # never to be slower than these

Call = Callable[..., Any]


@dataclass(frozen=True)
class Peer:
    """A library that does the same work: `prepare(data)` returns the call to time.

    With `resamples` the call takes the number of resamples to do: libraries that need minutes do a few,
    and their time is extrapolated. `agrees(ours, theirs)` raises AssertionError where the answers differ.
    """

    library: str
    prepare: Callable[[Any], Call]
    resamples: int = 0
    agrees: Callable[[Any, Any], None] | None = None

    @property
    def installed(self) -> bool:
        return find_spec(MODULES[self.library]) is not None


@dataclass(frozen=True)
class Contest:
    """A method of mercer against its peers, on `data(n, d)`."""

    name: str
    work: str  # what every call does, in words
    data: Callable[[int, int], Any]
    ours: Callable[[Any], Call]
    peers: tuple[Peer, ...]
    sizes: tuple[int, ...] = SIZES
    dims: tuple[int, ...] = DIMENSIONS
    limit: float = 3.0  # seconds of a call, from which on a peer stops

    @property
    def first_call(self) -> tuple[int, int]:
        """Size and dimension at which the first call of a process is timed."""
        return max((n for n in self.sizes if n <= 1000), default=self.sizes[0]), self.dims[-1]


def versions() -> dict[str, str]:
    """The versions of the peers that are installed."""
    packages = {"SciPy": "scipy", "KeOps": "pykeops"}
    known = {}
    for library in MODULES:
        try:
            known[library] = version(packages.get(library, library))
        except PackageNotFoundError:
            continue
    return known
