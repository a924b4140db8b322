"""Cross-validated grid search that computes every Gram matrix once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from mercer import validate
from mercer.backend import count, is_array, is_numpy, set_diagonal, to_numpy
from mercer.config import settings
from mercer.errors import MemoryBudgetError
from mercer.gram.kernel_family import Family
from mercer.gram.threads import in_order
from mercer.kernels.base import Kernel, Points
from mercer.kernels.precomputed import Precomputed
from mercer.learn.inner_tags import with_inner_tags
from mercer.learn.kernel_learner import KernelEstimator, VersionedEstimator, present
from mercer.learn.machines.cv_scoring import Candidate, FoldScores, Scoring
from mercer.learn.machines.kernel_core import core, kernel_key, matrices
from mercer.learn.machines.smo_compiled import compiled_steps
from mercer.native import has_compiler
from mercer.rkhs.sample_rows import widened_for

Params = dict[str, Any]
_MIN_POINTS_TO_COMPILE = 50_000  # in all fits together: from here on compiling the steps pays


def _has(name: str) -> Any:
    """Whether the best estimator, or before the search the given one, has a method."""

    def check(self: KernelSearchCV) -> bool:
        getattr(getattr(self, "best_estimator_", self.estimator), name)
        return True

    return check


def _of_best(name: str) -> Any:
    """A method that calls the same one of the best estimator, where that has it."""

    def method(self: KernelSearchCV, X: Any) -> Any:
        return getattr(self._best, name)(X)

    method.__name__, method.__qualname__ = name, f"KernelSearchCV.{name}"
    method.__doc__ = f"`{name}` of the best estimator."
    return available_if(_has(name))(method)


class KernelSearchCV(MetaEstimatorMixin, VersionedEstimator):
    """Cross-validated search over a grid, like `GridSearchCV`, that computes every Gram matrix once.

    The Gram matrix depends neither on parameters outside the kernel, such as ``C`` and ``ridge``, nor on
    the folds, which only select rows and columns. So one matrix is computed for each kernel of the grid;
    bandwidths of one kernel share its squared distances, and level-2 kernels of distributions share the
    expected kernel (`mercer.rkhs.MeanMap`) inside. Support vector machines are solved for increasing
    ``C``, each started at the solution before (`SVC.path`).

    Parameters
    ----------
    estimator : estimator with a kernel
        `SVC`, `SVR`, `KernelRidge`, ..., with a kernel if its parameters are searched; with kernel=None
        all folds use the default kernel of all points. It is fitted to positions in a matrix instead of
        points, so it must use points through their kernel only.
    param_grid : dict or list of dicts
        Lists of values by name, such as ``{"C": [0.1, 1.0], "kernel__bandwidth": [0.5, 1.0]}``.
    scoring : str, callable or None
        As in scikit-learn; None: the `score` method of the estimator.
    cv : int, splitter, iterable or None
        As in scikit-learn; None: five folds, stratified for classifiers.
    refit : bool
        Whether to fit the best estimator on all points, which `predict` and similar methods need.

    Attributes
    ----------
    best_params_, best_score_, best_index_, best_estimator_, n_splits_, scorer_
        As in `GridSearchCV`: the largest mean score, and the first candidate in case of a tie.
    cv_results_ : dict of arrays
        ``params``, ``param_NAME``, ``split0_test_score``, ..., ``mean_test_score``, ``std_test_score``
        and ``rank_test_score``.

    Notes
    -----
    Two matrices (n, n) are in memory at a time; problems beyond the memory budget are refused: use
    `GridSearchCV` for them. Folds run on all cores. Pipelines are not supported, because they change the
    points from fold to fold: apply steps that do not learn from the labels before the search.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.learn import SVC, KernelSearchCV
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> y = x[:, 0] * x[:, 1] > 0
    >>> grid = {"C": [0.1, 1.0, 10.0], "kernel__bandwidth": [0.1, 1.0, 10.0]}
    >>> search = KernelSearchCV(SVC(RBF(1.0)), grid).fit(x, y)
    >>> search.best_params_["kernel__bandwidth"], search.best_score_ > 0.9
    (1.0, True)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        scoring: Any = None,
        cv: Any = None,
        refit: bool = True,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.scoring = scoring
        self.cv = cv
        self.refit = refit

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Self:
        """Score every combination on every fold, then fit the best one on all points.

        `groups` (n,) are for splitters that keep groups together, such as `GroupKFold`.
        """
        needed = "an estimator with a kernel, such as SVC(RBF(1.0))"
        validate.instance("estimator", self.estimator, KernelEstimator, needed)
        validate.truth("refit", self.refit)
        if isinstance(self.scoring, list | tuple | set | dict):
            raise ValueError(
                f"scoring must be a single metric, got {self.scoring!r}: run one search for each metric"
            )
        y = present(y) if is_classifier(self.estimator) else y
        params = list(ParameterGrid(self.param_grid))
        candidates = [Candidate(i, self._with(p)) for i, p in enumerate(params)]
        for candidate in candidates:
            _need_kernel_only(candidate.estimator)
        data = _SearchData.of(candidates, X, y, sample_weight)
        splitter: Any = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        folds = list(splitter.split(np.zeros((data.n, 1), dtype=np.float64), y, groups))
        self.scorer_: Any = check_scoring(self.estimator, self.scoring)
        scores = np.empty((len(params), len(folds)), dtype=np.float64)
        if data.n * scores.size >= _MIN_POINTS_TO_COMPILE and has_compiler():
            compiled_steps()  # for all fits together, though each one may be small
        scoring = Scoring(self.scorer_, self.scoring is None, data.y, data.weights)
        for group, kernel in data.matrices(candidates):
            work = FoldScores(group, kernel, scoring, settings().memory)
            for f, fold_scores in enumerate(in_order(work, folds, parallel=True)):
                scores[[c.position for c in group], f] = fold_scores
        self.n_splits_ = len(folds)
        self._set_results(params, scores)
        self.multimetric_ = False
        if self.refit:
            weights = {} if sample_weight is None else {"sample_weight": sample_weight}
            self.best_estimator_ = self._with(self.best_params_).fit(X, y, **weights)
            for name in ("n_features_in_", "feature_names_in_", "classes_"):
                if hasattr(self.best_estimator_, name):
                    setattr(self, name, getattr(self.best_estimator_, name))
        return self

    @property
    def function_(self) -> Any:
        """The function that the best estimator learnt, an `rkhs.Function`."""
        return self._best.function_

    predict = _of_best("predict")
    predict_proba = _of_best("predict_proba")
    predict_log_proba = _of_best("predict_log_proba")
    decision_function = _of_best("decision_function")
    score_samples = _of_best("score_samples")
    transform = _of_best("transform")
    inverse_transform = _of_best("inverse_transform")

    def score(self, X: Any, y: Any = None) -> float:
        """Score of the best estimator by `scoring`."""
        return float(self.scorer_(self._best, X, y))

    # ---- private ----------------------------------------------------------------------

    def _with(self, params: Mapping[str, Any]) -> Any:
        estimator: Any = clone(self.estimator)
        return estimator.set_params(**{k: clone(v, safe=False) for k, v in params.items()})

    @property
    def _best(self) -> Any:
        check_is_fitted(self, "cv_results_")
        if not self.refit:
            raise AttributeError("with refit=False there is no fitted estimator: use refit=True")
        return self.best_estimator_

    def _set_results(self, params: list[Params], scores: np.ndarray) -> None:
        """Set `cv_results_` and the attributes of the best candidate."""
        mean = scores.mean(axis=1)
        ranked = np.nan_to_num(mean, nan=-np.inf)
        self.cv_results_: dict[str, Any] = {"params": params}
        for name in sorted({name for p in params for name in p}):
            values: Any = np.ma.array(np.empty(len(params), dtype=object), mask=True)
            for i, p in enumerate(params):
                if name in p:
                    values[i] = p[name]
            self.cv_results_[f"param_{name}"] = values
        for f in range(scores.shape[1]):
            self.cv_results_[f"split{f}_test_score"] = scores[:, f]
        self.cv_results_ |= {
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "rank_test_score": np.array([1 + np.sum(ranked > r) for r in ranked], dtype=np.int32),
        }
        self.best_index_ = int(np.argmax(ranked))
        self.best_params_ = params[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])

    def __sklearn_tags__(self) -> Any:
        return with_inner_tags(super().__sklearn_tags__(), self.estimator)


