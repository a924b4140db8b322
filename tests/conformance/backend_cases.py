"""Every hypothesis test and learner on every backend: what is run, and what has to agree.

No pytest here: `python -m benchmarks.gpu conformance` runs the same cases on a machine that has none.
Inputs are float32 numbers, so that backends differ in their arithmetic only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer import htest, kernels
from mercer.backend import is_numpy, is_torch, to_numpy
from mercer.htest import Permutation, WildBootstrap
from mercer.rkhs import Gaussian

Convert = Callable[[np.ndarray], Any]
RESAMPLES = 99
PERMUTATIONS = Permutation(RESAMPLES)
RESIDUAL_TESTS = (htest.GCM(), htest.WeightedGCM(), htest.KernelGCM(), htest.PCM())
SIGNS = WildBootstrap(RESAMPLES)
SLOW_COSINES = WildBootstrap(RESAMPLES, block=None)


# ---- backends ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Backend:
    """An array library, a device and a precision."""

    name: str
    library: str
    dtype: str
    device: str = "cpu"

    @property
    def missing(self) -> str | None:
        """Why it cannot be used here; None where it can."""
        if self.library == "numpy":
            return None
        try:
            import torch
        except ImportError:
            return "needs torch"
        if self.device == "cuda" and not torch.cuda.is_available():
            return "needs a GPU: torch.cuda.is_available() is false"
        return None

    @property
    def single(self) -> bool:
        """Whether its numbers are float32."""
        return self.dtype == "float32"

    def convert(self, x: np.ndarray) -> Any:
        """The numbers as an array of this backend."""
        if self.library == "numpy":
            return x.astype(self.dtype)
        import torch

        return torch.tensor(x, dtype=getattr(torch, self.dtype), device=self.device)

    def owns(self, x: Any) -> bool:
        """Whether an array belongs to this library and device."""
        if self.library == "numpy":
            return is_numpy(x)
        return is_torch(x) and x.device.type == self.device


REFERENCE = Backend("NumPy float64", "numpy", "float64")
BACKENDS = (
    Backend("NumPy float32", "numpy", "float32"),
    Backend("torch float32", "torch", "float32"),
    Backend("torch float64", "torch", "float64"),
    Backend("CUDA float32", "torch", "float32", "cuda"),
    Backend("CUDA float64", "torch", "float64", "cuda"),
)


# ---- data -------------------------------------------------------------------------------------


def _rounded(x: np.ndarray) -> np.ndarray:
    """The same numbers as float32 holds them, in float64."""
    return x.astype(np.float32).astype(np.float64)


def samples(*sizes: int, d: int = 3) -> tuple[np.ndarray, ...]:
    """Gaussian samples, every second one of them shifted a little."""
    rng = np.random.default_rng(0)
    return tuple(_rounded(rng.normal(0.25 * (i % 2), 1.0, (n, d))) for i, n in enumerate(sizes))


def variables(n: int, *widths: int) -> tuple[np.ndarray, ...]:
    """Variables of these widths that depend on each other a little."""
    rng = np.random.default_rng(1)
    common = rng.normal(size=(n, 1))
    return tuple(_rounded(0.5 * common + rng.normal(size=(n, d))) for d in widths)


def regression(n: int, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Points and a smooth function of them with noise."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(n, d))
    return _rounded(x), _rounded(np.sin(x[:, 0]) + 0.5 * x[:, -1] + 0.1 * rng.normal(size=n))


def clusters(n: int, d: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Points of two classes that are well apart, and the classes."""
    rng = np.random.default_rng(3)
    labels = np.arange(n) % 2
    return _rounded(rng.normal(size=(n, d)) + 4.0 * labels[:, None]), labels


