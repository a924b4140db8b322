"""Exported learners: time of an export, and predictions by onnxruntime beside those of mercer.

Both work on one thread: idle threads of onnxruntime wait in loops, which processor time would count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

import mercer
from benchmarks.report import Options, Report, Table, worst
from benchmarks.timing import Contender, Timing, interleaved
from mercer.kernels import RBF, Laplace
from mercer.learn import SVC, FourierRidge, KernelLogistic, KernelRidge, NystromRidge, to_onnx

_COLUMNS = 10
_CALLS = 200  # of one row, in a round
_MAX_RATIO = 1.5  # float32 in onnxruntime over mercer's float64, for many rows


def run(options: Options) -> Report:
    with mercer.config(threads=1):
        return _compared(options)


def _compared(options: Options) -> Report:
    n, rows = (300, 500) if options.quick else (2000, 10_000)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, _COLUMNS))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=n)
    new = rng.normal(size=(rows, _COLUMNS))
    exports, single, many, raw, ratios_seen = [], [], [], {}, []
    for name, model in _learners(x, y):
        sessions = {}
        for dtype in ("float64", "float32"):
            session, row = _exported(model, dtype)
            sessions[dtype] = session
            exports.append({"learner": name, "dtype": dtype, **row})
        for table, points, calls in ((single, new[:1], _CALLS), (many, new, 1)):
            times = _timed(model, sessions, points, calls, options)
            table.append(_row(name, times, calls))
            raw[f"{name}, {len(points)} rows"] = {k: asdict(t) for k, t in times.items()}
        ratios = [(f"{name}, {rows:,} rows", many[-1]["float32 / mercer"])]
        ratios.append((f"{name}, one row", single[-1]["float32 / mercer"]))
        ratios_seen += ratios
    note = f"{n:,} training points, {_COLUMNS} columns."
    bars = worst("onnxruntime, float32 / mercer", _MAX_RATIO, ratios_seen)
    tables = [
        Table("Exports", exports, note),
        Table("One row", single, f"Milliseconds of processor time for a call, of {_CALLS}."),
        Table(f"{rows:,} rows", many, "Milliseconds of processor time."),
    ]
    return Report("Learners as ONNX models", tables, [] if options.quick else bars, raw)


def _learners(x: np.ndarray, y: np.ndarray) -> list[tuple[str, Any]]:
    labels = y > 0
    return [
        ("SVC, RBF", SVC(RBF(3.0), 10.0).fit(x, labels)),
        ("KernelLogistic, RBF", KernelLogistic(RBF(3.0), 0.1).fit(x, labels)),
        ("KernelRidge, RBF", KernelRidge(RBF(3.0), 0.1).fit(x, y)),
        ("KernelRidge, Laplace", KernelRidge(Laplace(20.0), 0.1).fit(x, y)),
        ("NystromRidge, 500", NystromRidge(RBF(3.0), 0.1, landmarks=500, random_state=0).fit(x, y)),
        ("FourierRidge, 1000", FourierRidge(RBF(3.0), 0.1, random_state=0).fit(x, y)),
    ]


def _exported(model: Any, dtype: str) -> tuple[Callable[[np.ndarray], Any], dict[str, Any]]:
    """A function that predicts by onnxruntime, and what the export took."""
    import onnxruntime

    start = time.process_time()
    content = to_onnx(model, dtype=dtype).SerializeToString()
    seconds = time.process_time() - start
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, settings, ["CPUExecutionProvider"])
    first = [session.get_outputs()[0].name]
    figures = {"export, processor ms": 1000 * seconds, "file, MB": len(content) / 1e6}
    return lambda points: session.run(first, {"X": points}), figures


def _timed(
    model: Any, sessions: dict[str, Any], points: np.ndarray, calls: int, options: Options
) -> dict[str, Timing]:
    contenders = {"mercer": Contender(_repeated(model.predict, points, calls))}
    for dtype, session in sessions.items():
        contenders[dtype] = Contender(_repeated(session, points.astype(dtype), calls))
    expected = np.asarray(model.predict(points), dtype=np.float64)
    scale = max(float(expected.std()), 0.1)

    def check(who: str, values: Any) -> None:
        found = np.asarray(values, dtype=np.float64).reshape(expected.shape)
        off = np.abs(found - expected) > (1e-3 if who == "float32" else 1e-8) * scale
        if np.mean(off) > 1e-3:  # labels of points on the boundary
            raise AssertionError(f"{who} differs in {np.mean(off):.1%} of the points")

    return interleaved(contenders, options.repeats, shared=options.shared, check=check)


def _repeated(predict: Callable[[np.ndarray], Any], points: np.ndarray, calls: int) -> Any:
    """Calls of a prediction, and the result of the last one."""

    def call() -> Any:
        for _ in range(calls - 1):
            predict(points)
        return predict(points)

    return call


def _row(name: str, times: dict[str, Timing], calls: int) -> dict[str, Any]:
    own = min(times["mercer"].cpu)
    row: dict[str, Any] = {"learner": name, "mercer, ms": 1000 * own / calls}
    for dtype in ("float64", "float32"):
        seconds = min(times[dtype].cpu)
        row |= {f"{dtype}, ms": 1000 * seconds / calls, f"{dtype} / mercer": seconds / own}
    return row
