"""The base classes of kernels: a frozen dataclass with k on all pairs, on matching pairs, on the diagonal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import cache, reduce, wraps
from numbers import Integral, Real
from operator import mul
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

from mercer import validate
from mercer.backend import Array, namespace, transposed, zeros
from mercer.kernels.metric import columns, squared_distances, squared_norms

if TYPE_CHECKING:
    from mercer.frames import Columns


# Points of a kernel: an array (n, d), or a sized sequence of objects that can be sliced, such as bags,
# distributions or labels. The second alternative is `Any`, because each kernel defines the points that it
# takes (`accept`) and its formulas use them as such; a protocol of sequences would need a cast in every
# formula on arrays.
Points: TypeAlias = Array | Any


class Kernel(ABC):
    """A positive definite function k(x, y) of two points.

    `pairwise`, `paired` and `diag` are the formulas: they expect arrays (n, d) that were
    checked before. Calling the kernel takes arrays, tensors, data frames and lists, checks them, and
    returns the dense matrix. For large data use `mercer.gram.Gram`, which never holds that matrix in
    memory.
    """

    takes_categories = False  # whether codes of categories are valid points
    of_objects = False  # whether points are objects, such as strings or graphs
    expensive = False  # whether values cost so much that matrices of them are cached
    __array_ufunc__ = None  # NumPy leaves `number * kernel` to the kernel

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Convert parameters to plain numbers first: those of NumPy overflow early, int8(100)**2 = 16."""
        super().__init_subclass__(**keywords)
        check = cls.__dict__.get("__post_init__")
        if check is not None:

            @wraps(check)
            def convert_and_check(self: Kernel) -> None:
                _to_plain_numbers(self)
                check(self)

            type.__setattr__(cls, "__post_init__", convert_and_check)

    @property
    def finite_diagonal(self) -> bool:
        """Whether k(x, x) is known to be finite in float64 wherever |x|^2 is."""
        return False

    @abstractmethod
    def pairwise(self, x: Points, y: Points, /) -> Array:
        """k(x_i, y_j) for all pairs: (n, m)."""

    @abstractmethod
    def paired(self, x: Points, y: Points, /) -> Array:
        """k(x_i, y_i) for matching pairs: (n,)."""

    def diag(self, x: Points, /) -> Array:
        """k(x_i, x_i): (n,)."""
        return self.paired(x, x)

    def accept(self, x: Any, name: str = "x") -> Points:
        """`x` as points for this kernel, checked and converted."""
        parts = self.parts().values()
        if not parts:
            return validate.points(x, name)
        accepted = [kernel.accept(x, name) for kernel in parts]
        return next((points for points in accepted if points is not x), x)

    def __call__(self, x: Any, y: Any = None, /) -> Any:
        """The dense matrix k(x_i, y_j), or k(x_i, x_j) when there is no y."""
        kernel, x, y = prepare.prepare(self, x, y)
        return dense_matrix.dense_matrix(kernel, x, x if y is None else y)

    def _bound(self, columns: Columns, name: str) -> Kernel:
        """The kernel with column names replaced by positions; only some kernels take categories."""
        if self.parts():
            return self.map_parts(lambda kernel: kernel._bound(columns, name))
        self._refuse_categories(columns, name)
        return self

    def _refuse_categories(self, columns: Columns, name: str) -> None:
        if any(columns.categorical) and not self.takes_categories:
            label = columns.names[columns.categorical.index(True)]
            raise TypeError(
                f"column {label!r} of {name} holds categories, which {type(self).__name__} does not "
                "take: use default_kernel(frame), or .select(...) the columns of each kernel"
            )

    @staticmethod
    def remedy(value: Any) -> str:
        """The end of a message about a value that is not a kernel: how to make a kernel of it."""
        return prepare.remedy(value)

    # ---- parameters -------------------------------------------------------------------

    def parts(self) -> dict[str, Kernel]:
        """The kernels that this one consists of, by their names in `with_params`."""
        parts: dict[str, Kernel] = {}
        for name in self._field_names() if is_dataclass(self) else ():
            value = getattr(self, name)
            if isinstance(value, Kernel):
                parts[name] = value
            elif isinstance(value, tuple) and value and all(isinstance(v, Kernel) for v in value):
                parts |= {f"{name}__{i}": v for i, v in enumerate(value)}
        return parts

    def is_expensive(self) -> bool:
        """Whether values of this kernel, or of a kernel that it consists of, are expensive."""
        return self.expensive or any(kernel.is_expensive() for kernel in self.parts().values())

    def takes_objects(self) -> bool:
        """Whether points of this kernel, or of a kernel that it consists of, are objects."""
        return self.of_objects or any(kernel.takes_objects() for kernel in self.parts().values())

    def with_params(self, **params: Any) -> Self:
        """A new kernel with these parameters changed; ``left__bandwidth`` is one of the kernel `left`."""
        parts, names = self.parts(), self._field_names()
        values = {k: v for k, v in params.items() if k in names}
        inner: dict[str, dict[str, Any]] = {}
        for name in params.keys() - values.keys():
            owner = next((p for p in parts if name == p or name.startswith(f"{p}__")), None)
            if owner is None:
                known = [*names, *(f"{p}__..." for p in parts)]
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            inner.setdefault(owner, {})[name[len(owner) + 2 :]] = params[name]
        changed = {
            owner: sub[""] if "" in sub else parts[owner].with_params(**sub)
            for owner, sub in inner.items()
        }
        return self._rebuilt(changed, values)

    def map_parts(self, change: Callable[[Kernel], Kernel]) -> Self:
        """The kernel with a function applied to every kernel that it consists of."""
        return self._rebuilt({name: change(kernel) for name, kernel in self.parts().items()}, {})

    def _rebuilt(self, parts: dict[str, Kernel], values: dict[str, Any]) -> Self:
        """The kernel with other parts and other values of fields."""
        for name, kernel in parts.items():
            field, _, position = name.partition("__")
            if position:
                kernels = list(values.get(field, getattr(self, field)))
                kernels[int(position)] = kernel
                values[field] = tuple(kernels)
            else:
                values[field] = kernel
        return replace(cast(Any, self), **values) if values else self

    def _field_names(self) -> tuple[str, ...]:
        return _names_of_fields(type(self))

    # ---- algebra ----------------------------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        return algebra.add(self, other)

    def __radd__(self, other: Any) -> Kernel:
        return self if isinstance(other, int | float) and other == 0 else algebra.add(other, self)

    def __mul__(self, other: Any) -> Kernel:
        return algebra.multiply(self, other)

    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> Kernel:
        return algebra.Power(self, exponent)

    def __sub__(self, other: Any) -> Kernel:
        raise TypeError(
            "a difference of kernels is not a kernel, because k(x, x) could be negative; "
            "for a difference of functions or embeddings subtract those"
        )

    __rsub__ = __sub__

    def __neg__(self) -> Kernel:
        return self * -1.0  # refused there, with the reason

    def exp(self, scale: float = 1.0) -> Kernel:
        """exp(scale * k)."""
        return algebra.Exp(self, scale)

    # ---- wrappers ---------------------------------------------------------------------

    def select(self, columns: Sequence[int | str] | int | str) -> wrappers.Select:
        """The kernel on selected columns, given by position or (for data frames) by name."""
        single = isinstance(columns, str) or not isinstance(columns, Iterable)
        listed: Any = (columns,) if single or getattr(columns, "ndim", 1) == 0 else columns
        plain = (
            c if isinstance(c, bool) or not isinstance(c, Integral) else int(c) for c in listed
        )
        return wrappers.Select(self, tuple(plain))

    def scaled(self, factors: float | Sequence[float]) -> wrappers.Scaled:
        """k(a x, a y): every column is multiplied by its factor first (ARD)."""
        return wrappers.Scaled(self, cast(float | tuple[float, ...], factors))  # made a tuple there

    def normalized(self) -> wrappers.Normalized:
        """k(x, y) / sqrt(k(x, x) k(y, y)): the cosine of the angle between the features."""
        return wrappers.Normalized(self)

    def weighted(self, function: Callable[[Points], Array]) -> wrappers.Weighted:
        """f(x) k(x, y) f(y) for a function that gives one number per point."""
        return wrappers.Weighted(self, function)

    def transformed(self, function: Callable[[Points], Points]) -> wrappers.Transformed:
        """k(g(x), g(y)) for a function that maps points to points."""
        return wrappers.Transformed(self, function)


