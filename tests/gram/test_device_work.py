"""Work that workers do on a device of their own; the processor, by torch, stands for it here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import mercer
from mercer import row_streams
from mercer.backend import is_torch, namespace
from mercer.gram import Gram, device_work, partition_forms
from mercer.gram.resampling_weights import SignWeights
from mercer.gram.tile_products import RowProducts
from mercer.htest import MMD, Energy, MMDAgg, MMDFuse, Permutation
from mercer.kernels import RBF, Laplace, Matern, Spectrum
from mercer.kernels.base import Kernel
from tests.support.workers import SameProcess, everything_to

pytest.importorskip("torch")

POINTS = np.random.default_rng(0).normal(size=(1_500, 4))
X, Y = POINTS[:700], 1.2 * POINTS[700:]


@pytest.fixture(autouse=True)
def pairs_of_few_points(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(device_work, "MIN_PAIRS_TO_MOVE", 1)


@pytest.fixture
def workers() -> Iterator[SameProcess]:
    """Workers that get everything, and compute with tensors."""
    there = SameProcess()
    with everything_to(there), mercer.config(worker_device="cpu"):
        yield there


@dataclass(frozen=True)
class Counted(Kernel):
    """The kernel x'y, which counts the pairs that it compares as arrays of each library."""

    pairs: ClassVar[Counter[str]] = Counter()

    def pairwise(self, x: Any, y: Any, /) -> Any:
        self.pairs["torch" if is_torch(x) else "numpy"] += len(x) * len(y)
        return x @ y.T

    def paired(self, x: Any, y: Any, /) -> Any:
        return namespace(x).sum(x * y, axis=1)


FEW = Permutation(99)
TESTS: dict[str, Callable[[], Any]] = {
    "compiled loops": lambda: MMD(RBF(2.0), null=FEW).test(X, Y, rng=1),
    "single precision": lambda: MMD(RBF(2.0), null=FEW).test(
        X.astype(np.float32), Y.astype(np.float32), rng=1
    ),
    "a kernel": lambda: MMD(Laplace(2.0), null=FEW).test(X, Y, rng=1),
    "ties": lambda: MMD(RBF(2.0), null=FEW).test(np.round(X), np.round(Y), rng=1),
    "distances": lambda: Energy(null=FEW).test(X, Y, rng=1),
    "kernels": lambda: MMDAgg(landmarks=None).test(X, Y, rng=1),
    "a soft maximum": lambda: MMDFuse(null=FEW).test(X, Y, rng=1),
}


@pytest.mark.parametrize("name", TESTS)
def test_tests_agree_with_those_of_threads(name: str, workers: SameProcess):
    with mercer.config(executor=None, worker_device=None):
        here = TESTS[name]()
    there = TESTS[name]()
    assert workers.submitted
    # Statistics of several kernels contain quantiles of resamples, which are sums in float32.
    exact = name not in ("single precision", "kernels", "a soft maximum")
    np.testing.assert_allclose(there.statistic, here.statistic, rtol=1e-9 if exact else 1e-4)
    assert (
        abs(there.pvalue - here.pvalue) <= 0.011
    )  # one resample of 99 that is tied with the observed statistic


@pytest.mark.usefixtures("workers")
def test_all_pairs_are_compared_on_the_device():
    """A first part on threads, whose size depends on time, would make the answer depend on time."""
    Counted.pairs.clear()
    MMD(Counted(), null=FEW).test(X, Y, rng=1)
    n = len(POINTS)
    assert Counted.pairs["torch"] >= n * (n + 1) / 2
    assert Counted.pairs["numpy"] < n**2 / 10  # to estimate scales


@pytest.mark.parametrize("parts", [1, 3])
def test_samples_in_files(
    parts: int, workers: SameProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(partition_forms, "_MAX_BLOCK_ROWS", 700 // parts)
    monkeypatch.setattr(row_streams, "_SHARE_IN_MEMORY", 2**50)
    for name, sample in (("x", X), ("y", Y)):
        np.save(tmp_path / f"{name}.npy", sample)
    x, y = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "xy")
    there = MMD(RBF(2.0), null=FEW).test(x, y, rng=1)
    with mercer.config(executor=None, worker_device=None):
        here = MMD(RBF(2.0), null=FEW).test(x, y, rng=1)
    assert workers.submitted
    np.testing.assert_allclose(there.statistic, here.statistic, rtol=1e-9)
    assert abs(there.pvalue - here.pvalue) <= 0.011


@pytest.mark.parametrize(
    "kernel", [RBF(1.5), Matern(1.5, 1.5), 2 * RBF(1.0) + Laplace(3.0)], ids=repr
)
def test_products_and_forms(kernel: Kernel, workers: SameProcess):
    v, w = (np.random.default_rng(1).normal(size=(len(POINTS), k)) for k in (2, 40))
    signs = SignWeights(len(POINTS), 64, rng=0)

    def values() -> list[np.ndarray]:
        gram, other = Gram(kernel, POINTS), Gram(kernel, POINTS, X)
        return [
            gram @ v,
            gram @ w,
            other @ w[:700],
            gram.quad(w),
            gram.quad(signs),
            gram.centered() @ v,
        ]

    there = values()
    with mercer.config(executor=None, worker_device=None):
        here = values()
    assert workers.submitted
    for ours, theirs in zip(there, here, strict=True):
        assert isinstance(ours, np.ndarray)
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())


def test_few_points_and_objects_stay_where_they_were(
    workers: SameProcess, monkeypatch: pytest.MonkeyPatch
):
    words = ["".join(letters) for letters in np.random.default_rng(0).choice(list("ab"), (60, 8))]
    here = Gram(Spectrum(2), words)
    assert not device_work.worth_moving(RowProducts(here, np.ones((60, 1))))
    monkeypatch.setattr(device_work, "MIN_PAIRS_TO_MOVE", len(POINTS) ** 2 + 1)
    Counted.pairs.clear()
    MMD(Counted(), null=FEW).test(X, Y, rng=1)
    assert Counted.pairs["torch"] == 0
    assert workers.submitted


@pytest.mark.usefixtures("workers")
@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_a_device_that_a_worker_does_not_have(device: str):
    with (
        mercer.config(worker_device=device),
        pytest.raises(RuntimeError, match="needs torch, and a GPU"),
    ):
        MMD(RBF(2.0), null=FEW).test(X, Y, rng=1)


@pytest.mark.parametrize("device", [0, "", b"cuda"])
def test_names_of_devices(device: Any):
    with pytest.raises(TypeError, match="worker_device must be None or a device of torch"):
        mercer.config(worker_device=device)


def test_workers_of_a_cluster():
    distributed = pytest.importorskip("distributed")
    test = MMD(RBF(2.0), null=FEW)
    here = test.test(X, Y, rng=1)
    local = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**local) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        mercer.config(executor=client, worker_device="cpu"),
    ):
        there = test.test(X, Y, rng=1)
        loaded = client.run(lambda: "torch" in __import__("sys").modules)
    assert list(loaded.values()) == [True]
    np.testing.assert_allclose(there.statistic, here.statistic, rtol=1e-9)
    assert abs(there.pvalue - here.pvalue) <= 0.011