@dataclass(frozen=True)
class _SearchData:
    """Points as every kernel reads them, targets and weights."""

    kernels: list[Kernel]  # bound to columns, one for each candidate
    points: list[Points]
    y: Any
    weights: np.ndarray | None
    n: int

    @classmethod
    def of(cls, candidates: list[Candidate], X: Any, y: Any, sample_weight: Any) -> _SearchData:
        """Read the points once for every distinct kernel, and check targets and weights."""
        kernels, points = [], []
        read: dict[Any, tuple[Kernel, Points]] = {}
        shared: dict[Any, Points] = {}  # by the expensive core of a kernel
        for c in candidates:
            key = kernel_key(c.estimator.kernel)
            if key not in read:
                read[key] = _read(c.estimator, X, shared)
            kernels.append(read[key][0])
            points.append(read[key][1])
        n = count(points[0])
        if y is not None:
            y = to_numpy(y) if is_array(y) else y
            any_dtype: Any = None
            y = check_array(y, ensure_2d=False, dtype=any_dtype, input_name="y")
            check_consistent_length(np.empty(n), y)
        if sample_weight is not None:
            rows: Any = np.empty((n, 1), dtype=np.float64)
            sample_weight = _check_sample_weight(sample_weight, rows)
        return cls(kernels, points, y, sample_weight, n)

    def matrices(
        self, candidates: list[Candidate]
    ) -> Iterator[tuple[list[Candidate], Precomputed]]:
        """Candidates of every kernel with its matrix, one kernel at a time."""
        groups: list[list[int]] = []
        for i, kernel in enumerate(self.kernels):
            same = next((g for g in groups if self.kernels[g[0]] == kernel), None)
            if same is None:
                groups.append([i])
            else:
                same.append(i)
        cores = [core(self.kernels[g[0]]) for g in groups]
        groups = [
            groups[i] for i in sorted(range(len(groups)), key=lambda i: cores.index(cores[i]))
        ]
        first = [g[0] for g in groups]
        self._check_memory()
        for group, matrix in zip(groups, self._values(first), strict=True):
            yield [candidates[i] for i in group], Precomputed(matrix)

    def _values(self, first: list[int]) -> Iterator[Any]:
        """Matrices of the kernels at these positions; kernels of the same points share distances."""
        points = [self.points[i] for i in first]
        kernels = [self.kernels[i] for i in first]
        shared = len(first) > 1 and all(
            is_numpy(p, points[0]) and p.dtype.kind == "f" and np.array_equal(p, points[0])
            for p in points
        )
        if not shared:
            yield from matrices(kernels, points)
            return
        family = Family(kernels, points[0])
        everything = slice(0, self.n)
        for kernel, matrix in zip(kernels, family.tiles(everything, everything), strict=True):
            set_diagonal(matrix, 0, 0, kernel.diag(points[0]))
            yield matrix

    def _check_memory(self) -> None:
        matrices_in_memory = 4 if any(kernel.is_expensive() for kernel in self.kernels) else 3
        needed, budget = matrices_in_memory * 8 * self.n**2, settings().memory
        if needed > budget:
            raise MemoryBudgetError(
                f"a search on {self.n:,} points needs {needed / 2**20:,.0f} MiB, but the budget is "
                f"{budget / 2**20:,.0f} MiB: use GridSearchCV, which stores no matrices, "
                "search on a subset of the points, or raise mercer.config(memory=...)"
            )


def _read(estimator: Any, X: Any, shared: dict[Any, Points]) -> tuple[Kernel, Points]:
    """The kernel and the points to learn from; kernels with the same expensive core share points."""
    kernel: Any = estimator.kernel
    key = None if kernel is None else kernel_key(core(kernel))
    if kernel is not None and key in shared:
        return kernel, shared[key]
    reader: Any = clone(estimator)
    bound, points = reader._accept(X)
    points = widened_for(bound, points)  # ridges may be small, or chosen by leave-one-out
    if kernel is not None and reader._columns is None and core(kernel).is_expensive():
        shared[key] = points
    return bound, points


def _need_kernel_only(estimator: KernelEstimator) -> None:
    """Refuse an estimator that would take positions in a matrix for points."""
    has_kernel = "kernel" in estimator.get_params(deep=False)
    reason = estimator._needs_points() if has_kernel else "its kernel is not a parameter"
    if reason is not None:
        raise ValueError(
            "KernelSearchCV needs an estimator that uses points through its kernel only, but "
            f"{type(estimator).__name__} does not, because {reason}: use GridSearchCV"
        )
