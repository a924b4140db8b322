"""Cautions on the order of rows in samples: columns that number them, and rows that depend on those before them."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.backend import count, is_array, to_numpy
from mercer.frames import Table
from mercer.htest.serial_hsic import serial_cautions
from mercer.rkhs.paired_samples import listed
from mercer.rkhs.sample_rows import one_sample

_MAX_ROWS = 1000  # that are looked at, as for serial dependence
_MIN_ROWS = 20  # of columns in random order that many grow once in 20! samples


def order_cautions(
    samples: Sequence[tuple[str, Any]],
    *,
    remedy: str,
    ordered: bool = False,
    columns: Sequence[str] = (),
    options: bool = False,
) -> tuple[str, ...]:
    """A caution where columns grow with every row of all samples, else that of `serial_cautions`, or nothing.

    Such columns are row numbers, keys or times. They make rows depend on those before them, and tell samples of
    different sizes apart that are otherwise alike. `columns`: the names where samples are arrays; `options`: whether
    the remedy is said in options of the command.
    """
    named = [_growing(one_sample(sample, name), columns) for name, sample in samples]
    growing = [name for name in named[0] if all(name in other for other in named)] if named else []
    if not growing:
        return serial_cautions(samples, remedy=remedy, ordered=ordered)
    one, names = len(growing) == 1, listed([repr(name) for name in growing])
    return (
        f"Caution: {'column' if one else 'columns'} {names} {'grows' if one else 'grow'} with every row, as row "
        f"numbers and times do, and {'differs' if one else 'differ'} between samples that are otherwise alike: {_remedy(growing, options)}.",
    )


def _remedy(growing: Sequence[str], options: bool) -> str:
    """What to do about columns that grow with every row."""
    them, one = ("it", "it") if len(growing) == 1 else ("them", "one")
    if not options:
        return f"leave {them} out, or name {one} as the time of the rows"
    time = shlex.quote(growing[0]) if len(growing) == 1 else "COLUMN"
    return (
        f"leave {them} out with --exclude {shlex.quote(','.join(growing))}; if {one} is the time of the rows, give it as "
        f"--time {time}"
    )


def _growing(sample: Any, columns: Sequence[str]) -> list[str]:
    """Names of the columns, of at least two, that are larger in every row than in the one before."""
    labelled = isinstance(sample, Table)
    values = sample.values if labelled else sample
    if not is_array(values) or values.ndim != 2 or values.shape[1] < 2 or count(values) < _MIN_ROWS:
        return []
    names = sample.columns.names if labelled else tuple(columns)
    first = to_numpy(values[: min(count(values), _MAX_ROWS), :])
    grows = np.all(np.diff(first, axis=0) > 0, axis=0)  # (d,)
    if labelled:
        grows &= ~np.array(sample.columns.categorical)
    return [names[j] if names else f"column {j}" for j in np.flatnonzero(grows).tolist()]
