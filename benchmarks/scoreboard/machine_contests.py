"""Support vector machines against LIBSVM in scikit-learn and against its Intel extension."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.machine import cores
from benchmarks.scoreboard.contest import Call, Contest, Peer
from mercer.kernels import RBF
from mercer.learn import SVC, SVR, KernelSearchCV, OneClassSVC

_PRICES = (0.1, 1.0, 10.0, 100.0)  # values of C that the search tries
_FACTORS = (0.5, 1.0, 2.0)  # and bandwidths, in multiples of the default
_FOLDS = 5


@dataclass(frozen=True)
class Labelled:
    """Points and labels or targets, and the rate that scikit-learn calls gamma='scale'."""

    x: np.ndarray
    y: np.ndarray

    @property
    def gamma(self) -> float:
        return 1 / (self.x.shape[1] * float(self.x.var()))

    @property
    def kernel(self) -> RBF:
        return RBF.from_gamma(self.gamma)


def classes(n: int, d: int) -> Labelled:
    """Two classes of several clusters; a tenth of the labels is random."""
    from sklearn.datasets import make_classification

    informative = min(10, d)
    x, y = make_classification(
        n,
        d,
        n_informative=informative,
        n_redundant=min(5, d - informative),
        flip_y=0.1,
        class_sep=0.8,
        random_state=0,
    )
    return Labelled(x, y)


def numbers(n: int, d: int) -> Labelled:
    """A smooth function of the first two columns, with noise."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    return Labelled(x, np.sin(2 * x[:, 0]) + x[:, 1] + 0.2 * rng.standard_normal(n))


def _iris(n: int, d: int) -> Labelled:
    from sklearn.datasets import load_iris

    return Labelled(*load_iris(return_X_y=True))


def _digits(n: int, d: int) -> Labelled:
    from sklearn.datasets import load_digits

    return Labelled(*load_digits(return_X_y=True))


# ---- fits -----------------------------------------------------------------------------------


def _theirs(library: str, machine: str, **parameters: Any) -> Callable[[Labelled], Call]:
    """A machine of scikit-learn or of its extension, with the same kernel and tolerance."""

    def prepare(data: Labelled) -> Call:
        module = "sklearn.svm" if library == "scikit-learn" else "sklearnex.svm"
        kind = getattr(importlib.import_module(module), machine)
        return lambda: _Fitted(kind(gamma=data.gamma, **parameters).fit(data.x, data.y), data)

    return prepare


@dataclass(frozen=True)
class _Fitted:
    machine: Any
    data: Labelled

    def values(self) -> np.ndarray:
        """Decision values or predictions of a few points."""
        method = getattr(self.machine, "decision_function", self.machine.predict)
        return np.asarray(method(self.data.x[:100]))


def _same_values(ours: _Fitted, theirs: _Fitted) -> None:
    """Within the tolerance of the dual problem, values differ by a few of its units."""
    np.testing.assert_allclose(ours.values(), theirs.values(), atol=2e-2)


def _same_side(ours: _Fitted, theirs: _Fitted) -> None:
    """Decision values have another scale; near 0 the tolerance decides on which side a point is."""
    values, reference = ours.values(), theirs.values()
    clear = np.abs(reference) > 0.02 * np.abs(reference).max()
    apart = np.mean(np.sign(values[clear]) != np.sign(reference[clear]))
    assert apart <= 0.02, f"{apart:.0%} of the points are on the other side"


def _same_labels(ours: _Fitted, theirs: _Fitted) -> None:
    labels = [fitted.machine.predict(fitted.data.x) for fitted in (ours, theirs)]
    apart = np.mean(labels[0] != labels[1])
    assert apart <= 0.005, f"{apart:.2%} of the labels differ"


def _peers(machine: str, agrees: Any = _same_values, **parameters: Any) -> tuple[Peer, ...]:
    extension = () if machine == "OneClassSVM" else ("scikit-learn-intelex",)
    return tuple(
        Peer(library, _theirs(library, machine, **parameters), agrees=agrees)
        for library in ("scikit-learn", *extension)
    )


# ---- predictions and the search -------------------------------------------------------------


def _predict(fit: Call) -> Call:
    fitted = fit()
    return lambda: fitted.machine.predict(fitted.data.x)


