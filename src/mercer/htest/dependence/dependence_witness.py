"""Witness function of the dependence of two variables: where they occur together more often than if independent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, count, detached, is_array, namespace
from mercer.gram import Gram
from mercer.kernels.prepare import read
from mercer.rkhs.paired_samples import Variable


@dataclass(frozen=True, eq=False)
class DependenceWitness:
    """w(x, y) = mean_i k~(x_i, x) l~(y_i, y), with centred kernels k~ and l~.

    It is positive where x and y occur together more often than if they were independent: the difference of the mean embeddings of the joint distribution and of the product of its
    margins, in the RKHS of the kernel k l; its squared norm is the biased HSIC.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import HSIC
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=300)
    >>> w = HSIC().test(x, x + 0.5 * rng.normal(size=300), rng=0).witness()
    >>> (w([1.0, 1.0], [1.0, -1.0]) > 0).tolist()
    [True, False]
    """

    x: Variable
    y: Variable

    def __call__(self, x: Any, y: Any) -> Array:
        """Values at the pairs (x_j, y_j): (m,)."""
        a, b = _centred(self.x, x), _centred(self.y, y)
        if a.shape[1] != b.shape[1]:
            raise ValueError(
                f"x and y must have the same number of points, got {a.shape[1]} and {b.shape[1]}: "
                "for all pairs use .surface(x, y)"
            )
        return namespace(a).mean(a * b, axis=0)

    def surface(self, x: Any, y: Any) -> Array:
        """Values at all pairs, rows for x and columns for y: (m, k)."""
        a, b = _centred(self.x, x), _centred(self.y, y)
        return namespace(a).permute_dims(a, (1, 0)) @ b / a.shape[0]


def _centred(variable: Variable, points: Any) -> Array:
    """k~(x_i, x) at the points x, centred with the means of the observations: (n, m)."""
    points, _ = read(variable.kernel, points, variable.columns, variable.name)
    points = detached(points)
    if is_array(points):
        validate.same_library(points, variable.points, (variable.name, "the observations"))
    if variable.origin is not None and is_array(points):
        points = points - variable.origin
    gram, n = variable.gram, count(variable.points)
    cross = Gram(variable.kernel, variable.points, points).dense()
    xp = namespace(cross)
    means = gram @ array_like(np.full(n, 1 / n, np.float64), cross)
    across = xp.mean(cross, axis=0)
    return cross - means[:, None] - across[None, :] + xp.mean(means)
