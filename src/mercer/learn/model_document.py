"""Fitted learners as a document of plain values and a list of arrays, without pickle."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from math import isfinite
from types import MethodType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.decomposition import FastICA

from mercer.backend import from_numpy, is_torch, to_numpy
from mercer.kernels.base import Kernel
from mercer.kernels.objects import ObjectKernel, Objects

_PACKAGES = ("mercer.kernels", "mercer.features", "mercer.learn", "mercer.rkhs")
_MODULES = ("mercer.gram.bag_sums", "mercer.frames")  # of which states hold instances, too
_OTHERS = {"sklearn.KMeans": KMeans, "sklearn.FastICA": FastICA}  # that learners contain
_METHODS = frozenset({"profile", "slope"})  # bound methods that states hold
_MADE_AGAIN = frozenset({"scorer_"})  # attributes that follow from the others
_CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}


class NotSavable(TypeError):
    """A value that has no plain form, such as a function of the user."""


class Writer:
    """Values as plain documents; arrays are collected in `arrays`, and documents name them by position."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self._names = {cls: name for name, cls in known_classes().items()}

    def plain(self, value: Any, place: str) -> Any:
        """`value` as nested lists, dicts, texts and numbers; `place` names it in messages."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if isfinite(value) else {"float": repr(value)}
        if type(value) is list:
            return [self.plain(v, f"{place}[{i}]") for i, v in enumerate(value)]
        if type(value) in (tuple, set, frozenset):
            items = [self.plain(v, f"{place}[{i}]") for i, v in enumerate(value)]
            return {"container": type(value).__name__, "items": items}
        if type(value) is dict:
            return {"dict": self._pairs(value, place)}
        if isinstance(value, np.ndarray | np.generic) or is_torch(value):
            return self._array(value, place)
        return self._object(value, place)

    def _pairs(self, value: Mapping[Any, Any], place: str) -> list[list[Any]]:
        return [
            [self.plain(key, f"a key of {place}"), self.plain(v, f"{place}[{key!r}]")]
            for key, v in value.items()
        ]

    def _array(self, value: Any, place: str) -> dict[str, Any]:
        if isinstance(value, np.ma.MaskedArray):
            parts = (np.asarray(value.data), np.ma.getmaskarray(value))
            return {"masked": [self._array(part, place) for part in parts]}
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            items = [self.plain(v, place) for v in value.ravel().tolist()]
            return {"objects": items, "shape": list(value.shape)}
        host = to_numpy(value) if is_torch(value) else np.asarray(value)
        if host.dtype.kind not in "biufcUSM":
            raise _not_savable(value, place)
        self.arrays.append(host)
        entry: dict[str, Any] = {"array": len(self.arrays) - 1}
        if is_torch(value):
            entry["library"] = "torch"
        elif isinstance(value, np.generic):
            entry["scalar"] = True
        return entry

    def _object(self, value: Any, place: str) -> dict[str, Any]:
        of_kernel = isinstance(value, MethodType) and isinstance(value.__self__, Kernel)
        if of_kernel and value.__name__ in _METHODS:
            return {"method": value.__name__, "of": self.plain(value.__self__, place)}
        if isinstance(value, Objects):
            kernels = [self.plain(kernel, place) for kernel in value.views]
            return {"points": self.plain(value.items, f"{place}.items"), "kernels": kernels}
        name = self._names.get(type(value))
        if name is None:
            raise _not_savable(value, place)
        if isinstance(value, tuple):
            return {"class": name, "items": [self.plain(v, place) for v in value]}
        state = {
            key: self.plain(v, f"{place}.{key}")
            for key, v in _state(value).items()
            if key not in _MADE_AGAIN
        }
        return {"class": name, "state": state}


class Reader:
    """Values from the documents of a `Writer`; only classes of `known_classes` are made."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self._arrays = arrays
        self._classes = known_classes()

    def value(self, plain: Any) -> Any:
        """The value of a document; ValueError, KeyError or TypeError where it is none."""
        if isinstance(plain, list):
            return [self.value(v) for v in plain]
        if not isinstance(plain, dict):
            return plain
        for key, read in self._readers().items():
            if key in plain:
                return read(plain)
        raise ValueError(f"an entry of unknown kind, {sorted(plain)[:3]}")

    def _readers(self) -> dict[str, Callable[[dict[str, Any]], Any]]:
        return {
            "float": lambda d: float(d["float"]),
            "container": lambda d: _CONTAINERS[d["container"]](self.value(d["items"])),
            "dict": lambda d: {self.value(k): self.value(v) for k, v in d["dict"]},
            "array": self._array,
            "masked": lambda d: np.ma.MaskedArray(*map(self.value, d["masked"])),
            "objects": self._object_array,
            "method": self._method,
            "points": self._points,
            "class": self._object,
        }

    def _array(self, entry: dict[str, Any]) -> Any:
        array = self._arrays[entry["array"]]
        if entry.get("scalar"):
            return array[()]
        return from_numpy(array, entry.get("library", "numpy"))

    def _object_array(self, entry: dict[str, Any]) -> np.ndarray:
        array = np.empty(len(entry["objects"]), dtype=object)
        array[:] = [self.value(v) for v in entry["objects"]]
        return array.reshape(entry["shape"])

    def _method(self, entry: dict[str, Any]) -> Any:
        if entry["method"] not in _METHODS:
            raise ValueError(f"the method {entry['method']!r} is not one that models have")
        return getattr(self.value(entry["of"]), entry["method"])

    def _points(self, entry: dict[str, Any]) -> Objects:
        items, kernels = self.value(entry["points"]), self.value(entry["kernels"])
        if not all(isinstance(kernel, ObjectKernel) for kernel in kernels):
            raise ValueError("points of a kernel that is not one on objects")
        return Objects(items, {kernel: kernel.view(items) for kernel in kernels})

    def _object(self, entry: dict[str, Any]) -> Any:
        cls = self._classes.get(entry["class"])
        if cls is None:
            raise ValueError(f"{entry['class']!r} is not a class that models consist of")
        if issubclass(cls, tuple):
            return cls(*(self.value(v) for v in entry["items"]))
        thing = object.__new__(cls)
        state = {name: self.value(v) for name, v in entry["state"].items()}
        if issubclass(cls, BaseEstimator):
            thing.__setstate__(state)  # type: ignore[attr-defined]
        else:
            thing.__dict__.update(state)
        return thing


