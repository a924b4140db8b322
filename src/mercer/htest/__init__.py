"""Hypothesis tests: two samples, independence, goodness of fit; their nulls and results."""

from mercer.htest.base import HypothesisTest, Result
from mercer.htest.corrections import BenjaminiHochberg, Correction, Holm, WestfallYoung
from mercer.htest.intervals import Interval
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
from mercer.htest.samples.aggregate import MMDAgg
from mercer.htest.samples.attribution import Feature, Features, feature_differences
from mercer.htest.samples.choose import two_sample
from mercer.htest.samples.cross import CrossMMD
from mercer.htest.samples.effect import Effect
from mercer.htest.samples.energy import Energy
from mercer.htest.samples.equivalence import Equivalence
from mercer.htest.samples.fuse import MMDFuse
from mercer.htest.samples.hotelling import FisherF, Hotelling
from mercer.htest.samples.ksample import KSample, KSampleResult
from mercer.htest.samples.linear import BlockMMD, LinearMMD
from mercer.htest.samples.many import MaxMMD
from mercer.htest.samples.me import ME
from mercer.htest.samples.mmd import MMD
from mercer.htest.samples.power import PowerCurve, SampleSize, power, sample_size
from mercer.htest.samples.result import TwoSampleResult
from mercer.htest.samples.scf import SCF
from mercer.htest.samples.ume import UME
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
