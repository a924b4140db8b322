"""Distributions of functions of independent random variables, Z = f(X, Y), from samples."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import count, is_array
from mercer.frames import table
from mercer.kernels.take import taken
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.embeddings.embedding import Embedding


def transformed(
    function: Callable[..., Any], *variables: Any, points: int = 1000, rng: Any = None
) -> Empirical:
    """Distribution of f(X, Y, ...) for independent variables, as a weighted sample.

    Its embedding sum_ij.. w_i v_j .. k(f(x_i, y_j, ..), .) is estimated from all combinations of the
    points (Schölkopf et al. 2015). If there are more combinations than `points`, that many are drawn
    according to their weights.

    Parameters
    ----------
    function : callable
        Function of an array of points (m, d) for each variable; it returns m values.
    variables : distributions, samples or embeddings
        `Empirical`, arrays of points, data frames, or anything with ``sample(n, rng=)``, from which
        `points` draws are used. For an `Embedding`, its distribution is used.
    points : int
        Largest number of points of the result.
    rng : int, Generator or None

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import Gaussian, transformed
    >>> x, y = Gaussian(3.0, 0.25), Gaussian(4.0, 0.25)
    >>> z = transformed(np.multiply, x, y, points=20_000, rng=0)
    >>> float(z.points.mean()), float(z.points.var())  # 12 and 3.06 + 2.25 + 4
    (12.0..., 6.3...)
    """
    if not variables:
        raise TypeError("transformed needs at least one variable after the function")
    validate.whole("points", points)
    rng = validate.generator(rng)
    samples = [_sample(v, points, rng, i) for i, v in enumerate(variables)]
    sizes = [len(s) for s in samples]
    number = prod(sizes)
    if number <= points:
        rows = [r.ravel() for r in np.meshgrid(*(np.arange(n) for n in sizes), indexing="ij")]
        shares = np.ones(number, dtype=np.float64)
        for sample, at in zip(samples, rows, strict=True):
            n = len(sample)
            weights = np.full(n, 1 / n) if sample.weights is None else sample.weights
            shares = shares * weights[at]
    else:
        rows = [
            rng.choice(n, size=points, p=s.weights) for n, s in zip(sizes, samples, strict=True)
        ]
        shares = None
    values = function(*(taken(s.points, at) for s, at in zip(samples, rows, strict=True)))
    if count(values) != len(rows[0]):
        raise ValueError(
            f"function must return one value for each of {len(rows[0])} combinations, got "
            f"{count(values)}"
        )
    return Empirical(values, shares)


def _sample(variable: Any, points: int, rng: np.random.Generator, i: int) -> Empirical:
    """Weighted sample of a variable, with `points` draws where it is known in closed form."""
    if isinstance(variable, Embedding):
        variable = variable.distribution
    if isinstance(variable, Empirical):
        return variable
    if is_array(variable) or isinstance(variable, list | tuple):
        return Empirical(variable)
    if not isinstance(variable, str) and table(variable, f"variable {i}") is not None:
        return Empirical(validate.points(variable, f"variable {i}"))
    if not hasattr(variable, "sample") or isinstance(variable, str):
        raise TypeError(
            f"variable {i} must be a sample or have a method sample, got {type(variable).__name__}"
        )
    return Empirical(variable.sample(points, rng=rng))
