"""Hypothesis tests: two samples, independence, goodness of fit; their nulls and results."""

from mercer.htest.against_model_draws import AgainstDraws
from mercer.htest.conditional.conditional_information import (
    ConditionalMutualInformation,
    TransferEntropy,
)
from mercer.htest.conditional.crt import CRT, ConditionalModel, EmbeddingDraws, GaussianResiduals
from mercer.htest.conditional.diagnosis import Diagnosis, RegressionCheck
from mercer.htest.conditional.gcm import GCM, KernelGCM, WeightedGCM
from mercer.htest.conditional.local_permutation import LocalPermutation
from mercer.htest.conditional.partial_correlation_test import PartialCorrelation
from mercer.htest.conditional.pcm import PCM
from mercer.htest.conditional.residual_test import ConditionalResult
from mercer.htest.conditional.split_kci import SplitKCI
from mercer.htest.corrections import BenjaminiHochberg, Correction, Holm, WestfallYoung
from mercer.htest.dependence.all_pairs import pairwise_independence
from mercer.htest.dependence.block_hsic import BlockHSIC
from mercer.htest.dependence.conditional_strength import ConditionalStrength
from mercer.htest.dependence.cross_hsic import CrossHSIC
from mercer.htest.dependence.dependence_result import (
    IndependenceResult,
    TellingPairs,
    i_characteristic,
)
from mercer.htest.dependence.dependence_witness import DependenceWitness
from mercer.htest.dependence.dhsic import DHSIC
from mercer.htest.dependence.hsic import HSIC
from mercer.htest.dependence.hsicagg import HSICAgg
from mercer.htest.dependence.independence import independence
from mercer.htest.dependence.kci import KCI
from mercer.htest.dependence.lancaster import InteractionResult, Lancaster
from mercer.htest.dependence.linear_time_hsic import FourierHSIC, NystromHSIC
from mercer.htest.dependence.mutual_information_test import MutualInformation
from mercer.htest.dependence.nfsic import NFSIC
from mercer.htest.dependence.pairwise_result import Pair, PairwiseResult
from mercer.htest.dependence.partial_distance import PartialDistanceCorrelation
from mercer.htest.dependence.post_selection import (
    PostSelection,
    SelectedFeature,
    post_selection,
)
from mercer.htest.dependence.rcot import RCIT, RCoT
from mercer.htest.dependence.rdc import RDC
from mercer.htest.dependence.shift_hsic import ShiftHSIC
from mercer.htest.dependence.strength import Strength
from mercer.htest.explained_variation import Explained
from mercer.htest.goodness.composite import Composite, CompositeResult
from mercer.htest.goodness.evidence_map import Evidence
from mercer.htest.goodness.fssd import FSSD
from mercer.htest.goodness.goodness_of_fit import goodness_of_fit
from mercer.htest.goodness.goodness_result import GoodnessResult, MisfitLocation, MisfitPoints
from mercer.htest.goodness.ksd import KSD
from mercer.htest.goodness.ksdagg import KSDAgg, KSDAggResult
from mercer.htest.goodness.linear_ksd import LinearKSD
from mercer.htest.goodness.misfit import Misfit, MisfitColumn
from mercer.htest.goodness.model_null import ModelDraws
from mercer.htest.goodness.relative_ksd import RelativeKSD, RelativeResult
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.intervals import Interval
from mercer.htest.monitor import Monitor, MonitorState
from mercer.htest.nulls import (
    Bootstrap,
    Bound,
    Chi2,
    Gamma,
    Normal,
    Null,
    Permutation,
    Spectrum,
    WildBootstrap,
)
from mercer.htest.result import Result
from mercer.htest.samples.attribution import Feature, Features, feature_differences
from mercer.htest.samples.batch_drift import Batch, DriftResult, drift
from mercer.htest.samples.context_mmd import ContextMMD
from mercer.htest.samples.cross_mmd import CrossMMD
from mercer.htest.samples.crossmatch import CrossMatch
from mercer.htest.samples.deep_mmd import DeepMMD
from mercer.htest.samples.effect import Effect
from mercer.htest.samples.energy import Energy
from mercer.htest.samples.equivalence import Equivalence
from mercer.htest.samples.friedman_rafsky import SpanningTreeTest
from mercer.htest.samples.hotelling import FisherF, Hotelling
from mercer.htest.samples.kolmogorov import Kolmogorov
from mercer.htest.samples.ksample import KSample, KSampleResult
from mercer.htest.samples.linear_time_mmd import BlockMMD, LinearMMD
from mercer.htest.samples.maxmmd import MaxMMD
from mercer.htest.samples.me import ME
from mercer.htest.samples.mmd import MMD
from mercer.htest.samples.mmd_to_model import ModelMMDResult
from mercer.htest.samples.mmdagg import MMDAgg
from mercer.htest.samples.mmdfuse import MMDFuse
from mercer.htest.samples.power import PowerCurve, SampleSize, power, sample_size
from mercer.htest.samples.scf import SCF
from mercer.htest.samples.two_sample import two_sample
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.htest.samples.ume import UME
from mercer.htest.samples.wasserstein import Wasserstein
from mercer.htest.serial_hsic import SerialHSIC
from mercer.htest.surrogates import PhaseSurrogates, ShiftSurrogates
from mercer.htest.weighted_chi2 import WeightedChi2

