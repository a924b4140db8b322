"""A Dask cluster on this machine: time and bytes beside threads, Parquet files, killed workers, and a model of larger ones."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from benchmarks.cluster_model import permutation_test
from benchmarks.report import Bar, Options, Report, Table
from mercer.gram.cluster import workers_of
from mercer.htest import MMD, Permutation
from mercer.kernels import RBF
from mercer.learn import NystromRidge, Parquet

_PERMUTATIONS = 999
_TURNS = 3


def run(options: Options) -> Report:
    from distributed import Client, LocalCluster

    n = 8_000 if options.quick else 40_000
    rows = 200_000 if options.quick else 20_000_000
    kills = 2 if options.quick else 20
    _warm_up()
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as single,
        Client(single, set_as_default=False) as alone,
        _two_workers() as client,
    ):
        alone.run(_warm_up)
        permutations = _permutations(n, alone, client, options)
        with tempfile.TemporaryDirectory() as folder:
            source = _written(rows, Path(folder))
            files = _files(rows, source, client, options)
            killed = _killed(kills, source, options)
        paused = _paused(client, options)
    command = _command(rows // 10, options)
    tables = [permutations, files, killed, paused, _model(permutations), command]
    return Report(
        "Beyond one machine",
        tables,
        _bars(*tables),
        {table.title: table.rows for table in tables},
    )


def _bars(
    permutations: Table, files: Table, killed: Table, paused: Table, model: Table, command: Table
) -> list[Bar]:
    workers, near = permutations.rows[3], [row for row in model.rows if "measured" in row]
    off = max(abs(row["predicted seconds"] / row["measured"] - 1) for row in near)
    wrong = killed.rows[0]["runs"] - killed.rows[0]["equal answers"]
    return [
        Bar("two workers / two threads, wall clock", 1.15, workers["of two threads"]),
        Bar("bytes sent to a worker / bytes of the points", 1.2, workers["bytes sent / points"]),
        Bar("NystromRidge from files: memory / budget", 1.25, files.rows[1]["growth / budget"]),
        Bar("NystromRidge from files: two workers / one process", 1.5, files.rows[1]["of one"]),
        Bar("answers that a killed worker changed", 0, wrong),
        Bar("answers that a stopped worker changed", 0, 1 - paused.rows[0]["equal answers"]),
        Bar("model beside measured, relative error", 0.25, off),
        Bar(
            "the command on globs of files: memory / budget",
            1.25,
            max(row["growth / budget"] for row in command.rows),
        ),
    ]


def _warm_up() -> None:
    """Load what the measured work loads: compiled loops, solvers, readers."""
    import pyarrow.parquet  # noqa: F401

    x = np.random.default_rng(0).normal(size=(2_000, 10))
    MMD(RBF(3.0), null=Permutation(99)).test(x[:1_000], x[1_000:], rng=0)
    NystromRidge(RBF(3.0), 1e-3, landmarks=50, random_state=0).fit(x, x[:, 0])


def _permutations(n: int, alone: Any, client: Any, options: Options) -> Table:
    """The exact MMD test by one and two threads and by one and two workers, in turns; the best of each."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(n // 2, 10)), rng.normal(size=(n // 2, 10)) + 0.01
    test = MMD(RBF(3.0), null=Permutation(_PERMUTATIONS))
    ways = {
        "one thread": ({"threads": 1, "executor": None}, client),
        "two threads": ({"threads": 2, "executor": None}, client),
        "one worker": ({"executor": alone}, alone),
        "two workers": ({"executor": client}, client),
    }
    best, results = {}, set()
    for turn in range(_TURNS):
        for name, (settings, watched) in ways.items():
            if name.startswith("one") and turn > 1:
                continue
            options.console.print(f"[dim]{name}[/]")
            clock = _Clock(watched)
            with mercer.config(**settings):
                result = test.test(x, y, rng=1)
            taken = clock.seconds()
            best[name] = tuple(map(min, zip(taken, best.get(name, taken), strict=True)))
            results.add((result.statistic, result.pvalue))
    rows = [
        {"": name, "n": n, "seconds": wall, "processor seconds": cpu}
        for name, (wall, cpu) in best.items()
    ]
    for row in rows:
        row["of two threads"] = row["seconds"] / rows[1]["seconds"]
        row["processor time of two threads"] = (
            row["processor seconds"] / rows[1]["processor seconds"]
        )
    sent = sum(size for size, _ in workers_of(client)._arrays._handles.values())
    rows[3]["bytes sent / points"] = sent / (x.nbytes + y.nbytes)
    note = (
        "In turns, the best of two (one thread, one worker) or three. "
        f"Results {'are' if len(results) == 1 else 'ARE NOT'} bit-equal."
    )
    return Table("Permutation test", rows, note)


