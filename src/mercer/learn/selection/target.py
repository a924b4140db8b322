"""Default kernel of a target: Delta for labels, RBF for numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import validate
from mercer.gram import Gram
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel
from mercer.kernels.discrete import Delta


def target_gram(kernel: Kernel | None, y: Any) -> Gram:
    """Gram matrix of a target; by default `Delta` for labels and `RBF` for numbers.

    Labels are texts, truth values, and whole numbers of an integer type that repeat: at most half
    as many different ones as there are points. Everything else is numbers, whose kernel is the RBF
    at the median distance.
    """
    if kernel is not None:
        validate.instance("target_kernel", kernel, Kernel, "a kernel, such as Delta(), or None")
        return Gram(kernel, y)
    codes = _labels(y)
    if codes is None:
        numbers = validate.points(y, "y")
        return Gram(median_rbf(numbers, name="y"), numbers)
    if len(np.unique(codes)) == len(codes):
        raise ValueError(
            "all labels of y are different, so they carry no information about the features: "
            "give numbers, or a target_kernel that compares labels"
        )
    return Gram(Delta(), codes)


def label_codes(y: np.ndarray) -> np.ndarray:
    """The target as numbers, for measures that take numbers: codes for labels that are texts or truth values."""
    if y.dtype.kind in "OUSTb":
        codes = _labels(y)
        return y if codes is None else codes
    return y


def _labels(y: np.ndarray) -> np.ndarray | None:
    """A number for each label (n,), or None where `y` holds numbers."""
    if y.dtype.kind == "f" or y.ndim > 2:
        return None
    rows = y.reshape(len(y), -1)
    texts = rows.dtype.kind in "OUST"
    distinct, codes = np.unique(rows.astype(str) if texts else rows, axis=0, return_inverse=True)
    if rows.dtype.kind in "iu" and 2 * len(distinct) > len(rows):
        return None
    return codes.reshape(-1).astype(np.float64)