def require_kernels(**kernels: Any) -> None:
    """Refuse parameters, given by name, that are not kernels."""
    for name, kernel in kernels.items():
        validate.instance(name, kernel, Kernel, "a kernel")


def _to_plain_numbers(kernel: Kernel) -> None:
    """Replace numbers of NumPy among the fields by those of Python."""
    for field in fields(cast(Any, kernel)):
        value: Any = getattr(kernel, field.name)
        if type(value) is float or isinstance(value, bool) or not isinstance(value, Real):
            continue
        plain: Any = int if isinstance(value, Integral) and field.type != "float" else float
        with suppress(OverflowError):  # the kernel refuses such a number, by name
            object.__setattr__(kernel, field.name, plain(value))


class Radial(Kernel):
    """k(x, y) = f(|x - y|^2): `profile` gives matrix, pairs and diagonal."""

    @abstractmethod
    def profile(self, r2: Array, /) -> Array:
        """The f in k(x, y) = f(r2), elementwise."""

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self.profile(squared_distances(x, y, self.profile))

    def paired(self, x: Points, y: Points, /) -> Array:
        return self.profile(namespace(x, y).sum((x - y) ** 2, axis=1))

    def diag(self, x: Points, /) -> Array:
        return self.profile(zeros((x.shape[0],), x))

    def on(self, inner: Kernel) -> compose.Composed:
        """f of the RKHS distance of `inner`: f(k(x, x) + k(y, y) - 2 k(x, y))."""
        return compose.Composed(self, inner)