class _Clock:
    """Seconds since now, and processor seconds of this process and the workers."""

    def __init__(self, client: Any) -> None:
        self._pids = [os.getpid(), *client.run(os.getpid).values()]
        self._start, self._used = time.perf_counter(), self._processor()

    def seconds(self) -> tuple[float, float]:
        return time.perf_counter() - self._start, self._processor() - self._used

    def _processor(self) -> float:
        import psutil

        return sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in self._pids)


def _written(rows: int, folder: Path) -> Parquet:
    """Ten Parquet files with ten columns of numbers of three decimals and a target."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for part in range(10):
        x = np.round(np.random.default_rng(part).normal(size=(rows // 10, 10)), 3)
        columns = {f"x{j}": x[:, j] for j in range(10)} | {
            "y": np.round(np.sin(x[:, 0]) + x[:, 1], 3)
        }
        pq.write_table(pa.table(columns), folder / f"{part}.parquet", row_group_size=2**17)
    return Parquet(folder, target="y")


def _ridge(source: Parquet) -> np.ndarray:
    learner = NystromRidge(RBF(3.0), 1e-3, landmarks=50, random_state=0).fit(source)
    return learner.function_.weights


def _files(rows: int, source: Parquet, client: Any, options: Options) -> Table:
    """NystromRidge on a folder of Parquet files with a budget of 1 GiB."""
    import psutil

    out, weights = [], []
    pids = [os.getpid(), *client.run(os.getpid).values()]
    ways = (
        ("one process", {"threads": 1, "executor": None}),
        ("two workers", {"executor": client}),
    )
    for name, settings in ways:
        options.console.print(f"[dim]files: {name}[/]")
        before = [psutil.Process(pid).memory_info().rss for pid in pids]
        clock = _Clock(client)
        with _Peaks(pids) as peaks, mercer.config(memory="1GiB", **settings):
            weights.append(_ridge(source))
        wall, cpu = clock.seconds()
        growth = max(p - b for p, b in zip(peaks.highest, before, strict=True))
        row = {"": name, "rows": rows, "seconds": wall, "processor seconds": cpu}
        out.append({**row, "growth / budget": growth / 2**30})
    out[1]["of one"] = out[1]["seconds"] / out[0]["seconds"]
    same = np.array_equal(*weights)
    return Table(
        "NystromRidge on Parquet files",
        out,
        "50 landmarks. Growth of the largest process over its size after imports and a small fit, in units of the "
        f"budget. Coefficients {'are' if same else 'ARE NOT'} bit-equal.",
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


def _killed(runs: int, source: Parquet, options: Options) -> Table:
    """Tests and fits with a worker killed at a random moment, in turns; each on two workers of its own."""
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(5_000, 10)), rng.normal(size=(5_000, 10))
    test = MMD(RBF(3.0), null=Permutation(_PERMUTATIONS))
    few = Parquet(Path(source.path) / "[01].parquet", target="y")
    works = (lambda: test.test(x, y, rng=1).null, lambda: _ridge(few))
    wanted, usual = [work() for work in works], []
    with _two_workers() as client, mercer.config(executor=client):
        for work in works:
            start = time.perf_counter()
            work()
            usual.append(time.perf_counter() - start)
    same, inside, seconds = 0, 0, []
    for k in range(runs):
        options.console.print(f"[dim]killing {k}[/]")
        with _two_workers() as client:
            victim = int(rng.choice(list(client.run(os.getpid).values())))
            moment = float(rng.uniform(0.05, 0.8)) * usual[k % 2]
            killer = threading.Timer(moment, os.kill, (victim, 9))
            start = time.perf_counter()
            killer.start()
            with mercer.config(executor=client):
                answer = works[k % 2]()
            seconds.append(time.perf_counter() - start)
            inside += killer.finished.is_set()
            killer.cancel()
        same += np.array_equal(answer, wanted[k % 2])
    row = {"runs": runs, "killed before the end": inside, "equal answers": same}
    note = "Permutation tests of 10,000 points and fits of NystromRidge to a Parquet file in turns."
    return Table("Killed workers", [{**row, "seconds, longest": max(seconds)}], note)


@contextmanager
def _two_workers() -> Iterator[Any]:
    """The client of a cluster of two workers, which have loaded what the work loads."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as local,
        Client(local, set_as_default=False) as client,
    ):
        client.run(_warm_up)
        yield client


