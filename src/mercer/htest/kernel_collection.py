"""Collections of kernels: defaults for tests that aggregate over several, and how results name one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from functools import partial, reduce
from math import frexp
from operator import add
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import is_single, namespace, scalar, to_numpy
from mercer.frames import Columns, Table
from mercer.htest.normal_scores import Centred, NormalScores
from mercer.htest.pair_units import scores_of_pairs, varying_numbers
from mercer.kernels.algebra import Constant, Multiple, Product, Sum
from mercer.kernels.bandwidth import usable
from mercer.kernels.base import Kernel
from mercer.kernels.default import VaryingColumns, categories, product
from mercer.kernels.default_objects import feature_distances, features_of_objects, kind_of_objects
from mercer.kernels.discrete import Delta
from mercer.kernels.dot import Linear, Polynomial
from mercer.kernels.metric import l1_distances, squared_distances
from mercer.kernels.radial import RBF, Laplace
from mercer.kernels.wrappers import Scaled, Select, Transformed

# Bandwidths of the Gaussian kernel, and as many of the Laplace kernel (Schrab et al. 2023).
BANDWIDTHS_PER_KERNEL = 10
# Points whose distances give the scales of the data.
_MAX_POINTS_FOR_SCALES = 512
# Bandwidths for series, of which each needs the alignments of all pairs once more.
_SERIES_BANDWIDTHS = 3
# Factors of the kernel on categories, for data without numbers.
_CATEGORY_SCALES = (0.25, 0.5, 1.0, 2.0, 4.0)


def collection(
    points: Any, number: int = BANDWIDTHS_PER_KERNEL, name: str = "x and y"
) -> tuple[Kernel, ...]:
    """Gaussian and Laplace kernels at bandwidths that cover the scales of the points.

    For each kernel `number` bandwidths in geometric progression, from half the 5% quantile to
    twice the 95% quantile of the positive distances it takes, Euclidean or city-block (Schrab et
    al. 2023; Biggs et al. 2023). More than 512 points are thinned to every k-th.
    """
    subsample = to_numpy(points)[scale_rows(points.shape[0])].astype(np.float64)
    upper = np.triu_indices(len(subsample), 1)
    euclidean = np.sqrt(squared_distances(subsample, subsample)[upper])
    gaussian = [RBF(b) for b in _grid(euclidean, points, number, name)]
    city = l1_distances(subsample, subsample)[upper] if subsample.shape[1] > 1 else euclidean
    return (*gaussian, *(Laplace(b) for b in _grid(city, points, number, name)))


def scale_rows(total: int) -> np.ndarray:
    """Positions of the points whose distances give the scales of so many."""
    return np.arange(0, total, max(1, -(-total // _MAX_POINTS_FOR_SCALES)))


def frame_collection(
    data: Table, number: int = BANDWIDTHS_PER_KERNEL, paired: bool = False
) -> tuple[Kernel, ...]:
    """Default collection for a data frame, whose numbers are divided by their standard deviations.

    Multiplied by the default kernel on categories, if there are any; without numbers that one at
    several bandwidths. Paired: numbers have the units of `pair_units`.
    """
    return collection_of_columns(varying_numbers(data, paired), partial(categories, data), number)


def collection_of_columns(
    numbers: VaryingColumns | None,
    factors: Callable[[float], list[Kernel]],
    number: int = BANDWIDTHS_PER_KERNEL,
) -> tuple[Kernel, ...]:
    """`frame_collection` from numbers, or rows that stand for them, and factors of the categories at a scale."""
    if numbers is None:
        return tuple(product(factors(scale)) for scale in _CATEGORY_SCALES)
    kernels, others = collection(numbers.values, number), factors(1.0)
    return tuple(product([numbers.kernel(kernel), *others]) for kernel in kernels)


def object_collection(
    x: Any, number: int = BANDWIDTHS_PER_KERNEL, name: str = "x and y"
) -> tuple[tuple[Kernel, ...], tuple[Kernel, ...]] | None:
    """Kernels of low order and of all scales for strings, graphs or series; None for everything else.

    MMD of the normalised kernel compares mean features, of low order; Gaussian kernels of the features have
    bandwidths that cover the distances in feature space.
    """
    features = features_of_objects(x, name)
    if features is None:
        return None
    number = min(number, _SERIES_BANDWIDTHS) if kind_of_objects(x) == "series" else number
    distances = feature_distances(features, x, name)
    low, high = np.quantile(distances[distances > 0], (0.05, 0.95))
    bandwidths = np.geomspace(low / 2, high * 2, number)
    return (features,) * LINEAR, tuple(RBF(float(b)).on(features) for b in bandwidths)


# Binary exponents of values. Variances of HSIC have their eighth powers in float64; of float32, kernel values
# alone are in that precision.
_EXPONENTS, _EXPONENTS_SINGLE = 100, 50
LINEAR = 2  # of the kernels of low order, the first ones: of the values and of their scores


def low_order(points: Any, paired: bool = False) -> tuple[Kernel, ...]:
    """Kernels of means, and of products of two columns.

    MMD of the first two compares means of the points and of their normal scores, and HSIC is the sum of
    squared covariances; the third does the same with squares and products of scores: scales,
    correlations, quadratic relations. Points of extreme units are divided by a power of two for the first.
    """
    scores = scores_of_pairs(to_numpy(points)) if paired else NormalScores.of(points)
    return _linear(points), Linear().transformed(scores), Polynomial(2, 0.0).transformed(scores)


def _linear(points: Any) -> Kernel:
    """The linear kernel, of points over their magnitude where squares of its values could overflow or vanish."""
    xp = namespace(points)
    exponent = frexp(scalar(xp.max(xp.abs(points))))[1]
    moderate = _EXPONENTS_SINGLE if is_single(points) else _EXPONENTS
    return Linear() if abs(exponent) <= moderate else Linear().scaled(2.0**-exponent)


def frame_low_order(data: Table, paired: bool = False) -> tuple[Kernel, ...]:
    """`low_order` of the standardized numbers of a data frame; shares of categories count as means."""
    return low_order_of_columns(data.columns, varying_numbers(data, paired), data.values, paired)


def low_order_of_columns(
    columns: Columns, numbers: VaryingColumns | None, values: np.ndarray, paired: bool = False
) -> tuple[Kernel, ...]:
    """`frame_low_order` from numbers, and rows whose ranks give the scores."""
    categorical = zip(columns.names, columns.categorical, strict=True)
    shares: list[Kernel] = [
        Delta().select(name) for name, is_category in categorical if is_category
    ]
    if numbers is None:
        return (reduce(add, shares),) * LINEAR if shares else ()
    places = [columns.names.index(name) for name in numbers.names]
    _, means, products = (k.select(numbers.names) for k in low_order(values[:, places], paired))
    plain = numbers.kernel(Linear())
    return reduce(add, [plain, *shares]), reduce(add, [means, *shares]), products


def checked_kernels(kernels: Any, name: str = "kernels") -> tuple[Kernel, ...] | None:
    """Kernels as a tuple, at least one; None stays None."""
    if kernels is None:
        return None
    if isinstance(kernels, Kernel) or not isinstance(kernels, Sequence | set):
        raise TypeError(f"{name} must be a list of kernels or None, got {validate.shown(kernels)}")
    if not kernels:
        raise ValueError(f"{name} must have at least one kernel, got none: use None for a default")
    for i, kernel in enumerate(kernels):
        validate.instance(f"{name}[{i}]", kernel, Kernel, "a kernel, such as RBF(1.0)")
    return tuple(kernels)


def _grid(distances: np.ndarray, points: Any, number: int, name: str) -> np.ndarray:
    positive = distances[distances > 0]
    if not len(positive):  # all of the subsample are equal
        values = to_numpy(points).astype(np.float64)
        distinct = np.unique(values, axis=0)[:_MAX_POINTS_FOR_SCALES]
        if len(distinct) == 1:
            raise ValueError(
                f"all points of {name} are equal, so their distances give no "
                "bandwidths: give kernels, such as [RBF(1.0)]"
            )
        upper = np.triu_indices(len(distinct), 1)
        positive = l1_distances(distinct, distinct)[upper]
    low, high = np.quantile(positive, (0.05, 0.95))
    low, high = (usable(float(b), points, name) for b in (low / 2, high * 2))
    return np.geomspace(low, high, number)


def unfolded(kernel: Kernel, number: int) -> tuple[Kernel, ...]:
    """Terms of a sum of kernels that was added up from the left."""
    parts: list[Kernel] = []
    for _ in range(number - 1):
        parts.append(kernel.parts()["right"])
        kernel = kernel.parts()["left"]
    return (kernel, *reversed(parts))


# ---- names --------------------------------------------------------------------------------------

LEVEL = 0.05  # at which notes count the kernels that reject
_MAX_CHARACTERS = 80  # of a parameter that is neither a number nor a kernel: one line of text

_SELECTED = "The {} rejected most clearly on the same data, so it is biased upwards, and its interval ignores that selection."
CHOSEN = _SELECTED.format("kernel distance uses the kernel that")
CHOSEN_PAIR = _SELECTED.format("kernel correlation uses the pair of kernels that")
CHOSEN_FOR_MODEL = _SELECTED.format("relative Stein discrepancy uses the kernel that")


def sees_most(kernels: Sequence[Kernel], best: int, selected: str = CHOSEN) -> tuple[str, ...]:
    """Notes of a result: the kernel with the strongest evidence, and what its selection means for the effect."""
    name = told_apart(kernels, best)
    if len(kernels) == 1:
        return (f"Kernel: {name}.",)
    return (f"The strongest of {len(kernels)} kernels is {name}.", selected)


def rejecting(
    kernels: Sequence[Kernel], best: int, number: int, selected: str = CHOSEN
) -> tuple[str, ...]:
    """Notes of a result that knows how many of the kernels reject at level 0.05."""
    if len(kernels) == 1:
        return sees_most(kernels, best, selected)
    name = told_apart(kernels, best)
    if number == 0:
        said = f"None of {len(kernels)} kernels rejects at level {LEVEL:g}; {name} comes closest."
    else:
        reject = "rejects" if number == 1 else "reject"
        said = f"{number} of {len(kernels)} kernels {reject} at level {LEVEL:g}; the strongest is {name}."
    return (said, selected)


def told_apart(kernels: Sequence[Kernel], one: int) -> str:
    """Name of one kernel of a collection, without the factors that all of them share."""
    parts = [list(_factors(kernel)) for kernel in kernels]
    shared = [f for f in parts[one] if len(parts) > 1 and all(f in others for others in parts)]
    distinctive = [f for f in parts[one] if f not in shared] or parts[one]
    unit = " (columns standardized)" if any(_is_scaled(f) for f in distinctive) else ""
    return (
        formula(distinctive[0])
        if len(distinctive) == 1
        else " * ".join(map(_bracketed, distinctive))
    ) + unit


def formula(kernel: Kernel) -> str:
    """Formula of a kernel with numbers of three digits, without column names and units.

    Examples
    --------
    >>> from mercer.kernels import RBF, Delta
    >>> formula(RBF(1 / 3).scaled((2.0, 5.0)).select(("a", "b")) * (0.5 + 0.25 * Delta()))
    'RBF(bandwidth=0.333) * (0.5 + 0.25 Delta())'
    """
    if isinstance(kernel, Select | Scaled):
        return formula(kernel.kernel)
    if isinstance(kernel, Transformed) and isinstance(kernel.function, NormalScores | Centred):
        return f"{formula(kernel.kernel)} of {kernel.function}"
    if isinstance(kernel, Constant):
        return f"{kernel.value:.3g}"
    if isinstance(kernel, Multiple):
        return f"{kernel.factor:.3g} {_bracketed(kernel.kernel)}"
    if isinstance(kernel, Sum):
        return f"{formula(kernel.left)} + {formula(kernel.right)}"
    if isinstance(kernel, Product):
        return f"{_bracketed(kernel.left)} * {_bracketed(kernel.right)}"
    params = fields(kernel) if is_dataclass(kernel) else ()
    values = ((f.name, getattr(kernel, f.name)) for f in params)
    shown = (f"{name}={_value(value)}" for name, value in values if value is not None)
    return f"{type(kernel).__name__}({', '.join(shown)})"


def _bracketed(kernel: Kernel) -> str:
    text = formula(kernel)
    return f"({text})" if isinstance(_unwrapped(kernel), Sum) else text


def _value(value: Any) -> str:
    if isinstance(value, Kernel):
        return formula(value)
    if isinstance(value, float):
        return f"{value:.3g}"
    text = repr(value)
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 3]}..."


def _factors(kernel: Kernel) -> Iterator[Kernel]:
    if isinstance(kernel, Product):
        yield from _factors(kernel.left)
        yield from _factors(kernel.right)
    else:
        yield kernel


def _unwrapped(kernel: Kernel) -> Kernel:
    return _unwrapped(kernel.kernel) if isinstance(kernel, Select | Scaled) else kernel


def _is_scaled(kernel: Kernel) -> bool:
    """Whether each column has a factor of its own."""
    by_column = isinstance(kernel, Scaled) and isinstance(kernel.factors, tuple)
    return by_column or (isinstance(kernel, Select) and _is_scaled(kernel.kernel))
