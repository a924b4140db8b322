"""Default kernels for numbers, categories, or both, at the scale of the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import exp
from operator import mul
from typing import Any

import numpy as np

from mercer import validate
from mercer.frames import Columns, Table
from mercer.kernels.bandwidth import median_bandwidth, median_rbf, usable
from mercer.kernels.base import Kernel
from mercer.kernels.default_objects import default_of_objects
from mercer.kernels.discrete import Delta
from mercer.kernels.prepare import as_table
from mercer.kernels.radial import RBF

_NAMES_SHOWN = 4  # of columns in a message


def default_kernel(x: Any, *, rng: int | np.random.Generator | None = None) -> Kernel:
    """A characteristic kernel at the scale of the data.

    For arrays, tensors and lists ``RBF(median_bandwidth(x))``: all columns are assumed to have the same
    unit. The columns of a data frame have their own units, and may hold categories:

    * numeric columns are divided by their standard deviations, then ``RBF`` at the median distance;
    * each column of categories gives a factor c + (1 - c) [x = y]; all of them together
      give c^(number of columns that differ), where c = exp(-1 / 2h) and h is the mean number of
      columns that differ between two rows (but at least 1/2): a Gaussian kernel whose squared
      distance is the number of differences and whose squared bandwidth is its mean.

    For lists of strings, for graphs and for `Series` it is ``RBF(s).on(k.normalized())`` with k = ``Spectrum(3,
    up_to=True)``, ``WeisfeilerLehman(3)`` or ``GlobalAlignment`` by Cuturi's rule, and s the median distance of
    the normalised features.

    The kernel of a data frame is the product of the two. It is characteristic on numbers and categories jointly,
    including interactions: expanded, it is a sum of kernels, one of which is RBF times [all categories
    are equal], which distinguishes any two mixed distributions.

    Columns are bound by name, so their order does not matter later. Constant numeric columns say
    nothing about their unit: they are left out, and the kernel ignores them in other data too. In a
    two-sample problem pass the pooled sample.

    Parameters
    ----------
    x : array, tensor, nested list, data frame (pandas, polars, Arrow, ...), list of strings, graphs, or `Series`
    rng : int, Generator or None
        As in `median_bandwidth`.

    Returns
    -------
    Kernel

    Examples
    --------
    >>> default_kernel([0.0, 1.0, 3.0])
    RBF(bandwidth=2.0)
    >>> import pandas as pd
    >>> people = pd.DataFrame({"height": [1.6, 1.8, 1.7], "city": ["Rome", "Oslo", "Rome"]})
    >>> default_kernel(people)(people).round(2)
    array([[1.  , 0.06, 0.61],
           [0.06, 1.  , 0.29],
           [0.61, 0.29, 1.  ]])
    """
    of_objects = default_of_objects(x, rng=rng)
    if of_objects is not None:
        return of_objects
    data = as_table(x, "x")
    if data is None:
        return median_rbf(x, rng=rng)
    return default_of_table(data, varying(data), rng=rng)


def default_of_table(data: Table, numbers: VaryingColumns | None, *, rng: Any = None) -> Kernel:
    """`default_kernel` of a table, given its numbers in the units that they are compared in."""
    factors = categories(data)
    if numbers is not None:
        bandwidth = median_bandwidth(numbers.values, rng=rng)
        factors = [numbers.kernel(RBF(bandwidth)), *factors]
    return product(factors, data.columns.names)


def product(factors: Sequence[Kernel], names: Sequence[str] = ()) -> Kernel:
    """The product of the kernels of the columns with these names that are not constant; refuses none."""
    if not factors:
        shown = ", ".join(map(repr, names[:_NAMES_SHOWN]))
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        columns = "column" if len(names) == 1 else "every column"
        raise ValueError(
            f"{columns} of x is constant{f' ({shown}{more})' if names else ''}, so no kernel can be chosen from it: use other columns, or "
            "give a kernel, such as RBF(1.0)"
        )
    return reduce(mul, factors)


@dataclass(frozen=True)
class VaryingColumns:
    """The numeric columns that are not constant, divided by their standard deviations, or by other units."""

    names: tuple[str, ...]
    factors: tuple[float, ...]
    values: np.ndarray

    def kernel(self, kernel: Kernel) -> Kernel:
        """`kernel` on these columns in these units."""
        return kernel.scaled(self.factors).select(self.names)


def varying(data: Table) -> VaryingColumns | None:
    """The numeric columns that are not constant; None if there are none."""
    columns = zip(data.columns.names, data.columns.categorical, data.values.T, strict=True)
    deviations = [
        0.0 if categorical else _deviation(validate.finite(values, f"column {name!r} of x"))
        for name, categorical, values in columns
    ]
    return varying_columns(data.columns, deviations, data.values)


def varying_columns(
    columns: Columns, deviations: Sequence[float], values: np.ndarray
) -> VaryingColumns | None:
    """The numeric columns whose standard deviation is not 0, with these rows; None if there are none."""
    names, factors, scaled = [], [], []
    for i, (name, categorical) in enumerate(zip(columns.names, columns.categorical, strict=True)):
        if not categorical and deviations[i] > 0:
            usable(deviations[i], values[:, i], f"column {name!r} of x", squared=False)
            names.append(name)
            factors.append(1 / deviations[i])
            scaled.append(values[:, i] / deviations[i])
    if not names:
        return None
    return VaryingColumns(tuple(names), tuple(factors), np.stack(scaled, axis=1))


def categories(data: Table, bandwidth: float = 1.0) -> list[Kernel]:
    """A factor for each column of categories; `bandwidth` multiplies the bandwidth of the data."""
    names = _categorical(data.columns)
    mismatches = [_mismatch(data.values[:, data.columns.index(name)]) for name in names]
    return category_factors(data.columns, mismatches, bandwidth)


def category_factors(
    columns: Columns, mismatches: Sequence[float], bandwidth: float
) -> list[Kernel]:
    """A factor for each column of categories, from the shares of pairs of rows that differ in them."""
    alike = exp(-1 / (2 * bandwidth**2 * max(sum(mismatches), 0.5)))
    factor = alike + (1 - alike) * Delta()
    return [factor.select(name) for name in _categorical(columns)]


def default_kernel_of(
    columns: Columns, deviations: Sequence[float], mismatches: Sequence[float], sample: np.ndarray
) -> Kernel:
    """`default_kernel` of a table that was read in parts.

    Standard deviations of its numbers and shares of pairs that differ in its categories, one for each column, are those of
    all rows; `sample` has the rows whose distances give the bandwidth.
    """
    varies = [i for i, c in enumerate(columns.categorical) if not c and deviations[i] > 0]
    factors = []
    if varies:
        names, scales = [columns.names[i] for i in varies], [1 / deviations[i] for i in varies]
        bandwidth = median_bandwidth(sample[:, varies] * scales)
        factors.append(RBF(bandwidth).scaled(scales).select(names))
    return product([*factors, *category_factors(columns, mismatches, 1.0)], columns.names)


def _categorical(columns: Columns) -> list[str]:
    return [n for n, c in zip(columns.names, columns.categorical, strict=True) if c]


def _deviation(values: np.ndarray) -> float:
    """The standard deviation, without overflow; 0 where values differ by rounding only."""
    rounding = 4 * float(np.finfo(values.dtype).eps * np.max(np.abs(values)))
    centred = values.astype(np.float64) - float(values[0])
    spread = float(np.max(np.abs(centred)))
    return spread * float(np.std(centred / spread)) if spread > rounding else 0.0


def _mismatch(codes: np.ndarray) -> float:
    """The fraction of pairs of rows whose categories differ."""
    n = len(codes)
    _, counts = np.unique(codes, return_counts=True)
    return 1 - float(np.sum(counts * (counts - 1))) / max(n * (n - 1), 1)
