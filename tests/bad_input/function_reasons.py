"""Why some of what is public about functions, their facts and intervals needs no door."""

from __future__ import annotations

_NUMBERS = "takes numbers; tests/htest/samples/test_mmd_to_model.py tries them"
_TRIED = "takes numbers; test_parameters.py tries them"
_FORMULA = "a formula on points that a door has checked"
_KERNELS = "takes kernels; arguments.py tries other things"
_MADE = "made by the library, from what a door has checked"

FUNCTION_REASONS = {
    "mercer.htest.ModelMMDResult": _MADE,
    "mercer.htest.ModelMMDResult.interval": _NUMBERS,
    "mercer.htest.ModelMMDResult.mmd_interval": _NUMBERS,
    "mercer.htest.TwoSampleResult.mmd_interval": _NUMBERS,
    "mercer.htest.i_characteristic": _KERNELS,
    "mercer.kernels.DistanceInduced": "takes a function and a point; tests/kernels/test_taylor.py tries others",
    "mercer.kernels.FunctionSpace": _MADE,
    "mercer.kernels.spectral_masses": _KERNELS,
    "mercer.htest.ME.tuned": "takes what ME.optimized takes; tests/htest/samples/test_chosen_by_power.py tries others",
    "mercer.kernels.facts_on_circle": _KERNELS,
    "mercer.kernels.function_space": _KERNELS,
    "mercer.rkhs.Prototypes": _MADE,
    "mercer.learn.RiskDeviation": _MADE,
    "mercer.learn.risk_deviation": "takes bags and a function; tests/learn/distributions tries wrong ones",
    "mercer.learn.AdaptedSample": _MADE,
    "mercer.learn.Shift.adapted": "what `DomainAdaptation.fit` calls",
    "mercer.learn.CovariateShift": "takes a kernel and numbers; tests/learn/test_domain_adaptation.py tries others",
    "mercer.learn.TargetShift": "takes kernels and numbers; tests/learn/test_domain_adaptation.py tries others",
    "mercer.learn.ConditionalShift": "takes kernels and numbers; tests/learn/test_domain_adaptation.py tries others",
    "mercer.rkhs.LatentMeanMap": "takes bags and a model; tests/rkhs/embeddings/test_latent_meanmap.py tries wrong ones",
    "mercer.rkhs.KernelBeliefPropagation": "takes edges; tests/rkhs/embeddings/test_belief_propagation.py tries others",
    "mercer.rkhs.KernelBeliefPropagation.beliefs": "takes mappings; tests/rkhs/embeddings/test_belief_propagation.py tries others",
    "mercer.rkhs.Function.of_checked": "trusts points that a door has checked",
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
    "mercer.rkhs.TensorBasis.indices": _TRIED,
    "mercer.rkhs.Quadrature.hermite": _TRIED,
    "mercer.rkhs.Quadrature.legendre": _TRIED,
    "mercer.rkhs.Quadrature.tensor": "takes quadratures",
    "mercer.rkhs.Series.best": _TRIED,
    "mercer.rkhs.Series.linear": _TRIED,
    "mercer.rkhs.Series.sobolev_norm": _TRIED,
}
