"""Rules for what surrounds a learner: pipelines, scalers, PCA and linear models of scikit-learn, and searches."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

from mercer.errors import NoRule
from mercer.learn.machines.kernel_search import KernelSearchCV
from mercer.learn.onnx_export import array_functions as xp
from mercer.learn.onnx_export.learner_graphs import (
    Outputs,
    classified,
    outputs,
    regressed,
    transformed,
)
from mercer.learn.onnx_export.learner_input import LearnerInput
from mercer.learn.regression.kernel_logistic import log_probabilities

_SEARCHES = (KernelSearchCV, GridSearchCV, RandomizedSearchCV)


def reader(model: Any) -> Any:
    """The estimator that reads the input: the first step of a pipeline, the best of a search."""
    if isinstance(model, _SEARCHES):
        return reader(_best(model))
    if isinstance(model, Pipeline):
        steps = _steps(model)
        return reader(steps[0]) if steps else model
    return model


def _steps(pipeline: Pipeline) -> list[Any]:
    return [step for _, step in pipeline.steps if step is not None and step != "passthrough"]


def _best(search: Any) -> Any:
    if not hasattr(search, "best_estimator_"):
        raise NoRule(
            f"no ONNX graph of {type(search).__name__} with refit=False: fit the best estimator"
        )
    return search.best_estimator_


def _search(model: Any, at: LearnerInput) -> Outputs:
    return outputs.apply(_best(model), at)


for _kind in _SEARCHES:
    outputs(_kind)(_search)


@outputs(Pipeline)
def _pipeline(model: Pipeline, at: LearnerInput) -> Outputs:
    steps = _steps(model)
    for step in steps[:-1]:
        at = at.followed_by(transformed.apply(step, at))
    return outputs.apply(steps[-1], at) if steps else {"variable": at.array}


@transformed(Pipeline)
def _pipeline_before(model: Pipeline, at: LearnerInput) -> Any:
    for step in _steps(model):
        at = at.followed_by(transformed.apply(step, at))
    return at.array


# ---- transformers ---------------------------------------------------------------------------------


@transformed(StandardScaler)
def _standard_scaler(model: StandardScaler, at: LearnerInput) -> Any:
    centred = at.array - model.mean_ if model.with_mean else at.array
    return centred / model.scale_ if model.with_std else centred


@transformed(MinMaxScaler)
def _min_max_scaler(model: MinMaxScaler, at: LearnerInput) -> Any:
    scaled = at.array * model.scale_ + model.min_
    return xp.clip(scaled, *model.feature_range) if model.clip else scaled


@transformed(MaxAbsScaler)
def _max_abs_scaler(model: MaxAbsScaler, at: LearnerInput) -> Any:
    return at.array / model.scale_


@transformed(RobustScaler)
def _robust_scaler(model: RobustScaler, at: LearnerInput) -> Any:
    centred = at.array - model.center_ if model.with_centering else at.array
    return centred / model.scale_ if model.with_scaling else centred


@transformed(PCA)
def _pca(model: PCA, at: LearnerInput) -> Any:
    scores = (at.array - model.mean_) @ np.asarray(model.components_).T
    if not model.whiten:
        return scores
    deviations = np.sqrt(np.asarray(model.explained_variance_))
    return scores / np.maximum(deviations, np.finfo(deviations.dtype).eps)  # as scikit-learn does


# ---- linear models --------------------------------------------------------------------------------


def _linear_values(model: Any, at: LearnerInput) -> Any:
    """x'w + b: (n,), or (n, q) for several columns of weights."""
    weights = np.asarray(model.coef_, dtype=np.float64)
    return at.array @ weights.T + np.asarray(model.intercept_, dtype=np.float64)


def _linear_regression(model: Any, at: LearnerInput) -> Outputs:
    return regressed(_linear_values(model, at))


def _linear_scores(model: Any, at: LearnerInput) -> Any:
    values = _linear_values(model, at)
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


def _linear_classifier(model: Any, at: LearnerInput) -> Outputs:
    if np.asarray(model.predict(np.zeros((1, model.n_features_in_)))).ndim > 1:
        raise NoRule(
            f"no ONNX graph of {type(model).__name__} with several labels for each row: fit one for each column of y"
        )
    return classified(model.classes_, _linear_scores(model, at))


for _kind in (LinearRegression, Ridge, RidgeCV, Lasso, ElasticNet, LinearSVR):
    outputs(_kind)(_linear_regression)
for _kind in (RidgeClassifier, LinearSVC):
    outputs(_kind)(_linear_classifier)


@outputs(LogisticRegression)
def _logistic_regression(model: LogisticRegression, at: LearnerInput) -> Outputs:
    scores = _linear_scores(model, at)
    one_vs_rest = model.solver == "liblinear" or getattr(model, "multi_class", None) == "ovr"
    if scores.ndim == 2 and one_vs_rest:
        raise NoRule("no ONNX graph of one LogisticRegression for each class: use solver='lbfgs'")
    return classified(model.classes_, scores, np.exp(log_probabilities(scores)))
