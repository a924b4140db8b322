"""A Dask cluster on this machine: time and bytes beside threads, Parquet files, killed workers, and a model of larger ones."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks.cluster_model import permutation_test
from benchmarks.report import Options, Report, Table
from mercer.gram.cluster import workers_of
from mercer.htest import MMD, Permutation
from mercer.kernels import RBF
from mercer.learn import NystromRidge, Parquet

_PERMUTATIONS = 999


def run(options: Options) -> Report:
    from distributed import Client, LocalCluster

    n = 8_000 if options.quick else 40_000
    rows = 200_000 if options.quick else 20_000_000
    kills = 2 if options.quick else 20
    tables = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local,
        Client(local, set_as_default=False) as client,
    ):
        tables += [_permutations(n, client, options), _files(rows, client)]
        tables.append(_killed(kills, client))
    tables.append(_model(tables[0]))
    return Report("Beyond one machine", tables, [], {table.title: table.rows for table in tables})


def _permutations(n: int, client: Any, options: Options) -> Table:
    """The exact MMD test by two threads, by two workers and by one worker's worth of threads."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n // 2, 10)), rng.normal(size=(n // 2, 10)) + 0.01
    test = MMD(RBF(3.0), null=Permutation(_PERMUTATIONS))
    rows, results = [], []
    for name, settings in (
        ("one thread", {"threads": 1}),
        ("two threads", {"threads": 2}),
        ("two workers", {"executor": client}),
        ("two workers, points there", {"executor": client}),
    ):
        options.console.print(f"[dim]{name}[/]")
        start = time.perf_counter()
        with mercer.config(**settings):
            result = test.test(x, y, rng=1)
        seconds = time.perf_counter() - start
        rows.append({"": name, "n": n, "seconds": seconds, "p": result.pvalue})
        results.append((result.statistic, result.pvalue))
    for row in rows:
        row["of two threads"] = row["seconds"] / rows[1]["seconds"]
    sent = sum(size for size, _ in workers_of(client)._arrays._handles.values())
    rows[2]["bytes sent to a worker / bytes of points"] = sent / (x.nbytes + y.nbytes)
    same = len(set(results)) == 1
    return Table("Permutation test", rows, f"Results {'are' if same else 'ARE NOT'} bit-equal.")


def _files(rows: int, client: Any) -> Table:
    """NystromRidge on a folder of Parquet files with a budget of 1 GiB."""
    import psutil
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = []
    with tempfile.TemporaryDirectory() as folder:
        for part in range(10):
            rng = np.random.default_rng(part)
            x = rng.normal(size=(rows // 10, 10)).astype(np.float64)
            columns = {f"x{j}": x[:, j] for j in range(10)} | {"y": np.sin(x[:, 0]) + x[:, 1]}
            pq.write_table(
                pa.table(columns), Path(folder) / f"{part}.parquet", row_group_size=2**18
            )
            del x, columns
        source = Parquet(folder, target="y")
        pids = [os.getpid(), *client.run(os.getpid).values()]
        for name, settings in (("one process", {}), ("two workers", {"executor": client})):
            before = [psutil.Process(pid).memory_info().rss for pid in pids]
            with _Peaks(pids) as peaks, mercer.config(memory="1GiB", **settings):
                start = time.perf_counter()
                NystromRidge(RBF(3.0), 1e-3, landmarks=100, random_state=0).fit(source)
                seconds = time.perf_counter() - start
            growth = max(p - b for p, b in zip(peaks.highest, before, strict=True))
            out.append(
                {"": name, "rows": rows, "seconds": seconds, "growth / budget": growth / 2**30}
            )
    return Table(
        "NystromRidge on Parquet files", out, "Growth of the largest process, in units of 1 GiB."
    )


class _Peaks:
    """The largest resident size of processes inside a block."""

    def __init__(self, pids: list[int]) -> None:
        self._pids, self._stop = pids, threading.Event()
        self.highest = [0] * len(pids)

    def __enter__(self) -> _Peaks:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *problem: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        import psutil

        processes = [psutil.Process(pid) for pid in self._pids]
        while not self._stop.wait(0.02):
            sizes = [process.memory_info().rss for process in processes]
            self.highest = [max(a, b) for a, b in zip(self.highest, sizes, strict=True)]


def _killed(runs: int, client: Any) -> Table:
    """The same test with a worker killed at a random moment."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(5_000, 10)), rng.normal(size=(5_000, 10))
    test, same, seconds = MMD(RBF(3.0), null=Permutation(_PERMUTATIONS)), 0, []
    wanted = test.test(x, y, rng=1)
    for _ in range(runs):
        client.wait_for_workers(2)
        victim = int(rng.choice(list(client.run(os.getpid).values())))
        killer = threading.Timer(float(rng.uniform(0.1, 2.5)), os.kill, (victim, 9))
        start = time.perf_counter()
        killer.start()
        with mercer.config(executor=client):
            result = test.test(x, y, rng=1)
        seconds.append(time.perf_counter() - start)
        killer.cancel()
        same += (result.statistic, result.pvalue) == (wanted.statistic, wanted.pvalue)
    row = {"runs": runs, "equal answers": same, "seconds, longest": max(seconds)}
    return Table("Killed workers", [row])


def _model(measured: Table) -> Table:
    """Predicted beside measured seconds here, and predictions for larger clusters."""
    one = measured.rows[0]
    n = one["n"]
    rate = n * n / 2 / one["seconds"]
    rows = []
    for name, threads, machines, points, per_second in (
        ("1 worker of this machine", 1, 1, n, rate),
        ("2 workers of this machine", 2, 2, n, rate),
        ("100 nodes of 32 cores", 3_200, 100, 10**7, rate),
        ("100 nodes of 32 cores", 3_200, 100, 10**8, rate),
        ("8 GPUs (H200)", 8, 8, 10**7, 2.1e11),
        ("8 GPUs (H200)", 8, 8, 10**8, 2.1e11),
    ):
        seconds, sent = permutation_test(points, 10, _PERMUTATIONS, per_second, threads, machines)
        rows.append({"": name, "n": points, "predicted seconds": seconds, "GB sent": sent / 1e9})
    rows[0]["measured"], rows[1]["measured"] = one["seconds"], measured.rows[3]["seconds"]
    note = (
        "Pairs per second of a core are those of the first row above; of a GPU those of MMD at 10^6 points "
        "(many_cores and gpu records). Memory of a node: its points and tiles."
    )
    return Table("Model", rows, note)
