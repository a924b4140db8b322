"""The cases of samples that are in Parquet files, and larger than their share of the budget."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import mercer
import mercer.cli
from mercer.htest import (
    FSSD,
    HSIC,
    KSD,
    ME,
    MMD,
    NFSIC,
    SCF,
    UME,
    BlockMMD,
    Energy,
    FourierHSIC,
    KSDAgg,
    LinearMMD,
    MaxMMD,
    MMDAgg,
    MMDFuse,
    NystromHSIC,
    Permutation,
    WildBootstrap,
)
from mercer.learn import Parquet
from mercer.rkhs import Gaussian
from tests.memory.case import NORMAL, Case, D, points

MANY, WIDE = 60_000, 100  # rows of a sample of a few columns, and columns of one of few rows
ROWS = 1_600  # of that one
P, SIGNS = Permutation(99), WildBootstrap(99)
WIDE_NORMAL = Gaussian(np.zeros(WIDE), 1.0)
_CHUNK = 20_000  # rows that are made at a time
_folders: list[TemporaryDirectory[str]] = []  # of the files, until the process ends


def written(n: int, d: int, seed: int) -> Parquet:
    """A normal sample in a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    _folders.append(TemporaryDirectory(prefix="mercer-memory-"))
    path = Path(_folders[-1].name) / "x.parquet"
    names = [f"c{j}" for j in range(d)]
    with pq.ParquetWriter(path, pa.schema([(name, pa.float64()) for name in names])) as writer:
        for start in range(0, n, _CHUNK):
            rows = points(min(_CHUNK, n - start), seed + start, d)
            writer.write_table(
                pa.table(dict(zip(names, rows.T, strict=True))), row_group_size=5_000
            )
    return Parquet(path)


def on_files(call: Callable[..., Any], files: int, n: int = MANY, d: int = D, **more: Any) -> Case:
    """The call with so many files of n rows."""

    def prepare(n: int) -> Callable[[], Any]:
        sources = [written(n, d, seed) for seed in range(files)]
        return lambda: call(*sources)

    return Case(prepare, n=n, **more)


def by_command(*options: str, n: int, missing: bool = False, **more: Any) -> Case:
    """`mercer two-sample` of two NPY files of n rows, some of them with missing values."""

    def prepare(n: int) -> Callable[[], Any]:
        _folders.append(TemporaryDirectory(prefix="mercer-memory-"))
        paths = [Path(_folders[-1].name) / name for name in ("x.npy", "y.npy")]
        for seed, path in enumerate(paths):
            values = np.lib.format.open_memmap(path, "w+", np.float64, (n, D))
            for start in range(0, n, _CHUNK):
                values[start : start + _CHUNK] = points(min(_CHUNK, n - start), seed + start)
            values[::7] = np.nan if missing else 0.0
            values.flush()
        arguments = ["two-sample", *map(str, paths), *options]
        return lambda: _told(arguments)

    return Case(prepare, n=n, **more)


def _told(arguments: list[str]) -> None:
    """Run the command, which must succeed."""
    from typer.testing import CliRunner

    done = CliRunner().invoke(mercer.cli.app, arguments)
    if done.exit_code:
        raise RuntimeError(done.output) from done.exception


def of_files(test: Any, files: int, **more: Any) -> Case:
    """The p-value of a test of samples in files."""
    return on_files(lambda *sources: test.test(*sources, rng=0), files, **more)


QUADRATIC = {
    "htest.MMD": MMD(null=P),
    "htest.Energy": Energy(null=P),
    "htest.MMDFuse": MMDFuse(null=P),
    "htest.MaxMMD": MaxMMD(null=P),
    "htest.HSIC": HSIC(null=P),
    "htest.HSIC, several orders": HSIC(null=Permutation(999)),
}
LINEAR = {
    "htest.ME": ME(),
    "htest.SCF": SCF(),
    "htest.UME": UME(),
    "htest.LinearMMD": LinearMMD(),
    "htest.BlockMMD": BlockMMD(block=20),
    "htest.MMDAgg, landmarks": MMDAgg(landmarks=40, null=P),
}
STREAM_CASES = {
    **{f"{name}, files": of_files(test, 2, n=ROWS, d=WIDE) for name, test in QUADRATIC.items()},
    **{f"{name}, files": of_files(test, 2) for name, test in LINEAR.items()},
    "htest.two_sample, files": on_files(
        lambda x, y: mercer.two_sample(x, y, resamples=99, rng=0), 2
    ),
    "htest.two_sample, wide files": on_files(
        lambda x, y: mercer.two_sample(x, y, resamples=99, rng=0), 2, n=800, d=2 * WIDE
    ),
    # 2 x 38 MiB under 16 MiB
    "htest.two_sample, NPY files by the command": by_command("--test", "linear", n=1_000_000),
    "htest.two_sample, NPY files with missing values by the command": by_command(
        "--test", "me", "--missing", "drop", n=1_000_000, missing=True
    ),
    "htest.two_sample, large NPY files by the command": by_command(n=4_000_000, slow=True),
    "htest.independence, files": on_files(
        lambda x, y: mercer.independence(x, y, resamples=99, rng=0), 2
    ),
    "htest.NystromHSIC, files": of_files(NystromHSIC(null=P), 2),
    "htest.FourierHSIC, files": of_files(FourierHSIC(frequencies=20, null=P), 2),
    "htest.NFSIC, files": of_files(NFSIC(), 2),
    "htest.FSSD, files": of_files(FSSD(NORMAL), 1, n=2 * MANY),
    "htest.KSD, files": of_files(KSD(WIDE_NORMAL, null=SIGNS), 1, n=2 * ROWS, d=WIDE),
    "htest.KSDAgg, files": of_files(KSDAgg(WIDE_NORMAL, null=SIGNS), 1, n=2 * ROWS, d=WIDE),
}