def known_classes() -> dict[str, type]:
    """Classes of which fitted learners consist, by name: public ones as "kernels.RBF", others with their module.

    Only modules of mercer that are imported already are looked at, so that a file cannot make anything be imported.
    """
    classes: dict[str, type] = dict(_OTHERS)
    for name, module in sorted(sys.modules.items()):
        if name in _MODULES or name.startswith(tuple(f"{package}." for package in _PACKAGES)):
            for thing in vars(module).values():
                if isinstance(thing, type) and thing.__module__ == name and _is_state(thing):
                    classes[f"{name}.{thing.__qualname__}"] = thing
    public = {}
    for package in _PACKAGES:
        exported = importlib.import_module(package)
        for name in exported.__all__:
            thing = getattr(exported, name)
            if isinstance(thing, type) and _is_state(thing):
                public.setdefault(thing, f"{package.removeprefix('mercer.')}.{name}")
    internal = {name: cls for name, cls in classes.items() if cls not in public}
    return {**internal, **{name: cls for cls, name in public.items()}}


def _is_state(cls: type) -> bool:
    """Whether instances are plain data: dataclasses, named tuples and estimators."""
    named = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return is_dataclass(cls) or named or issubclass(cls, BaseEstimator)


def _state(value: Any) -> dict[str, Any]:
    """Attributes without those that are computed from others when they are needed."""
    if isinstance(value, BaseEstimator):
        state: Any = value.__getstate__()
        return state
    cls = type(value)
    attributes = vars(value)
    return {
        name: v
        for name, v in attributes.items()
        if not isinstance(getattr(cls, name, None), cached_property)
    }


def _not_savable(value: Any, place: str) -> NotSavable:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return NotSavable(
        f"{place} is of type {kind.removeprefix('builtins.')}, which a model file cannot hold: it holds numbers, texts, arrays and "
        "objects of mercer. Use joblib or pickle, and load such files only if you trust them"
    )
