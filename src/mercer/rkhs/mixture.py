"""Mixtures of distributions: density, score and sampling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, namespace, to_numpy
from mercer.rkhs.densities import Density
from mercer.rkhs.distributions import Empirical, shares
from mercer.rkhs.fitting import gaussian_parts, refitted_parts
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.uniform import Dirac, Uniform


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Density):
    """Mixture p(x) = sum_j w_j p_j(x): a draw comes from component j with probability w_j.

    Its score is sum_j r_j(x) s_j(x), where s_j is the score of component j and
    r_j(x) = w_j p_j(x) / p(x) is the probability that a point at x comes from component j. Densities
    are computed by logarithms, so nothing underflows far from all components.

    Parameters
    ----------
    parts : sequence of distributions
        The components, all of the same dimension: `Gaussian`, `Uniform`, `Dirac`, `Empirical`, or
        mixtures. The mixture has a density if all components have one, and a score likewise.
    weights : array (m,) or None
        Non-negative, adding up to one; None: equal weights.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.rkhs import Gaussian
    >>> p = Mixture([Gaussian(-2.0, 1.0), Gaussian(2.0, 0.25)], [0.75, 0.25])
    >>> p
    Mixture(2 parts, 1 dimension)
    >>> np.exp(p.log_density([2.0]))  # 0.75 N(2; -2, 1) + 0.25 N(2; 2, 0.25)
    array([0.1995...])
    >>> p.score([-2.0])  # near -2 only the first component matters
    array([[0...]])
    """

    parts: Sequence[Any]
    weights: Any = None

    def __post_init__(self) -> None:
        parts = _parts(self.parts)
        m = len(parts)
        weights = np.full(m, 1 / m, np.float64) if self.weights is None else shares(self.weights, m)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "weights", weights)

    def __repr__(self) -> str:
        d, m = self.dimension, len(self.parts)
        return f"Mixture({m} part{'s' * (m > 1)}, {d} dimension{'s' * (d > 1)})"

    @classmethod
    def fit(
        cls, x: Any, parts: int, *, starts: int = 3, start: Mixture | None = None, rng: Any = None
    ) -> Mixture:
        """Maximum likelihood fit of a mixture of `parts` Gaussians, by expectation-maximisation.

        Each of the `starts` begins with a k-means clustering, and the likeliest result is returned, a
        local maximum. With a mixture of as many Gaussians as `start`, the only start is that one. A millionth of the variance of each column is added to the covariances, so that
        no component can collapse to a point.

        Examples
        --------
        >>> from mercer.rkhs import Gaussian
        >>> true = Mixture([Gaussian(-2.0, 1.0), Gaussian(3.0, 0.25)], [0.7, 0.3])
        >>> p = Mixture.fit(true.sample(2000, rng=0), 2, rng=0)
        >>> sorted(round(float(part.mean[0]), 1) for part in p.parts)
        [-2.0, 3.0]
        """
        validate.whole("parts", parts)
        validate.whole("starts", starts)
        points = to_numpy(validate.finite(validate.points(x, "x"), "x")).astype(np.float64)
        if start is None:
            weights, means, covs = gaussian_parts(points, parts, starts, validate.generator(rng))
        else:
            weights, means, covs = refitted_parts(
                points, *_gaussian_parameters(start, parts, points)
            )
        return cls([Gaussian(m, c) for m, c in zip(means, covs, strict=True)], weights)

    @property
    def dimension(self) -> int:
        """The d of R^d."""
        return dimension_of(self.parts[0])

    def log_density(self, x: Any) -> Array:
        """Log-density log p(x_i): (n,)."""
        self._need("log_density")
        x = self._points(x)
        logs, top = self._logs(x)
        xp = namespace(logs)
        finite = xp.where(xp.isfinite(top), top, 0.0 * x[:, 0])  # -inf outside of all boxes
        with np.errstate(divide="ignore"):
            return finite + xp.log(xp.sum(xp.exp(logs - finite[:, None]), axis=1))

    def score(self, x: Any) -> Array:
        """Score sum_j r_j(x_i) s_j(x_i): (n, d)."""
        self._need("score")
        x = self._points(x)
        logs, top = self._logs(x)
        xp = namespace(logs)
        shares = xp.exp(logs - top[:, None])
        shares = shares / xp.sum(shares, axis=1)[:, None]
        score = 0.0 * x
        for j, (component, _) in enumerate(self._present):
            score = score + shares[:, j][:, None] * component.score(x)
        return score

    def sample(self, n: int, *, rng: Any = None) -> np.ndarray:
        """Draw `n` points, in random order: (n, d)."""
        validate.whole("n", n)
        rng = validate.generator(rng)
        counts = rng.multinomial(n, self.weights)
        draws = [
            to_numpy(validate.points(component.sample(int(k), rng=rng), "a component"))
            for component, k in zip(self.parts, counts, strict=True)
            if k
        ]
        return rng.permutation(np.concatenate(draws), axis=0)

    # ---- private ----------------------------------------------------------------------

    def _need(self, what: str) -> None:
        """Raise a TypeError if a component lacks the method `what`."""
        without = next((p for p, _ in self._present if not hasattr(p, what)), None)
        if without is not None:
            raise TypeError(
                f"a mixture has a {what.replace('_', ' ')} only if all of its components have one, but "
                f"{without!r} has none"
            )

    @property
    def _present(self) -> list[tuple[Any, float]]:
        """Components with positive weight, and their weights."""
        components = zip(self.parts, self.weights.tolist(), strict=True)
        return [(component, weight) for component, weight in components if weight > 0]

    def _logs(self, x: Array) -> tuple[Array, Array]:
        """log w_j p_j(x_i) of the components with positive weight, (n, m), and row maxima, (n,)."""
        xp = namespace(x)
        logs = [p.log_density(x) + float(np.log(weight)) for p, weight in self._present]
        table = xp.stack(logs, axis=1)
        return table, xp.max(table, axis=1)


def dimension_of(distribution: Any) -> int:
    """The d of R^d on which a distribution is defined."""
    if isinstance(distribution, Empirical):
        return int(validate.points(distribution.points, "points").shape[1])
    return distribution.dimension


def _parts(parts: Any) -> tuple[Any, ...]:
    """Checked components: at least one distribution, all of the same dimension."""
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        raise TypeError(f"parts must be a sequence of distributions, got {validate.shown(parts)}")
    if not parts:
        raise ValueError("parts must have at least one distribution, got none")
    for item in parts:
        if not isinstance(item, Density | Uniform | Dirac | Empirical):
            raise TypeError(
                f"parts must be distributions, such as Gaussian(0.0, 1.0) or Empirical(x), got {validate.shown(item)}"
            )
    dimensions = sorted({dimension_of(item) for item in parts})
    if len(dimensions) > 1:
        raise ValueError(f"parts must have the same dimension, got {dimensions}")
    return tuple(parts)


def _gaussian_parameters(
    mixture: Any, parts: int, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights, means and covariances of a mixture of `parts` Gaussians in the dimension of the points."""
    gaussians = getattr(mixture, "parts", ())
    needed = len(gaussians) == parts and all(isinstance(part, Gaussian) for part in gaussians)
    if not needed or mixture.dimension != points.shape[1]:
        raise ValueError(
            f"start must be a Mixture of {parts} Gaussians in {points.shape[1]} dimensions, got "
            f"{validate.shown(mixture)}"
        )
    means = np.stack([to_numpy(part.mean) for part in gaussians])
    covariances = np.stack([to_numpy(part.cov) for part in gaussians])
    return np.maximum(to_numpy(mixture.weights), 1e-300), means, covariances
