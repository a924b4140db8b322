"""A distribution that is known by its log-density up to a constant, or by its scores at some points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    EqualByValue,
    array_like,
    count,
    is_array,
    is_torch,
    namespace,
    to_numpy,
)
from mercer.gram.threads import spans
from mercer.rkhs.charts import Chart, chart_of

_ROWS = 65_536  # points whose gradients are recorded at a time


@dataclass(frozen=True, eq=False)
class LogDensity(EqualByValue):
    """A distribution known by log p(x) + c, whatever the constant: a posterior, an energy.

    Its score, the gradient of log p, is made by torch's automatic differentiation, or is what
    `gradient` gives. Torch is imported when a score is first asked for.

    Parameters
    ----------
    log_p : callable
        x (n, d) -> log p(x_i) + c, (n,), each from its own row. Made of operations of torch on
        tensors, unless there is a `gradient`.
    gradient : callable or None
        x (n, d) -> the gradients of log p at the rows of x, (n, d), in the library of x.
    support : pair of numbers, pair of arrays (d,), or None
        Where p > 0: each coordinate between `low` and `high`, which may be infinite. None: on all of
        R^d. Tests then compare in coordinates that have no border, log(x - low) and
        log((x - low) / (high - x)): at a border Stein's identity does not hold.

    Examples
    --------
    >>> import numpy as np
    >>> p = LogDensity(lambda x: -(x**4).sum(axis=1) / 4)
    >>> p.score(np.array([[1.0, 2.0]]))
    array([[-1., -8.]])
    >>> q = LogDensity(lambda x: -np.sum(x**4, axis=1) / 4, gradient=lambda x: -(x**3))
    >>> q.score(np.array([[1.0, 2.0]]))
    array([[-1., -8.]])
    """

    log_p: Callable[[Any], Any]
    gradient: Callable[[Any], Any] | None = None
    support: Any = None

    def __post_init__(self) -> None:
        if not callable(self.log_p):
            raise TypeError(f"log_p must be a function x -> log p(x), got {self.log_p!r}")
        if self.gradient is not None and not callable(self.gradient):
            raise TypeError(
                f"gradient must be a function x -> gradients of log p, or None, got {self.gradient!r}"
            )
        _ = self.borders  # refused here

    def __repr__(self) -> str:
        name = getattr(self.log_p, "__name__", type(self.log_p).__name__)
        return f"LogDensity({name})"

    @cached_property
    def borders(self) -> tuple[np.ndarray, np.ndarray] | None:
        """`support` as two arrays, (1,) or (d,); None where there is none."""
        if self.support is None:
            return None
        needed = "support must be a pair (low, high) of numbers, or of arrays (d,), low < high"
        try:
            low, high = (np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in self.support)
            low, high = (np.array(v) for v in np.broadcast_arrays(low, high))
        except (TypeError, ValueError):
            raise ValueError(f"{needed}, got {self.support!r}") from None
        if low.ndim != 1 or not np.all(low < high):
            raise ValueError(f"{needed}, got {self.support!r}")
        return low, high

    @property
    def dimension(self) -> int | None:
        """The d of R^d, where `support` tells it."""
        return None if self.borders is None or len(self.borders[0]) == 1 else len(self.borders[0])

    def chart(self, dimension: int) -> Chart | None:
        """Coordinates without borders; None where there are no borders."""
        return None if self.borders is None else chart_of(*self.borders, dimension)

    def log_density(self, x: Any) -> Array:
        """log p(x_i), up to a constant: (n,)."""
        x = validate.points(x, "x")
        if self.gradient is not None:
            return self._values(self.log_p(x), x)
        torch = _torch()
        with torch.no_grad():
            found = self._traced(torch, self.log_p(_tensor(torch, x)), x)
        return array_like(to_numpy(found), x) if not is_torch(x) else found

    def score(self, x: Any) -> Array:
        """The gradients of log p at the rows of x: (n, d)."""
        x = validate.points(x, "x")
        if self.gradient is not None:
            return self.gradient(x)
        parts = [self._derivative(x[rows, :]) for rows in spans(count(x), _ROWS)]
        return parts[0] if len(parts) == 1 else namespace(x).concat(parts, axis=0)

    # ---- private ----------------------------------------------------------------------

    def _derivative(self, x: Array) -> Array:
        """The gradients by automatic differentiation."""
        torch = _torch()
        t = _tensor(torch, x).requires_grad_(True)
        with torch.enable_grad():
            values = self._traced(torch, self.log_p(t), x)
            if not values.requires_grad:
                raise TypeError(
                    "log_p must be made of operations of torch on x alone: its values do not "
                    "remember x, so that there is no gradient; give gradient=... as well"
                )
            (found,) = torch.autograd.grad(values.sum(), t)
        return found if is_torch(x) else array_like(found.numpy(), x)

    def _traced(self, torch: Any, values: Any, x: Array) -> Any:
        if not isinstance(values, torch.Tensor):
            raise TypeError(
                "log_p must be made of operations of torch, such as x.pow(2).sum(axis=1), and gave "
                f"{type(values).__name__}; or give gradient=... as well"
            )
        return self._values(values, x)

    @staticmethod
    def _values(values: Any, x: Array) -> Any:
        if tuple(np.shape(values)) != (count(x),):
            raise ValueError(
                f"log_p(x) must have one number for each point, shape ({count(x)},), got "
                f"{tuple(np.shape(values))}: add up over the columns of x"
            )
        return values


def _torch() -> Any:
    """Torch, or an error that says what to do without it."""
    try:
        return import_module("torch")  # an option, which no module needs
    except ImportError:
        raise ImportError(
            "LogDensity(log_p) differentiates log_p by torch, which is not installed: install it, "
            "or give gradient=..., a function x -> gradients of log p"
        ) from None


def _tensor(torch: Any, x: Any) -> Any:
    """The points as a tensor that remembers nothing of where they came from."""
    if is_torch(x):
        return x.detach().clone()
    return torch.tensor(np.ascontiguousarray(to_numpy(x)))


@dataclass(frozen=True, eq=False, repr=False)
class Scores(EqualByValue):
    """A distribution known by its scores at the observations alone: gradients of log p, row by row.

    For models in other programs, whose gradients were written down. A test needs as many
    observations as there are rows here, in the same order.

    Parameters
    ----------
    values : array (n, d)
        The gradient of log p at observation i in row i.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.htest import KSD
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> KSD(Scores(-x)).test(x, rng=0).rejects()
    False
    """

    values: Any  # kept as an array (n, d)

    def __post_init__(self) -> None:
        found = np.array(to_numpy(validate.points(self.values, "values")), dtype=np.float64)
        found.flags.writeable = False
        object.__setattr__(self, "values", found)

    def __repr__(self) -> str:
        return f"Scores({self.values.shape[0]} points, {self.values.shape[1]} dimensions)"

    @property
    def dimension(self) -> int:
        """The d of R^d."""
        return int(self.values.shape[1])

    def at(self, x: Any) -> ScoresAt:
        """The scores as a function that is known at the rows of x."""
        return ScoresAt(validate.points(x, "x"), self.values)


def score_at(score: Any, points: Array) -> Callable[..., Any]:
    """A score as a function: itself, or gradients (n, d) that belong to the rows of these points."""
    if callable(score):
        return score
    if not (is_array(score) or isinstance(score, list | tuple)):
        raise TypeError(
            "score must be a function that gives the gradients of log p, or these gradients at the "
            f"rows of x, (n, d); got {score!r}"
        )
    return Scores(score).at(points)


class ScoresAt:
    """A score that is known at some points alone, and looked up there."""

    def __init__(self, points: Array, values: np.ndarray) -> None:
        if tuple(points.shape) != tuple(values.shape):
            raise ValueError(
                f"x must have the shape of the scores, {tuple(values.shape)}, one row for each of "
                f"their rows; got {tuple(points.shape)}"
            )
        self._points, self._values = to_numpy(points), values

    def __call__(self, x: Array) -> Array:
        """The scores of these rows, all of which must be among the known ones: (n, d)."""
        asked = to_numpy(x)
        if asked.shape == self._points.shape and np.array_equal(asked, self._points):
            return array_like(self._values, x)
        rows = [self._row.get(key, -1) for key in _keys(asked, self._points.dtype)]
        if min(rows) < 0:
            raise ValueError(
                "the scores of the model are known at the observations alone, and not at point "
                f"{rows.index(-1)} of those that are asked for: give a function instead of Scores"
            )
        return array_like(self._values[rows], x)

    @cached_property
    def _row(self) -> dict[bytes, int]:
        return {key: i for i, key in enumerate(_keys(self._points, self._points.dtype))}


def _keys(points: np.ndarray, dtype: Any) -> list[bytes]:
    """What equal rows have in common; 0.0 and -0.0 are equal."""
    return [row.tobytes() for row in np.ascontiguousarray(points, dtype=dtype) + 0.0]