def _same_answers(ours: np.ndarray, theirs: np.ndarray) -> None:
    apart = np.mean(ours != theirs)
    assert apart <= 0.005, f"{apart:.2%} of the labels differ"


def _grid(data: Labelled) -> tuple[list[float], list[tuple[np.ndarray, np.ndarray]]]:
    """Bandwidths and folds."""
    from sklearn.model_selection import StratifiedKFold

    widths = [factor * data.kernel.bandwidth for factor in _FACTORS]
    return widths, list(StratifiedKFold(_FOLDS).split(data.x, data.y))


def _our_search(data: Labelled) -> Call:
    widths, folds = _grid(data)
    grid = {"C": list(_PRICES), "kernel__bandwidth": widths}
    search = KernelSearchCV(SVC(RBF(1.0)), grid, cv=folds, refit=False)
    return lambda: search.fit(data.x, data.y).cv_results_["mean_test_score"]


def _their_search(data: Labelled) -> Call:
    """With a process for every core where that pays."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.svm import SVC as Machine

    widths, folds = _grid(data)
    grid = {"C": list(_PRICES), "gamma": [1 / (2 * width**2) for width in widths]}
    jobs = cores() if len(data.x) >= 1000 and not _single_threaded() else 1
    search = GridSearchCV(Machine(), grid, cv=folds, refit=False, n_jobs=jobs)
    return lambda: search.fit(data.x, data.y).cv_results_["mean_test_score"]


def _single_threaded() -> bool:
    """Whether libraries are told to use one thread, as in a run that is judged by processor time."""
    return os.environ.get("OMP_NUM_THREADS") == "1"


def _same_scores(ours: np.ndarray, theirs: np.ndarray) -> None:
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def _fit_ours(machine: Any, data: Labelled) -> Call:
    return lambda: _Fitted(machine(data.kernel).fit(data.x, data.y), data)


_svr = partial(SVR, C=1.0, epsilon=0.1)
_one_class = partial(OneClassSVC, nu=0.1)
_FOLLOWED = 8.0  # seconds of a call of scikit-learn's machines: SVC is followed to 20,000 points

CONTESTS = [
    Contest(
        "SVC fit",
        "C = 1, Gaussian kernel, tolerance 1e-3",
        classes,
        partial(_fit_ours, SVC),
        _peers("SVC"),
        limit=_FOLLOWED,
    ),
    Contest(
        "SVC predict",
        "the labels of n points by a machine fitted to them",
        classes,
        lambda data: _predict(_fit_ours(SVC, data)),
        tuple(
            Peer(
                library,
                lambda data, library=library: _predict(_theirs(library, "SVC")(data)),
                agrees=_same_answers,
            )
            for library in ("scikit-learn", "scikit-learn-intelex")
        ),
    ),
    Contest(
        "SVC iris",
        "three classes, C = 1, tolerance 1e-3",
        _iris,
        partial(_fit_ours, SVC),
        _peers("SVC", _same_labels),
        sizes=(150,),
        dims=(4,),
    ),
    Contest(
        "SVC digits",
        "ten classes, C = 1, tolerance 1e-3",
        _digits,
        partial(_fit_ours, SVC),
        _peers("SVC", _same_labels),
        sizes=(1797,),
        dims=(64,),
    ),
    Contest(
        "SVR fit",
        "C = 1, epsilon = 0.1, Gaussian kernel, tolerance 1e-3",
        numbers,
        partial(_fit_ours, _svr),
        _peers("SVR", C=1.0, epsilon=0.1),
        limit=_FOLLOWED,
    ),
    Contest(
        "OneClassSVC fit",
        "nu = 0.1, Gaussian kernel, tolerance 1e-3",
        numbers,
        partial(_fit_ours, _one_class),
        _peers("OneClassSVM", _same_side, nu=0.1),
        limit=_FOLLOWED,
    ),
    Contest(
        "SVC search",
        "4 values of C, 3 bandwidths, 5 folds: scores without a final fit",
        classes,
        _our_search,
        (Peer("scikit-learn", _their_search, agrees=_same_scores),),
        sizes=(50, 200, 1000, 2000),
        limit=15.0,
    ),
]
