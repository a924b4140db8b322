"""Support vector machines against scikit-learn and its Intel extension: fit, predict, search."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.machine import cores
from benchmarks.report import Bar, Options, Report, Table
from benchmarks.timing import Contender, Timing, interleaved
from mercer.kernels import RBF, Linear
from mercer.learn import SVC, KernelSearchCV
from mercer.learn.machines.smo_compiled import compiled_steps

Times = dict[str, Timing]
_FOLDS = 10


def run(options: Options) -> Report:
    n = 1500 if options.quick else 20_000
    problems = {"few support vectors": 1.0, "many support vectors": 0.5}
    fits, predictions, tables = {}, {}, []
    for name, apart in problems.items():
        options.console.print(f"[dim]{name}, n = {n:,}[/]")
        fits[name], predictions[name], note = _fit_and_predict(n, apart, options)
        tables.append(_table(f"SVC with RBF, n = {n:,}, d = 20: {name}", fits[name], note))
        tables.append(_table(f"Decision values of {n:,} points: {name}", predictions[name], note))
    options.console.print("[dim]linear, search[/]")
    linear = _linear(options)
    tables.append(
        _table("SVC, linear kernel, C = 1", linear, "scikit-learn: SVC(kernel='linear').")
    )
    search, note = _search(options)
    tables.append(_table("10-fold search over 11 C and 6 bandwidths", search, note))
    raw = {"fit": fits, "predict": predictions, "linear": {"": linear}, "search": {"": search}}
    bars = [] if options.quick else _bars(fits, predictions, search)
    plain = {
        k: {p: {c: asdict(t) for c, t in times.items()} for p, times in v.items()}
        for k, v in raw.items()
    }
    return Report("Support vector machines", tables, bars, plain)


def problem(n: int, apart: float, dtype: str = "float64") -> tuple[np.ndarray, np.ndarray]:
    """Two classes of several clusters in 20 dimensions, 1% or 20% of the labels wrong."""
    from sklearn.datasets import make_classification

    wrong = 0.01 if apart == 1.0 else 0.2
    x, y = make_classification(
        n, 20, n_informative=10, n_redundant=5, flip_y=wrong, class_sep=apart, random_state=0
    )
    return x.astype(dtype), y


def _fit_and_predict(n: int, apart: float, options: Options) -> tuple[Times, Times, str]:
    """C = 1, the bandwidth that scikit-learn calls 'scale', and LIBSVM's tolerance."""
    wide, y = problem(n, apart)
    single = wide.astype("float32")
    gamma = 1 / (20 * float(wide.var()))
    data = {"float64": wide, "float32": single}
    ours = {dtype: SVC(RBF.from_gamma(gamma)) for dtype in data}
    theirs: dict[str, Any] = {"scikit-learn": (_sklearn()(gamma=gamma), wide)}
    if find_spec("sklearnex") is not None:
        for dtype, x in data.items():
            theirs[f"scikit-learn-intelex, {dtype}"] = _intelex()(gamma=gamma), x
    fits = {
        f"mercer, {dtype}": Contender(lambda m=ours[dtype], x=x: m.fit(x, y))
        for dtype, x in data.items()
    }
    fits |= {name: Contender(lambda m=m, x=x: m.fit(x, y)) for name, (m, x) in theirs.items()}
    if find_spec("numba") is not None:
        compiled_steps()  # without it, steps are compiled when a problem has had many of them
    for x in data.values():  # compiles
        SVC(RBF.from_gamma(gamma)).fit(x[:3000], y[:3000])
    fitted = interleaved(fits, options.repeats, shared=options.shared)
    values = {
        f"mercer, {dtype}": Contender(lambda m=ours[dtype], x=x: m.decision_function(x))
        for dtype, x in data.items()
    }
    values |= {
        name: Contender(lambda m=m, x=x: m.decision_function(x)) for name, (m, x) in theirs.items()
    }
    reference = theirs["scikit-learn"][0].decision_function(wide)

    def check(name: str, answer: Any) -> None:
        np.testing.assert_allclose(answer, reference, atol=2e-2, err_msg=name)

    predicted = interleaved(
        values, max(options.repeats // 2, 1), shared=options.shared, check=check
    )
    note = (
        f"C = 1, {len(ours['float64'].support_):,} support vectors; the gap is at most 1e-3, LIBSVM's tolerance, "
        "and decision values agree to 2e-2."
    )
    return fitted, predicted, note


def _linear(options: Options) -> Times:
    x, y = problem(1000 if options.quick else 5000, 0.5)
    contenders = {
        "mercer": Contender(lambda: SVC(Linear()).fit(x, y)),
        "scikit-learn": Contender(lambda: _sklearn()(kernel="linear").fit(x, y)),
    }
    return interleaved(contenders, max(options.repeats // 2, 1), shared=options.shared)


def _search(options: Options) -> tuple[Times, str]:
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    x, y = problem(300 if options.quick else 2000, 0.5)
    prices = [2.0**k for k in range(-5, 6)]
    scale = float(np.sqrt(10 * x.var()))
    widths = [scale * 2.0**k for k in range(-2, 4)]
    folds = list(StratifiedKFold(_FOLDS).split(x, y))
    ours = KernelSearchCV(
        SVC(RBF(1.0)), {"C": prices, "kernel__bandwidth": widths}, cv=folds, refit=False
    )
    gammas = [1 / (2 * s * s) for s in widths]
    grid = {"C": prices, "gamma": gammas}
    theirs = GridSearchCV(_sklearn()(), grid, cv=folds, refit=False, n_jobs=cores())
    if options.shared:  # worker processes would hide their processor time
        theirs = GridSearchCV(_sklearn()(), grid, cv=folds[:1], refit=False)
    contenders = {
        "mercer": Contender(lambda: ours.fit(x, y)),
        "GridSearchCV(SVC)": Contender(
            lambda: theirs.fit(x, y), 1 / _FOLDS if options.shared else 1.0
        ),
    }
    ours.fit(x, y)
    times = interleaved(contenders, max(options.repeats // 2, 1), shared=options.shared)
    first = "split0_test_score"
    apart = np.abs(ours.cv_results_[first] - theirs.cv_results_[first]).max()
    how = "did one fold, its time scaled" if options.shared else f"had {cores()} processes"
    return times, (
        f"n = {len(x):,}, d = 20. GridSearchCV {how}. On the first fold no score differs by "
        f"more than {apart:.3f}."
    )


# ---- the printed page -----------------------------------------------------------------------


def _table(title: str, times: Times, note: str) -> Table:
    best = next(iter(times.values())).best
    rows = [
        {"machine": name, "seconds": timing.best, "/ mercer": timing.best / best}
        for name, timing in times.items()
    ]
    return Table(title, rows, note)


def _bars(fits: dict[str, Times], predictions: dict[str, Times], search: Times) -> list[Bar]:
    bars = []
    for name, times in fits.items():
        ours = times["mercer, float64"].best
        ratio = times["scikit-learn"].best / ours
        bars.append(Bar("fit: scikit-learn / mercer", 3.0, ratio, name, at_least=True))
        for dtype in ("float64", "float32"):
            peer = times.get(f"scikit-learn-intelex, {dtype}")
            if peer is not None:
                ratio = peer.best / times[f"mercer, {dtype}"].best
                what = f"fit: intelex / mercer, {dtype}"
                bars.append(Bar(what, 1.0, ratio, name, at_least=True))
    for name, times in predictions.items():
        ratio = times["scikit-learn"].best / times["mercer, float64"].best
        bars.append(Bar("predict: scikit-learn / mercer", 5.0, ratio, name, at_least=True))
    ratio = search["GridSearchCV(SVC)"].best / search["mercer"].best
    bars.append(Bar("search: GridSearchCV / mercer", 5.0, ratio, "n = 2,000", at_least=True))
    return bars


@cache
def _sklearn() -> Any:
    from sklearn.svm import SVC as Machine

    return Machine


@cache
def _intelex() -> Any:
    from sklearnex.svm import SVC as Machine  # its own class: scikit-learn is not patched

    return Machine
