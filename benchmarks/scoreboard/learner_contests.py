"""Regression, components, clusters and smoothers against scikit-learn, GPyTorch, statsmodels and SciPy."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks import peers as products
from benchmarks.scoreboard.contest import SIZES, Call, Contest, Peer
from benchmarks.scoreboard.machine_contests import Labelled, classes, numbers
from mercer.gram import Gram
from mercer.kernels import RBF
from mercer.learn import (
    FourierRidge,
    KernelLogistic,
    KernelPCA,
    KernelRidge,
    LocalLinear,
    NadarayaWatson,
    NystromLogistic,
    NystromRidge,
    SmoothingSpline,
    SpectralClustering,
)

_RIDGE = 1.0
_COMPONENTS = 5
_CENTRES = 3
_SMOOTHING = 1e-4


def _close(rtol: float, atol: float = 0.0) -> Any:
    """A check that two arrays agree."""

    def agrees(ours: Any, theirs: Any) -> None:
        np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=rtol, atol=atol)

    return agrees


# ---- exact regression -----------------------------------------------------------------------


def _ridge(data: Labelled) -> Call:
    learner = KernelRidge(data.kernel, _RIDGE, intercept=False)  # as scikit-learn's
    return lambda: learner.fit(data.x, data.y)


def _their_ridge(data: Labelled) -> Call:
    from sklearn.kernel_ridge import KernelRidge as Theirs

    learner = Theirs(alpha=_RIDGE, kernel="rbf", gamma=data.gamma)
    return lambda: learner.fit(data.x, data.y)


def _same_predictions(ours: Any, theirs: Any) -> None:
    x = np.random.default_rng(1).standard_normal((50, theirs.n_features_in_))
    np.testing.assert_allclose(ours.predict(x), theirs.predict(x), rtol=1e-6, atol=1e-6)


def _ridge_and_predict(data: Labelled) -> Call:
    return lambda: (
        KernelRidge(data.kernel, _RIDGE, intercept=False).fit(data.x, data.y).predict(data.x[:50])
    )


def _gaussian_process(data: Labelled) -> Call:
    """The posterior mean of an exact Gaussian process with these hyperparameters, by Cholesky."""
    import gpytorch
    import torch

    x, y, asked = (torch.from_numpy(v) for v in (data.x, data.y, data.x[:50].copy()))

    class Exact(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(x, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.RBFKernel()

        def forward(self, points: Any) -> Any:
            mean, covariance = self.mean_module(points), self.covar_module(points)
            return gpytorch.distributions.MultivariateNormal(mean, covariance)

    def call() -> np.ndarray:
        likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
        model = Exact(likelihood).double()
        likelihood.noise, model.covar_module.lengthscale = _RIDGE, data.kernel.bandwidth
        model.eval()
        exact = gpytorch.settings.fast_computations(False, False, False)
        with torch.no_grad(), exact, gpytorch.settings.skip_posterior_variances():
            return model(asked).mean.numpy()

    return call


# ---- classification by probability ----------------------------------------------------------


def _logistic(data: Labelled) -> Call:
    """ridge = 1/2 makes |f|^2 / 2 the log-density of a Gaussian process prior."""

    def call() -> np.ndarray:
        learner = KernelLogistic(data.kernel, 0.5, intercept=False)
        return learner.fit(data.x, data.y).decision_function(data.x[:50])

    return call


def _laplace(data: Labelled) -> Call:
    """The mode of a Gaussian process classifier, which is kernel logistic regression."""
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF as Covariance

    def call() -> np.ndarray:
        covariance = Covariance(data.kernel.bandwidth)
        learner = GaussianProcessClassifier(covariance, optimizer=None).fit(data.x, data.y)
        return learner.base_estimator_.f_cached[:50]

    return call


# ---- landmarks and random features ----------------------------------------------------------


def _landmarks(data: Labelled) -> int:
    return min(100, len(data.x) // 2)


def _streamed(learner: Any, data: Labelled, **parameters: Any) -> Call:
    return lambda: learner(data.kernel, _RIDGE, random_state=0, **parameters).fit(data.x, data.y)


def _pipeline(features: str, learner: str, data: Labelled) -> Call:
    """scikit-learn's feature map with its linear learner."""
    from sklearn import kernel_approximation, linear_model
    from sklearn.pipeline import make_pipeline

    kind = getattr(kernel_approximation, features)
    linear = getattr(linear_model, learner)
    last = linear(alpha=_RIDGE) if learner == "Ridge" else linear(C=1 / (2 * _RIDGE))
    number = _landmarks(data)
    first = kind(gamma=data.gamma, n_components=number, random_state=0)
    return lambda: make_pipeline(first, last).fit(data.x, data.y)


