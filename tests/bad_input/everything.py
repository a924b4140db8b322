"""Everything that is public, and what of it has no door."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import mercer

_LEARN = ("learn", "features")  # packages of scikit-learn estimators


def public() -> dict[str, Any]:
    """Every public callable, and every public method of the classes among them."""
    found: dict[str, Any] = {}
    for package, module in _packages().items():
        for name in getattr(module, "__all__", ()):
            if package == "mercer" and name in mercer._SUBMODULES:
                continue
            value = getattr(module, name)
            if isinstance(value, type) and issubclass(value, BaseException):
                continue
            if callable(value):
                found[f"{package}.{name}"] = value
            if isinstance(value, type):
                found |= {f"{package}.{name}.{m}": f for m, f in _methods(value)}
    return found


def without_a_door(registered: set[str]) -> list[str]:
    """Public things that are not registered, methods neither with their class nor with a base."""
    return [
        name
        for name, (value, others) in _places().items()
        if not others & registered and _takes(value) and not _is_learner(name)
    ]


def _is_learner(name: str) -> bool:
    """Whether it is a learner or its method: behind scikit-learn's door, whose words its checks fix.

    tests/learn and tests/features run those checks on every learner.
    """
    _, package, kind, *_ = [*name.split("."), "", ""]
    found = getattr(getattr(mercer, package), kind, None) if package in _LEARN else None
    return isinstance(found, type) and hasattr(found, "get_params")


def gone(registered: set[str]) -> list[str]:
    """What is registered and no longer public, though its package is there."""
    left = registered.difference(*(others for _, others in _places().values()))
    return sorted(name for name in left if ".".join(name.split(".")[:2]) in _packages())


def _places() -> dict[str, tuple[Any, set[str]]]:
    """Every public thing, and under which names it may be registered."""
    everything, found = public(), {}
    for name, value in everything.items():
        owner, _, method = name.rpartition(".")
        bases = getattr(everything.get(owner), "__mro__", ())
        packages = {".".join(base.__module__.split(".")[:2]) for base in bases}
        packages.add(owner.rpartition(".")[0])
        names = {f"{p}.{base.__name__}.{method}" for p in packages for base in bases}
        found[name] = value, {name} | names
    return found


def _takes(value: Any) -> bool:
    """Whether it can be called with something; of abstract classes that is for their heirs."""
    if inspect.isclass(value):
        return not inspect.isabstract(value)
    return any(p not in ("self", "cls") for p in inspect.signature(value).parameters)


def _packages() -> dict[str, Any]:
    inside = (m.name for m in pkgutil.iter_modules(mercer.__path__) if m.ispkg)
    names = ["mercer", *(f"mercer.{name}" for name in inside if not name.startswith("_"))]
    return {name: importlib.import_module(name) for name in names}


def _methods(kind: type) -> Iterator[tuple[str, Any]]:
    for name, value in inspect.getmembers(kind, callable):
        visible = not name.startswith("_") or name in ("__call__", "__matmul__")
        if visible and (getattr(value, "__module__", "") or "").startswith("mercer"):
            yield name, value
