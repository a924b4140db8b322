"""Sampling from models, and two-sample tests of observations against draws."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import array_like, count, is_array, is_numpy
from mercer.frames import Columns
from mercer.htest.goodness.unknown_parameters import is_family, unfitted, without_parameters
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.nulls import Permutation
from mercer.htest.result import Result
from mercer.htest.two_sample_check import require_two_sample
from mercer.rkhs.distributions import Empirical
from mercer.rkhs.sample_rows import one_sample

_NEEDED = (
    "something that can be sampled: a Gaussian or Mixture, a frozen distribution of SciPy, a fitted "
    "GaussianMixture or KernelDensity, an object with a method sample(n, rng=), or a function "
    "(n, rng) -> draws"
)
_SEED = 0  # makes `statistic`, which has no rng, deterministic

Sampler = Callable[[int, np.random.Generator], Any]


class DrawsTest(HypothesisTest):
    """A two-sample test of observations against draws from a model; `AgainstDraws` has the defaults."""

    model: Any
    by: HypothesisTest
    draws: int | None

    def __post_init__(self) -> None:
        sampler_of(self.model)
        _two_sample(self.by)
        if self.draws is not None:
            validate.whole("draws", self.draws, least=2)

    def statistic(self, x: Any) -> float:
        """The statistic of the two-sample test, with draws of a fixed seed."""
        return self.redrawn(x, _SEED)

    def redrawn(self, x: Any, rng: Any) -> float:
        """The statistic of the two-sample test, with draws by `rng`."""
        return self.by.statistic(*self._samples(x, validate.generator(rng)))

    def test(self, x: Any, *, rng: Any = None) -> Result:
        """The result of the two-sample test of x and draws from the model."""
        rng = validate.generator(rng)
        x, y = self._samples(x, rng)
        result = self.by.test(x, y, rng=rng)
        note = f"The second sample is {count(y):,} draws from {_named(self.model)}."
        return replace(result, notes=(note, *result.notes))

    def _samples(self, x: Any, rng: np.random.Generator) -> tuple[Any, Any]:
        points = x.points if isinstance(x, Empirical) else one_sample(x, "x")
        check_fitted_columns(fitted_columns(self.model), getattr(points, "columns", None), "x")
        y = drawn(self.model, self.draws or count(points), rng)
        if is_array(points) and not is_numpy(points):
            y = array_like(y, points)
        return x if isinstance(x, Empirical) else points, y


def drawn(model: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """`n` draws from a model: (n, d)."""
    name = "draws from the model"
    draws = validate.points(sampler_of(model)(n, rng), name)
    if count(draws) != n:
        raise ValueError(f"{name} must have {n} rows, got {count(draws)}")
    return np.asarray(validate.finite(draws, name), dtype=np.float64)


def fitted_columns(model: Any) -> tuple[str, ...] | None:
    """Names of the columns of the data frame that an estimator of scikit-learn was fitted to; None of others."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def check_fitted_columns(
    fitted: tuple[str, ...] | None, columns: Columns | None, name: str
) -> None:
    """Raise if named columns are not those that an estimator was fitted to, in their order."""
    if fitted is None or columns is None or columns.names == fitted or len(fitted) == 1:
        return  # a single column may be a series without a name
    raise ValueError(
        f"{name} must have the columns that the model was fitted to, {', '.join(fitted)} in this order, got "
        f"{', '.join(columns.names)}: select them, {name}[{list(fitted)}]"
    )


def sampler_of(model: Any) -> Sampler:
    """The function that samples from a model; raises with the reason if it cannot be sampled."""
    if isinstance(model, type):
        raise TypeError(
            f"model must be {_NEEDED}; got the class {model.__name__}; pass an instance, for example "
            f"{model.__name__}()"
        )
    if is_family(model):
        raise without_parameters(model)
    sample = getattr(model, "sample", None)
    if callable(sample):
        return _by_sample(model, sample)
    if callable(getattr(model, "rvs", None)):
        return lambda n, rng: _rows(model.rvs(size=_shape(model, n), random_state=rng), n)
    if callable(getattr(model, "resample", None)):  # gaussian_kde, whose points are columns
        return lambda n, rng: model.resample(n, seed=rng).T
    if callable(model) and _takes_two(model):
        return model
    raise TypeError(f"model must be {_NEEDED}; got {validate.shown(model)}")


def _takes_two(function: Callable[..., Any]) -> bool:
    """Whether a function takes a number and a generator; a score does not."""
    try:
        inspect.signature(function).bind(1, None)
    except TypeError:
        return False
    except ValueError:  # builtin functions have no signature
        return True
    return True


def _by_sample(model: Any, sample: Callable[..., Any]) -> Sampler:
    """Sample by the method `sample`: with `rng` in mercer and SciPy, a random state in scikit-learn."""
    try:
        known = inspect.signature(sample).parameters
    except (TypeError, ValueError):
        known = {}
    if "rng" in known:
        return lambda n, rng: _rows(sample(n, rng=rng), n)
    if not hasattr(model, "get_params"):
        raise TypeError(
            f"model must be {_NEEDED}; sample() of {type(model).__name__} takes no rng, so draws "
            "would not be reproducible"
        )
    if not (hasattr(model, "means_") or hasattr(model, "tree_")):
        raise unfitted(model)
    if "random_state" in known:
        return lambda n, rng: sample(n, random_state=_state(rng))
    return lambda n, rng: _seeded(model, rng).sample(n)[0]


def _seeded(model: Any, rng: np.random.Generator) -> Any:
    """A copy of an estimator with a random state from `rng`."""
    seeded = copy.copy(model)
    seeded.random_state = _state(rng)
    return seeded


def _state(rng: np.random.Generator) -> int:
    return int(rng.integers(2**32))


def _shape(model: Any, n: int) -> Any:
    """Shape of n draws of a univariate distribution, or of a product of such."""
    width = np.shape(model.support()[0]) if hasattr(model, "support") else ()
    return (n, *width) if width else n


def _rows(draws: Any, n: int) -> Any:
    """Draws as rows (n, d), also univariate ones, which SciPy returns as (n,)."""
    return np.reshape(draws, (n, -1)) if np.size(draws) and np.ndim(draws) == 1 else draws


def _two_sample(test: Any) -> None:
    """Raise if `test` is not a two-sample test for observations that are no pairs."""
    require_two_sample(test, "by")
    null = getattr(test, "null", None)
    if isinstance(null, Permutation) and (null.paired or null.blocks is not None):
        raise ValueError(
            "by must not use paired or blocked permutations: draws are not paired with observations"
        )


def _named(model: Any) -> str:
    """The repr of a model if it is short, else its name."""
    text = repr(model)
    if len(text) <= 80 and " at 0x" not in text:
        return text
    scipy_name = getattr(getattr(model, "dist", None), "name", None)
    return scipy_name or getattr(model, "__name__", type(model).__name__)
