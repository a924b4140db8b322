"""Models from --model: fitted to the rows, or returned by a function of the user."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from mercer.backend import is_array, to_numpy
from mercer.cli.exits import WrongUse, one_line
from mercer.cli.scipy_family import (
    FitFamily,
    WrittenFamily,
    is_discrete_family,
    is_family,
    similar_families,
    written_family,
)
from mercer.cli.table import quoted
from mercer.htest.goodness.against_draws import sampler_of
from mercer.htest.goodness.score_models import model_of
from mercer.rkhs import Gaussian, Mixture
from mercer.rkhs.logdensity import LogDensity

_FORMS = (
    "--model must be gaussian, gmm:K for a mixture of K Gaussians, a family of SciPy such as gamma for "
    "one column, one of its distributions such as 'norm(100, 15)', or module:function for a model of your own"
)
_MODULE_PATTERN = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class ChosenModel:
    """Model chosen by --model: a function `fit` from rows to a model, or the model itself."""

    name: str
    description: str
    fit: Callable[[np.ndarray], Any] | None = None
    model: Any = field(default=None, repr=False)
    can_sample: bool = True  # whether the fitted model can be sampled


@contextmanager
def model_maker(name: str, seed: int) -> Iterator[Callable[[np.ndarray], ChosenModel]]:
    """Function from rows to the chosen model; modules are found in the working directory first."""
    if name == "gaussian":
        yield lambda x: ChosenModel(name, "a Gaussian", Gaussian.fit)
    elif name.startswith("gmm:"):
        components = _components(name)
        single = components == 1
        description = "a Gaussian" if single else f"a mixture of {components} Gaussians"
        fit = FitMixture(components, seed)
        yield lambda x: ChosenModel(name, description, fit)
    elif ":" not in name and is_family(name):
        yield partial(_of_family, name, WrittenFamily(name, {}, None))
    elif (written := written_family(name)) is not None:
        yield partial(_of_family, name, written)
    elif is_discrete_family(family := name.partition("(")[0]):
        raise WrongUse(
            f"--model {name}: {family} of SciPy is discrete, and this command needs a density; in Python, "
            f"mercer.htest.AgainstDraws(scipy.stats.{family}(...)).test(x) compares the rows with draws from it"
        )
    elif _MODULE_PATTERN.fullmatch(name) is None or ".py:" in name:
        raise WrongUse(f"{_FORMS}, got {name!r}{_hint(name)}")
    else:
        with _working_directory_on_path():
            value = _imported(name)
            yield lambda x: _interpreted(name, value, x)


def _of_family(name: str, written: WrittenFamily, x: np.ndarray) -> ChosenModel:
    """A family of SciPy that is fitted to one column, or one of its distributions."""
    if x.shape[1] != 1:
        raise WrongUse(
            f"--model {name} is for one column, got {x.shape[1]}: select it with --columns"
        )
    if written.distribution is not None:
        return ChosenModel(name, f"the distribution {name} of SciPy", model=written.distribution)
    family = FitFamily.to_rows(written.family, x, written.held)
    if (distribution := family.distribution) is not None:  # the uniform one on shares
        return ChosenModel(name, family.description, model=distribution)
    return ChosenModel(name, family.description, family)


def _hint(name: str) -> str:
    """What may have been meant by a name that is no model."""
    if ".py:" in name:
        return "; for a file model.py write model:function"
    similar = [] if ":" in name else similar_families(name)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


def source_files(name: str) -> list[str]:
    """File in the working directory that `module:function` is read from, if there is one."""
    file = os.path.join(*name.partition(":")[0].split(".")) + ".py"
    return [file] if ":" in name and os.path.isfile(file) else []


@dataclass(frozen=True)
class FitMixture:
    """Function that fits a mixture of Gaussians to rows; deterministic for a seed."""

    components: int
    seed: int

    def __call__(self, x: np.ndarray) -> Mixture:
        """Mixture with the highest likelihood of several fits."""
        return Mixture.fit(x, self.components, rng=self.seed)

    def refit(self, x: np.ndarray, model: Mixture) -> Mixture:
        """Mixture fitted to other rows, starting from `model`."""
        return Mixture.fit(x, self.components, start=model)


def _components(name: str) -> int:
    number = name.removeprefix("gmm:")
    if not (number.isascii() and number.isdigit() and 1 <= int(number) <= 1000):
        raise WrongUse(f"--model gmm:K needs a number of components from 1 to 1000, got {name!r}")
    return int(number)


# ---- models of the user ----------------------------------------------------------------------


@contextmanager
def _working_directory_on_path() -> Iterator[None]:
    """Put the working directory first on sys.path; its modules are forgotten afterwards."""
    directory, known = os.getcwd(), set(sys.modules)
    sys.path.insert(0, directory)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if directory in sys.path:
            sys.path.remove(directory)
        for name in set(sys.modules) - known:
            file = str(getattr(sys.modules[name], "__file__", None) or "")
            if file.startswith(directory + os.sep):
                del sys.modules[name]


def _imported(name: str) -> Any:
    """Value that `module:name` refers to."""
    module, _, path = name.partition(":")
    try:
        value: Any = importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name is None or not (module == problem.name or module.startswith(problem.name)):
            raise WrongUse(
                f"module {module!r} needs {problem.name!r}, which is not installed"
            ) from None
        raise WrongUse(
            f"no module {module!r} in the working directory {os.getcwd()}, and none installed"
        ) from None
    except Exception as problem:
        raise WrongUse(f"module {module!r} cannot be imported: {_error_line(problem)}") from None
    for attribute in path.split("."):
        if not hasattr(value, attribute):
            known = [n for n, v in vars(value).items() if callable(v) and not n.startswith("_")]
            has = f"; it has {quoted(known)}" if known else ""
            raise WrongUse(f"module {module!r} has no {path!r}{has}")
        value = getattr(value, attribute)
    return value


def _interpreted(name: str, value: Any, x: np.ndarray) -> ChosenModel:
    """Model from what the user wrote.

    That is a model, a function without arguments that returns one, or a function of the rows that
    returns scores, log-densities or a fitted model.
    """
    if isinstance(value, type):
        raise WrongUse(f"{name} is a class: give an instance, or a function that returns one")
    if not _is_function(value):
        return _fixed_model(name, value, "the model")
    needed = [
        p
        for p in inspect.signature(value).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if not needed:
        return _fixed_model(name, _called(name, value), "the model of")
    if len(needed) > 1:
        raise WrongUse(
            f"{name} needs {len(needed)} arguments: it must take the rows only, or nothing"
        )
    function = _UserFunction(name, value)
    half = x[: max(len(x) // 2, 4)]
    return _by_return_value(name, function, _value_at(function, half), half.shape)


def _value_at(function: _UserFunction, x: np.ndarray) -> Any:
    """Value of the function at the rows; a function written for tensors gets a tensor."""
    try:
        return function(x)
    except WrongUse as problem:
        if "torch" not in sys.modules:  # the user's module does not use it
            raise
        try:
            return function(sys.modules["torch"].tensor(x))
        except WrongUse:
            raise problem from None


def _by_return_value(
    name: str, function: _UserFunction, value: Any, shape: tuple[int, ...]
) -> ChosenModel:
    """Score, log-density or fit, told apart by what the function returned for rows of `shape`."""
    if not is_array(value) and not isinstance(value, list | tuple | float | int):
        _refuse_no_model(name, value)
        can_sample = _can_sample(value)
        return ChosenModel(
            name, f"the model that {name} returns", fit=function, can_sample=can_sample
        )
    rows, d = shape
    returned = np.shape(to_numpy(value) if is_array(value) else value)
    if returned == (rows, d):
        return ChosenModel(name, f"the model with the score {name}", model=function)
    if returned == (rows,):
        return _log_density(name, function, rows, d)
    raise WrongUse(
        f"{name} must return the gradients of log p, shape ({rows}, {d}) for {rows} rows, or log p, "
        f"shape ({rows},), or a model fitted to the rows; got shape {returned}"
    )


def _log_density(name: str, function: _UserFunction, rows: int, d: int) -> ChosenModel:
    """Model with this log-density, differentiated by torch; tried once, on rows of zeros."""
    model = LogDensity(function)
    try:
        model.score(np.zeros((min(rows, 4), d), dtype=np.float64))
    except (TypeError, ValueError, ImportError, WrongUse) as problem:
        raise WrongUse(
            f"{name} returns one number per row, so it is taken for log p, which torch must be able "
            f"to differentiate: {one_line(str(problem))}; or return the gradients of log p"
        ) from None
    return ChosenModel(name, f"the model with the log-density {name}", model=model)


def _fixed_model(name: str, model: Any, prefix: str) -> ChosenModel:
    _refuse_no_model(name, model)
    return ChosenModel(name, f"{prefix} {name}", model=model)


def _refuse_no_model(name: str, model: Any) -> None:
    """Refuse a value that is not a model."""
    try:
        model_of(model)
    except (TypeError, ValueError) as problem:
        raise WrongUse(f"{name}: {one_line(str(problem))}") from None


def _can_sample(model: Any) -> bool:
    """Whether the model can be sampled."""
    try:
        sampler_of(model)
    except (TypeError, ValueError):
        return False
    return True


def _is_function(value: Any) -> bool:
    return inspect.isroutine(value) or (
        callable(value) and not hasattr(value, "score") and not hasattr(value, "logpdf")
    )


@dataclass(frozen=True)
class _UserFunction:
    """Function of the user; its exceptions are reported as wrong use, in one line."""

    name: str
    function: Callable[..., Any] = field(repr=False)

    def __repr__(self) -> str:
        return self.name

    def __call__(self, x: Any) -> Any:
        return _called(self.name, self.function, x)


def _called(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as problem:
        raise WrongUse(f"{name} failed: {_error_line(problem)}") from None


def _error_line(problem: Exception) -> str:
    """Type and message of an exception, and the line of the user's code that raised it."""
    message = f"{type(problem).__name__}: {one_line(str(problem))}"
    frames = traceback.extract_tb(problem.__traceback__)
    directory = os.getcwd()
    theirs = [f for f in frames if os.path.dirname(os.path.abspath(f.filename)) == directory]
    if not theirs:
        return message
    return f"{message} ({os.path.basename(theirs[-1].filename)}, line {theirs[-1].lineno})"