def bags(n: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Samples of different sizes and of two scales, and which."""
    rng = np.random.default_rng(4)
    wide = np.arange(n) % 2
    found = [_rounded(rng.normal(0.0, 1.0 + 2.0 * w, (rng.integers(15, 25), 2))) for w in wide]
    return found, wide


# ---- hypothesis tests -------------------------------------------------------------------------


@dataclass(frozen=True)
class TestCase:
    """A hypothesis test and the samples it is given."""

    __test__ = False  # not for pytest to collect

    test: Any
    samples: tuple[np.ndarray, ...]

    @property
    def name(self) -> str:
        """The class of the test, and its null where that is not the usual one."""
        null = type(getattr(self.test, "null", None)).__name__
        usual = ("NoneType", "Permutation", "WildBootstrap")
        return type(self.test).__name__ + ("" if null in usual else f", {null}")

    def changed(self, change: Convert) -> TestCase:
        """The same test on other numbers."""
        return replace(self, samples=tuple(change(s) for s in self.samples))

    def run(self, backend: Backend) -> Any:
        """The result of the test."""
        return self.test.test(*(backend.convert(s) for s in self.samples), rng=0)

    def difference(self, found: Any, wanted: Any, backend: Backend) -> str:
        """What is not as on the reference backend, in words; empty where all is.

        Resampled statistics are rounded to float32 everywhere (to half precision on a GPU), so that
        a few of them may change places with the observed one.
        """
        spread = float(np.std(wanted.null)) if len(wanted.null) else 0.0
        size = max(abs(wanted.statistic), spread)
        limit = 1e-3 if backend.single else 1e-7
        off = abs(found.statistic - wanted.statistic) / size
        if not off <= limit:
            return f"statistic {found.statistic:.6g}, not {wanted.statistic:.6g}"
        swaps = 3 / (1 + len(wanted.null)) if len(wanted.null) else 0.0
        if not abs(found.pvalue - wanted.pvalue) <= max(swaps, 10 * limit):
            return f"p = {found.pvalue:.6g}, not {wanted.pvalue:.6g}"
        return ""


def htest_cases() -> list[TestCase]:
    """Every hypothesis test, with its other nulls where these take another road."""
    two, pair = samples(40, 35), variables(60, 3, 2)
    three, many = variables(60, 1, 2, 1), samples(150, 120)
    (one,), paired = samples(60), variables(120, 2, 2)
    model, near = Gaussian(np.zeros(3), 1.2), Gaussian(np.full(3, 0.1), 1.0)
    energy = kernels.Energy()
    rows: list[tuple[Any, tuple[np.ndarray, ...]]] = [
        (htest.MMD(null=PERMUTATIONS), two),
        (htest.MMD(kernels.Laplace(2.0), null=htest.Gamma()), two),
        (htest.MMD(null=htest.Spectrum(RESAMPLES)), two),
        (htest.MMD(null=htest.Bound()), many),
        (htest.MMD(null=SIGNS), samples(60, 60)),
        (htest.MaxMMD(null=PERMUTATIONS), two),
        (htest.MMDAgg(null=PERMUTATIONS), two),
        (htest.MMDAgg(null=PERMUTATIONS, landmarks=20), two),
        (htest.MMDFuse(null=PERMUTATIONS), two),
        (htest.Energy(null=PERMUTATIONS), two),
        (htest.Wasserstein(null=PERMUTATIONS), two),
        (htest.Kolmogorov(null=PERMUTATIONS), two),
        (htest.CrossMatch(), two),
        (htest.SpanningTreeTest(null=PERMUTATIONS), two),
        (htest.KSample(null=PERMUTATIONS), samples(30, 25, 30)),
        (htest.Hotelling(), two),
        (htest.LinearMMD(), many),
        (htest.BlockMMD(), many),
        (htest.CrossMMD(), many),
        (htest.Equivalence(0.5), many),
        *([(htest.DeepMMD(steps=3, null=PERMUTATIONS), two)] if find_spec("torch") else []),
        (htest.ContextMMD(resamples=19), samples(40, 35, 40, 35)),
        (htest.ME(null=PERMUTATIONS), two),
        (htest.SCF(null=PERMUTATIONS), two),
        (htest.UME(null=PERMUTATIONS), two),
        (htest.UME(), many),
        (htest.HSIC(null=PERMUTATIONS), pair),
        (htest.HSIC(unbiased=True, null=PERMUTATIONS), variables(60, 1, 1)),
        (htest.HSIC(null=htest.Gamma()), pair),
        (htest.HSIC(null=htest.Spectrum(RESAMPLES)), pair),
        (htest.HSIC(energy, energy, null=PERMUTATIONS), pair),
        (htest.HSICAgg(null=PERMUTATIONS), pair),
        (htest.CrossHSIC(), paired),
        (htest.BlockHSIC(), paired),
        (htest.FourierHSIC(null=PERMUTATIONS), pair),
        (htest.NystromHSIC(null=PERMUTATIONS), pair),
        (htest.NFSIC(null=PERMUTATIONS), pair),
        (htest.RDC(null=PERMUTATIONS), pair),
        (htest.MutualInformation(null=htest.Permutation(19)), pair),
        (htest.TransferEntropy(resamples=19), pair),
        (htest.ShiftHSIC(), pair),
        (htest.MMD(null=SLOW_COSINES), samples(60, 60)),
        (htest.HSIC(null=SLOW_COSINES), pair),
        (htest.SerialHSIC(null=PERMUTATIONS), (one,)),
        (htest.DHSIC(null=PERMUTATIONS), three),
        (htest.DHSIC(null=htest.Gamma()), three),
        (htest.DHSIC(null=htest.Bootstrap(RESAMPLES)), three),
        (htest.Lancaster(null=PERMUTATIONS), three),
        (htest.PartialDistanceCorrelation(null=PERMUTATIONS), three),
        (htest.PartialCorrelation(), three),
        (htest.KCI(), three),
        (htest.KCI(null=SIGNS), three),
        (htest.SplitKCI(null=SIGNS), three),
        (htest.LocalPermutation(resamples=19), three),
        (htest.ConditionalMutualInformation(resamples=19), three),
        (htest.CRT(resamples=19), three),
        *((test, variables(120, 1, 2, 1)) for test in RESIDUAL_TESTS),
        (htest.RCoT(), variables(120, 1, 2, 1)),
        (htest.RCIT(), variables(120, 1, 2, 1)),
        (htest.KSD(model, null=SIGNS), (one,)),
        (htest.KSD(model, kernels.RBF(2.0), unbiased=True, null=SIGNS), (one,)),
        (htest.KSDAgg(model, null=SIGNS), (one,)),
        (htest.LinearKSD(model), (one,)),
        (htest.FSSD(model), (one,)),
        (htest.RelativeKSD(model, near), (one,)),
        (htest.AgainstDraws(model, htest.MMD(null=PERMUTATIONS)), (one,)),
        (htest.Composite(Gaussian.fit, htest.KSD, resamples=19), (one,)),
    ]
    return [TestCase(test, given) for test, given in rows]


# ---- learners ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnerCase:
    """A learner, what it learns from, and what it says about the same points."""

    learner: Any
    x: Any  # an array, or a list of bags
    y: np.ndarray | None
    tensors: bool = (
        False  # whether predictions are promised in the library and device of the points
    )
    single: float = 1e-3  # how far float32 may be off, in units of the spread of the answers

    @property
    def name(self) -> str:
        """The class of the learner."""
        return type(self.learner).__name__

    def changed(self, change: Convert) -> LearnerCase:
        """The same learner on other numbers; labels stay as they are."""
        x = [change(b) for b in self.x] if isinstance(self.x, list) else change(self.x)
        numbers = self.y is not None and self.y.dtype.kind == "f"
        return replace(self, x=x, y=change(self.y) if numbers else self.y)

    def run(self, backend: Backend) -> Any:
        """Predictions or features, as the learner returns them."""
        from sklearn.base import clone

        x = [backend.convert(b) for b in self.x] if isinstance(self.x, list) else None
        x = backend.convert(self.x) if x is None else x
        numbers = self.y is not None and self.y.dtype.kind == "f"
        y = backend.convert(self.y) if numbers and not isinstance(self.x, list) else self.y
        fitted = clone(self.learner)
        fitted = fitted.fit(x) if y is None else fitted.fit(x, y)
        if hasattr(fitted, "nu"):  # labels of points on the boundary are a matter of rounding
            return fitted.decision_function(x)
        return fitted.predict(x) if hasattr(fitted, "predict") else fitted.transform(x)

    def difference(self, found: Any, wanted: Any, backend: Backend) -> str:
        """What is not as on the reference backend, in words; empty where all is."""
        if self.tensors and not backend.owns(found):
            return f"returned {type(found)}, not an array of {backend.library} on {backend.device}"
        ours, theirs = self._invariant(found), self._invariant(wanted)
        if ours.shape != theirs.shape:
            return f"shape {ours.shape}, not {theirs.shape}"
        if theirs.dtype.kind != "f":
            wrong = int(np.sum(ours != theirs))
            return f"{wrong} of {theirs.size} labels differ" if wrong else ""
        limit = self.single if backend.single else 1e-6
        off = float(np.max(np.abs(ours - theirs))) / float(np.std(theirs))
        return "" if off <= limit else f"{off:.1e} apart, in units of their spread"

    def _invariant(self, answer: Any) -> np.ndarray:
        """The answer without what is arbitrary: numbers of clusters, signs of components."""
        values = to_numpy(answer[0] if isinstance(answer, tuple) else answer)
        if self.name in ("KernelKMeans", "SpectralClustering"):
            return (values[:, None] == values).astype(np.int64)
        if values.ndim == 2 and not hasattr(type(self.learner), "predict"):
            centred = values.astype(np.float64) - values.mean(axis=0, dtype=np.float64)
            return centred @ centred.T
        return values.astype(np.float64) if values.dtype.kind == "f" else values


def learner_cases() -> list[LearnerCase]:
    """Every learner; needs scikit-learn."""
    from mercer import learn
    from mercer.kernels import RBF, Linear
    from mercer.rkhs import MeanMap

    numbers, classes, sets = regression(60), clusters(40), bags(30)
    x, y = numbers
    scale = sets[1].astype(np.float64)
    line = x[:, :1], y
    deep_sets = [
        (learn.DeepSetsRegressor(networks=1, steps=20, random_state=0), sets[0], scale),
        (learn.DeepSetsClassifier(networks=1, steps=20, random_state=0), *sets),
    ]
    rows: list[tuple[Any, ...]] = [
        (learn.HSICSelector(2), *numbers),
        (learn.MRMR(2), *numbers),
        (learn.ISA(1, random_state=0), x, None),
        (learn.KCCA(1, kernel=RBF(2.0), kernel_y=RBF(2.0), ridge=0.1), *numbers),
        (learn.KernelKMeans(2, n_init=3, random_state=0), classes[0], None),
        (learn.SpectralClustering(2, random_state=0), classes[0], None),
        (learn.SVC(), *classes),
        (learn.SVC(probability=True, random_state=0), *classes),
        (learn.SVR(tol=1e-9), *numbers),  # well below what results may differ by
        (learn.OneClassSVC(nu=0.2), classes[0], None),
        (learn.KernelSearchCV(learn.SVC(RBF(2.0)), {"C": [0.1, 1.0]}, cv=2), *classes),
        (learn.SupportMeasureMachine(), *sets),
        (learn.OneClassSMM(MeanMap(RBF(2.0)), 0.2), sets[0], None),
        (learn.FlexSVC(), *classes),
        (learn.AugmentedSVC(), *sets),
        (learn.DistributionRegressor(ridge=1.0), sets[0], scale, True),
        (learn.DistributionRegressor(), sets[0], scale, True),
        (learn.BayesianDistributionRegressor(random_state=0), sets[0], scale),
        (learn.MeanFeatures(random_state=0), sets[0], None),
        *(deep_sets if find_spec("torch") else []),
        (learn.ConditionalGaussians(), x, None),
        (learn.DomainAdaptation(learn.KernelRidge(RBF(2.0), 0.1)), *numbers),
        (learn.SecondOrderConeSVC(), *classes),
        (learn.NadarayaWatson(), *numbers),
        (learn.LocalLinear(), *numbers),
        (learn.SmoothingSpline(), *line),
        (learn.KernelPCA(2), x, None, True),
        (learn.KernelRidge(ridge=0.1), *numbers, True),
        (learn.KernelRidge(RBF(20.0), learn.RidgePath()), *numbers, True),
        (learn.KernelRidge(Linear() + 1.0, learn.RidgePath()), *numbers, True),
        (learn.KernelLogistic(), *classes),
        (learn.KernelMachine(), *numbers, True),
        (learn.KernelMachine(learn.Hinge(), RBF(2.0), 0.1), *classes),
        (learn.KernelQuantile(ridge=0.1), *numbers, True),
        (learn.FourierRidge(n_components=50, random_state=0), *numbers, True),
        (learn.NystromLogistic(landmarks=20, tolerance=1e-3, random_state=0), *classes),
        (learn.NystromSVC(landmarks=20, random_state=0), *classes),
        (learn.NystromRidge(ridge=0.1, landmarks=30, random_state=0), *numbers, True, 5e-3),
    ]
    return [LearnerCase(*row) for row in rows]
