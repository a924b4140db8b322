"""Arrays of NumPy, torch and other libraries: namespaces, devices, conversions, and equality."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from threading import Lock
from typing import Any, Protocol, TypeGuard, TypeVar

import numpy as np

_WEIGHTS_OF_SMALL_NETWORKS = 100_000
# The user's number of threads of torch, once for every block of `torch_threads` that is open in any thread. A new thread of
# Python begins with the number that another one set last, and so knows the user's only where no block is open.
_torch_lock, _torch_threads_before = Lock(), list[int]()


class Array(Protocol):
    """An array of the array API standard: a NumPy array, a tensor of torch, or one of another library.

    The attributes and operators are those that all libraries share. Methods that only some have
    (`sum`, `astype`, `detach`) are not among them: use the functions of `namespace(x)`, or `to_numpy`.
    Results of operators and of indexing are `Any`, because their shape and dtype are not tracked.
    """

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def ndim(self) -> int: ...
    @property
    def device(self) -> Any: ...
    @property
    def T(self) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __array__(self) -> np.ndarray: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __neg__(self) -> Any: ...
    def __abs__(self) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __rpow__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __rmatmul__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...


ArrayT = TypeVar("ArrayT", bound=Array)  # functions that return an array of the library of `x`


def namespace(*arrays: Any) -> Any:
    """The array API namespace of the arrays (`numpy` itself for NumPy arrays)."""
    for array in arrays:  # a loop: `all` with a generator takes twice as long
        if not isinstance(array, np.ndarray):
            break
    else:
        return np
    import array_api_compat

    return array_api_compat.array_namespace(*arrays)


def device(x: Array) -> Any:
    """The device the array lives on."""
    if isinstance(x, np.ndarray):
        return "cpu"
    import array_api_compat

    return array_api_compat.device(x)


def is_array(x: object) -> bool:
    """Whether `x` is an array of a library that follows the array API standard."""
    if isinstance(x, np.ndarray):
        return True
    if isinstance(x, type) or is_dask(x):
        return False
    import array_api_compat

    return array_api_compat.is_array_api_obj(x)


def is_dask(x: object) -> bool:
    """Whether `x` is a Dask array or data frame, which holds no data yet; never imports Dask."""
    return type(x).__module__.partition(".")[0] in ("dask", "dask_expr")


def is_torch(x: object) -> bool:
    """Whether `x` is a torch tensor; never imports torch."""
    return type(x).__module__.partition(".")[0] == "torch"


def is_torch_module(x: object) -> bool:
    """Whether `x` is a network of torch, an instance of `torch.nn.Module`; never imports torch."""
    return any(
        c.__name__ == "Module" and c.__module__ == "torch.nn.modules.module"
        for c in type(x).__mro__
    )


@contextmanager
def torch_threads(module: Any, workers: int) -> Iterator[None]:
    """Context in which torch uses so many threads, and one for a small network, whose threads would mostly wait."""
    import torch

    weights = sum(p.numel() for p in module.parameters())
    with _torch_lock:
        before = _torch_threads_before[0] if _torch_threads_before else torch.get_num_threads()
        _torch_threads_before.append(before)
        torch.set_num_threads(workers if weights > _WEIGHTS_OF_SMALL_NETWORKS else 1)
    try:
        yield
    finally:
        with _torch_lock:
            torch.set_num_threads(_torch_threads_before.pop())


def is_jax(x: object) -> bool:
    """Whether `x` is an array of JAX, which cannot be modified; never imports JAX."""
    return type(x).__module__.partition(".")[0] in ("jax", "jaxlib")


def is_symbolic(x: object) -> bool:
    """Whether `x` stands for an array that is not there yet: operations on it are written into a graph (`to_onnx`)."""
    return getattr(type(x), "symbolic", False) is True


def on_gpu(x: object) -> bool:
    """Whether `x` is a tensor of torch on an NVIDIA GPU, for which fused kernels exist.

    Builds of torch for AMD GPUs call their devices "cuda" too; torch computes the tiles there.
    """
    return is_torch(x) and bool(getattr(x, "is_cuda", False)) and not _torch_for_amd()


def on_accelerator(x: object) -> bool:
    """Whether `x` is a tensor of torch that is not in the memory of the host: on any GPU."""
    return is_torch(x) and getattr(getattr(x, "device", None), "type", "cpu") != "cpu"


def on_host(x: Any) -> Any:
    """Points of a GPU as a NumPy array, for work in pieces too small for a GPU; others as they are."""
    return to_numpy(x) if on_accelerator(x) else x


def _torch_for_amd() -> bool:
    """Whether the installed torch is a build for AMD GPUs."""
    import torch

    return torch.version.hip is not None


def for_gpu(x: Any) -> bool:
    """Whether it is a tensor of torch in pinned memory of the host, to be streamed to a GPU."""
    return is_torch(x) and not on_gpu(x) and bool(x.is_pinned())


def is_numpy(array: object, *others: object) -> TypeGuard[np.ndarray]:
    """Whether all are NumPy arrays."""
    if not isinstance(array, np.ndarray):
        return False
    return not others or all(isinstance(a, np.ndarray) for a in others)


def is_held(x: Any) -> bool:
    """Whether an array is dense and in memory: not sparse, not on torch's meta device."""
    sparse = is_torch(x) and not str(x.layout).endswith("strided")
    return not (sparse or getattr(x, "is_meta", False))


