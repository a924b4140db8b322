"""Diagnosis of a conditional test: can the regressions on z be trusted, and how much bias may they leave?"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import KDTree
from scipy.special import ndtr

from mercer.htest.conditional.basis import NumericTable, robust_columns
from mercer.htest.conditional.regression import SmoothedResiduals

_CLEAR_EXCESS = (
    2.0  # standard errors, from which on neighbouring residuals are taken to be dependent
)
_TOLERABLE_BIAS = 1.0  # standard errors of the statistic
_MIN_ROWS_SHARE = 0.5  # of the observations; with fewer the verdict is about a part of the data


@dataclass(frozen=True)
class RegressionCheck:
    """How well z predicts one variable, and what may be left of it in the residuals.

    Attributes
    ----------
    name : str
        The variable, with the names of its columns where they have any; `given` is that of z.
    explained : float
        Share of the variance that z explains at observations left out of the regression.
    degrees : float
        Effective degrees of freedom of the regression.
    hidden : float
        Share of the remaining variance that may be effects of z which so many observations cannot
        exclude.
    predictable : float
        p-value of the hypothesis that residuals of neighbouring observations are unrelated; small where
        z still predicts them.
    """

    name: str
    explained: float
    degrees: float
    hidden: float
    predictable: float
    given: str = "z"

    def __str__(self) -> str:
        z = self.given
        hidden = (
            f", up to {self.hidden:.0%} of the rest may be effects of {z}" if self.hidden else ""
        )
        return f"{z} explains {max(self.explained, 0.0):.0%} of {self.name}{hidden}"


@dataclass(frozen=True)
class Diagnosis:
    """What the regressions of a conditional test found, and whether its p-value had to allow for bias.

    Attributes
    ----------
    x, y : tuple of RegressionCheck
        One for each column of x and of y.
    bias_bound : float
        The bias that the regressions may leave in the statistic, in standard errors. It is part of
        the p-value.
    rows : float
        Share of the observations that the test rests on; others have values of z that no other
        observation is near.
    """

    x: tuple[RegressionCheck, ...]
    y: tuple[RegressionCheck, ...]
    bias_bound: float
    rows: float

    @property
    def trusted(self) -> bool:
        """Whether bias is less than one standard error, so that the p-value is hardly conservative."""
        return self.bias_bound <= _TOLERABLE_BIAS

    def notes(self) -> tuple[str, ...]:
        """The diagnosis in words; a warning comes first where the p-value is conservative."""
        lines = [f"{', '.join(str(check) for check in (*self.x, *self.y))}."]
        if not self.trusted:
            lines.insert(
                0,
                "The p-value is conservative: the regressions on z may leave a bias of "
                f"{self.bias_bound:.1f} standard errors. More observations, fewer columns of z or a "
                "regression that is known to fit (regression=) make it sharper. An effect size would include effects of z.",
            )
        predictable = [c.name for c in (*self.x, *self.y) if c.predictable < 0.01]
        if predictable:
            lines.append(
                f"Residuals of {' and '.join(predictable)} are still predictable from {self.x[0].given}."
            )
        if self.rows < _MIN_ROWS_SHARE:
            lines.append(
                f"The verdict rests on {self.rows:.0%} of the observations: no others are near the rest."
            )
        return tuple(lines)


def neighbours(z: NumericTable) -> np.ndarray:
    """The nearest other observation of every one, in robust units of the columns: (n,)."""
    points = robust_columns(z.values)
    nearest = np.asarray(KDTree(points).query(points, k=2)[1])
    first, second = nearest[:, 0], nearest[:, 1]
    return np.where(first == np.arange(len(points)), second, first)


def checked(
    residuals: SmoothedResiduals, near: np.ndarray, name: str, given: str = "z"
) -> tuple[SmoothedResiduals, RegressionCheck]:
    """The residuals with the bias that their neighbours show, and what was found."""
    bias, excess = residuals.local_bias(near)
    check = RegressionCheck(
        name,
        residuals.explained,
        residuals.degrees,
        residuals.hidden,
        float(ndtr(-excess)),
        given,
    )
    if excess > _CLEAR_EXCESS:
        residuals = replace(residuals, bias=residuals.bias + bias)
    return residuals, check
