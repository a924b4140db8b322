"""Null distributions with a name: tail probabilities from `scipy.special`, the rest from `scipy.stats`.

Creating a frozen distribution of `scipy.stats` takes as long as a whole test of 100 observations, and
importing it as long as a hundred of them; a p-value needs neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class NamedLaw:
    """A distribution of `scipy.stats` by its name and parameters, with all methods of a frozen one.

    Examples
    --------
    >>> law = NamedLaw("chi2", (2,))  # an exponential distribution of mean 2
    >>> float(law.sf(2.0)), float(law.mean())
    (0.3678..., 2.0)
    """

    name: str
    args: tuple[float, ...] = ()
    loc: float = 0.0
    scale: float = 1.0

    def sf(self, x: Any) -> Any:
        """P(X > x)."""
        from scipy import special

        z = (x - self.loc) / self.scale
        if self.name == "norm":
            return special.ndtr(-z)
        if self.name == "t":
            return special.stdtr(*self.args, -z)
        z = z * (z > 0)  # the others have no mass below 0
        if self.name == "halfnorm":
            return 2 * special.ndtr(-z)
        if self.name == "chi2":
            return special.chdtrc(*self.args, z)
        if self.name == "gamma":
            return special.gammaincc(*self.args, z)
        if self.name == "f":
            return special.fdtrc(*self.args, z)
        return self._frozen.sf(x)

    def __getattr__(self, method: str) -> Any:
        if method.startswith("_"):  # of copies and pickles, which ask before there are fields
            raise AttributeError(method)
        return getattr(self._frozen, method)

    @cached_property
    def _frozen(self) -> Any:
        from scipy import stats

        return getattr(stats, self.name)(*self.args, loc=self.loc, scale=self.scale)