def needs_grad(x: object) -> bool:
    """Whether `x` is a tensor that records gradients."""
    return bool(getattr(x, "requires_grad", False))


def detached(x: Any) -> Any:
    """The same points, detached from the record of gradients."""
    return x.detach() if needs_grad(x) else x


def to_numpy(x: Any) -> np.ndarray:
    """The same numbers as a NumPy array, detached and on the host; bfloat16 becomes float32."""
    if isinstance(x, np.ndarray):
        return x
    if is_torch(x):
        tensor = x.detach().cpu()
        return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()
    import array_api_compat

    if is_jax(x):
        return _jax_to_numpy(x)
    if array_api_compat.is_cupy_array(x):
        return x.get()  # CuPy refuses to convert without being asked
    xp = namespace(x)
    if array_api_compat.is_array_api_strict_namespace(xp):
        return np.asarray(xp.asarray(x, device=xp.Device("CPU_DEVICE")))
    return np.asarray(x)


def _jax_to_numpy(x: Any) -> np.ndarray:
    """The numbers of an array of JAX; values that are only traced, inside jit or grad, are refused."""
    try:
        return np.asarray(x.astype("float32") if str(x.dtype) == "bfloat16" else x)
    except TypeError as problem:
        if not hasattr(x, "aval"):
            raise
        raise TypeError(
            "mercer computes with the numbers of JAX arrays in NumPy, got a traced value without numbers: "
            "call it outside jax.jit, jax.grad and jax.vmap, or use tensors of torch for gradients"
        ) from problem


def from_numpy(x: np.ndarray, library: str) -> Any:
    """The same numbers as an array of "numpy" or a tensor of "torch", on the host."""
    if library == "numpy":
        return x
    if library != "torch":
        raise ValueError(f"library must be 'numpy' or 'torch', got {library!r}")
    import torch

    return torch.from_numpy(x)


def array_like(values: Any, like: ArrayT, dtype: Any = None) -> ArrayT:
    """`values` as an array of the library and on the device of `like` (and its dtype if none is given)."""
    dtype = like.dtype if dtype is None else dtype
    if is_torch(values) and is_torch(like):
        return values.to(like.device, dtype)  # asarray warns about tensors that record gradients
    if not is_array(values):
        values = np.asarray(values)
    elif not is_numpy(values) and type(values) is not type(like):
        values = to_numpy(values)
    if isinstance(values, np.ndarray):
        backwards = is_torch(like) and min(values.strides, default=0) < 0
        if backwards or not values.flags.writeable:
            values = (
                values.copy()
            )  # torch warns about read-only memory, and has no negative strides
    return namespace(like).asarray(values, dtype=dtype, device=device(like))


def zeros(shape: tuple[int, ...] | int, like: ArrayT, dtype: Any = None) -> ArrayT:
    """Zeros of the library, device and (unless given) dtype of `like`."""
    dtype = like.dtype if dtype is None else dtype
    return namespace(like).zeros(shape, dtype=dtype, device=device(like))


def ones(shape: tuple[int, ...] | int, like: ArrayT, dtype: Any = None) -> ArrayT:
    """Ones of the library, device and (unless given) dtype of `like`."""
    dtype = like.dtype if dtype is None else dtype
    return namespace(like).ones(shape, dtype=dtype, device=device(like))


