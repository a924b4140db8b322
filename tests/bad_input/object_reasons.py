"""Why kernels on objects, and the methods of their classes, need no door."""

from __future__ import annotations

from tests.support.object_zoo import OBJECT_KERNELS

_FORMULA = "a formula on points that a door has checked"
_OBJECTS = "takes objects; tests/conformance/test_object_kernels.py drives the bank through it"

_FORMULAS_ON_OBJECTS = """
    ObjectKernel.view ObjectKernel.viewed FeatureCounts.describe SetFeatures.element_weights _Ratio.ratio
    _OfElements.reduced _OfRankings.vectors _OfNodePairs.sums _Substructures.sums _Substructures.table
    GappyKmers.occurrences GappyPairs.occurrences LogValued.log_diag LogValued.log_paired LogValued.log_pairwise
    AlignmentSum.log_diag AlignmentSum.log_paired AlignmentSum.log_pairwise DynamicTimeWarping.squared_distances
    _PairSum.values _DistanceKernel.value Series.aligned Series.joined Series.taken Graphs.aligned Graphs.joined Graphs.taken
    Geometric.ratio Factorial.ratio FromPairs.value DistanceInduced.value _OfFuzzySets.reduced TNorm.value MinimumNorm.value ProductNorm.value GaussianNonsingleton.value CauchyBinet.value
    _OfSequences.log_value _OfSequences.log_diag _OfSequences.log_paired _OfSequences.log_pairwise
    HiddenMarkovProduct.log_value LinearSystemProduct.log_value
"""

OBJECT_REASONS: dict[str, str] = {
    **{f"mercer.kernels.{kind.__name__}": _OBJECTS for kind in OBJECT_KERNELS},
    "mercer.kernels.ObjectKernel.items": _OBJECTS,
    "mercer.kernels.Signature.features": _OBJECTS,
    **{
        f"mercer.kernels.Series{name}": "takes series; tests/kernels/test_series_kernels.py tries others"
        for name in ("", ".of", ".from_channels_first", ".from_padded", ".from_frame")
    },
    **{f"mercer.kernels.{name}": _FORMULA for name in _FORMULAS_ON_OBJECTS.split()},
    "mercer.kernels.FeatureCounts.features": _OBJECTS,
    **{
        f"mercer.kernels.{name}": _OBJECTS
        for name in ("Graphs", "Graphs.of", "Geometric", "Factorial", "MinimumNorm", "ProductNorm")
    },
    **{
        f"mercer.kernels.{name}": "takes matrices; tests/kernels/test_sequence_models.py tries others"
        for name in ("HiddenMarkov", "LinearSystem")
    },
}
