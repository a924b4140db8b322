"""Learning with kernels, as scikit-learn estimators: feature selection and source separation.

Needs scikit-learn: ``pip install 'mercer[learn]'``.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError("mercer.learn needs scikit-learn: pip install 'mercer[learn]'")

from mercer.learn.amari import amari_index
from mercer.learn.isa import ISA
from mercer.learn.mrmr import MRMR
from mercer.learn.select import Backward, Direction, Forward, HSICSelector

__all__ = [
    "ISA",
    "MRMR",
    "Backward",
    "Direction",
    "Forward",
    "HSICSelector",
    "amari_index",
]