def astype(x: ArrayT, dtype: Any) -> ArrayT:
    """`x` in another dtype; `x` itself when it has that dtype already."""
    return x if x.dtype == dtype else namespace(x).astype(x, dtype)


def double(x: Array) -> Any:
    """The float64 of the library of `x`."""
    return namespace(x).float64


def is_single(x: Array) -> bool:
    """Whether `x` is float32."""
    return x.dtype == namespace(x).float32


def count(x: Any) -> int:
    """The number of points: arrays of the strict standard have no len()."""
    return int(x.shape[0]) if is_array(x) else len(x)


def transposed(a: ArrayT) -> ArrayT:
    """A matrix with its rows as columns."""
    return namespace(a).permute_dims(a, (1, 0))


def take_rows(x: Any, rows: slice) -> Any:
    """x[rows] for arrays of any library and for sequences."""
    return x[rows, ...] if is_array(x) else x[rows]


def set_diagonal(matrix: Array, row: int, column: int, values: Array) -> None:
    """Write values into a diagonal of a matrix that starts at (row, column)."""
    count = int(values.shape[0])
    if isinstance(matrix, np.ndarray):
        steps = np.arange(count)
        matrix[row + steps, column + steps] = values
    elif is_torch(matrix):
        matrix[row : row + count, column : column + count].diagonal().copy_(values)
    else:
        for i in range(count):
            matrix[row + i, column + i] = values[i]


def scalar(x: Any) -> float:
    """A Python float from an array of one number, detached."""
    return float(x.detach() if is_torch(x) else x)


def itemsize(x: Array) -> int:
    """Bytes of one number of a floating-point array."""
    return int(namespace(x).finfo(x.dtype).bits) // 8


def eps(x: Array) -> float:
    """Machine epsilon of the dtype of `x`."""
    return float(namespace(x).finfo(x.dtype).eps)


def root(x: ArrayT) -> ArrayT:
    """Square root with derivative 0 at 0, so that gradients of k(x, x) are finite."""
    xp = namespace(x)
    if not needs_grad(x):
        return xp.sqrt(x)
    positive = x > 0
    safe = xp.where(positive, x, ones((), x))
    return xp.where(positive, xp.sqrt(safe), zeros((), x))


def via_numpy(function: Callable[[np.ndarray], np.ndarray], x: ArrayT, what: str) -> ArrayT:
    """Apply a SciPy function elementwise; arrays that record gradients are refused."""
    if isinstance(x, np.ndarray):
        return function(x).astype(x.dtype, copy=False)
    if needs_grad(x):
        raise TypeError(f"{what} has no gradient in torch: detach x, or use another kernel")
    return array_like(function(to_numpy(x)), x)


# ---- equality ---------------------------------------------------------------------------------


class EqualByValue:
    """Equality of frozen dataclasses (``eq=False``) that have arrays among their fields.

    Objects are equal if their fields hold equal numbers, so that a copy from a pickle equals the
    original. Arrays enter the hash by their shapes only.
    """

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            same_values(a, b) for a, b in zip(_compared(self), _compared(other), strict=True)
        )

    def __hash__(self) -> int:
        return hash((type(self), *map(_hashed, _compared(self))))


def same_values(a: Any, b: Any) -> bool:
    """Whether two values are equal: arrays of one library and dtype number by number."""
    if a is b:
        return True
    if type(a) is type(b) and is_array(a):
        alike = a.dtype == b.dtype and a.shape == b.shape
        return alike and bool(np.array_equal(to_numpy(a), to_numpy(b)))
    if is_array(a) or is_array(b):
        return False
    if type(a) is type(b) and isinstance(a, list | tuple):
        return len(a) == len(b) and all(same_values(*pair) for pair in zip(a, b, strict=True))
    try:
        return bool(a == b)
    except (TypeError, ValueError):  # data frames and the like, which have no single answer
        return False


def _compared(thing: Any) -> list[Any]:
    return [getattr(thing, f.name) for f in fields(thing) if f.compare]


def _hashed(value: Any) -> Any:
    """A hash that equal values share."""
    if is_array(value):
        return tuple(value.shape)
    if isinstance(value, list | tuple):
        return tuple(map(_hashed, value))
    try:
        return hash(value)
    except TypeError:
        return type(value).__name__
