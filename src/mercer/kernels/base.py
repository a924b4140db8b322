"""What a kernel is: a frozen dataclass that gives k on all pairs, on matching pairs, and on the diagonal."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from functools import reduce, wraps
from numbers import Integral, Real
from operator import mul
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from mercer import validate
from mercer.backend import Array, namespace, zeros
from mercer.kernels.metric import columns, squared_distances, squared_norms

if TYPE_CHECKING:
    from mercer.kernels.compose import Composed
    from mercer.kernels.wrappers import Normalized, Scaled, Select, Transformed, Weighted

Points: TypeAlias = Any  # an array (n, d), or any sequence that slices, of objects a kernel knows


class Kernel(ABC):
    """A positive definite function k(x, y) of two points.

    `pairwise`, `paired` and `diag` are the formulas: they work on arrays (n, d) that were
    checked before. Calling the kernel is the door: it takes arrays, tensors, data frames and
    lists, checks them, and returns the dense matrix. For large data hand the kernel to
    `mercer.gram.Gram`, which never holds that matrix.
    """

    takes_categories = False  # whether codes of categories are points to this kernel
    expensive = False  # whether a value costs so much that a matrix of them is worth holding
    __array_ufunc__ = None  # NumPy leaves `number * kernel` to the kernel

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Parameters are kept as plain numbers: those of NumPy overflow early, int8(100)**2 = 16."""
        super().__init_subclass__(**keywords)
        check = cls.__dict__.get("__post_init__")
        if check is not None:

            @wraps(check)
            def plain_and_checked(self: Kernel) -> None:
                _make_plain(self)
                check(self)

            cls.__post_init__ = plain_and_checked  # type: ignore[attr-defined]

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
        """`x` as the points this kernel works on, or an error that says what was needed."""
        parts = self.parts().values()
        if not parts:
            return validate.points(x, name)
        seen = [part.accept(x, name) for part in parts]
        return next((s for s in seen if s is not x), x)

    def __call__(self, x: Any, y: Any = None, /) -> Array:
        """The dense matrix k(x_i, y_j), or k(x_i, x_j) when there is no y."""
        from mercer.kernels.prepare import prepare

        kernel, x, y = prepare(self, x, y)
        return kernel.pairwise(x, x if y is None else y)

    # ---- parameters -------------------------------------------------------------------

    def parts(self) -> dict[str, Kernel]:
        """The kernels this one is made of, by the name `with_params` knows them by."""
        found = {}
        for field in fields(self) if is_dataclass(self) else ():
            value = getattr(self, field.name)
            if isinstance(value, Kernel):
                found[field.name] = value
            elif isinstance(value, tuple) and value and all(isinstance(v, Kernel) for v in value):
                found |= {f"{field.name}__{i}": v for i, v in enumerate(value)}
        return found

    def is_expensive(self) -> bool:
        """Whether a value of this kernel, or of a part of it, costs a lot."""
        return self.expensive or any(part.is_expensive() for part in self.parts().values())

    def with_params(self, **params: Any) -> Self:
        """A new kernel with some parameters changed; ``left__bandwidth`` reaches inside a part."""
        parts = self.parts()
        own = {k: v for k, v in params.items() if k in {f.name for f in fields(self)}}  # type: ignore[arg-type]
        inner: dict[str, dict[str, Any]] = {}
        for name in params.keys() - own.keys():
            owner = next((p for p in parts if name == p or name.startswith(f"{p}__")), None)
            if owner is None:
                known = [f.name for f in fields(self)] + [f"{p}__..." for p in parts]  # type: ignore[arg-type]
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(known)}"
                )
            inner.setdefault(owner, {})[name[len(owner) + 2 :]] = params[name]
        changed = {
            owner: sub[""] if "" in sub else parts[owner].with_params(**sub)
            for owner, sub in inner.items()
        }
        return self._rebuilt(changed, own)

    def map_parts(self, change: Callable[[Kernel], Kernel]) -> Self:
        """The same kernel with every part changed."""
        return self._rebuilt({name: change(part) for name, part in self.parts().items()}, {})

    def _rebuilt(self, parts: dict[str, Kernel], own: dict[str, Any]) -> Self:
        for name, part in parts.items():
            field, _, position = name.partition("__")
            if position:
                whole = list(own.get(field, getattr(self, field)))
                whole[int(position)] = part
                own[field] = tuple(whole)
            else:
                own[field] = part
        return replace(self, **own) if own else self  # type: ignore[type-var]

    # ---- algebra ----------------------------------------------------------------------

    def __add__(self, other: Any) -> Kernel:
        from mercer.kernels.algebra import add

        return add(self, other)

    def __radd__(self, other: Any) -> Kernel:
        from mercer.kernels.algebra import add

        return self if isinstance(other, int | float) and other == 0 else add(other, self)

    def __mul__(self, other: Any) -> Kernel:
        from mercer.kernels.algebra import multiply

        return multiply(self, other)

    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> Kernel:
        from mercer.kernels.algebra import Power

        return Power(self, exponent)

    def __sub__(self, other: Any) -> Kernel:
        raise TypeError(
            "a difference of kernels is not a kernel: k(x, x) could be negative; "
            "for a difference of functions or embeddings subtract those"
        )

    __rsub__ = __sub__

    def __neg__(self) -> Kernel:
        return self * -1.0  # refused there, with the reason

    def exp(self, scale: float = 1.0) -> Kernel:
        """exp(scale * k)."""
        from mercer.kernels.algebra import Exp

        return Exp(self, scale)

    # ---- wrappers ---------------------------------------------------------------------

    def select(self, columns: Sequence[int | str] | int | str) -> Select:
        """The kernel on some columns only, given by position or (for data frames) by name."""
        from mercer.kernels.wrappers import Select

        one = isinstance(columns, str) or not isinstance(columns, Iterable)
        chosen: Any = (columns,) if one or getattr(columns, "ndim", 1) == 0 else columns
        whole = (
            c if isinstance(c, bool) or not isinstance(c, Integral) else int(c) for c in chosen
        )
        return Select(self, tuple(whole))

    def scaled(self, factors: float | Sequence[float]) -> Scaled:
        """k(a x, a y): every column is multiplied by its factor first (ARD)."""
        from mercer.kernels.wrappers import Scaled

        return Scaled(self, factors)  # type: ignore[arg-type]  # kept as a tuple

    def normalized(self) -> Normalized:
        """k(x, y) / sqrt(k(x, x) k(y, y)): the cosine of the angle between the features."""
        from mercer.kernels.wrappers import Normalized

        return Normalized(self)

    def weighted(self, function: Callable[[Points], Array]) -> Weighted:
        """f(x) k(x, y) f(y) for a function that gives one number per point."""
        from mercer.kernels.wrappers import Weighted

        return Weighted(self, function)

    def transformed(self, function: Callable[[Points], Points]) -> Transformed:
        """k(g(x), g(y)) for a function that maps points to points."""
        from mercer.kernels.wrappers import Transformed

        return Transformed(self, function)


