"""Hidden Markov models and linear dynamical systems as points of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import EqualByValue, to_numpy
from mercer.kernels.objects import listed

_ROUNDING = 1e-8  # of probabilities that add up to 1, and of symmetric matrices


@dataclass(frozen=True, eq=False)
class HiddenMarkov(EqualByValue):
    """Hidden Markov model with symbols, or with Gaussian vectors, as emissions.

    Parameters
    ----------
    start : array (s,)
        Probability of each of s states at time 0.
    transitions : array (s, s)
        Row i has the probabilities of the next state after state i.
    emissions : array (s, m)
        Row i has the probabilities of m symbols in state i, or, if `covariances` are given, the mean (m,).
    covariances : array (s, m, m) or None
        Covariance matrices of Gaussian emissions. None: emissions are symbols.

    Examples
    --------
    >>> coin = HiddenMarkov([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.9, 0.1]])
    >>> coin.states, coin.width
    (2, 2)
    """

    start: Any
    transitions: Any
    emissions: Any
    covariances: Any = None

    def __post_init__(self) -> None:
        start = _array("start", self.start, 1)
        states = len(start)
        transitions = _array("transitions", self.transitions, 2)
        emissions = _array("emissions", self.emissions, 2)
        _require("transitions", transitions, (states, states))
        _require("emissions", emissions, (states, emissions.shape[1]))
        probabilities = [("start", start[None]), ("transitions", transitions)]
        covariances = None
        if self.covariances is None:
            probabilities.append(("emissions", emissions))
        else:
            covariances = _array("covariances", self.covariances, 3)
            _require("covariances", covariances, (states, *emissions.shape[1:] * 2))
            for matrix in covariances:
                check_covariance("covariances", matrix, positive=True)
        for name, rows in probabilities:
            if rows.min() < 0 or np.abs(rows.sum(axis=1) - 1).max() > _ROUNDING:
                raise ValueError(
                    f"{name} must be probabilities, which are not negative and add up to 1 in each row"
                )
        values = (start, transitions, emissions, covariances)
        for name, value in zip(
            ("start", "transitions", "emissions", "covariances"), values, strict=True
        ):
            object.__setattr__(self, name, value)

    @property
    def states(self) -> int:
        """Number of hidden states."""
        return len(self.start)

    @property
    def width(self) -> int:
        """Number of symbols, or dimension of the Gaussian emissions."""
        return self.emissions.shape[1]


@dataclass(frozen=True, eq=False)
class LinearSystem(EqualByValue):
    """Linear dynamical system x_t+1 = A x_t + w_t, y_t = C x_t + v_t, with Gaussian noise.

    Parameters
    ----------
    start : array (s,)
        Mean of the state x_0.
    transition : array (s, s)
        The matrix A.
    observation : array (m, s)
        The matrix C.
    start_covariance, noise : arrays (s, s) or None
        Covariances of x_0 and of w_t. None: 0.
    observation_noise : array (m, m) or None
        Covariance of v_t. None: 0.

    Examples
    --------
    >>> rotation = LinearSystem([1.0, 0.0], [[0.0, -1.0], [1.0, 0.0]], [[1.0, 0.0]])
    >>> rotation.states, rotation.width
    (2, 1)
    """

    start: Any
    transition: Any
    observation: Any
    start_covariance: Any = None
    noise: Any = None
    observation_noise: Any = None

    def __post_init__(self) -> None:
        start = _array("start", self.start, 1)
        states = len(start)
        transition = _array("transition", self.transition, 2)
        _require("transition", transition, (states, states))
        observation = _array("observation", self.observation, 2)
        _require("observation", observation, (len(observation), states))
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "transition", transition)
        object.__setattr__(self, "observation", observation)
        sizes = {"start_covariance": states, "noise": states, "observation_noise": len(observation)}
        for name, size in sizes.items():
            given = getattr(self, name)
            matrix = np.zeros((size, size)) if given is None else _array(name, given, 2)
            _require(name, matrix, (size, size))
            check_covariance(name, matrix, positive=False)
            object.__setattr__(self, name, matrix)

    @property
    def states(self) -> int:
        """Dimension of the state."""
        return len(self.start)

    @property
    def width(self) -> int:
        """Dimension of the observations."""
        return len(self.observation)


def models(x: Any, name: str, kind: type, what: str) -> list[Any]:
    """Models of one kind, whose observations have the same dimension."""
    if isinstance(x, kind):
        raise TypeError(f"{name} must be a list of {what}, got one of them: put it into a list")
    values = listed(x, name, what)
    for i, item in enumerate(values):
        if not isinstance(item, kind):
            raise TypeError(f"{name} must hold {what}, got {validate.shown(item)} at position {i}")
        if layout(item) != layout(values[0]):
            raise ValueError(
                f"all models of {name} must have observations of one kind: position {i} has "
                f"{layout(item)}, position 0 {layout(values[0])}"
            )
    return values


def layout(model: Any) -> str:
    """Kind and dimension of the observations of a model, in words."""
    symbols = isinstance(model, HiddenMarkov) and model.covariances is None
    return f"{model.width} symbols" if symbols else f"{model.width} dimensions"


def same_layout(x: list[Any], y: list[Any]) -> None:
    """Require models whose observations can be compared."""
    if layout(x[0]) != layout(y[0]):
        raise ValueError(
            f"x and y must have observations of one kind, got {layout(x[0])} and {layout(y[0])}"
        )


def check_covariance(name: str, matrix: np.ndarray, *, positive: bool) -> None:
    """Require a symmetric matrix with eigenvalues that are not negative, or positive."""
    scale = np.abs(matrix).max()
    if np.abs(matrix - matrix.T).max() > _ROUNDING * scale:
        raise ValueError(f"{name} must be symmetric")
    least = float(linalg.eigvalsh(matrix)[0])
    if least < -_ROUNDING * scale or (positive and least <= 0):
        needed = "positive definite" if positive else "positive semi-definite"
        raise ValueError(f"{name} must be {needed}, got the eigenvalue {least:.3g}")


def _array(name: str, value: Any, dimensions: int) -> np.ndarray:
    numbers = to_numpy(validate.real(value, name)).astype(np.float64)
    if numbers.ndim != dimensions or numbers.size == 0:
        raise ValueError(
            f"{name} must be an array of {dimensions} dimensions, got shape {numbers.shape}"
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} has NaN or infinite values: correct them")
    return numbers


def _require(name: str, matrix: np.ndarray, shape: tuple[int, ...]) -> None:
    if matrix.shape != shape:
        raise ValueError(f"{name} must have the shape {shape}, got {matrix.shape}")
