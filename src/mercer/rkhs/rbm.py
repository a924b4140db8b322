"""Gauss-Bernoulli restricted Boltzmann machine: density, score and sampling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import log, pi
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, namespace, to_numpy
from mercer.gram.threads import spans
from mercer.rkhs.densities import Density

_MAX_ENUMERATED_UNITS = 20  # hidden units whose states are enumerated: 2^20 take about a second
_STATES_PER_BLOCK = 4096  # states enumerated at a time, so that a block stays in cache
_BURN_IN_STEPS = 2000  # Gibbs steps before a draw, as in Jitkrittum et al. (2017)


@dataclass(frozen=True, eq=False, repr=False)
class GaussBernoulliRBM(Density):
    """Gauss-Bernoulli restricted Boltzmann machine with visible x in R^d and hidden h in {-1, 1}^m.

    p(x, h) = exp(x'Bh + b'x + c'h - |x|^2 / 2) / Z, so that x given h is N(b + Bh, I), and

    log p(x) = b'x - |x|^2 / 2 + sum_j log 2 cosh(B'x + c)_j - log Z, with the score
    b - x + B tanh(B'x + c) (Liu, Lee & Jordan 2016, section 6; Jitkrittum et al. 2017, section 5).
    It is a mixture of 2^m Gaussians.

    Parameters
    ----------
    B : array (d, m)
        Interactions of visible and hidden units.
    b : array (d,)
        Biases of the visible units.
    c : array (m,)
        Biases of the hidden units.

    Examples
    --------
    >>> import numpy as np
    >>> p = GaussBernoulliRBM([[1.0], [-0.5]], [0.0, 0.0], [0.0])
    >>> p
    GaussBernoulliRBM(2 visible, 1 hidden)
    >>> p.score(np.array([[1.0, -0.5]])).round(4)  # b - x + B tanh(1.25)
    array([[-0.1517,  0.0759]])
    >>> p.sample(3, rng=0).shape
    (3, 2)
    """

    B: Array
    b: Array
    c: Array

    def __post_init__(self) -> None:
        table = validate.finite(validate.matrix(validate.real(self.B, "B"), "B"), "B")
        object.__setattr__(self, "B", np.array(to_numpy(table), dtype=np.float64))
        for name, length in zip(("b", "c"), self.B.shape, strict=True):
            bias = np.array(to_numpy(validate.vector(getattr(self, name), name)), dtype=np.float64)
            if bias.shape != (length,):
                raise ValueError(
                    f"{name} must have shape ({length},), because B has shape {self.B.shape}; "
                    f"got {bias.shape}"
                )
            object.__setattr__(self, name, bias)

    def __repr__(self) -> str:
        return f"GaussBernoulliRBM({self.dimension} visible, {self.hidden} hidden)"

    @property
    def dimension(self) -> int:
        """Number d of visible units."""
        return self.B.shape[0]

    @property
    def hidden(self) -> int:
        """Number m of hidden units."""
        return self.B.shape[1]

    def unnormalised_log_density(self, x: Any) -> Array:
        """Unnormalised log-density log p(x_i) + log Z, without a sum over hidden states: (n,)."""
        x = self._points(x)
        xp, y = namespace(x), self._inputs(x)
        # log 2 cosh(y) = |y| + log(1 + exp(-2 |y|))
        cosh = xp.sum(xp.abs(y) + xp.log1p(xp.exp(-2 * xp.abs(y))), axis=1)
        return cosh + x @ array_like(self.b, x) - xp.sum(x * x, axis=1) / 2

    def log_density(self, x: Any) -> Array:
        """Log-density log p(x_i) with its normaliser, for at most 20 hidden units: (n,)."""
        return self.unnormalised_log_density(x) - self.log_normaliser

    def score(self, x: Any) -> Array:
        """Score b - x_i + B tanh(B'x_i + c): (n, d)."""
        x = self._points(x)
        xp = namespace(x)
        transposed = xp.permute_dims(array_like(self.B, x), (1, 0))
        return array_like(self.b, x) - x + xp.tanh(self._inputs(x)) @ transposed

    def sample(self, n: int, *, rng: Any = None, burn: int | None = None) -> np.ndarray:
        """`n` draws: (n, d).

        Parameters
        ----------
        n : int
        rng : int, Generator or None
        burn : int or None
            Number of steps of block Gibbs sampling, h given x and x given h in turn, in `n`
            independent chains that start at standard normal points. If modes are far apart, chains
            stay near the mode where they started. None: exact draws from the probabilities of all
            hidden states for at most 20 hidden units, and 2,000 steps for more.
        """
        validate.whole("n", n)
        rng = validate.generator(rng)
        if burn is None and self.hidden <= _MAX_ENUMERATED_UNITS:
            return self._visible(self._exact_states(n, rng), rng)
        steps = _BURN_IN_STEPS if burn is None else burn
        validate.whole("burn", steps)
        x = rng.standard_normal((n, self.dimension))
        for _ in range(steps):
            x = self._visible(self._hidden_given(x, rng), rng)
        return x

    @cached_property
    def log_normaliser(self) -> float:
        """Log-normaliser log Z = log sum_h exp(c'h + |b + Bh|^2 / 2) + d log(2 pi) / 2."""
        return float(np.logaddexp.reduce(self._log_states)) + self.dimension * log(2 * pi) / 2

    # ---- private ----------------------------------------------------------------------

    def _inputs(self, x: Array) -> Array:
        """Inputs B'x_i + c of the hidden units: (n, m)."""
        return x @ array_like(self.B, x) + array_like(self.c, x)

    def _hidden_given(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws of h given x, with P(h_j = 1 | x) = 1 / (1 + exp(-2 (B'x + c)_j)): (n, m)."""
        threshold = np.tanh(self._inputs(x))  # for a uniform number in (-1, 1)
        return np.where(2 * rng.random(threshold.shape) - 1 < threshold, 1.0, -1.0)

    def _visible(self, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draws of x given h, from N(b + Bh, I): (n, d)."""
        return self.b + states @ self.B.T + rng.standard_normal((len(states), self.dimension))

    def _exact_states(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draws of hidden states from their marginal distribution: (n, m)."""
        shares = np.exp(self._log_states - np.max(self._log_states))
        return _signs(rng.choice(len(shares), size=n, p=shares / shares.sum()), self.hidden)

    @cached_property
    def _log_states(self) -> np.ndarray:
        """Unnormalised log-probabilities c'h + |b + Bh|^2 / 2 of all hidden states: (2^m,)."""
        if self.hidden > _MAX_ENUMERATED_UNITS:
            raise ValueError(
                f"the normaliser is a sum over 2^{self.hidden} hidden states, more than the maximum of "
                f"2^{_MAX_ENUMERATED_UNITS}: use unnormalised_log_density and score, which need no "
                "normaliser, and sample(n, burn=2000)"
            )
        return np.concatenate(list(self._log_state_blocks()))

    def _log_state_blocks(self) -> Iterator[np.ndarray]:
        """The log-probabilities of `_log_states` in blocks."""
        for block in spans(2**self.hidden, _STATES_PER_BLOCK):
            states = _signs(np.arange(block.start, block.stop), self.hidden)
            means = self.b + states @ self.B.T
            yield states @ self.c + np.sum(means**2, axis=1) / 2


def _signs(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Bits of integers as signs: (n, bits)."""
    return 2.0 * (numbers[:, None] >> np.arange(bits) & 1) - 1
