"""Names of two-sample tests and of kernels on the command line."""

from __future__ import annotations

from enum import StrEnum


class TestName(StrEnum):
    """Names of the two-sample tests on the command line."""

    __test__ = False  # pytest would take it for a test class

    AUTO = "auto"
    MMD = "mmd"
    MMDAGG = "mmdagg"
    MMDFUSE = "mmdfuse"
    MAXMMD = "maxmmd"
    LINEAR = "linear"
    BLOCK = "block"
    CROSS = "cross"
    ENERGY = "energy"
    ME = "me"
    SCF = "scf"
    UME = "ume"
    HOTELLING = "hotelling"


class KernelName(StrEnum):
    """Names of the kernels on the command line; all have a bandwidth."""

    RBF = "rbf"
    LAPLACE = "laplace"
    EXPONENTIAL = "exponential"
    MATERN = "matern"
    CAUCHY = "cauchy"
    RATIONAL = "rational-quadratic"
    IMQ = "imq"
