"""Warning of columns that a kernel of all columns would hardly see beside others of a larger unit."""

from __future__ import annotations

import warnings

import numpy as np

from mercer.frames import Table

# A column has 1% of the squared distances beside one of ten times its spread.
_LARGEST_RATIO_OF_SPREADS = 10


def warn_of_units(data: Table, subject: str, remedy: str, *, stacklevel: int) -> None:
    """Warn where kernels that take the columns of a frame for one unit would hardly see one of them."""
    with np.errstate(over="ignore", invalid="ignore"):
        spreads = np.std(data.values, axis=0)
    varying = np.flatnonzero(spreads > 0)
    if not len(varying):
        return
    least, most = (int(varying[f(spreads[varying])]) for f in (np.argmin, np.argmax))
    if spreads[most] > _LARGEST_RATIO_OF_SPREADS * spreads[least]:
        names = data.columns.names
        warnings.warn(
            f"{subject} are taken to share one unit, and kernels will hardly see {names[least]!r} (standard deviation "
            f"{spreads[least]:.3g}) beside {names[most]!r} ({spreads[most]:.3g}): {remedy}",
            UserWarning,
            stacklevel=stacklevel + 1,
        )
