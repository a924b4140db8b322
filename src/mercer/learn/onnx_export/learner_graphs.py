"""Rules: the outputs of fitted learners as graphs, and why some learners have none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import TransformerMixin

from mercer.backend import is_array, to_numpy
from mercer.errors import NoRule
from mercer.features.feature_map import FeatureMap
from mercer.features.nystrom import Nystrom
from mercer.gram.solve import needs_double
from mercer.kernels.rules import Rule
from mercer.learn.adaptation.domain_adaptation import DomainAdaptation
from mercer.learn.clusters.kmeans import KernelKMeans, NearestCentre, squared_distances
from mercer.learn.clusters.spectral import SpectralClustering, embedded_rows
from mercer.learn.components.kcca import KCCA
from mercer.learn.components.pca import KernelPCA
from mercer.learn.distributions.bayesian import BayesianDistributionRegressor
from mercer.learn.distributions.deep_sets_learners import DeepSetsClassifier, DeepSetsRegressor
from mercer.learn.distributions.distribution_ridge import DistributionRegressor
from mercer.learn.distributions.machines import (
    AugmentedSVC,
    FlexSVC,
    OneClassSMM,
    SupportMeasureMachine,
)
from mercer.learn.distributions.mean_features import MeanFeatures
from mercer.learn.distributions.missing_features import ConditionalGaussians
from mercer.learn.distributions.second_order_cone import SecondOrderConeSVC
from mercer.learn.kernel_learner import with_intercept
from mercer.learn.landmarks.fourier_ridge import FourierRidge
from mercer.learn.landmarks.nystrom_logistic import NystromLogistic
from mercer.learn.landmarks.nystrom_ridge import NystromRidge
from mercer.learn.landmarks.nystrom_svc import NystromSVC
from mercer.learn.machines.oneclass import OneClassSVC
from mercer.learn.machines.svc import SVC
from mercer.learn.machines.svr import SVR
from mercer.learn.onnx_export import array_functions as xp
from mercer.learn.onnx_export.kernel_sums import (
    expansion,
    feature_values,
    is_noisy,
    kernel_diagonal,
    kernel_matrix,
    shows_rounding,
)
from mercer.learn.onnx_export.learner_input import LearnerInput
from mercer.learn.onnx_export.symbolic_array import SymbolicArray, cast
from mercer.learn.regression.kernel_logistic import KernelLogistic, log_probabilities
from mercer.learn.regression.kernel_machine import KernelMachine, KernelQuantile
from mercer.learn.regression.kernel_ridge import KernelRidge
from mercer.learn.selection.selector import Selector
from mercer.learn.separation.isa import ISA
from mercer.learn.smoothers.local import LocalLinear, NadarayaWatson
from mercer.learn.smoothers.spline import SmoothingSpline
from mercer.learn.smoothers.spline_filter import Knots, polynomial
from mercer.rkhs.sample_rows import recentred

Outputs = dict[str, Any]  # symbolic arrays, which pass for arrays of NumPy

outputs = Rule(
    "ONNX graph",
    "only learners whose predictions are formulas of kernel values and weights have one (the guide lists them); "
    "mercer.learn.save stores every learner of mercer, and skl2onnx converts estimators of scikit-learn",
)
transformed = Rule(
    "ONNX graph",
    "convert the steps before a learner of mercer with skl2onnx, and join the two with onnx.compose.merge_models",
)


# ---- support vector machines ----------------------------------------------------------------------


@outputs(SVC)
def _svc(model: SVC, at: LearnerInput) -> Outputs:
    scores: Any = model._scores(_machine_values(model, at) + model.intercept_)
    probabilities = model._probabilities(scores) if model.probability else None
    return classified(model.classes_, scores, probabilities)


@outputs(SVR)
def _svr(model: SVR, at: LearnerInput) -> Outputs:
    return regressed(_machine_values(model, at)[:, 0] + model.intercept_)


@outputs(OneClassSVC)
def _one_class(model: OneClassSVC, at: LearnerInput) -> Outputs:
    scores = _machine_values(model, at)[:, 0] - model.offset_
    return {"label": xp.where(scores >= 0, 1, -1), "scores": scores[:, None]}


# ---- regression and probabilities -----------------------------------------------------------------


@outputs(KernelRidge)
def _kernel_ridge(model: KernelRidge, at: LearnerInput) -> Outputs:
    results = regressed(_with_intercept(model, at))
    if not at.std and at.level is None:
        return results
    model._need_equal_weights("an output beside the prediction")
    kernel = model._bound
    x, learnt = at.beside(model.function_.points, wide=True)  # variances are small differences
    values = kernel_matrix(kernel, x, learnt)
    if at.std:
        inverse = _on_host(model._bordered_inverse("a standard deviation"))
        deviations = inverse.deviations(values, kernel_diagonal(kernel, x))[:, None]
        results["std"] = deviations + 0 * results["variable"]  # all columns of y share it
    if at.level is not None:
        left_out = _on_host(model._left_out())
        left_out = replace(left_out, inverse=_on_host(left_out.inverse))
        results["interval"] = left_out.interval(values, at.level)
    return results


def _on_host(record: Any) -> Any:
    """The same record with its arrays in NumPy."""
    arrays = {name: to_numpy(v) for name, v in vars(record).items() if is_array(v)}
    return replace(record, **arrays)


@outputs(KernelQuantile)
def _quantile(model: KernelQuantile, at: LearnerInput) -> Outputs:
    return regressed(_with_intercept(model, at))


@outputs(NystromRidge)
def _nystrom_ridge(model: NystromRidge, at: LearnerInput) -> Outputs:
    return regressed(_with_intercept(model, at))


@outputs(FourierRidge)
def _fourier_ridge(model: FourierRidge, at: LearnerInput) -> Outputs:
    coefficients = to_numpy(model.coef_).astype(np.float64)
    size = np.full((2, model.map_.width), model.map_.scale, dtype=np.float64)
    size[1] = 0.0  # features vary between 0 and their scale
    noisy = at.graph.dtype == np.float32 and is_noisy(size, coefficients, at.graph.dtype)
    x = cast(at.array, np.float64) if noisy else at.array
    values = feature_values(model.map_, x) @ coefficients
    return regressed(with_intercept(values, model.intercept_))


@outputs(KernelMachine)
def _kernel_machine(model: KernelMachine, at: LearnerInput) -> Outputs:
    values = _with_intercept(model, at)
    return classified(model.classes_, values) if model._loss().margin else regressed(values)


@outputs(KernelLogistic)
def _logistic(model: KernelLogistic, at: LearnerInput) -> Outputs:
    values = _with_intercept(model, at)
    return classified(model.classes_, values, np.exp(log_probabilities(values)))


@outputs(NystromLogistic)
def _nystrom_logistic(model: NystromLogistic, at: LearnerInput) -> Outputs:
    values = _with_intercept(model, at)
    return classified(model.classes_, values, np.exp(log_probabilities(values)))


@outputs(NystromSVC)
def _nystrom_svc(model: NystromSVC, at: LearnerInput) -> Outputs:
    return classified(model.classes_, _with_intercept(model, at))


@outputs(NadarayaWatson)
def _nadaraya_watson(model: NadarayaWatson, at: LearnerInput) -> Outputs:
    sums = expansion(model.function_, at, wide=True)  # small weights are 0 in float32
    fitted = model._solved(sums, at.array, len(model._mean)).fitted
    return regressed(xp.where(np.isfinite(fitted), fitted, model._mean))


@outputs(SmoothingSpline)
def _smoothing_spline(model: SmoothingSpline, at: LearnerInput) -> Outputs:
    x: Any = cast(at.array, np.float64)
    u: Any = model._scaled(x)
    if model._knots is not None:
        return regressed(_piecewise(model._knots, u[:, 0]))
    inside = at.followed_by(np.maximum(u, 0.0))
    return regressed(model._null(u) @ model.polynomial_ + expansion(model.function_, inside))


def _piecewise(knots: Knots, x: Any) -> Any:
    """A spline at points (n,): (n, q). Its pieces are found by the number of knots on the left of x."""
    origins, widths, coefficients = (SymbolicArray.constant(x.graph, v) for v in knots.pieces())
    piece = np.sum(xp.astype(x[:, None] >= knots.u[None, :], np.float64), axis=1)
    piece = xp.astype(piece, np.int64)
    t = (x - xp.take(origins, piece)) / xp.take(widths, piece)
    return polynomial(t, xp.take(coefficients, piece, axis=1))


# ---- clusters -------------------------------------------------------------------------------------


@outputs(KernelKMeans)
def _kernel_kmeans(model: KernelKMeans, at: LearnerInput) -> Outputs:
    distances, diagonal = _centre_distances(model, at)
    precision = max(model._precision, float(np.finfo(distances.dtype).eps))
    label = NearestCentre(precision)(distances, diagonal, model._norms)
    return {"label": label, "scores": np.sqrt(distances)}


@transformed(KernelKMeans)
def _kernel_kmeans_distances(model: KernelKMeans, at: LearnerInput) -> Any:
    return np.sqrt(_centre_distances(model, at)[0])


def _centre_distances(model: KernelKMeans, at: LearnerInput) -> tuple[Any, Any]:
    """Squared distances to the centres, and k(x, x)."""
    kernel = model._bound
    x, learnt = at.beside(model.function_.points, wide=False)
    old, new = recentred(kernel, learnt, x)
    near = kernel_matrix(kernel, new, old) @ to_numpy(model.function_.weights)
    diagonal = kernel_diagonal(kernel, new)
    return squared_distances(near, diagonal, model._norms), diagonal


@outputs(SpectralClustering)
def _spectral(model: SpectralClustering, at: LearnerInput) -> Outputs:
    values = expansion(model.function_, at, wide=True)  # small similarities are 0 in float32
    embedded, similar = embedded_rows(values)
    centres = model._means.cluster_centers_
    distances = np.sum(centres**2, axis=1) - 2 * (embedded @ centres.T)
    label = xp.argmin(distances, axis=1)
    return {"label": xp.where(similar, label, -1)}


# ---- transformers ---------------------------------------------------------------------------------


@transformed(KernelPCA)
def _kernel_pca(model: KernelPCA, at: LearnerInput) -> Any:
    function = model.function_
    weights = to_numpy(function.weights)
    wide = shows_rounding(function._bound, function.points, weights, at.graph.dtype)
    x, learnt = at.beside(function.points, wide=wide)
    old, new = recentred(model._bound, learnt, x)
    return kernel_matrix(model._bound, new, old) @ weights - to_numpy(model._offsets)


@transformed(KCCA)
def _kcca(model: KCCA, at: LearnerInput) -> Any:
    return expansion(model.functions_[0], at) - to_numpy(model._offsets[0])


@transformed(FeatureMap)
def _feature_map(model: FeatureMap, at: LearnerInput) -> Any:
    return feature_values(model.map_, at.array)


@transformed(Nystrom)
def _nystrom(model: Nystrom, at: LearnerInput) -> Any:
    learnt: Any = model.map_
    points, root = learnt.landmarks, to_numpy(learnt.root)
    wide = shows_rounding(model._bound, points, root, at.graph.dtype)
    return kernel_matrix(model._bound, *at.beside(points, wide=wide)) @ root


@transformed(ISA)
def _isa(model: ISA, at: LearnerInput) -> Any:
    return (at.array - model.mean_) @ model.components_.T


@transformed(Selector)
def _selector(model: Selector, at: LearnerInput) -> Any:
    return at.array[:, np.flatnonzero(model.support_)]


@outputs(TransformerMixin)
def _transformer(model: Any, at: LearnerInput) -> Outputs:
    return {"variable": transformed.apply(model, at)}


# ---- learners of other learners -------------------------------------------------------------------


@outputs(DomainAdaptation)
def _adapted(model: DomainAdaptation, at: LearnerInput) -> Outputs:
    return outputs.apply(model.estimator_, at)


# ---- refusals -------------------------------------------------------------------------------------


def _refuse(learner: type, reason: str) -> None:
    def refusal(model: Any, at: LearnerInput) -> Outputs:
        raise NoRule(f"no ONNX graph of {learner.__name__}: {reason}")

    outputs(learner)(refusal)
    transformed(learner)(refusal)


_VECTORS = "export a learner of vectors on MeanFeatures, which are means over a bag of features that have a graph"
_BAGS = f"its points are bags and distributions, not rows of numbers: {_VECTORS}"
for _learner in (
    SupportMeasureMachine,
    OneClassSMM,
    DistributionRegressor,
    BayesianDistributionRegressor,
    DeepSetsRegressor,
    DeepSetsClassifier,
    SecondOrderConeSVC,
):
    _refuse(_learner, _BAGS)
_refuse(MeanFeatures, "its points are bags: export `map_`, and average features over each bag")
_refuse(
    AugmentedSVC,
    "its points are bags: export `machine_`, the classifier of points, and count votes",
)
_refuse(FlexSVC, "its points have widths, which are distributions: use SVC on the points")
_refuse(ConditionalGaussians, "it makes distributions of rows with missing values: impute them")
_refuse(LocalLinear, "it solves equations at every point: use NadarayaWatson or KernelRidge")


# ---- private --------------------------------------------------------------------------------------


def _with_intercept(model: Any, at: LearnerInput) -> Any:
    """f(x) + b: (n,) or (n, q)."""
    wide = at.graph.dtype == np.float32 and _needs_double(model)
    return with_intercept(expansion(model.function_, at, wide=wide), model.intercept_)


def _machine_values(model: Any, at: LearnerInput) -> Any:
    """f_p(x) of every problem of a support vector machine: (n, P)."""
    values = expansion(model.function_, at)
    return values[:, None] if values.ndim == 1 else values


def _needs_double(model: Any) -> bool:
    """Whether the learner would compute kernel values of float32 points in float64, as its ridge is small."""
    if getattr(model, "_doubled", False):
        return True
    if isinstance(model, NystromSVC):  # coefficients are large where landmarks are nearly dependent
        weights = to_numpy(model.function_.weights)
        return shows_rounding(model._bound, model.landmarks_, weights, np.dtype(np.float32))
    ridge = getattr(model, "ridge_", None)
    if ridge is None or isinstance(model, NystromRidge | NystromLogistic):
        return False
    return needs_double(to_numpy(model._bound.diag(model.function_.points)), ridge)


def regressed(values: Any) -> Outputs:
    """Predicted numbers (n,) or (n, q), as columns."""
    return {"variable": values[:, None] if values.ndim == 1 else values}


def classified(classes: np.ndarray, scores: Any, probabilities: Any = None) -> Outputs:
    """Labels of the largest scores (n, k), or by the sign of those of two classes (n,), with the scores."""
    two = scores.ndim == 1
    best = xp.astype(scores > 0, np.int64) if two else xp.argmax(scores, axis=1)
    labels = np.asarray(classes)
    labels = labels.astype(str) if labels.dtype.kind == "O" else labels
    results = {"label": xp.take(SymbolicArray.constant(scores.graph, labels, labels.dtype), best)}
    if probabilities is not None:
        results["probabilities"] = probabilities
    return results | {"scores": scores[:, None] if two else scores}