def _paused(client: Any, options: Options) -> Table:
    """A test while one of two workers is stopped; it goes on afterwards."""
    options.console.print("[dim]a stopped worker[/]")
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(5_000, 10)), rng.normal(size=(5_000, 10))
    test = MMD(RBF(3.0), null=Permutation(_PERMUTATIONS))
    wanted = test.test(x, y, rng=1)
    client.wait_for_workers(2)
    victim = next(iter(client.run(os.getpid).values()))
    stopper = threading.Timer(0.5, os.kill, (victim, signal.SIGSTOP))
    start = time.perf_counter()
    stopper.start()
    try:
        with mercer.config(executor=client):
            result = test.test(x, y, rng=1)
    finally:
        stopper.join()
        os.kill(victim, signal.SIGCONT)
    row = {"equal answers": int(np.array_equal(result.null, wanted.null))}
    return Table("Stopped worker", [{**row, "seconds": time.perf_counter() - start}])


def _model(measured: Table) -> Table:
    """Predicted beside measured seconds here, and predictions for larger clusters."""
    one, two, one_worker, two_workers = measured.rows
    n = one["n"]
    pairs = n * n / 2
    alone, beside = pairs / one["seconds"], pairs / two["seconds"] / 2
    rows = []
    for name, threads, machines, points, per_second in (
        ("1 worker of this machine", 1, 1, n, alone),
        ("2 workers of this machine", 2, 2, n, beside),
        ("100 nodes of 32 cores", 3_200, 100, 10**7, beside),
        ("100 nodes of 32 cores", 3_200, 100, 10**8, beside),
        ("8 GPUs (H200)", 8, 8, 10**7, 2.1e11),
        ("8 GPUs (H200)", 8, 8, 10**8, 2.1e11),
    ):
        seconds, sent = permutation_test(points, 10, _PERMUTATIONS, per_second, threads, machines)
        rows.append({"": name, "n": points, "predicted seconds": seconds, "GB sent": sent / 1e9})
    rows[0]["measured"], rows[1]["measured"] = one_worker["seconds"], two_workers["seconds"]
    note = (
        f"{alone / 1e6:.1f} million pairs a second by one thread alone, and {beside / 1e6:.1f} by each of two side by side, "
        "which share memory and clock; nodes have cores of the second kind. Pairs per second of a GPU are those of MMD at "
        "10^6 points (many_cores and gpu records). Memory of a node: its points and tiles."
    )
    return Table("Model", rows, note)


_CHILD = """
import resource, subprocess, sys, time
start = time.perf_counter()
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, time.perf_counter() - start, 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def _command(rows: int, options: Options) -> Table:
    """`mercer two-sample` on globs of Parquet files with a budget of a quarter of their size as numbers."""
    out = []
    with tempfile.TemporaryDirectory() as folder:
        few, many = Path(folder) / "few", Path(folder) / "many"
        _two_folders(few, 2_000)
        _two_folders(many, rows)
        budget = max(2 * rows * 10 * 8 // 4, 2**25)
        for test in ("default", "me", "linear"):
            options.console.print(f"[dim]command: {test}[/]")
            chosen = [] if test == "default" else ["--test", test]
            _, before = _peak(few, chosen)
            seconds, peak = _peak(many, [*chosen, "--memory", f"{budget // 2**20}MiB"])
            row = {"test": test, "rows of a sample": rows, "seconds": seconds}
            out.append({**row, "growth / budget": (peak - before) / budget})
    note = (
        "`mercer two-sample 'before/*.parquet' 'after/*.parquet' --memory ...`, ten columns, the budget a quarter of the samples "
        "in memory. Growth of the peak of the process over that of the same command on 2,000 rows, in units of the budget."
    )
    return Table("The command on globs of Parquet files", out, note)


def _two_folders(folder: Path, rows: int) -> None:
    """Two folders of two Parquet files each; all columns of the second sample are shifted a little."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for k, name in enumerate(("before", "after")):
        (folder / name).mkdir(parents=True)
        for part in range(2):
            x = np.random.default_rng([k, part]).normal(0.02 * k, size=(rows // 2, 10)).round(3)
            columns = {f"x{j}": column for j, column in enumerate(x.T)}
            pq.write_table(
                pa.table(columns), folder / name / f"{part}.parquet", row_group_size=2**17
            )


def _peak(folder: Path, more: list[str]) -> tuple[float, float]:
    """Seconds and largest resident size of the command, which has to succeed."""
    files = [str(folder / name / "*.parquet") for name in ("before", "after")]
    command = [sys.executable, "-m", "mercer", "two-sample", *files, *more]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, *command], capture_output=True, text=True, check=True
    )
    code, seconds, peak = done.stdout.split()
    if int(code):
        raise RuntimeError(f"{' '.join(command[2:])} ended with {code}: {done.stderr}")
    return float(seconds), float(peak)
