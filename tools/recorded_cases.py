"""The calls whose results are recorded: the zoos of the tests, and what these do not hold."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from recorded_values import attempt

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

Call = Callable[[], Any]
DTYPES = ("float64", "float32")
SIZES = (60, 500)  # observations of the cases that take any number; more take other engines
METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "score_samples",
    "transform",
    "get_support",
)


@dataclass(frozen=True)
class Case:
    """A call with a name that holds no module or file."""

    name: str
    call: Call


def all_cases() -> Iterator[Case]:
    """Every case, each name once."""
    seen: Counter[str] = Counter()
    for source in (
        kernel_cases,
        hypothesis_test_cases,
        learner_cases,
        feature_cases,
        public_name_cases,
        door_cases,
        result_cases,
        other_cases,
        command_cases,
    ):
        for case in source():
            seen[case.name] += 1
            count = seen[case.name]
            yield case if count == 1 else Case(f"{case.name}, number {count}", case.call)


def cast(value: Any, dtype: str) -> Any:
    """Floating-point arrays in this precision; everything else as it is."""
    if isinstance(value, list):
        return [cast(v, dtype) for v in value]
    floating = isinstance(value, np.ndarray) and value.dtype.kind == "f"
    return value.astype(dtype) if floating else value


def kernel_cases() -> Iterator[Case]:
    """The matrix of every kernel, dense and through a lazy matrix."""
    from mercer.gram import Gram
    from tests.support.zoo import IDS, ZOO

    def matrices(entry: Any, dtype: str) -> Any:
        rng, kernel = np.random.default_rng(0), entry.kernel
        x, y = (cast(entry.sample(rng, n), dtype) for n in (40, 30))
        v = cast(rng.standard_normal((30, 2)), dtype)
        cross, square = Gram(kernel, x, y), Gram(kernel, y)
        return {
            "k(x, y)": attempt(lambda: kernel(x, y)),
            "k(x)": attempt(lambda: kernel(x)),
            "dense": attempt(cross.dense),
            "product": attempt(lambda: cross @ v),
            "diagonal": attempt(square.diagonal),
            "sum": attempt(square.sum),
            "row sums": attempt(square.row_sums),
            "quadratic forms": attempt(lambda: square.quad(v)),
            "without diagonal": attempt(lambda: square.quad(v, diagonal=False)),
        }

    for name, entry in zip(IDS, ZOO, strict=True):
        for dtype in DTYPES:
            yield Case(f"kernel {name}, {dtype}", partial(matrices, entry, dtype))


def tested(test: Any, samples: tuple[Any, ...], dtype: str) -> Any:
    """The result of a hypothesis test."""
    return test.test(*(cast(s, dtype) for s in samples), rng=0)


def hypothesis_test_cases() -> Iterator[Case]:
    """Every hypothesis test on null problems, on an alternative, and on the data of the backends."""
    from tests.conformance.backend_cases import htest_cases
    from tests.support.htest_zoo import IDS, ZOO

    def drawn(entry: Any, problem: Any, dtype: str) -> Any:
        return tested(entry.test, problem(np.random.default_rng(0), entry.sizes), dtype)

    for name, entry in zip(IDS, ZOO, strict=True):
        problems = {
            "first null": entry.null[0],
            "last null": entry.null[-1],
            "alternative": entry.alternative,
        }
        for kind, problem in problems.items():
            for dtype in DTYPES if kind == "alternative" else DTYPES[:1]:
                yield Case(f"test {name}, {kind}, {dtype}", partial(drawn, entry, problem, dtype))
    for case in htest_cases():
        for dtype in DTYPES:
            name = f"test of backends {case.name}, {dtype}"
            yield Case(name, partial(tested, case.test, case.samples, dtype))


def learned(learner: Any, x: Any, y: Any, new: Any, dtype: str) -> Any:
    """What a learner says about its own and about new points, and what it has stored."""
    from sklearn.base import clone

    x, y, new = (cast(value, dtype) for value in (x, y, new))
    fitted = clone(learner)
    if "random_state" in fitted.get_params() and fitted.get_params()["random_state"] is None:
        fitted.set_params(random_state=0)
    fitted = fitted.fit(x) if y is None else fitted.fit(x, y)
    said: dict[str, Any] = {}
    for name in METHODS:
        if callable(method := getattr(fitted, name, None)):
            points = {"": ()} if name == "get_support" else {" own": (x,), " new": (new,)}
            said |= {f"{name}{of}": attempt(partial(method, *a)) for of, a in points.items()}
    if hasattr(fitted, "inverse_transform"):
        said["inverse"] = attempt(lambda: fitted.inverse_transform(fitted.transform(new)))
    if hasattr(fitted, "score"):
        said["score"] = attempt(lambda: fitted.score(x) if y is None else fitted.score(x, y))
    public = (name for name in dir(fitted) if name.endswith("_") and not name.startswith("_"))
    said["stored"] = {name: attempt(partial(getattr, fitted, name)) for name in public}
    return said


def learner_cases() -> Iterator[Case]:
    """Every learner of the zoo on points, and those of the backends on what they are for."""
    from tests.conformance.backend_cases import learner_cases as backend_learners
    from tests.support.learn_zoo import ZOO

    for i, learner in enumerate(ZOO):
        x, y, new = _learning_problem(learner)
        for dtype in DTYPES:
            name = f"learner {i} {_compact(learner)}, {dtype}"
            yield Case(name, partial(learned, learner, x, y, new, dtype))
    for case in backend_learners():
        for dtype in DTYPES:
            name = f"learner of backends {case.name}, {dtype}"
            yield Case(name, partial(learned, case.learner, case.x, case.y, case.x[:7], dtype))


def _compact(learner: Any) -> str:
    return " ".join(repr(learner).split())


def _learning_problem(learner: Any) -> tuple[Any, Any, Any]:
    """Points, targets and new points that suit a learner."""
    from sklearn.base import is_classifier, is_outlier_detector

    rng = np.random.default_rng(0)
    d = 1 if type(learner).__name__ == "SmoothingSpline" else 3
    x, new = rng.standard_normal((80, d)), rng.standard_normal((15, d))
    y = np.sin(x[:, 0]) + 0.5 * x[:, -1] + 0.1 * rng.standard_normal(80)
    if is_outlier_detector(learner):
        return x, None, new
    estimator = getattr(learner, "estimator", learner)
    losses = ("Hinge", "SquaredHinge", "Logistic")
    of_margins = type(getattr(learner, "loss", None)).__name__ in losses
    if is_classifier(estimator) or of_margins:
        multi = type(learner).__name__ in ("SVC", "SupportMeasureMachine", "KernelLogistic")
        return x, np.digitize(y, [-0.5, 0.5] if multi else [0.0]), new
    return x, y, new


def feature_cases() -> Iterator[Case]:
    """Every feature map."""
    from tests.support.features_zoo import ZOO

    x = np.random.default_rng(0).standard_normal((60, 3))
    for i, feature_map in enumerate(ZOO):
        for dtype in DTYPES:
            name = f"features {i} {_compact(feature_map)}, {dtype}"
            yield Case(name, partial(learned, feature_map, x, None, x[:9] + 0.5, dtype))


def public_name_cases() -> Iterator[Case]:
    """A call of every public name that takes data, on few points."""
    from tests.memory.cases import CASES

    for name, case in CASES.items():
        for size in SIZES[: 0 if case.slow else 2]:
            yield Case(f"public {name}, n = {size}", partial(prepared, case, size))


def prepared(case: Any, size: int) -> Any:
    """The result of a call on so many observations."""
    return case.prepare(size)()


def door_cases() -> Iterator[Case]:
    """The calls that are tried with wrong inputs, with the right ones."""
    from tests.bad_input.compression_doors import COMPRESSION_DOORS
    from tests.bad_input.doors import DOORS
    from tests.bad_input.embedding_doors import EMBEDDING_DOORS
    from tests.bad_input.goodness_doors import GOODNESS_DOORS
    from tests.bad_input.joint_doors import JOINT_DOORS
    from tests.bad_input.sample_doors import SAMPLE_DOORS
    from tests.bad_input.variable_doors import VARIABLE_DOORS

    doors = [*DOORS, *SAMPLE_DOORS, *VARIABLE_DOORS, *JOINT_DOORS]
    for door in [*doors, *GOODNESS_DOORS, *EMBEDDING_DOORS, *COMPRESSION_DOORS]:
        for call in door.calls:
            yield Case(f"call {door.name}", partial(call, *door.samples))


def result_cases() -> Iterator[Case]:
    """Witnesses and evidence at points, for each family of results."""
    from recorded_results import RESULTS

    for name, call in RESULTS.items():
        yield Case(f"result {name}", call)


def other_cases() -> Iterator[Case]:
    """Public names that neither a zoo nor another case holds."""
    from recorded_results import OTHERS

    for name, call in OTHERS.items():
        yield Case(f"other {name}", call)


def command_cases() -> Iterator[Case]:
    """The JSON that the command writes about the tables of the demo."""
    from typer.testing import CliRunner

    import mercer
    from mercer.datasets.demo import demo_files

    march, april = map(str, demo_files())
    numeric = ("-c", "amount,hours_to_delivery,weight_kg")
    few = ("--resamples", "99")
    questions = {
        "two-sample": ("two-sample", march, april),
        "two-sample mmd": ("two-sample", march, april, "--test", "mmd", *few),
        "two-sample numbers": ("two-sample", march, april, *numeric, *few),
        "independence of all pairs": ("independence", april, *few),
        "independence": ("independence", april, "--x", "region", "--y", "payment"),
        "independence of numbers": ("independence", april, "--x", "amount", "--y", "items", *few),
        "independence given": (
            "independence",
            april,
            "--x",
            "amount",
            "--y",
            "items",
            "--given",
            "weight_kg",
        ),
        "goodness": ("goodness", march, *numeric, *few),
        "goodness of a half": ("goodness", march, *numeric, "--fit", "half", *few),
        "goodness of a mixture": (
            "goodness",
            april,
            *numeric,
            "--model",
            "gmm:2",
            "--fit",
            "half",
            *few,
        ),
        "drift": ("drift", march, april, *few),
        "power": ("power", march, april, "--runs", "10", "--test", "mmd", *few),
    }

    def asked(arguments: tuple[str, ...]) -> Any:
        done = CliRunner().invoke(mercer.cli.app, [*arguments, "--json", "-"])
        return {"exit code": done.exit_code, "json": attempt(lambda: json.loads(done.stdout))}

    for name, arguments in questions.items():
        yield Case(f"command {name}", partial(asked, arguments))
