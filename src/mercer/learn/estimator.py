"""What every learner with a kernel shares: parameters that reach inside kernels, and the door."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from mercer import validate
from mercer.backend import is_array, is_numpy
from mercer.frames import Columns
from mercer.kernels.base import Kernel, Points
from mercer.kernels.default import default_kernel
from mercer.kernels.door import as_table
from mercer.rkhs.points import bound_to, read


class KernelEstimator(BaseEstimator):
    """A scikit-learn estimator whose parameters may be kernels.

    ``kernel__bandwidth`` names the bandwidth of the parameter `kernel`, and ``kernel__left__scale``
    that of a part of it: they are listed by `get_params` and changed by `set_params`, so grids
    can be searched over them. Kernels are immutable: `set_params` puts a new one in their place.
    """

    kernel: Kernel | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, and with `deep` those of kernels and estimators among them."""
        params = super().get_params(deep=deep)
        if deep:
            kernels = {name: v for name, v in params.items() if isinstance(v, Kernel)}
            for name, kernel in kernels.items():
                params |= {f"{name}__{k}": v for k, v in _params(kernel).items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters; those of kernels by names such as ``kernel__bandwidth``."""
        own = super().get_params(deep=False) | params
        for name in [name for name in params if "__" in name]:
            owner, _, inner = name.partition("__")
            kernel = own.get(owner)
            if isinstance(kernel, Kernel):
                own[owner] = params[owner] = kernel.with_params(**{inner: params.pop(name)})
        return super().set_params(**params)

    def _accept(self, X: Any) -> tuple[Kernel, Points]:
        """The kernel and the points to learn from; sets `n_features_in_`, and names of columns."""
        if self.kernel is not None:
            validate.instance("kernel", self.kernel, Kernel, "a kernel, such as RBF(1.0), or None")
        x = self._numbers(X, reset=True)
        kernel = default_kernel(x) if self.kernel is None else self.kernel
        points, columns = read(kernel, x, None, "X")
        self._columns: Columns | None = columns
        self.kernel_ = kernel
        return bound_to(kernel, columns), points

    def _points(self, X: Any) -> Points:
        """New points, in the order of columns that was learnt from."""
        points, _ = read(self.kernel_, self._numbers(X, reset=False), self._columns, "X")
        return points

    def _numbers(self, X: Any, *, reset: bool) -> Any:
        """Arrays and lists of numbers by scikit-learn's door; tensors, frames and objects as they are."""
        if is_array(X) and not is_numpy(X):
            return X
        if as_table(X, "X") is not None:
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        if validate.holds_objects(X):
            return X
        return validate_data(self, X, dtype=(np.float64, np.float32), reset=reset)


def checked(estimator: BaseEstimator, X: Any, **how: Any) -> Any:
    """Finite float64 numbers (n, p), and y where one is given, by scikit-learn's own door."""
    return validate_data(estimator, X, dtype=np.float64, **how)


def _params(kernel: Kernel) -> dict[str, Any]:
    """The parameters of a kernel and of its parts, by the names `with_params` knows."""
    found = {f.name: getattr(kernel, f.name) for f in fields(kernel)}  # type: ignore[arg-type]
    for name, part in kernel.parts().items():
        found |= {name: part} | {f"{name}__{k}": v for k, v in _params(part).items()}
    return found