# ---- components and clusters ----------------------------------------------------------------


def _components(data: Labelled) -> Call:
    return lambda: KernelPCA(_COMPONENTS, kernel=data.kernel).fit(data.x).eigenvalues_


def _their_components(data: Labelled) -> Call:
    from sklearn.decomposition import KernelPCA as Theirs

    learner = Theirs(_COMPONENTS, kernel="rbf", gamma=data.gamma)
    return lambda: learner.fit(data.x).eigenvalues_


def _blobs(n: int, d: int) -> Labelled:
    from sklearn.datasets import make_blobs

    return Labelled(*make_blobs(n, d, centers=_CENTRES, cluster_std=1.0, random_state=1)[:2])


def _clusters(data: Labelled) -> Call:
    return lambda: SpectralClustering(_CENTRES, kernel=data.kernel, random_state=0).fit_predict(
        data.x
    )


def _their_clusters(data: Labelled) -> Call:
    from sklearn.cluster import SpectralClustering as Theirs

    learner = Theirs(_CENTRES, gamma=data.gamma, random_state=0)
    return lambda: learner.fit_predict(data.x)


def _same_clusters(ours: np.ndarray, theirs: np.ndarray) -> None:
    from sklearn.metrics import adjusted_rand_score

    score = adjusted_rand_score(ours, theirs)
    assert score > 0.9, f"adjusted Rand index {score:.2f}"


# ---- smoothers ------------------------------------------------------------------------------


def _smoother(kind: Any, data: Labelled) -> Call:
    kernel = RBF(_width(data))
    return lambda: kind(kernel).fit(data.x, data.y).predict(data.x)


def _width(data: Labelled) -> float:
    """A bandwidth that leaves neighbours in as many dimensions."""
    return 0.5 * data.x.shape[1] ** 0.5


def _kernel_regression(kind: str, data: Labelled) -> Call:
    from statsmodels.nonparametric.kernel_regression import KernelReg

    d = data.x.shape[1]
    width = np.full(d, _width(data))
    return lambda: KernelReg(data.y, data.x, "c" * d, reg_type=kind, bw=width).fit(data.x)[0]


