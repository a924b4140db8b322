"""The doors: how every public entry point is called with data, and what its messages call them.

Kernels join from the zoo. Whatever else is public either has a line here, or one in `public.py`
that says why it needs none; `test_bad_input.py` fails where both are missing.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer.gram import (
    Dense,
    Gram,
    LowRank,
    PermutedWeights,
    Reweighted,
    ridge_solve,
    top_eigenpairs,
)
from mercer.kernels import (
    RBF,
    Constant,
    Delta,
    Kernel,
    Linear,
    Matern,
    Select,
    Tensor,
    Transformed,
    bandwidth_grid,
    default_kernel,
    is_positive_definite,
    median_bandwidth,
    spectral_density,
)
from mercer.learn import amari_index
from mercer.rkhs import (
    CosineBasis,
    FourierBasis,
    Function,
    HaarBasis,
    LegendreBasis,
    Quadrature,
    Series,
    TensorBasis,
    expand,
    hsic,
    mercer_expansion,
    mmd2,
    witness,
)
from tests.bad_input.public import NO_DATA
from tests.support.zoo import IDS, ZOO, Entry

N = 7  # points of a sample
# They choose kernels or units by the data, and have doors of their own in the other files.
CHOOSING = {"ConditionalMutualInformation", "ContextMMD", "CrossMatch", "Energy", "HSICAgg", "Lancaster", "MMDAgg", "MMDFuse", "MaxMMD", "MutualInformation", "SCF", "SpanningTreeTest", "TransferEntropy", "Wasserstein"}  # fmt: skip


@dataclass(frozen=True)
class Door:
    """Calls that take the same samples; in messages the samples have the names `arguments`."""

    name: str
    entries: tuple[str, ...]
    arguments: tuple[str, ...]
    samples: tuple[np.ndarray, ...]
    calls: tuple[Callable[..., Any], ...]
    takes: frozenset[str] = frozenset()  # kinds of inputs beside numbers
    accepts: frozenset[str] = frozenset()  # names of inputs beside numbers
    refuses: dict[str, str] = field(default_factory=dict)  # inputs it must not take, and why
    skips: frozenset[str] = frozenset()  # kinds that are a user's function's own business
    also: tuple[str, ...] = ()  # other arguments that numbers may be too large or too few for
    columns: bool = False  # both samples need the same columns
    points: bool = False  # both samples need as many points
    own_units: bool = False  # columns of data frames have their own, so that numbers are others
    tolerance: float = 1e-9


def both_grams(kernel: Kernel, x: Any, y: Any) -> tuple[Any, Any]:
    return Gram(kernel, x).dense(), Gram(kernel, x, y).dense()


def kernel_door(entry: Entry, name: str) -> Door:
    rng, kernel = np.random.default_rng(0), entry.kernel
    takes = {"text", "categories"} if isinstance(kernel, Delta | Constant) else set()
    takes |= {"objects"} if isinstance(kernel, Constant) else set()
    skips = {"text", "objects"} if isinstance(kernel, Transformed) else set()
    if isinstance(kernel, Select | Tensor):
        skips.add("categories")  # of other columns: tests/test_frames.py
    refuses = {}
    if isinstance(kernel, Tensor):
        refuses["tuples"] = "a tuple holds one sample for each kernel of a Tensor"
    if isinstance(kernel, Matern) and not entry.gradient:
        refuses["torch, with gradient"] = "the Bessel function is SciPy's"
    return Door(
        name,
        (f"mercer.kernels.{type(kernel).__name__}", "mercer.kernels.Kernel.__call__"),
        ("x", "y"),
        (entry.sample(rng, N), entry.sample(rng, N)),
        (lambda x, y: (kernel(x, y), kernel(x), *both_grams(kernel, x, y)),),
        frozenset(takes),
        refuses=refuses,
        skips=frozenset(skips),
        also=("factors", "metric", "widths", "function"),
        columns=True,
        tolerance=max(1e-9, 100 * entry.tolerance),
    )  # fmt: skip


_rng = np.random.default_rng(1)
X, Y = _rng.standard_normal((N, 3)), _rng.standard_normal((N, 3))
UNIT, PLANE = _rng.uniform(0.1, 0.9, (N, 1)), _rng.uniform(0.1, 0.9, (N, 2))
MASS, W = _rng.uniform(0.1, 0.9, N), _rng.standard_normal((N, 2))
PAIRS = _rng.standard_normal((14, 2))
METRIC = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
K = RBF(1.3)


def door(entries: str, arguments: str, *samples: np.ndarray, calls: Any, **more: Any) -> Door:
    """A line of the registry: names are separated by blanks."""
    full = tuple(f"mercer.{entry}" for entry in entries.split())
    calls = calls if isinstance(calls, tuple) else (calls,)
    name = f"{full[0].removeprefix('mercer.')}({arguments})"
    return Door(name, full, tuple(arguments.split()), samples, calls, **more)


def bases() -> Iterator[Door]:
    for basis in (FourierBasis(), CosineBasis(), LegendreBasis(), HaarBasis()):
        entries = f"rkhs.{type(basis).__name__} rkhs.Basis.__call__ rkhs.Series.__call__"
        series = Series(basis, MASS)
        calls = (lambda x, b=basis: b(x, 4), lambda x, s=series: s(x))
        yield door(entries, "x", UNIT, calls=calls)
    plane = TensorBasis(CosineBasis(), HaarBasis())
    yield door("rkhs.TensorBasis", "x", PLANE, calls=lambda x: plane(x, 5))


def expanded(measure: Any, x: Any) -> Any:
    expansion = mercer_expansion(K, measure, 2)
    return expansion.eigenvalues, abs(expansion.features(x))


def hypothesis_tests() -> Iterator[Door]:
    """Tests that need no more than kernels join by themselves; others need a line in `DOORS`."""
    if find_spec("mercer.htest") is None:
        return
    htest = importlib.import_module("mercer.htest")
    for kind in (getattr(htest, name) for name in htest.__all__):
        is_test = isinstance(kind, type) and issubclass(kind, htest.HypothesisTest)
        if not is_test or inspect.isabstract(kind) or any(needed(f) for f in fields(kind)):
            continue
        if f"mercer.htest.{kind.__name__}" in NO_DATA or kind.__name__ in CHOOSING:
            continue
        kernels = {"kernel", "kernel_x", "kernel_y", "kernel_z"} & {f.name for f in fields(kind)}
        test = kind(**dict.fromkeys(kernels, K))
        if hasattr(getattr(test, "null", None), "resamples"):
            test = replace(test, null=replace(test.null, resamples=19))
        parameters = inspect.signature(kind.test).parameters.values()
        names = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD][1:]
        if names:
            yield door(
                f"htest.{kind.__name__} htest.{kind.__name__}.test",
                " ".join(names),
                *(PAIRS, PAIRS[::-1] + 0.5, PAIRS**2)[: len(names)],
                calls=(partial(judged, test), lambda *s, t=test: np.isfinite(t.statistic(*s))),
                takes=frozenset({"categories"} if hasattr(test, "regression") else ()),
                tolerance=1e-6 if hasattr(test, "regression") else 1e-9,  # variances by iteration
            )


def judged(test: Any, *samples: Any) -> Any:
    """The statistic, but for rounding, and whether the p-value is one."""
    result = test.test(*samples, rng=0)
    return np.round(result.statistic, 12), 0 < result.pvalue <= 1


def needed(field: Any) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def quadrature(nodes: Any, weights: Any) -> Any:
    rule = Quadrature(nodes, weights)
    return rule.nodes, rule.weights, rule.mass


# A door belongs to the class, whatever the parameters: the first entry of the zoo stands for the others.
ONE_OF_EACH_CLASS = {
    type(entry.kernel): (entry, name) for entry, name in reversed([*zip(ZOO, IDS, strict=True)])
}

DOORS: list[Door] = [
    *(kernel_door(entry, name) for entry, name in ONE_OF_EACH_CLASS.values()),
    # kernels
    door(
        "kernels.median_bandwidth kernels.bandwidth_grid",
        "x",
        X,
        calls=(median_bandwidth, bandwidth_grid),
    ),
    door(
        "kernels.spectral_density",
        "omega",
        X,
        calls=lambda omega: spectral_density(K, omega),
        refuses={"torch, with gradient": "it is computed in NumPy"},
    ),
    door(
        "kernels.default_kernel",
        "x",
        X,
        calls=lambda x: Gram(default_kernel(x), x).diagonal(),
        takes=frozenset({"categories"}),
        accepts=frozenset({"list of text"}),
    ),
    door(
        "kernels.is_positive_definite",
        "x",
        X,
        calls=lambda x: float(bool(is_positive_definite(K, x))),
    ),
    door("kernels.Linear", "metric", METRIC, calls=lambda a: Linear(a)(X), also=("x",)),
    door(
        "kernels.Scaled kernels.Kernel.scaled",
        "factors",
        X[0],
        calls=lambda f: K.scaled(f)(X),
        accepts=frozenset({"number", "NumPy number"}),
    ),
    door(
        "kernels.Weighted kernels.Kernel.weighted",
        "x function",
        X,
        Y[:, 0],
        points=True,
        calls=lambda x, values: K.weighted(lambda _: values)(x),
    ),
    door(
        "kernels.Transformed kernels.Kernel.transformed",
        "x function",
        Y,
        X,
        points=True,
        calls=lambda x, values: K.transformed(lambda _: values).select((0, 1, 2))(x),
    ),
    # gram
    door("gram.Gram", "x y", X, Y, columns=True, calls=lambda x, y: both_grams(K, x, y)),
    door(
        "gram.LazyMatrix.__matmul__ gram.LazyMatrix.quad",
        "x v",
        X,
        W,
        points=True,
        calls=(lambda x, v: Gram(K, x) @ v,),
    ),
    door(
        "gram.LazyMatrix.quad",
        "x w",
        X,
        W,
        points=True,
        calls=lambda x, w: (Gram(K, x).quad(w), Gram(K, x).quad(w, diagonal=False)),
    ),
    door("gram.Dense", "array", METRIC, calls=lambda a: (Dense(a).dense(), Dense(a).row_sums())),
    door(
        "gram.LowRank",
        "features",
        X,
        calls=lambda z: (LowRank(z).dense(), LowRank(z).centered().diagonal()),
    ),
    door(
        "gram.Reweighted",
        "x weights",
        X,
        MASS,
        points=True,
        calls=lambda x, weights: Reweighted(Gram(K, x), weights).dense(),
    ),
    door(
        "gram.ridge_solve",
        "x y",
        X,
        W,
        points=True,
        calls=lambda x, y: ridge_solve(Gram(K, x), y, 0.1),
    ),
    door(
        "gram.top_eigenpairs",
        "x",
        X,
        calls=lambda x: top_eigenpairs(Gram(K, x), 1)[0],
    ),
    door(
        "gram.PermutedWeights",
        "weights",
        MASS,
        calls=lambda w: PermutedWeights(w, 3, rng=0).dense(),
    ),
    # rkhs
    door(
        "rkhs.mmd2",
        "x y",
        X,
        Y,
        calls=(
            lambda x, y: (mmd2(K, x, y), mmd2(K, x, y, unbiased=False)),
            lambda x, y: mmd2(None, x, y),
        ),
        columns=True,
    ),
    door(
        "rkhs.hsic",
        "x y",
        X,
        Y,
        points=True,
        calls=(
            lambda x, y: (hsic(K, K, x, y), hsic(K, K, x, y, unbiased=True)),
            lambda x, y: hsic(None, None, x, y),
        ),
    ),
    door(
        "rkhs.witness",
        "x y",
        X,
        Y,
        calls=(lambda x, y: witness(K, x, y)(x), lambda x, y: witness(None, x, y).norm2()),
        columns=True,
    ),
    door(
        "rkhs.Function.__call__",
        "points x",
        X,
        Y,
        calls=lambda points, x: Function(K, points, W)(x),
        columns=True,
        also=("weights",),
    ),
    door(
        "rkhs.Function",
        "points weights",
        X,
        W,
        points=True,
        calls=lambda points, weights: (
            Function(K, points, weights)(points),
            Function(K, points, weights).norm(),
        ),
    ),
    door(
        "rkhs.mercer_expansion rkhs.MercerExpansion.features",
        "measure x",
        X,
        Y,
        calls=expanded,
        also=("rank",),
        columns=True,
    ),
    door("rkhs.Quadrature", "nodes weights", PLANE, MASS, points=True, calls=quadrature),
    door(
        "rkhs.Quadrature.integrate",
        "nodes function",
        PLANE,
        W,
        points=True,
        calls=lambda nodes, values: Quadrature(nodes, MASS).integrate(lambda _: values),
        also=("weights",),
    ),
    door(
        "rkhs.expand",
        "nodes function",
        UNIT,
        MASS,
        points=True,
        calls=lambda nodes, values: (
            expand(
                lambda _: values, FourierBasis(), 3, quadrature=Quadrature(nodes, MASS)
            ).coefficients
        ),
        also=("x", "weights"),
    ),
    door("learn.amari_index", "matrix", METRIC, calls=amari_index),
    door("rkhs.Series", "coefficients", MASS, calls=lambda c: Series(CosineBasis(), c)(UNIT)),
    *bases(),
    *hypothesis_tests(),
]
