"""From --model to a model: one that is fitted to the rows, or one of the user's own."""

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
from typing import Any

import numpy as np

from mercer.backend import is_array, to_numpy
from mercer.cli.exits import WrongUse, one_line
from mercer.cli.table import quoted
from mercer.htest.goodness.against_draws import sampler_of
from mercer.htest.goodness.score_models import model_of
from mercer.rkhs import Gaussian, Mixture
from mercer.rkhs.logdensity import LogDensity

_FORMS = (
    "--model must be gaussian, gmm:K for a mixture of K Gaussians, or module:function for one of "
    "your own"
)
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class AskedModel:
    """What was asked for: `fit` makes a model of rows, or `model` is one."""

    name: str
    words: str
    fit: Callable[[np.ndarray], Any] | None = None
    model: Any = field(default=None, repr=False)
    drawn: bool = True  # whether what was fitted can be drawn from

    @property
    def fitted(self) -> bool:
        """Whether it comes from the rows."""
        return self.fit is not None


@contextmanager
def asked_model(name: str, seed: int) -> Iterator[Callable[[np.ndarray], AskedModel]]:
    """How the model is made once rows are there; modules are looked for in the working directory."""
    if name == "gaussian":
        yield lambda x: AskedModel(name, "a Gaussian", Gaussian.fit)
    elif name.startswith("gmm:"):
        parts = _parts(name)
        words = "a Gaussian" if parts == 1 else f"a mixture of {parts} Gaussians"
        fit = FitMixture(parts, seed)
        yield lambda x: AskedModel(name, words, fit)
    elif _MODULE.fullmatch(name) is None or ".py:" in name:
        hint = "; for a file model.py write model:function" if ".py:" in name else ""
        raise WrongUse(f"{_FORMS}, got {name!r}{hint}")
    else:
        with _from_here():
            found = _imported(name)
            yield lambda x: _understood(name, found, x)


def source_files(name: str) -> list[str]:
    """The file in the working directory that `module:function` is read from, if it is there."""
    file = os.path.join(*name.partition(":")[0].split(".")) + ".py"
    return [file] if ":" in name and os.path.isfile(file) else []


@dataclass(frozen=True)
class FitMixture:
    """x -> a mixture of so many Gaussians, always the same for the same rows."""

    parts: int
    seed: int

    def __call__(self, x: np.ndarray) -> Mixture:
        """The likeliest of three fits."""
        return Mixture.fit(x, self.parts, rng=self.seed)


def _parts(name: str) -> int:
    number = name.removeprefix("gmm:")
    if not (number.isascii() and number.isdigit() and 1 <= int(number) <= 1000):
        raise WrongUse(f"--model gmm:K needs a number of parts from 1 to 1000, got {name!r}")
    return int(number)


# ---- one of the user's own -----------------------------------------------------------------


@contextmanager
def _from_here() -> Iterator[None]:
    """The working directory before all others in which modules are looked for; none of it stays."""
    here, known = os.getcwd(), set(sys.modules)
    sys.path.insert(0, here)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        if here in sys.path:
            sys.path.remove(here)
        for name in set(sys.modules) - known:
            if str(getattr(sys.modules[name], "__file__", None) or "").startswith(here + os.sep):
                del sys.modules[name]


def _imported(name: str) -> Any:
    """What the name leads to."""
    module, _, path = name.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as problem:
        if problem.name is None or not (module == problem.name or module.startswith(problem.name)):
            raise WrongUse(
                f"{_FORMS}; {module!r} needs {problem.name!r}, which is not here"
            ) from None
        raise WrongUse(
            f"no module {module!r}, in the working directory {os.getcwd()} or installed"
        ) from None
    except Exception as problem:
        raise WrongUse(f"module {module!r} cannot be imported: {_told(problem)}") from None
    for part in path.split("."):
        if not hasattr(found, part):
            known = [n for n, v in vars(found).items() if callable(v) and not n.startswith("_")]
            has = f"; it has {quoted(known)}" if known else ""
            raise WrongUse(f"module {module!r} has no {path!r}{has}")
        found = getattr(found, part)
    return found


