"""Families of continuous distributions of SciPy by name, fitted to one column."""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from mercer.cli.exits import Refused, WrongUse

_OTHER_NAMES = {
    "normal": "norm",
    "lognormal": "lognorm",
    "exponential": "expon",
    "weibull": "weibull_min",
    "student": "t",
}
_ON_THE_CIRCLE = {"vonmises"}  # has no density on the line


@dataclass(frozen=True)
class FitFamily:
    """Function that fits a family to rows (n, 1) by maximum likelihood.

    Where a family lives on the positive numbers and all rows are positive, its location stays at 0, and
    likewise with the unit interval: a gamma distribution with a free location has no maximum likelihood.
    """

    name: str
    bounds: dict[str, float]  # arguments of SciPy's fit: floc, and fscale for the unit interval

    @classmethod
    def to_rows(cls, name: str, x: np.ndarray) -> FitFamily:
        """The family of this name, with the parameters that the support of x fixes."""
        if x.shape[1] != 1:
            raise WrongUse(
                f"--model {name} is for one column, got {x.shape[1]}: select it with --columns"
            )
        family = family_named(name)
        low, high = float(family.a), float(family.b)
        if low == 0 and np.all(x > 0):
            if high == 1 and np.all(x < 1):
                return cls(family.name, {"floc": 0.0, "fscale": 1.0})
            if high == np.inf:
                return cls(family.name, {"floc": 0.0})
        return cls(family.name, {})

    @property
    def description(self) -> str:
        """The family, and what was fixed."""
        fixed = {"floc": "location 0", "fscale": "scale 1"}
        words = ", ".join(fixed[name] for name in self.bounds)
        return f"the family {self.name} of SciPy" + (f" ({words})" if words else "")

    def __call__(self, x: np.ndarray) -> Any:
        """The frozen distribution with the highest likelihood that SciPy finds."""
        return self._fitted(x, (), {})

    def refit(self, x: np.ndarray, model: Any) -> Any:
        """The distribution fitted to other rows, starting from the parameters of `model`."""
        *shapes, loc, scale = parameters(model).values()
        start = {"loc": loc, "scale": scale}
        free = {name: v for name, v in start.items() if f"f{name}" not in self.bounds}
        return self._fitted(x, tuple(shapes), free)

    def _fitted(self, x: np.ndarray, shapes: tuple[float, ...], start: dict[str, float]) -> Any:
        family = family_named(self.name)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore", RuntimeWarning)  # steps outside of the parameters
                return family(*family.fit(x[:, 0], *shapes, **start, **self.bounds))
        except (ValueError, RuntimeError, FloatingPointError) as problem:
            raise Refused(
                f"--model {self.name} cannot be fitted to these rows: {problem}"
            ) from None


def family_named(name: str) -> Any:
    """SciPy's continuous family of this name."""
    from scipy import stats

    family = getattr(stats, _OTHER_NAMES.get(name, name), None)
    if not isinstance(family, stats.rv_continuous) or name in _ON_THE_CIRCLE:
        raise WrongUse(f"no family {name!r}")
    return family


def is_family(name: str) -> bool:
    """Whether SciPy has a continuous family of this name."""
    try:
        family_named(name)
    except WrongUse:
        return False
    return True


def fixed_distribution(name: str) -> Any | None:
    """The distribution that is written like a call, as in norm(100, 15) or gamma(2, scale=3); None for other names."""
    try:
        call: Any = ast.parse(name, mode="eval").body
        family = call.func.id
        numbers = [float(ast.literal_eval(value)) for value in call.args]
        named = {word.arg: float(ast.literal_eval(word.value)) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, AttributeError):
        return None
    if not is_family(family):
        return None
    try:
        model = family_named(family)(*numbers, **named)
        known = bool(np.isfinite(model.median()))
    except TypeError:
        shapes = (family_named(family).shapes or "").replace(",", " ").split()
        raise WrongUse(
            f"--model {name}: {family} of SciPy has the parameters {', '.join([*shapes, 'loc', 'scale'])}"
        ) from None
    if not known:
        raise WrongUse(f"--model {name}: SciPy has no distribution with these parameters")
    return model


def similar_families(name: str) -> list[str]:
    """Names of families that look like this one."""
    from scipy import stats

    names = [n for n, v in vars(stats).items() if isinstance(v, stats.rv_continuous)]
    return get_close_matches(name.lower(), [*names, *_OTHER_NAMES, "gaussian"], 3)


def parameters(model: Any) -> dict[str, float]:
    """Parameters of a frozen distribution by name: shapes, loc and scale."""
    shapes, loc, scale = model.dist._parse_args(*model.args, **model.kwds)
    names = [word.strip() for word in (model.dist.shapes or "").split(",") if word.strip()]
    return {
        **dict(zip(names, map(float, shapes), strict=True)),
        "loc": float(loc),
        "scale": float(scale),
    }
