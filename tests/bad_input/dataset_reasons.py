"""Why what `mercer.datasets` makes public needs no door."""

from __future__ import annotations

_FORMULA = "a formula on points that a door has checked"
_MADE = "made by the library, from what a door has checked"
_PROBLEM = "takes numbers; tests/datasets tries them"
_LABEL = "takes names; tests/datasets tries others"

DATASET_REASONS: dict[str, str] = {
    "mercer.datasets.Problem.draw": "takes sizes that `sample` has checked",
    "mercer.datasets.Problem.sample": "takes sizes; tests/datasets tries them",
    "mercer.datasets.PairedProblem.draw": "takes sizes that `sample` has checked",
    "mercer.datasets.PairedProblem.sample": "takes sizes; tests/datasets tries them",
    "mercer.datasets.AmplitudeModulation": _PROBLEM,
    "mercer.datasets.ExpressiveFaces": _PROBLEM,
    "mercer.datasets.SongYears": _PROBLEM,
    "mercer.datasets.VideoCaptions": _PROBLEM,
    "mercer.datasets.CauseEffectProblem.draw": "takes sizes that `sample` has checked",
    "mercer.datasets.CauseEffectProblem.sample": "takes sizes; tests/datasets tries them",
    "mercer.datasets.Mechanism.draw": _FORMULA,
    **{
        f"mercer.datasets.{name}": _PROBLEM
        for name in (
            "AdditivePair",
            "ConfoundedPair",
            "DiscretePair",
            "GaussianProcessMechanism",
            "HeteroscedasticPair",
            "PostNonlinearPair",
            "SplineMechanism",
        )
    },
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
}
