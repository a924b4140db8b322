"""Do variables depend on each other? A test chosen by what they are and how many observations there are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mercer.backend import count
from mercer.htest.dependence.dependence_result import IndependenceResult
from mercer.htest.dependence.hsicagg import HSICAgg
from mercer.htest.dependence.kci import KCI
from mercer.htest.dependence.linear_time_hsic import NystromHSIC
from mercer.htest.dependence.rcot import RCoT
from mercer.rkhs.sample_rows import one_sample

_ALL_PAIRS = 2000  # observations up to which all pairs are looked at


def independence(x: Any, y: Any, *, given: Any = None, rng: Any = None) -> IndependenceResult:
    """Are two variables independent, perhaps given a third? Chooses the test by itself.

    * Two variables, up to 2,000 observations: `HSICAgg`, which is aggregated over bandwidths of
      both and holds its level exactly; beyond, `NystromHSIC`, in time and memory linear in the
      number of observations. All observations are used.
    * Given others, up to 2,000 observations: `KCI`; beyond, `RCoT`.

    Columns of data frames are divided by their standard deviations, and columns of categories
    join by the default kernel for them. `result.notes` say what was chosen and why.

    Parameters
    ----------
    x, y : array, tensor or data frame
        As many observations of one as of the other; row i of each is one observation.
    given : array, tensor or data frame, optional
        Are x and y independent, given these? Results and messages call them z.
    rng : int, Generator or None

    Returns
    -------
    IndependenceResult

    Examples
    --------
    >>> import numpy as np
    >>> import mercer
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=300)
    >>> x, y = cause + 0.3 * rng.normal(size=300), cause**2 + 0.3 * rng.normal(size=300)
    >>> mercer.independence(x, y, rng=0).rejects()
    True
    >>> mercer.independence(x, y, given=cause, rng=0).rejects()
    False
    """
    given = () if given is None else (one_sample(given, "z"),)
    samples = (one_sample(x, "x"), one_sample(y, "y"), *given)
    test, why = chosen(count(samples[0]), bool(given))
    result = test.test(*samples, rng=rng)
    return replace(result, notes=(why, *result.notes))


def chosen(n: int, given: bool) -> tuple[Any, str]:
    """The test for so many observations, and why."""
    few = n <= _ALL_PAIRS
    size = f"{n:,} observations are {'few enough' if few else 'too many'} to look at all pairs"
    if given:
        test = KCI() if few else RCoT()
        return test, f"{type(test).__name__} was chosen: {size}."
    if few:
        return HSICAgg(), f"HSICAgg was chosen: it needs no choice of scales, and {size}."
    return NystromHSIC(), f"NystromHSIC was chosen: {size}."
