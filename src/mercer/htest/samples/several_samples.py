"""Several samples as one: checked, with the columns of the first, and the kernel that compares them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, detached, is_array
from mercer.frames import Columns, Table
from mercer.kernels.bandwidth import median_rbf
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import default_kernel
from mercer.kernels.default_objects import joined_objects, kind_of_objects
from mercer.kernels.prepare import aligned, as_table, bound_to, read
from mercer.kernels.radial import VECTOR_KERNEL
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.sample_rows import joined, recentred


def pooled_samples(
    kernel: Kernel | None, samples: Sequence[Any], names: Sequence[str], no_weights: str
) -> tuple[Kernel, Points, list[int]]:
    """The kernel bound to columns, all points, and the sizes of the samples.

    `names` are those of the samples in messages, `no_weights` is the refusal of weighted samples.
    """
    if any(isinstance(s, Empirical) and s.weights is not None for s in samples):
        raise TypeError(no_weights)
    samples = [s.points if isinstance(s, Empirical) else s for s in samples]
    if kernel is None and any(kind_of_objects(s) is not None for s in samples):
        kernel = default_kernel(joined_objects(samples, list(names)))
    parts, columns = _read(samples, names, kernel)
    unbound = kernel or VECTOR_KERNEL
    if kernel is None and columns is not None:
        unbound = default_kernel(Table(np.concatenate(parts), columns))
    bound = bound_to(unbound, columns)
    shifted = recentred(bound, *parts)
    points = reduce(joined, shifted)
    if kernel is None and columns is None:
        bound = median_rbf(points, name="the pooled sample")
    return bound, points, [count(sample) for sample in parts]


def _read(
    samples: Sequence[Any], names: Sequence[str], kernel: Kernel | None
) -> tuple[list[Points], Columns | None]:
    """All samples as points that the kernel takes, with the columns of the first."""
    parts: list[Points] = []
    columns: Columns | None = None
    for i, (name, sample) in enumerate(zip(names, samples, strict=True)):
        table = as_table(sample, name)
        if table is not None and (i == 0 or columns is not None):
            columns = columns or table.columns
            sample = aligned(table, columns, (names[0], name))
        elif columns is not None and any(columns.categorical):
            raise TypeError(f"{name} must be a data frame, for {names[0]} is one with categories")
        if kernel is None:
            checked = detached(validate.points(sample, name))
        else:
            checked = detached(read(kernel, sample, columns, name)[0])
        if count(checked) < 2:
            raise ValueError(f"{name} must have at least two points, got {count(checked)}")
        if parts and is_array(checked) and is_array(parts[0]):
            validate.same_library(parts[0], checked, (names[0], name))
            validate.same_width(parts[0], checked, (names[0], name))
        parts.append(checked)
    return parts, columns
