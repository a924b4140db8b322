"""Methods that tell cause from effect by regressions in both directions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mercer import validate
from mercer.causal.direction import DirectionMethod, Verdict
from mercer.causal.penalised_spline import spline_smoother
from mercer.htest import HSIC, Gamma, HypothesisTest


@dataclass(frozen=True)
class AdditiveNoise(DirectionMethod):
    """The direction in which residuals of a regression are independent of the cause, by HSIC.

    If y = f(x) + e with e independent of x, then in general no such model holds from y to x (Hoyer et al. 2009;
    Mooij et al. 2016). Each variable is regressed on the other by a penalised spline and a test asks whether the
    residuals are independent of the regressor. The direction with the larger p-value is the answer. The method
    abstains where both models are rejected (at the level `rejected`: something else than additive noise, such as
    a hidden common cause) and where none is (at the level `fits`: linear Gaussian pairs, or too few observations).

    The p-values ignore that the regression was fitted to the same observations, which makes them a little too large
    (Mooij et al. 2016, section 2.3); they are used for the comparison of two models.

    Parameters
    ----------
    test : independence test
        Tests whether the residuals are independent of the regressor.
    rejected : float
        Both models are rejected if no p-value is above it.
    fits : float
        Both models fit if no p-value is below it.

    Examples
    --------
    >>> from mercer.causal import causal_direction
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-2, 2, size=300)
    >>> y = x**3 + rng.uniform(-2, 2, size=300)
    >>> causal_direction(x, y, method=AdditiveNoise()).direction
    'x -> y'
    """

    test: HypothesisTest = field(default_factory=lambda: HSIC(null=Gamma()))
    rejected: float = 0.001
    fits: float = 0.05

    def __post_init__(self) -> None:
        validate.instance("test", self.test, HypothesisTest, "an independence test, such as HSIC()")
        validate.between("rejected", self.rejected, 0.0, 1.0)
        validate.between("fits", self.fits, 0.0, 1.0)

    def judge(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Verdict:
        """The verdict from the p-values of both models."""
        pairs = (x, y), (y, x)
        forward, backward = (
            self.test.test(a, b - spline_smoother(a)(b), rng=rng).pvalue for a, b in pairs
        )
        scores = {"p of x -> y": forward, "p of y -> x": backward}
        values = f"p = {forward:.3g} for x -> y and {backward:.3g} for y -> x"
        if max(forward, backward) <= self.rejected:
            return Verdict(None, scores, f"Neither additive noise model fits: {values}.")
        if min(forward, backward) >= self.fits or forward == backward:
            return Verdict(None, scores, f"Both additive noise models fit: {values}.")
        return Verdict(
            forward > backward, scores, f"Residuals are more independent that way: {values}."
        )


@dataclass(frozen=True)
class RegressionError(DirectionMethod):
    """The direction in which regression has the smaller error (RECI).

    With both variables scaled to variance one, the mean squared error of predicting the effect from the cause tends
    to be smaller than that of predicting the cause from the effect, if noise is small and independent of
    the cause (Blobaum et al. 2018). It takes no test, and answers wherever the errors differ: abstention is by
    `margin` only, so that hidden common causes are not noticed.

    Parameters
    ----------
    margin : float
        Abstains if the smaller error is more than 1 - margin of the larger one.

    Examples
    --------
    >>> from mercer.causal import causal_direction
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=300)
    >>> causal_direction(x, x**2 + 0.05 * rng.normal(size=300), method=RegressionError()).direction
    'x -> y'
    """

    margin: float = 0.05

    def __post_init__(self) -> None:
        validate.between("margin", self.margin, 0.0, 1.0)

    def judge(self, x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> Verdict:
        """The verdict from the errors of both regressions."""
        pairs = (x, y), (y, x)
        forward, backward = (float(np.mean((b - spline_smoother(a)(b)) ** 2)) for a, b in pairs)
        scores = {"error of x -> y": forward, "error of y -> x": backward}
        values = f"squared errors {forward:.3g} for x -> y and {backward:.3g} for y -> x"
        if min(forward, backward) > (1 - self.margin) * max(forward, backward):
            return Verdict(None, scores, f"Both regressions are about as good: {values}.")
        return Verdict(forward < backward, scores, f"Regression is better that way: {values}.")