def _curve(n: int, d: int) -> Labelled:
    """A curve over [0, 1], in order, both ends included."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(size=n))
    x[0], x[-1] = 0.0, 1.0
    return Labelled(x[:, None], np.sin(7 * x) + 0.2 * rng.standard_normal(n))


def _spline(smoothing: float | None, data: Labelled) -> Call:
    return lambda: SmoothingSpline(smoothing=smoothing).fit(data.x, data.y).predict(data.x)


def _their_spline(smoothing: float | None, data: Labelled) -> Call:
    from scipy.interpolate import make_smoothing_spline

    x = data.x[:, 0]
    return lambda: make_smoothing_spline(x, data.y, lam=smoothing)(x)


# ---- products -------------------------------------------------------------------------------


def _product(data: Labelled) -> Call:
    return lambda: Gram(data.kernel, data.x) @ data.y


def _reduction(data: Labelled) -> Call:
    product = products.keops(data.x.shape[1], 1)
    return lambda: product(data.x, data.x, data.y[:, None], data.gamma)[:, 0]


def _dense_product(data: Labelled) -> Call:
    from sklearn.metrics.pairwise import rbf_kernel

    return lambda: rbf_kernel(data.x, gamma=data.gamma) @ data.y


def _matrix(data: Labelled) -> Call:
    return lambda: data.kernel(data.x)


def _their_matrix(data: Labelled) -> Call:
    from sklearn.metrics.pairwise import rbf_kernel

    return lambda: rbf_kernel(data.x, gamma=data.gamma)


_EQUAL = _close(1e-6, 1e-9)

CONTESTS = [
    Contest(
        "KernelRidge fit",
        "Gaussian kernel, ridge 1, no intercept",
        numbers,
        _ridge,
        (Peer("scikit-learn", _their_ridge, agrees=_same_predictions),),
        limit=5.0,
    ),
    Contest(
        "KernelRidge fit, predict",
        "the mean of an exact Gaussian process at 50 points",
        numbers,
        _ridge_and_predict,
        (Peer("GPyTorch", _gaussian_process, agrees=_close(1e-5, 1e-6)),),
    ),
    Contest(
        "KernelLogistic fit",
        "the mode of a Gaussian process classifier",
        classes,
        _logistic,
        (Peer("scikit-learn", _laplace, agrees=_close(0, 1e-3)),),
    ),
    Contest(
        "NystromRidge fit",
        "100 landmarks, ridge 1",
        numbers,
        lambda data: _streamed(NystromRidge, data, landmarks=_landmarks(data)),
        (Peer("scikit-learn", partial(_pipeline, "Nystroem", "Ridge")),),
    ),
    Contest(
        "FourierRidge fit",
        "100 random features, ridge 1",
        numbers,
        lambda data: _streamed(FourierRidge, data, n_components=_landmarks(data), orthogonal=False),
        (Peer("scikit-learn", partial(_pipeline, "RBFSampler", "Ridge")),),
    ),
    Contest(
        "NystromLogistic fit",
        "100 landmarks, ridge 1, tolerance 1e-4",
        classes,
        lambda data: _streamed(NystromLogistic, data, landmarks=_landmarks(data), tolerance=1e-4),
        (Peer("scikit-learn", partial(_pipeline, "Nystroem", "LogisticRegression")),),
    ),
    Contest(
        "KernelPCA fit",
        "5 components, Gaussian kernel; scikit-learn chooses its solver",
        numbers,
        _components,
        (Peer("scikit-learn", _their_components, agrees=_close(1e-6)),),
    ),
    Contest(
        "SpectralClustering fit",
        "3 clusters, Gaussian kernel, 10 starts of k-means",
        _blobs,
        _clusters,
        (Peer("scikit-learn", _their_clusters, agrees=_same_clusters),),
    ),
    Contest(
        "NadarayaWatson",
        "fit, and predict the n points; fixed bandwidth",
        numbers,
        partial(_smoother, NadarayaWatson),
        (Peer("statsmodels", partial(_kernel_regression, "lc"), agrees=_EQUAL),),
    ),
    Contest(
        "LocalLinear",
        "fit, and predict the n points; fixed bandwidth",
        numbers,
        partial(_smoother, LocalLinear),
        (Peer("statsmodels", partial(_kernel_regression, "ll"), agrees=_close(1e-4, 1e-6)),),
    ),
    Contest(
        "SmoothingSpline",
        "cubic, fixed penalty, on the line: fit, and predict the n points",
        _curve,
        partial(_spline, _SMOOTHING),
        (Peer("SciPy", partial(_their_spline, _SMOOTHING), agrees=_close(1e-5, 1e-6)),),
        dims=(1,),
    ),
    Contest(
        "SmoothingSpline, GCV",
        "cubic, penalty by generalised cross-validation: fit, and predict the n points",
        _curve,
        partial(_spline, None),
        (Peer("SciPy", partial(_their_spline, None), agrees=_close(0, 0.05)),),
        dims=(1,),
    ),
    Contest(
        "Gram @ v",
        "the product with one vector",
        numbers,
        _product,
        (
            Peer("scikit-learn", _dense_product, agrees=_EQUAL),
            Peer("KeOps", _reduction, agrees=_EQUAL),
        ),
    ),
    Contest(
        "kernel matrix",
        "all entries of a Gaussian kernel",
        numbers,
        _matrix,
        (Peer("scikit-learn", _their_matrix, agrees=_EQUAL),),
        sizes=SIZES[:-1],
    ),
]