__all__ = [
    "CRT",
    "DHSIC",
    "FSSD",
    "GCM",
    "HSIC",
    "KCI",
    "KSD",
    "ME",
    "MMD",
    "NFSIC",
    "PCM",
    "RCIT",
    "RDC",
    "SCF",
    "UME",
    "AgainstDraws",
    "Batch",
    "BenjaminiHochberg",
    "BlockHSIC",
    "BlockMMD",
    "Bootstrap",
    "Bound",
    "Chi2",
    "Composite",
    "CompositeResult",
    "ConditionalModel",
    "ConditionalMutualInformation",
    "ConditionalResult",
    "ConditionalStrength",
    "ContextMMD",
    "Correction",
    "CrossHSIC",
    "CrossMMD",
    "CrossMatch",
    "DeepMMD",
    "DependenceWitness",
    "Diagnosis",
    "DriftResult",
    "Effect",
    "EmbeddingDraws",
    "Energy",
    "Equivalence",
    "Evidence",
    "Explained",
    "Feature",
    "Features",
    "FisherF",
    "FourierHSIC",
    "Gamma",
    "GaussianResiduals",
    "GoodnessResult",
    "HSICAgg",
    "Holm",
    "Hotelling",
    "HypothesisTest",
    "IndependenceResult",
    "InteractionResult",
    "Interval",
    "KSDAgg",
    "KSDAggResult",
    "KSample",
    "KSampleResult",
    "KernelGCM",
    "Kolmogorov",
    "Lancaster",
    "LinearKSD",
    "LinearMMD",
    "LocalPermutation",
    "MMDAgg",
    "MMDFuse",
    "MaxMMD",
    "Misfit",
    "MisfitColumn",
    "MisfitLocation",
    "MisfitPoints",
    "ModelDraws",
    "ModelMMDResult",
    "Monitor",
    "MonitorState",
    "MutualInformation",
    "Normal",
    "Null",
    "NystromHSIC",
    "Pair",
    "PairwiseResult",
    "PartialCorrelation",
    "PartialDistanceCorrelation",
    "Permutation",
    "PhaseSurrogates",
    "PostSelection",
    "PowerCurve",
    "RCoT",
    "RegressionCheck",
    "RelativeKSD",
    "RelativeResult",
    "Result",
    "SampleSize",
    "SelectedFeature",
    "SerialHSIC",
    "ShiftHSIC",
    "ShiftSurrogates",
    "SpanningTreeTest",
    "Spectrum",
    "SplitKCI",
    "Strength",
    "TellingPairs",
    "TransferEntropy",
    "TwoSampleResult",
    "Wasserstein",
    "WeightedChi2",
    "WeightedGCM",
    "WestfallYoung",
    "WildBootstrap",
    "drift",
    "feature_differences",
    "goodness_of_fit",
    "i_characteristic",
    "independence",
    "pairwise_independence",
    "post_selection",
    "power",
    "sample_size",
    "two_sample",
]


def __dir__() -> list[str]:
    return __all__
