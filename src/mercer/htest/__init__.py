"""Hypothesis tests: two samples, independence, goodness of fit; their nulls and results."""

from mercer.htest.aggregate import MMDAgg
from mercer.htest.attribution import Feature, Features, feature_differences
from mercer.htest.base import HypothesisTest, Result
from mercer.htest.choose import two_sample
from mercer.htest.corrections import BenjaminiHochberg, Correction, Holm, WestfallYoung
from mercer.htest.cross import CrossMMD
from mercer.htest.effect import Effect, Interval
from mercer.htest.energy import Energy
from mercer.htest.equivalence import Equivalence
from mercer.htest.fuse import MMDFuse
from mercer.htest.hotelling import FisherF, Hotelling
from mercer.htest.ksample import KSample, KSampleResult
from mercer.htest.linear import BlockMMD, LinearMMD
from mercer.htest.many import MaxMMD
from mercer.htest.me import ME
from mercer.htest.mmd import MMD
from mercer.htest.monitor import Monitor, MonitorState
from mercer.htest.nulls import (
    Bound,
    Chi2,
    Gamma,
    Normal,
    Null,
    Permutation,
    Spectrum,
    WildBootstrap,
)
from mercer.htest.power import PowerCurve, SampleSize, power, sample_size
from mercer.htest.result import TwoSampleResult
from mercer.htest.scf import SCF
from mercer.htest.ume import UME
from mercer.htest.weighted import WeightedChi2

__all__ = [
    "ME",
    "MMD",
    "SCF",
    "UME",
    "BenjaminiHochberg",
    "BlockMMD",
    "Bound",
    "Chi2",
    "Correction",
    "CrossMMD",
    "Effect",
    "Energy",
    "Equivalence",
    "Feature",
    "Features",
    "FisherF",
    "Gamma",
    "Holm",
    "Hotelling",
    "HypothesisTest",
    "Interval",
    "KSample",
    "KSampleResult",
    "LinearMMD",
    "MMDAgg",
    "MMDFuse",
    "MaxMMD",
    "Monitor",
    "MonitorState",
    "Normal",
    "Null",
    "Permutation",
    "PowerCurve",
    "Result",
    "SampleSize",
    "Spectrum",
    "TwoSampleResult",
    "WeightedChi2",
    "WestfallYoung",
    "WildBootstrap",
    "feature_differences",
    "power",
    "sample_size",
    "two_sample",
]
