"""Learning with kernels, as scikit-learn estimators: feature selection and source separation.

Needs scikit-learn: ``pip install 'mercer[learn]'``.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError("mercer.learn needs scikit-learn: pip install 'mercer[learn]'")

from mercer.learn.selection.mrmr import MRMR
from mercer.learn.selection.select import Backward, Direction, Forward, HSICSelector
from mercer.learn.separation.amari import amari_index
from mercer.learn.separation.isa import ISA

__all__ = [
    "ISA",
    "MRMR",
    "Backward",
    "Direction",
    "Forward",
    "HSICSelector",
    "amari_index",
]