class SmoothRadial(Radial):
    """A radial kernel with f' and f'', which Stein kernels and gradients at locations need."""

    @abstractmethod
    def slope(self, r2: Array, /) -> Array:
        """f'(r2)."""

    @abstractmethod
    def curvature(self, r2: Array, /) -> Array:
        """f''(r2)."""


class DotProduct(Kernel):
    """k(x, y) = f(<x, y>): `profile` gives matrix, pairs and diagonal.

    The dot product is that of `embed(x)` and `embed(y)`: the points themselves, unless the kernel has
    a metric.
    """

    @abstractmethod
    def profile(self, dot: Array, /) -> Array:
        """The f in k(x, y) = f(<x, y>), elementwise."""

    def embed(self, x: Points, /) -> Any:
        """The vectors whose dot products are computed: (n, d)."""
        return x

    def accept(self, x: Any, name: str = "x") -> Points:
        """Finite points with finite k(x, x), and so, by Cauchy-Schwarz, finite k(x, y)."""
        x = validate.points(x, name)
        validate.representable(self.profile, squared_norms(self.embed(x)), name)
        return x

    def pairwise(self, x: Points, y: Points, /) -> Array:
        u = self.embed(x)
        v = u if y is x else self.embed(y)
        return self.profile(u @ transposed(v))

    def paired(self, x: Points, y: Points, /) -> Array:
        u, v = self.embed(x), self.embed(y)
        return self.profile(namespace(u, v).sum(u * v, axis=1))

    def diag(self, x: Points, /) -> Array:
        return self.profile(squared_norms(self.embed(x)))

    def on(self, inner: Kernel) -> Kernel:
        """f(k(x, y)) with k = `inner` in place of the dot product, for those f that keep it a kernel."""
        raise TypeError(
            f"{self!r} cannot be composed with another kernel: use Linear(), Polynomial or "
            "ExponentialDot, or a radial kernel such as RBF(1.0)"
        )


class Coordinatewise(Kernel):
    """k(x, y) = k1(x_1, y_1) k1(x_2, y_2) ...: a kernel k1 on the line, multiplied over columns."""

    @abstractmethod
    def value(self, a: Array, b: Array, /) -> Array:
        """k1(a, b) of numbers, elementwise with broadcasting."""

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return reduce(mul, (self.value(a, b) for a, b in columns(x, y)))

    def paired(self, x: Points, y: Points, /) -> Array:
        values = self.value(x, y)
        return namespace(values).prod(values, axis=1)


@cache
def _names_of_fields(kernel_class: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(cast(Any, kernel_class)))


# Operators and methods that return other kernels need the modules that define these, which import this
# one: so they are imported last.
from mercer.kernels import algebra, compose, dense_matrix, prepare, wrappers  # noqa: E402
