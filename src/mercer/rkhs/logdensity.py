"""Models known by an unnormalised log-density, or by their scores at the observations."""

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

# Points differentiated at a time: bounds the memory of torch's graph, with little overhead per call.
_POINTS_PER_GRADIENT = 65_536


@dataclass(frozen=True, eq=False)
class LogDensity(EqualByValue):
    """Distribution with the unnormalised log-density log p(x) + c, such as a posterior or an energy.

    Its score, the gradient of log p, comes from `gradient` or else from automatic differentiation by
    torch, which is imported when a score is first computed.

    Parameters
    ----------
    log_p : callable
        Function x (n, d) -> log p(x_i) + c, (n,), where each value depends on its row only. Without a
        `gradient` it must use torch operations on tensors.
    gradient : callable or None
        Function x (n, d) -> gradients of log p at the rows of x, (n, d), in the array library of x.
    support : pair of numbers, pair of arrays (d,), or None
        The box (low, high) where p > 0; bounds may be infinite. None: all of R^d. Because Stein's
        identity fails at a boundary, tests use unbounded coordinates instead: log(x - low) or
        log((x - low) / (high - x)).

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
        _ = self.borders  # raises for a wrong support

    def __repr__(self) -> str:
        name = getattr(self.log_p, "__name__", type(self.log_p).__name__)
        return f"LogDensity({name})"

    @cached_property
    def borders(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Bounds of `support` as two arrays, (1,) or (d,); None without a support."""
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
        """The d of R^d, if it is known from `support`; else None."""
        return None if self.borders is None or len(self.borders[0]) == 1 else len(self.borders[0])

    def chart(self, dimension: int) -> Chart | None:
        """Unbounded coordinates of the support; None where it is all of R^d."""
        return None if self.borders is None else chart_of(*self.borders, dimension)

    def log_density(self, x: Any) -> Array:
        """Log-density log p(x_i) up to a constant: (n,)."""
        x = validate.points(x, "x")
        if self.gradient is not None:
            return self._values(self.log_p(x), x)
        torch = _torch()
        with torch.no_grad():
            values = self._traced(torch, self.log_p(_tensor(torch, x)), x)
        return array_like(to_numpy(values), x) if not is_torch(x) else values

    def score(self, x: Any) -> Array:
        """Gradients of log p at the rows of x: (n, d)."""
        x = validate.points(x, "x")
        if self.gradient is not None:
            return self.gradient(x)
        parts = [self._derivative(x[rows, :]) for rows in spans(count(x), _POINTS_PER_GRADIENT)]
        return parts[0] if len(parts) == 1 else namespace(x).concat(parts, axis=0)

    # ---- private ----------------------------------------------------------------------

    def _derivative(self, x: Array) -> Array:
        """Gradients by automatic differentiation: (n, d)."""
        torch = _torch()
        t = _tensor(torch, x).requires_grad_(True)
        with torch.enable_grad():
            values = self._traced(torch, self.log_p(t), x)
            if not values.requires_grad:
                raise TypeError(
                    "log_p must use torch operations only: its values are detached from x, so there "
                    "is no gradient; pass gradient=... as well"
                )
            (gradients,) = torch.autograd.grad(values.sum(), t)
        return gradients if is_torch(x) else array_like(gradients.numpy(), x)

    def _traced(self, torch: Any, values: Any, x: Array) -> Any:
        """Values of log_p, checked to be a tensor of the right shape."""
        if not isinstance(values, torch.Tensor):
            raise TypeError(
                "log_p must use torch operations, such as x.pow(2).sum(axis=1), but returned "
                f"{type(values).__name__}; otherwise pass gradient=... as well"
            )
        return self._values(values, x)

    @staticmethod
    def _values(values: Any, x: Array) -> Any:
        """Values of log_p, checked to have the shape (n,)."""
        if tuple(np.shape(values)) != (count(x),):
            raise ValueError(
                f"log_p(x) must have one number for each point, shape ({count(x)},), got "
                f"{tuple(np.shape(values))}: sum over the columns of x"
            )
        return values


def _torch() -> Any:
    """The module torch, or an ImportError that names the alternative."""
    try:
        return import_module("torch")  # an optional dependency
    except ImportError:
        raise ImportError(
            "LogDensity(log_p) differentiates log_p with torch, which is not installed: install it, "
            "or pass gradient=..., a function x -> gradients of log p"
        ) from None


def _tensor(torch: Any, x: Any) -> Any:
    """Points as a tensor that is detached from any graph."""
    if is_torch(x):
        return x.detach().clone()
    return torch.tensor(np.ascontiguousarray(to_numpy(x)))


@dataclass(frozen=True, eq=False, repr=False)
class Scores(EqualByValue):
    """Distribution known only by its scores at the observations, the gradients of log p.

    For models of other programs, whose gradients were saved. A test needs the same observations in
    the same order.

    Parameters
    ----------
    values : array (n, d)
        Row i is the gradient of log p at observation i.

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
        values = np.array(to_numpy(validate.points(self.values, "values")), dtype=np.float64)
        values.flags.writeable = False
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"Scores({self.values.shape[0]} points, {self.values.shape[1]} dimensions)"

    @property
    def dimension(self) -> int:
        """The d of R^d."""
        return int(self.values.shape[1])

    def at(self, x: Any) -> ScoresAt:
        """The scores as a function defined at the rows of x."""
        return ScoresAt(validate.points(x, "x"), self.values)


def score_at(score: Any, points: Array) -> Callable[..., Any]:
    """Score as a function, from a function or from gradients (n, d) at the rows of these points."""
    if callable(score):
        return score
    if not (is_array(score) or isinstance(score, list | tuple)):
        raise TypeError(
            "score must be a function x -> gradients of log p, or an array (n, d) of these gradients "
            f"at the rows of x; got {score!r}"
        )
    return Scores(score).at(points)


class ScoresAt:
    """Score function defined by a table of gradients at given points."""

    def __init__(self, points: Array, values: np.ndarray) -> None:
        if tuple(points.shape) != tuple(values.shape):
            raise ValueError(
                f"x must have the shape of the scores, {tuple(values.shape)}, with the observations in "
                f"the same order; got {tuple(points.shape)}"
            )
        self._points, self._values = to_numpy(points), values

    def __call__(self, x: Array) -> Array:
        """Scores at the rows of x, all of which must be among the given points: (n, d)."""
        points = to_numpy(x)
        if points.shape == self._points.shape and np.array_equal(points, self._points):
            return array_like(self._values, x)
        rows = [self._row.get(key, -1) for key in _keys(points, self._points.dtype)]
        if min(rows) < 0:
            raise ValueError(
                "the scores of the model are known only at the observations, but point "
                f"{rows.index(-1)} is not one of them: pass a score function instead of Scores"
            )
        return array_like(self._values[rows], x)

    @cached_property
    def _row(self) -> dict[bytes, int]:
        return {key: i for i, key in enumerate(_keys(self._points, self._points.dtype))}


def _keys(points: np.ndarray, dtype: Any) -> list[bytes]:
    """Hashable keys of rows, the same for equal rows; 0.0 and -0.0 are equal."""
    return [row.tobytes() for row in np.ascontiguousarray(points, dtype=dtype) + 0.0]
