"""Families of continuous distributions of SciPy by name, fitted to one column."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Mapping
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
    bounds: dict[
        str, float
    ]  # arguments of SciPy's fit: floc, fscale, and f with the name of a shape

    @classmethod
    def to_rows(
        cls, name: str, x: np.ndarray, held: Mapping[str, float] | None = None
    ) -> FitFamily:
        """The family of this name, with the parameters that are held, and those that the support of x fixes."""
        if x.shape[1] != 1:
            raise WrongUse(
                f"--model {name} is for one column, got {x.shape[1]}: select it with --columns"
            )
        family = family_named(name)
        asked = {f"f{parameter}": value for parameter, value in (held or {}).items()}
        kept = _kept_bounds(family, x)
        if any(asked.get(name, value) != value for name, value in kept.items()):
            kept = {}
        return cls(family.name, {**kept, **asked})

    @property
    def description(self) -> str:
        """The family, and what was held."""
        names = {"floc": "location", "fscale": "scale"}
        held = self.bounds.items()
        words = ", ".join(f"{names.get(n, n.removeprefix('f'))} {value:g}" for n, value in held)
        return f"the family {self.name} of SciPy" + (f" ({words})" if words else "")

    @property
    def distribution(self) -> Any | None:
        """The only distribution, where all parameters are held; else None."""
        family = family_named(self.name)
        if len(self.bounds) < len(shape_names(family)) + 2:
            return None
        return family(**{name.removeprefix("f"): value for name, value in self.bounds.items()})

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


def _kept_bounds(family: Any, x: np.ndarray) -> dict[str, float]:
    """Location 0, where the family and all rows are positive, and scale 1, where both are in the unit interval."""
    low, high = float(family.a), float(family.b)
    if low == 0 and np.all(x > 0):
        if high == 1 and np.all(x < 1):
            return {"floc": 0.0, "fscale": 1.0}
        if high == np.inf:
            return {"floc": 0.0}
    return {}


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


def is_discrete_family(name: str) -> bool:
    """Whether SciPy has a discrete family of this name."""
    from scipy import stats

    return isinstance(getattr(stats, name, None), stats.rv_discrete)


@dataclass(frozen=True)
class WrittenFamily:
    """A family with parameters in brackets: a distribution, or a family of which some parameters are held."""

    family: str
    held: dict[str, float]
    distribution: Any | None  # None: the other parameters are fitted


def written_family(name: str) -> WrittenFamily | None:
    """What is written like a call; None for other names.

    norm(100, 15) and gamma(2, scale=3) are distributions, with SciPy's location 0 and scale 1 where these are not
    given. Where shapes are missing, as in beta(loc=0, scale=100), or a name has the f of SciPy's fit, as in
    norm(floc=0), the named parameters are held and the others are fitted.
    """
    try:
        call: Any = ast.parse(name, mode="eval").body
        family = call.func.id
        numbers = [float(ast.literal_eval(value)) for value in call.args]
        named = {word.arg: float(ast.literal_eval(word.value)) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, AttributeError):
        return None
    if not is_family(family):
        return None
    names = [*shape_names(family_named(family)), "loc", "scale"]
    given = dict(zip(names, numbers, strict=False))
    plain = {w if w in names else w.removeprefix("f"): value for w, value in named.items()}
    unknown = [w for w in named if w not in names and w.removeprefix("f") not in names]
    if unknown or len(numbers) > len(names) or len(plain) < len(named) or {*plain} & {*given}:
        raise WrongUse(
            f"--model {name}: {family} of SciPy has the parameters {', '.join(names)}: give each once, in this order or by name"
        )
    given |= plain
    missing = [shape for shape in names[:-2] if shape not in given]
    if missing and numbers:
        raise WrongUse(
            f"--model {name}: {family} of SciPy has the parameters {', '.join(names)}, and {missing[0]} has no value: give it, "
            "or give the others by name, to hold them and fit the rest"
        )
    if (missing or {*plain} - {*named}) and len(given) < len(names):
        return WrittenFamily(family, given, None)
    return WrittenFamily(family, given, _distribution(name, family, given))


def _distribution(name: str, family: str, given: dict[str, float]) -> Any:
    """The distribution with these parameters; refused where SciPy has none."""
    model = family_named(family)(**given)
    if not np.isfinite(model.median()):
        raise WrongUse(f"--model {name}: SciPy has no distribution with these parameters")
    return model


def shape_names(family: Any) -> list[str]:
    """Names of the shape parameters of a family, in their order."""
    return [*str(family.shapes or "").replace(",", " ").split()]


def similar_families(name: str) -> list[str]:
    """Names of families that look like this one."""
    from scipy import stats

    names = [n for n, v in vars(stats).items() if isinstance(v, stats.rv_continuous)]
    return get_close_matches(name.lower(), [*names, *_OTHER_NAMES, "gaussian"], 3)


def parameters(model: Any) -> dict[str, float]:
    """Parameters of a frozen distribution by name: shapes, loc and scale."""
    shapes, loc, scale = model.dist._parse_args(*model.args, **model.kwds)
    return {
        **dict(zip(shape_names(model.dist), map(float, shapes), strict=True)),
        "loc": float(loc),
        "scale": float(scale),
    }
