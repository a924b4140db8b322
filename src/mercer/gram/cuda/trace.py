"""Kernels as Triton code: the formula of a kernel is called once with a symbol instead of numbers.

Numbers become parameters that are loaded when the code runs, so that kernels that differ in their
bandwidth alone share one compiled program. Common subexpressions are computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log
from numbers import Real
from typing import Any

from mercer.kernels.algebra import Constant, Exp, Multiple, Power, Product, Sum
from mercer.kernels.base import DotProduct, Kernel, Points
from mercer.kernels.radial import Energy, Laplace
from mercer.kernels.smooth import Profile, radial_form
from mercer.kernels.stein import Scored, Stein, halves, stein_values
from mercer.kernels.wrappers import InputWrapper

_MAX_UNROLLED_EXPONENT = 8  # integer powers up to it are products


@dataclass(frozen=True)
class Input:
    """A symbol of the formula, a function of a row of x and a row of y.

    "r2" is their squared distance, "dot" their product, "l1" their city-block distance; "steps" is
    (t - s)'(a - b) of rows [a, s] and [b, t], and "sum" x_i + y_j of numbers.
    """

    kind: str
    x: Any = field(compare=False)  # a tensor of torch
    y: Any = field(compare=False)
    path: Any = ()  # the wrappers that transformed the points: equal paths have equal points
    profiles: list[Profile] = field(default_factory=list, compare=False)  # of a squared distance
    careful: bool = field(default=False, compare=False)  # sums of the matrix nearly cancel


@dataclass
class Formula:
    """Lines of code that compute `values`, with their inputs and parameters."""

    inputs: list[Input] = field(default_factory=list)
    parameters: list[float] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)  # of one matrix, or of several
    names: dict[str, str] = field(default_factory=dict)  # expression -> variable

    def named(self, code: str) -> Symbol:
        """The symbol of an expression; equal expressions share a variable."""
        if code not in self.names:
            self.names[code] = f"t{len(self.lines)}"
            self.lines.append(f"{self.names[code]} = {code}")
        return Symbol(self, self.names[code])

    def number(self, value: float) -> str:
        """The name of a parameter; equal numbers share one."""
        value = float(value)
        if value not in self.parameters:
            self.parameters.append(value)
        return f"p{self.parameters.index(value)}"

    def input(
        self,
        kind: str,
        x: Points,
        y: Points,
        path: Any,
        profile: Profile | None = None,
        *,
        careful: bool = False,
    ) -> Any:
        """The symbol of an input, which stands for an array; equal inputs share one."""
        new = Input(kind, x, y, path, careful=careful)
        if new not in self.inputs:
            self.inputs.append(new)
        place = self.inputs.index(new)
        if profile is not None:
            self.inputs[place].profiles.append(profile)
        return Symbol(self, f"{kind}_{place}")


class Symbol:
    """A stand-in for an array in the formula of a kernel that records the operations on it."""

    shape, dtype, device, ndim = (1,), "float", "cuda", 1
    __array_ufunc__ = None

    def __init__(self, formula: Formula, code: str) -> None:
        self.formula, self.code = formula, code
        self.multiple: tuple[str, float] | None = None  # (base, factor) of a multiple of a symbol

    def __array_namespace__(self, api_version: Any = None) -> Any:
        return _NAMESPACE

    def _do(self, pattern: str, *others: Any) -> Symbol:
        return self.formula.named(pattern.format(self.code, *(self._code(o) for o in others)))

    def _code(self, other: Any) -> str:
        if isinstance(other, Symbol):
            return other.code
        if isinstance(other, Real):
            return self.formula.number(float(other))
        raise TypeError(f"a formula needs numbers and symbols, got {type(other).__name__}")

    def __add__(self, other: Any) -> Symbol:
        return self._do("{0} + {1}", other)

    def __sub__(self, other: Any) -> Symbol:
        return self._do("{0} - {1}", other)

    def __rsub__(self, other: Any) -> Symbol:
        return self._do("{1} - {0}", other)

    def __mul__(self, other: Any) -> Symbol:
        if not isinstance(other, Real):
            return self._do("{0} * {1}", other)
        base, factor = self.multiple or (self.code, 1.0)
        product = self.formula.named(f"{base} * {self.formula.number(factor * float(other))}")
        product.multiple = base, factor * float(other)
        return product

    def __truediv__(self, other: Any) -> Symbol:
        if isinstance(other, Real):
            return self * (1 / float(other))
        return self._do("{0} / {1}", other)

    def __rtruediv__(self, other: Any) -> Symbol:
        return self._do("{1} / {0}", other)

    def __neg__(self) -> Symbol:
        return self * -1.0

    def __abs__(self) -> Symbol:
        return self._do("tl.abs({0})")

    def __pow__(self, exponent: Any) -> Symbol:
        if not isinstance(exponent, Real):
            raise TypeError("a power of a kernel's formula must be a number")
        power = float(exponent)
        if power < 0:
            return 1.0 / self**-power
        if power == 0.5:
            return self._do("tl.sqrt({0})")
        if power.is_integer() and 1 <= power <= _MAX_UNROLLED_EXPONENT:
            return self._do(" * ".join(["{0}"] * int(power)))
        if (power - 0.5).is_integer() and power <= _MAX_UNROLLED_EXPONENT:
            return self ** (power - 0.5) * self**0.5
        return _NAMESPACE.exp(self._do("tl.log({0})") * power)

    def __lt__(self, other: Any) -> Symbol:
        return self._do("{0} < {1}", other)

    def __gt__(self, other: Any) -> Symbol:
        return self._do("{0} > {1}", other)

    def __le__(self, other: Any) -> Symbol:
        return self._do("{0} <= {1}", other)

    def __ge__(self, other: Any) -> Symbol:
        return self._do("{0} >= {1}", other)

    __radd__, __rmul__ = __add__, __mul__


class _Namespace:
    """The functions of the array API that kernels use, on symbols."""

    __name__ = "traced"

    float64 = "float"

    @staticmethod
    def exp(x: Symbol) -> Symbol:
        base, factor = x.multiple or (x.code, 1.0)  # e^(fx) = 2^(f x / log 2): one product
        return x.formula.named(f"exp2({base} * {x.formula.number(factor / log(2))})")

    @staticmethod
    def log(x: Symbol) -> Symbol:
        return x._do("tl.log({0})")

    @staticmethod
    def log1p(x: Symbol) -> Symbol:
        return x._do("tl.log(1.0 + {0})")

    @staticmethod
    def sqrt(x: Symbol) -> Symbol:
        return x._do("tl.sqrt({0})")

    @staticmethod
    def abs(x: Symbol) -> Symbol:
        return abs(x)

    @staticmethod
    def sin(x: Symbol) -> Symbol:
        return x._do("tl.sin({0})")

    @staticmethod
    def cos(x: Symbol) -> Symbol:
        return x._do("tl.cos({0})")

    @staticmethod
    def tanh(x: Symbol) -> Symbol:
        return 2.0 / (1.0 + _Namespace.exp(-2.0 * x)) - 1.0

    @staticmethod
    def where(condition: Symbol, a: Any, b: Any) -> Symbol:
        return condition._do("tl.where({0}, {1}, {2})", a, b)

    @staticmethod
    def clip(x: Symbol, low: Any = None, high: Any = None) -> Symbol:
        if low is not None:
            x = x._do("tl.maximum({0}, {1})", low)
        return x if high is None else x._do("tl.minimum({0}, {1})", high)

    @staticmethod
    def zeros(shape: Any, dtype: Any = None, device: Any = None) -> float:
        return 0.0

    ones = staticmethod(lambda shape, dtype=None, device=None: 1.0)


_NAMESPACE = _Namespace()


def traced(kernel: Kernel, x: Points, y: Points) -> Formula | None:
    """The kernel as code; None where it is no formula of distances and dot products."""
    return finished(lambda formula: [value_of(kernel, formula, x, y, ())])


def finished(values: Callable[[Formula], list[Any]]) -> Formula | None:
    """The formula of these values; None where they cannot be written as code."""
    formula = Formula()
    try:
        results = values(formula)
    except (TypeError, AttributeError, ValueError):
        return None
    if any(value is None for value in results):
        return None
    formula.values = [v.code if isinstance(v, Symbol) else formula.number(v) for v in results]
    return formula


def value_of(kernel: Kernel, formula: Formula, x: Points, y: Points, path: Any) -> Any:
    """The symbol of k(x, y), or a number; None where the kernel has no formula."""
    form = None if isinstance(kernel, InputWrapper) else radial_form(kernel)
    if form is not None:
        return form.profile(formula.input("r2", x, y, path, form.profile))
    if isinstance(kernel, DotProduct):
        embedded_x = kernel.embed(x)
        embedded_y = embedded_x if y is x else kernel.embed(y)
        return kernel.profile(
            formula.input("dot", embedded_x, embedded_y, (path, _metric_of(kernel.embed)))
        )
    if isinstance(kernel, Laplace):
        return kernel._decay(formula.input("l1", x, y, path))
    if isinstance(kernel, Energy):
        norms_x = kernel.diag(x)
        norms_y = norms_x if y is x else kernel.diag(y)
        norms = formula.input("sum", norms_x, norms_y, (path, Energy, kernel.power))
        return (norms - kernel.raised(formula.input("r2", x, y, path, kernel.raised))) * 0.5
    if isinstance(kernel, InputWrapper):
        inner_x = kernel.move(x)
        inner_y = inner_x if y is x else kernel.move(y)
        step = tuple(item for item in vars(kernel).items() if item[0] != "kernel")
        return value_of(kernel.kernel, formula, inner_x, inner_y, (path, type(kernel), step))
    if isinstance(kernel, Stein):
        inner_x = kernel.move(x)
        inner_y = inner_x if y is x else kernel.move(y)
        return _stein(kernel.scored, formula, inner_x, inner_y, (path, Stein, id(kernel.score)))
    return _algebra(kernel, formula, x, y, path)


def _stein(kernel: Scored, formula: Formula, x: Points, y: Points, path: Any) -> Any:
    a, s = halves(x)
    b, t = (a, s) if y is x else halves(y)
    r2 = formula.input("r2", a, b, (path, "points"), kernel.form[0], careful=True)
    dots = formula.input("dot", s, t, (path, "scores"), careful=True)
    steps = formula.input("steps", x, y, path, careful=True) - a.shape[1]
    return stein_values(kernel.form, r2, dots, steps)


def _algebra(kernel: Kernel, formula: Formula, x: Points, y: Points, path: Any) -> Any:
    def inner_value(inner: Kernel) -> Any:
        return value_of(inner, formula, x, y, path)

    if isinstance(kernel, Constant):
        return kernel.value
    if isinstance(kernel, Sum | Product):
        first, second = inner_value(kernel.left), inner_value(kernel.right)
        if first is None or second is None:
            return None
        return first + second if isinstance(kernel, Sum) else first * second
    if not isinstance(kernel, Multiple | Power | Exp):
        return None
    value = inner_value(kernel.kernel)
    if value is None:
        return None
    if isinstance(kernel, Multiple):
        return value * kernel.factor
    if isinstance(kernel, Power):
        return value**kernel.exponent if kernel.exponent else 1.0
    return _NAMESPACE.exp(value * kernel.scale)


def _metric_of(embed: Any) -> Any:
    """The metric of the kernel to which this method belongs; None where it has none."""
    kernel = embed.__self__
    return getattr(kernel, "metric", None)