def _understood(name: str, found: Any, x: np.ndarray) -> AskedModel:
    """A model, a function without arguments that makes one, a score, a log-density or a fit."""
    if isinstance(found, type):
        raise WrongUse(f"{name} is a class: give a function that makes one, or an object of it")
    if not _is_function(found):
        return _given(name, found, "the model")
    needed = [
        p
        for p in inspect.signature(found).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if not needed:
        return _given(name, _called(name, found), "the model of")
    if len(needed) > 1:
        raise WrongUse(
            f"{name} needs {len(needed)} arguments: it must take the rows alone, or nothing"
        )
    guarded = _Guarded(name, found)
    some = x[: max(len(x) // 2, 4)]
    return _by_answer(name, guarded, _answer(guarded, some), some.shape)


def _answer(function: _Guarded, x: np.ndarray) -> Any:
    """What the function gives for rows; one that was written for tensors gets a tensor."""
    try:
        return function(x)
    except WrongUse as problem:
        if "torch" not in sys.modules:  # the user's module does not use it
            raise
        try:
            return function(sys.modules["torch"].tensor(x))
        except WrongUse:
            raise problem from None


def _by_answer(name: str, function: _Guarded, answer: Any, shape: tuple[int, ...]) -> AskedModel:
    """What a function of rows is, by what it gives."""
    if not is_array(answer) and not isinstance(answer, list | tuple | float | int):
        model_of_or_say(name, answer)
        drawn = _can_be_drawn_from(answer)
        return AskedModel(name, f"the model that {name} makes", fit=function, drawn=drawn)
    rows, d = shape
    found = np.shape(to_numpy(answer) if is_array(answer) else answer)
    if found == (rows, d):
        return AskedModel(name, f"the model with the score {name}", model=function)
    if found == (rows,):
        return _log_density(name, function, rows, d)
    raise WrongUse(
        f"{name} must give the gradients of log p, shape ({rows}, {d}) for {rows} rows, or log p, "
        f"shape ({rows},), or a model that is fitted to the rows; got shape {found}"
    )


def _log_density(name: str, function: _Guarded, rows: int, d: int) -> AskedModel:
    """log p, whose gradients torch makes; tried once, on rows of zeros."""
    model = LogDensity(function)
    try:
        model.score(np.zeros((min(rows, 4), d), dtype=np.float64))
    except (TypeError, ValueError, ImportError, WrongUse) as problem:
        raise WrongUse(
            f"{name} gives one number for each row, and so log p, which torch must be able to "
            f"differentiate: {one_line(str(problem))}; or let it give the gradients of log p"
        ) from None
    return AskedModel(name, f"the model with the log-density {name}", model=model)


def _given(name: str, model: Any, what: str) -> AskedModel:
    model_of_or_say(name, model)
    return AskedModel(name, f"{what} {name}", model=model)


def model_of_or_say(name: str, model: Any) -> None:
    """Refuse what is no model, in a line."""
    try:
        model_of(model)
    except (TypeError, ValueError) as problem:
        raise WrongUse(f"{name}: {one_line(str(problem))}") from None


def _can_be_drawn_from(model: Any) -> bool:
    try:
        sampler_of(model)
    except (TypeError, ValueError):
        return False
    return True


def _is_function(found: Any) -> bool:
    return inspect.isroutine(found) or (
        callable(found) and not hasattr(found, "score") and not hasattr(found, "logpdf")
    )


@dataclass(frozen=True)
class _Guarded:
    """The user's function; what it raises is the user's, and said in a line."""

    name: str
    function: Callable[..., Any] = field(repr=False)

    def __repr__(self) -> str:
        return self.name

    def __call__(self, x: Any) -> Any:
        return _called(self.name, self.function, x)


def _called(name: str, function: Callable[..., Any], *given: Any) -> Any:
    try:
        return function(*given)
    except Exception as problem:
        raise WrongUse(f"{name} failed: {_told(problem)}") from None


def _told(problem: Exception) -> str:
    """The kind, the message, and the line it came from."""
    words = f"{type(problem).__name__}: {one_line(str(problem))}"
    frames = traceback.extract_tb(problem.__traceback__)
    here = [f for f in frames if os.path.dirname(os.path.abspath(f.filename)) == os.getcwd()]
    if not here:
        return words
    return f"{words} ({os.path.basename(here[-1].filename)}, line {here[-1].lineno})"
