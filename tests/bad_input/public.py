"""What is public, and why some of it needs no door.

Everything in `__all__` of a public package, and every method of its classes that takes something,
has a door in `doors.py` or a reason here; `test_bad_input.py` fails where both are missing.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import mercer

_FORMULA = "a formula on points that a door has checked"
_NUMBERS = "takes numbers; test_parameters.py tries them"
_KERNELS = "takes kernels and numbers; test_parameters.py tries them"
_MATRICES = "takes lazy matrices; test_no_matrix tries others"
_MADE = "made by the library, from what a door has checked"
_PROBLEM = "takes numbers; tests/datasets tries them"
_LABEL = "takes names; tests/datasets tries others"
_BAGS = "takes bags and distributions; tests/rkhs/embeddings tries wrong ones"
_EMBEDDINGS = "takes distributions and embeddings; tests/rkhs/embeddings tries others"
_LEARN = ("learn", "features")  # packages of scikit-learn estimators

NO_DATA: dict[str, str] = {
    "mercer.config": "settings; tests/test_config.py tries them",
    "mercer.settings": "takes nothing",
    "mercer.cli.app": "the command",
    "mercer.cli.main": "the command",
    # kernels: a method of Kernel stands for those of all kernels
    "mercer.kernels.Kernel.accept": "what the doors call",
    "mercer.kernels.Kernel.pairwise": _FORMULA,
    "mercer.kernels.Kernel.paired": _FORMULA,
    "mercer.kernels.Kernel.diag": _FORMULA,
    "mercer.kernels.Radial.profile": _FORMULA,
    "mercer.kernels.SmoothRadial.slope": _FORMULA,
    "mercer.kernels.SmoothRadial.curvature": _FORMULA,
    "mercer.kernels.Matern.lowered": _FORMULA,
    "mercer.kernels.DotProduct.profile": _FORMULA,
    "mercer.kernels.DotProduct.embed": _FORMULA,
    "mercer.kernels.Coordinatewise.value": _FORMULA,
    "mercer.kernels.ShiftInvariant.factor": _FORMULA,
    "mercer.kernels.Select.move": _FORMULA,
    "mercer.kernels.Scaled.move": _FORMULA,
    "mercer.kernels.Transformed.move": _FORMULA,
    "mercer.kernels.Stein.move": _FORMULA,
    "mercer.kernels.Tensor.spans": _FORMULA,
    "mercer.kernels.Kernel.exp": _NUMBERS,
    "mercer.kernels.Kernel.select": _NUMBERS,
    "mercer.kernels.Kernel.with_params": _NUMBERS,
    "mercer.kernels.RBF.from_gamma": _NUMBERS,
    "mercer.kernels.Radial.on": _KERNELS,
    "mercer.kernels.Kernel.map_parts": _KERNELS,
    "mercer.kernels.facts": _KERNELS,
    "mercer.kernels.radial_form": _KERNELS,
    "mercer.kernels.sample_frequencies": _KERNELS,
    "mercer.kernels.Facts": _MADE,
    "mercer.kernels.RadialForm": _MADE,
    "mercer.kernels.Rule": "registers functions by type",
    "mercer.kernels.Rule.__call__": "registers functions by type",
    "mercer.kernels.Rule.apply": "calls what was registered",
    "mercer.kernels.Rule.find": "calls what was registered",
    # gram
    "mercer.gram.Factor": _MADE,
    "mercer.gram.cholesky": _MATRICES,
    "mercer.gram.Hadamard": _MATRICES,
    "mercer.gram.Centered": _MADE,
    "mercer.gram.Centered.of": _MATRICES,
    "mercer.gram.Centered.around": _MATRICES,
    "mercer.gram.Reweighted.around": _MATRICES,
    "mercer.gram.LazyMatrix.inner": _MATRICES,
    "mercer.gram.LazyMatrix.block": "takes slices",
    "mercer.gram.Rounded": _MATRICES,
    "mercer.gram.SignWeights": _NUMBERS,
    "mercer.gram.PairedWeights": _NUMBERS,
    "mercer.gram.Resamples.group": "takes the number of a group",
    "mercer.gram.Resamples.chunks": "takes a budget",
    "mercer.gram.Resamples.columns": "takes a slice",
    # rkhs
    "mercer.rkhs.Function.inner": "takes functions; test_no_function tries others",
    "mercer.rkhs.Function.plot": "takes Axes; tests/plot tries others",
    "mercer.rkhs.MercerExpansion": _MADE,
    "mercer.rkhs.Basis.evaluate": _FORMULA,
    "mercer.rkhs.Basis.frequencies": "takes a number of terms, which the callers have checked",
    "mercer.rkhs.Basis.quadrature": "takes a number of terms, which the callers have checked",
    "mercer.rkhs.CosineBasis.unit": _FORMULA,
    "mercer.rkhs.FourierBasis.unit": _FORMULA,
    "mercer.rkhs.HaarBasis.unit": _FORMULA,
    "mercer.rkhs.LegendreBasis.unit": _FORMULA,
    "mercer.rkhs.TensorBasis.indices": _NUMBERS,
    "mercer.rkhs.Quadrature.hermite": _NUMBERS,
    "mercer.rkhs.Quadrature.legendre": _NUMBERS,
    "mercer.rkhs.Quadrature.tensor": "takes quadratures",
    "mercer.rkhs.Series.best": _NUMBERS,
    "mercer.rkhs.Series.linear": _NUMBERS,
    "mercer.rkhs.Series.sobolev_norm": _NUMBERS,
    # htest
    "mercer.htest.HypothesisTest.test": "what the doors of the tests call",
    "mercer.htest.HypothesisTest.statistic": "what the doors of the tests call",
    "mercer.htest.HypothesisTest.verdict": "takes a bool of the result",
    "mercer.htest.Result": _MADE,
    "mercer.htest.KSampleResult": _MADE,
    "mercer.htest.Result.plot": "takes Axes",
    "mercer.htest.Result.rejects": _NUMBERS,
    "mercer.htest.Result.summary": _NUMBERS,
    "mercer.htest.Null.judge": _MADE,
    "mercer.htest.Bootstrap": _NUMBERS,
    "mercer.htest.Bound": _NUMBERS,
    "mercer.htest.Chi2": _NUMBERS,
    "mercer.htest.FisherF": _NUMBERS,
    "mercer.htest.Gamma": _NUMBERS,
    "mercer.htest.Normal": _NUMBERS,
    "mercer.htest.Permutation": _NUMBERS,
    "mercer.htest.Spectrum": _NUMBERS,
    "mercer.htest.ModelDraws": _NUMBERS,
    "mercer.htest.WeightedChi2": _NUMBERS,
    "mercer.htest.WildBootstrap": _NUMBERS,
    "mercer.htest.ME.kind": _MADE,
    "mercer.htest.UME.kind": _MADE,
    "mercer.htest.BenjaminiHochberg": _NUMBERS,
    "mercer.htest.BenjaminiHochberg.adjusted": _MADE,
    "mercer.htest.BenjaminiHochberg.of_resampled": _MADE,
    "mercer.htest.Correction.of_resampled": _MADE,
    "mercer.htest.Composite.by": "takes a model that `fit` has made",
    "mercer.htest.CompositeResult": _MADE,
    "mercer.htest.Effect": _MADE,
    "mercer.htest.Feature": _MADE,
    "mercer.htest.Features": _MADE,
    "mercer.htest.Features.differing": _NUMBERS,
    "mercer.htest.Features.plot": "takes Axes",
    "mercer.htest.GoodnessResult": _MADE,
    "mercer.htest.GoodnessResult.points": _NUMBERS,
    "mercer.htest.Evidence": _MADE,
    "mercer.htest.GoodnessResult.columns": _NUMBERS,
    "mercer.htest.GoodnessResult.effect": _NUMBERS,
    "mercer.htest.GoodnessResult.to_dict": _NUMBERS,
    "mercer.htest.GoodnessResult.plot_columns": "takes Axes",
    "mercer.htest.GoodnessResult.plot_evidence": "takes Axes",
    "mercer.htest.GoodnessResult.plot_null": "takes Axes",
    "mercer.htest.GoodnessResult.plot_witness": "takes Axes",
    "mercer.htest.Misfit": _MADE,
    "mercer.htest.MisfitColumn": _MADE,
    "mercer.htest.MisfitLocation": _MADE,
    "mercer.htest.Result.judged": _MADE,
    "mercer.plot.plot_columns": "draws what a test or a result found",
    "mercer.plot.plot_evidence": "draws what a test or a result found",
    "mercer.plot.plot_misfit": "draws what a test or a result found",
    "mercer.report.goodness_report": "takes a result; tests/report tries others",
    "mercer.htest.GoodnessResult.thinned": _NUMBERS,
    "mercer.htest.Holm": _NUMBERS,
    "mercer.htest.Holm.adjusted": _MADE,
    "mercer.htest.Holm.of_resampled": _MADE,
    "mercer.htest.InteractionResult": _MADE,
    "mercer.htest.InteractionResult.to_dict": _NUMBERS,
    "mercer.htest.Interval": _MADE,
    "mercer.htest.KSDAggResult": _MADE,
    "mercer.htest.KSDAggResult.rejecting": _NUMBERS,
    "mercer.htest.MisfitPoints": _MADE,
    "mercer.htest.Monitor": _NUMBERS,
    "mercer.htest.MonitorState": _MADE,
    "mercer.htest.MonitorState.plot": "takes Axes",
    "mercer.htest.Pair": _MADE,
    "mercer.htest.PairwiseResult": _MADE,
    "mercer.htest.PairwiseResult.dependent": _NUMBERS,
    "mercer.htest.PairwiseResult.plot": "takes Axes",
    "mercer.htest.PairwiseResult.summary": _NUMBERS,
    "mercer.htest.PowerCurve": _MADE,
    "mercer.htest.PowerCurve.plot": "takes Axes",
    "mercer.htest.RelativeResult": _MADE,
    "mercer.htest.RelativeResult.better": _NUMBERS,
    "mercer.htest.RelativeResult.interval": _NUMBERS,
    "mercer.htest.SampleSize": _MADE,
    "mercer.htest.SampleSize.plot": "takes Axes",
    "mercer.htest.TwoSampleResult": _MADE,
    "mercer.htest.TwoSampleResult.effect": _NUMBERS,
    "mercer.htest.TwoSampleResult.features": _NUMBERS,
    "mercer.htest.DependenceWitness": _MADE,
    "mercer.htest.IndependenceResult": _MADE,
    "mercer.htest.IndependenceResult.effect": _NUMBERS,
    "mercer.htest.IndependenceResult.plot_witness": "takes Axes",
    "mercer.htest.IndependenceResult.points": _NUMBERS,
    "mercer.htest.IndependenceResult.thinned": _NUMBERS,
    "mercer.htest.IndependenceResult.to_dict": _NUMBERS,
    "mercer.htest.InteractionResult.effect": _NUMBERS,
    "mercer.htest.InteractionResult.plot_witness": "takes Axes",
    "mercer.htest.InteractionResult.points": _NUMBERS,
    "mercer.htest.InteractionResult.thinned": _NUMBERS,
    "mercer.htest.Strength": _MADE,
    "mercer.htest.TellingPairs": _MADE,
    "mercer.htest.TwoSampleResult.plot_features": "takes Axes",
    "mercer.htest.TwoSampleResult.plot_witness": "takes Axes",
    "mercer.htest.TwoSampleResult.points": _NUMBERS,
    "mercer.htest.TwoSampleResult.to_dict": _NUMBERS,
    "mercer.htest.WestfallYoung": _NUMBERS,
    "mercer.htest.WestfallYoung.of_resampled": _MADE,
    "mercer.plot.plot_dependence": "draws what a test or a result found",
    "mercer.plot.plot_embeddings": "draws what a test or a result found",
    "mercer.plot.plot_features": "draws what a test or a result found",
    "mercer.plot.plot_null": "draws what a test or a result found",
    "mercer.plot.plot_pairwise": "draws what a test or a result found",
    "mercer.plot.plot_power": "draws what a test or a result found",
    "mercer.plot.plot_shares": "draws what a test or a result found",
    "mercer.plot.plot_wealth": "draws what a test or a result found",
    "mercer.plot.plot_witness": "draws what a test or a result found",
    "mercer.rkhs.Empirical.sample": _NUMBERS,
    "mercer.rkhs.Gaussian.sample": _NUMBERS,
    "mercer.rkhs.GaussBernoulliRBM.sample": _NUMBERS,
    "mercer.rkhs.LogDensity": "takes functions; tests/rkhs/test_logdensity.py tries others",
    "mercer.rkhs.stein_points": "takes functions; tests/rkhs/test_compression.py tries others",
    "mercer.rkhs.LogDensity.chart": "takes a number of columns that was checked",
    "mercer.rkhs.Bags.from_arrow": _BAGS,
    "mercer.rkhs.Bags.from_frame": _BAGS,
    "mercer.rkhs.Bags.load": "takes a path",
    "mercer.rkhs.Bags.save": "takes a path",
    "mercer.rkhs.Bags.means": "takes rows that belong to its points",
    "mercer.rkhs.Bags.of": _BAGS,
    "mercer.rkhs.MeanMap": _BAGS,
    "mercer.rkhs.ShrunkMeanMap": _BAGS,
    "mercer.rkhs.SlicedWasserstein": _BAGS,
    "mercer.rkhs.ProbabilityProduct": _BAGS,
    "mercer.rkhs.Embedding": _MADE,
    "mercer.rkhs.Embedding.distance": _EMBEDDINGS,
    "mercer.rkhs.Embedding.distance2": _EMBEDDINGS,
    "mercer.rkhs.Embedding.inner": _EMBEDDINGS,
    "mercer.rkhs.Embedding.mixture": _EMBEDDINGS,
    "mercer.rkhs.Embedding.product": _EMBEDDINGS,
    "mercer.rkhs.ProductEmbedding": _MADE,
    "mercer.rkhs.ProductEmbedding.__call__": "calls its factors, each at its points",
    "mercer.rkhs.ProductEmbedding.distance2": _EMBEDDINGS,
    "mercer.rkhs.ProductEmbedding.inner": _EMBEDDINGS,
    "mercer.rkhs.ConditionalEmbedding": _MADE,
    "mercer.rkhs.ConditionalEmbedding.bayes_rule": _EMBEDDINGS,
    "mercer.rkhs.ConditionalEmbedding.chain_rule": _EMBEDDINGS,
    "mercer.rkhs.ConditionalEmbedding.sum_rule": _EMBEDDINGS,
    "mercer.rkhs.CovarianceOperator": _MADE,
    "mercer.rkhs.CovarianceOperator.__call__": "takes functions; tests/rkhs/embeddings tries others",
    "mercer.rkhs.CovarianceOperator.singular_values": _NUMBERS,
    "mercer.rkhs.Dirac.sample": _NUMBERS,
    "mercer.rkhs.Uniform": "takes two corners; tests/rkhs/embeddings tries wrong ones",
    "mercer.rkhs.Uniform.sample": _NUMBERS,
    "mercer.rkhs.transformed": "takes a function and distributions; tests/rkhs/embeddings tries others",
    "mercer.rkhs.Mixture": "takes distributions and weights; tests/rkhs/test_densities.py tries others",
    "mercer.rkhs.Mixture.sample": _NUMBERS,
    # learn
    "mercer.learn.Backward": "takes a share; tests/learn/test_select.py tries others",
    "mercer.learn.Forward": "takes nothing",
    "mercer.learn.Direction.search": "what `HSICSelector.fit` calls",
    "mercer.learn.Criterion.of": "what `KernelRidge.fit` calls",
    "mercer.learn.GCV": "takes nothing",
    "mercer.learn.LeaveOneOut": "takes nothing",
    "mercer.learn.RidgePath": "takes ridges; tests/learn/regression/test_ridge.py tries others",
    "mercer.learn.RidgePath.on": "what `KernelRidge.fit` calls",
    "mercer.learn.RidgeScores": _MADE,
    "mercer.learn.MultiClass.problems": "what `SVC.fit` calls",
    "mercer.learn.MultiClass.combined": "what `SVC.decision_function` calls",
    "mercer.learn.OneVsOne": "takes nothing",
    "mercer.learn.OneVsRest": "takes nothing",
    "mercer.learn.Batches": "takes a function; tests/learn/landmarks tries others",
    "mercer.learn.Parquet": "takes a path; tests/learn/landmarks tries others",
    "mercer.learn.ConjugateGradients": "takes numbers; tests/learn/landmarks tries others",
    "mercer.learn.NormalEquations": "takes nothing",
    "mercer.learn.Solver.solve": "what `NystromRidge.fit` calls",
    "mercer.learn.Loss.value": _FORMULA,
    "mercer.learn.SmoothLoss.slope": _FORMULA,
    "mercer.learn.SmoothLoss.curvature": _FORMULA,
    "mercer.learn.PiecewiseLinearLoss.interval": _FORMULA,
    "mercer.learn.Squared": "takes nothing",
    "mercer.learn.Logistic": "takes nothing",
    "mercer.learn.Hinge": "takes nothing",
    "mercer.learn.SquaredHinge": "takes nothing",
    "mercer.learn.Huber": "takes a width; tests/learn/regression/test_machine.py tries others",
    "mercer.learn.Pinball": "takes a quantile; tests/learn/regression/test_machine.py tries others",
    # features
    "mercer.features.Map.__call__": _FORMULA,
    "mercer.features.LandmarkRule.choose": "what `Nystrom.fit` calls",
    "mercer.features.LandmarkRule.pool": "what `Nystrom.fit` calls",
    "mercer.features.LeverageScores.scores": "what `Nystrom.fit` calls",
    "mercer.features.LeverageScores": "takes a ridge; tests/features tries others",
    "mercer.features.KMeansPlusPlus": "takes nothing",
    "mercer.features.UniformLandmarks": "takes nothing",
    "mercer.learn.FixedPoint": "takes numbers; tests/learn/components tries them",
    "mercer.learn.LearnedMap": "takes a number and a kernel; tests/learn/components tries them",
    "mercer.learn.Preimage.back": "what `KernelPCA.fit` calls",
    # datasets
    "mercer.datasets.Problem.draw": "takes sizes that `sample` has checked",
    "mercer.datasets.Problem.sample": "takes sizes; tests/datasets tries them",
    "mercer.datasets.PairedProblem.draw": "takes sizes that `sample` has checked",
    "mercer.datasets.PairedProblem.sample": "takes sizes; tests/datasets tries them",
    "mercer.datasets.GaussianSign": _PROBLEM,
    "mercer.datasets.IndependentGaussians": _PROBLEM,
    "mercer.datasets.RotatedUniform": _PROBLEM,
    "mercer.datasets.Sinusoid": _PROBLEM,
    "mercer.datasets.Sinusoid.density": _FORMULA,
    "mercer.datasets.Blobs": _PROBLEM,
    "mercer.datasets.Counts": _PROBLEM,
    "mercer.datasets.HeavyTails": _PROBLEM,
    "mercer.datasets.MeanShift": _PROBLEM,
    "mercer.datasets.MixedColumns": _PROBLEM,
    "mercer.datasets.PerturbedUniform": _PROBLEM,
    "mercer.datasets.SameGaussian": _PROBLEM,
    "mercer.datasets.VarianceShift": _PROBLEM,
    "mercer.datasets.PerturbedUniform.density": _FORMULA,
    "mercer.datasets.PerturbedUniform.signs": "takes a generator",
    "mercer.datasets.Bags": _MADE,
    "mercer.datasets.Graph": _MADE,
    "mercer.datasets.Graphs": _MADE,
    "mercer.datasets.Images": _MADE,
    "mercer.datasets.Network": _MADE,
    "mercer.datasets.Papers": _MADE,
    "mercer.datasets.Tabular": _MADE,
    "mercer.datasets.Texts": _MADE,
    "mercer.datasets.Translations": _MADE,
    "mercer.datasets.Images.of": _LABEL,
    "mercer.datasets.Papers.of": _LABEL,
    "mercer.datasets.Tabular.numbers": _LABEL,
    "mercer.datasets.fetch_mnist": "takes which part to fetch",
    "mercer.datasets.fetch_multi30k": "takes which part to fetch",
    "mercer.datasets.fetch_song_years": "takes which part to fetch",
    "mercer.datasets.fetch_trec_questions": "takes which part to fetch",
    "mercer.datasets.fetch_usps": "takes which part to fetch",
    # plot
    "mercer.plot.plot_function": "draws a function; tests/plot tries others",
    "mercer.plot.plot_gram": "draws a Gram matrix; tests/plot tries others",
    "mercer.plot.plot_histograms": "draws numbers; tests/plot tries others",
    # report
    "mercer.report.independence_report": "takes a result; tests/report tries others",
    "mercer.report.two_sample_report": "takes a result; tests/report tries others",
}


def public() -> dict[str, Any]:
    """Every public callable, and every public method of the classes among them."""
    found: dict[str, Any] = {}
    for package, module in _packages().items():
        for name in getattr(module, "__all__", ()):
            if package == "mercer" and name in mercer._SUBMODULES:
                continue
            value = getattr(module, name)
            if isinstance(value, type) and issubclass(value, BaseException):
                continue
            if callable(value):
                found[f"{package}.{name}"] = value
            if isinstance(value, type):
                found |= {f"{package}.{name}.{m}": f for m, f in _methods(value)}
    return found


def without_a_door(registered: set[str]) -> list[str]:
    """Public things that are not registered, methods neither with their class nor with a base."""
    return [
        name
        for name, (value, others) in _places().items()
        if not others & registered and _takes(value) and not _is_learner(name)
    ]


def _is_learner(name: str) -> bool:
    """Whether it is a learner or its method: behind scikit-learn's door, whose words its checks fix.

    tests/learn and tests/features run those checks on every learner.
    """
    _, package, kind, *_ = [*name.split("."), "", ""]
    found = getattr(getattr(mercer, package), kind, None) if package in _LEARN else None
    return isinstance(found, type) and hasattr(found, "get_params")


def gone(registered: set[str]) -> list[str]:
    """What is registered and no longer public, though its package is there."""
    left = registered.difference(*(others for _, others in _places().values()))
    return sorted(name for name in left if ".".join(name.split(".")[:2]) in _packages())


def _places() -> dict[str, tuple[Any, set[str]]]:
    """Every public thing, and under which names it may be registered."""
    everything, found = public(), {}
    for name, value in everything.items():
        owner, _, method = name.rpartition(".")
        bases = getattr(everything.get(owner), "__mro__", ())
        packages = {".".join(base.__module__.split(".")[:2]) for base in bases}
        packages.add(owner.rpartition(".")[0])
        names = {f"{p}.{base.__name__}.{method}" for p in packages for base in bases}
        found[name] = value, {name} | names
    return found


def _takes(value: Any) -> bool:
    """Whether it can be called with something; of abstract classes that is for their heirs."""
    if inspect.isclass(value):
        return not inspect.isabstract(value)
    return any(p not in ("self", "cls") for p in inspect.signature(value).parameters)


def _packages() -> dict[str, Any]:
    inside = (m.name for m in pkgutil.iter_modules(mercer.__path__) if m.ispkg)
    names = ["mercer", *(f"mercer.{name}" for name in inside if not name.startswith("_"))]
    return {name: importlib.import_module(name) for name in names}


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in inspect.getmembers(kind, callable):
        visible = not name.startswith("_") or name in ("__call__", "__matmul__")
        if visible and getattr(value, "__module__", "").startswith("mercer"):
            yield name, value