def _make_plain(kernel: Kernel) -> None:
    for field in fields(kernel):  # type: ignore[arg-type]
        value: Any = getattr(kernel, field.name)
        if isinstance(value, Real) and not isinstance(value, bool):
            whole = isinstance(value, Integral) and field.type != "float"
            with suppress(OverflowError):  # refused by the kernel, by name
                object.__setattr__(kernel, field.name, (int if whole else float)(value))  # type: ignore[arg-type]


class Radial(Kernel):
    """k(x, y) = f(|x - y|^2): `profile` is the one formula behind matrix, pairs and diagonal."""

    @abstractmethod
    def profile(self, r2: Array, /) -> Array:
        """The f in k(x, y) = f(r2), elementwise."""

    def pairwise(self, x: Points, y: Points, /) -> Array:
        return self.profile(squared_distances(x, y, self.profile))

    def paired(self, x: Points, y: Points, /) -> Array:
        return self.profile(namespace(x, y).sum((x - y) ** 2, axis=1))

    def diag(self, x: Points, /) -> Array:
        return self.profile(zeros((x.shape[0],), x))

    def on(self, inner: Kernel) -> Composed:
        """f of the RKHS distance of `inner`: f(k(x, x) + k(y, y) - 2 k(x, y))."""
        from mercer.kernels.compose import Composed

        return Composed(self, inner)


class SmoothRadial(Radial):
    """A radial kernel with f' and f'', all that Stein kernels and location gradients need."""

    @abstractmethod
    def slope(self, r2: Array, /) -> Array:
        """f'(r2)."""

    @abstractmethod
    def curvature(self, r2: Array, /) -> Array:
        """f''(r2)."""


class DotProduct(Kernel):
    """k(x, y) = f(<x, y>): `profile` is the one formula behind matrix, pairs and diagonal.

    The dot product is taken between `embed(x)` and `embed(y)`, the points themselves unless a
    kernel has a metric of its own.
    """

    @abstractmethod
    def profile(self, dot: Array, /) -> Array:
        """The f in k(x, y) = f(<x, y>), elementwise."""

    def embed(self, x: Points, /) -> Array:
        """The vectors whose dot product is taken: (n, d)."""
        return x

    def accept(self, x: Any, name: str = "x") -> Points:
        """Finite points whose k(x, x), and so by Cauchy-Schwarz every k(x, y), is finite too."""
        x = validate.points(x, name)
        validate.representable(self.profile, squared_norms(self.embed(x)), name)
        return x

    def pairwise(self, x: Points, y: Points, /) -> Array:
        left = self.embed(x)
        right = left if y is x else self.embed(y)
        xp = namespace(left, right)
        return self.profile(left @ xp.permute_dims(right, (1, 0)))

    def paired(self, x: Points, y: Points, /) -> Array:
        left, right = self.embed(x), self.embed(y)
        return self.profile(namespace(left, right).sum(left * right, axis=1))

    def diag(self, x: Points, /) -> Array:
        return self.profile(squared_norms(self.embed(x)))

    def on(self, inner: Kernel) -> Kernel:
        """f(k(x, y)) with k = `inner` in place of the dot product, for those f that keep it a kernel."""
        raise TypeError(
            f"{self!r} has no kernel on top of another one: use Linear(), Polynomial or "
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
