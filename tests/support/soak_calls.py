"""Random calls of the public names: tests, doors, learners, feature maps and Gram matrices on valid data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier

import mercer
from mercer.gram import Gram, top_eigenpairs
from mercer.htest import FSSD, ME, NFSIC, SCF, UME, pairwise_independence
from mercer.rkhs import Gaussian
from tests.support import features_zoo, htest_zoo, learn_zoo, zoo

Thunk = Callable[[], Any]
_SCALES = (1, 1, 1, 2, 4)  # multiples of the size at which a test holds its level


@dataclass(frozen=True)
class Call:
    """A public name, and what makes a call of it on random data, ready to be made again."""

    name: str
    prepare: Callable[[np.random.Generator], Thunk]


def calls() -> list[Call]:
    """Every name of the zoos, the doors, and the tests that no zoo has."""
    return [*_tests(), *_doors(), *_learners(), *_feature_maps(), *_matrices()]


def _varied(samples: tuple[Any, ...], rng: np.random.Generator) -> tuple[Any, ...]:
    """The same samples, sometimes in single precision or as data frames."""
    kind = rng.choice(["array", "array", "single", "frame", "fortran"])
    return tuple(_as(kind, sample) for sample in samples)


def _as(kind: str, sample: Any) -> Any:
    if not isinstance(sample, np.ndarray) or sample.ndim != 2 or sample.dtype != np.float64:
        return sample
    if kind == "single":
        return sample.astype(np.float32)
    if kind == "frame":
        return pd.DataFrame(sample, columns=[f"c{j}" for j in range(sample.shape[1])])
    return np.asfortranarray(sample) if kind == "fortran" else sample


def _tests() -> list[Call]:
    zoo_tests = [_test(e.test, (*e.null, e.alternative), e.sizes) for e in htest_zoo.ZOO]
    two, pair = (htest_zoo.same(3), htest_zoo.wider(3)), (htest_zoo.tied(3, 2),)
    more = [_test(test, two, (120, 100)) for test in (ME(), SCF(), UME())]
    more += [_test(NFSIC(), pair, (150,))]
    more += [_test(FSSD(Gaussian([0.0, 0.0], 1.0)), (htest_zoo.same(2),), (150,))]
    return zoo_tests + more


def _test(test: Any, problems: tuple[Any, ...], sizes: tuple[int, ...]) -> Call:
    def prepare(rng: np.random.Generator) -> Thunk:
        problem, scale = problems[rng.integers(len(problems))], rng.choice(_SCALES)
        samples = _varied(problem(rng, tuple(int(scale * n) for n in sizes)), rng)
        seed = int(rng.integers(2**32))
        return lambda: test.test(*samples, rng=seed).pvalue

    return Call(f"htest.{type(test).__name__}", prepare)


def _doors() -> list[Call]:
    def two_sample(rng: np.random.Generator) -> Thunk:
        problem = (htest_zoo.same(4), htest_zoo.wider(3), htest_zoo.counts, htest_zoo.coins)[
            rng.integers(4)
        ]
        sizes = tuple(int(n) for n in rng.integers(20, rng.choice([100, 1000, 5000]), 2))
        x, y = _varied(problem(rng, sizes), rng)
        return lambda: mercer.two_sample(x, y, rng=0).pvalue

    def independence(rng: np.random.Generator) -> Thunk:
        n = int(rng.integers(40, rng.choice([200, 1500])))
        samples = _varied(htest_zoo.tied(3, 2)(rng, (n,)), rng)
        return lambda: mercer.independence(*samples, rng=0).pvalue

    def given(rng: np.random.Generator) -> Thunk:
        x, y, z = htest_zoo.conditionals()[0](rng, (int(rng.integers(60, 300)),))
        return lambda: mercer.independence(x, y, given=z, rng=0).pvalue

    def goodness_of_fit(rng: np.random.Generator) -> Thunk:
        d = int(rng.integers(1, 6))
        x = rng.standard_normal((int(rng.integers(30, 1500)), d))
        return lambda: mercer.goodness_of_fit(Gaussian([0.0] * d, 1.0), x, rng=0).pvalue

    def pairs(rng: np.random.Generator) -> Thunk:
        frame = pd.DataFrame(rng.standard_normal((80, 4)), columns=[*"abcd"])
        return lambda: pairwise_independence(frame, rng=0).pairs[0].pvalue

    named = (two_sample, independence, given, goodness_of_fit, pairs)
    names = ("two_sample", "independence", "independence given", "goodness_of_fit")
    return [Call(n, f) for n, f in zip((*names, "pairwise_independence"), named, strict=True)]


def _table(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    n = int(rng.integers(60, rng.choice([120, 400])))
    x = rng.uniform(-1, 1, (n, 4))
    y = x[:, 1] + 0.3 * x[:, 3] ** 2 + 0.1 * rng.standard_normal(n)
    return _varied((x,), rng)[0], y


def _learners() -> list[Call]:
    def call(learner: Any) -> Call:
        def prepare(rng: np.random.Generator) -> Thunk:
            x, y = _table(rng)
            y = y > np.median(y) if is_classifier(learner) else y

            def answer() -> Any:
                fitted = clone(learner).fit(x, y)
                return fitted.predict(x) if hasattr(fitted, "predict") else fitted.transform(x)

            return answer

        return Call(f"learn.{type(learner).__name__}", prepare)

    return [call(learner) for learner in learn_zoo.ZOO]


def _feature_maps() -> list[Call]:
    def call(feature_map: Any) -> Call:
        def prepare(rng: np.random.Generator) -> Thunk:
            x = rng.standard_normal((int(rng.integers(50, 3000)), 3))
            return lambda: clone(feature_map).fit(x).transform(x)

        return Call(f"features.{type(feature_map).__name__}", prepare)

    return [call(feature_map) for feature_map in features_zoo.ZOO]


def _matrices() -> list[Call]:
    def call(entry: zoo.Entry) -> Call:
        def prepare(rng: np.random.Generator) -> Thunk:
            x = entry.sample(rng, int(rng.integers(50, rng.choice([600, 2500]))))
            v = rng.standard_normal((len(x), 3))
            kind = rng.integers(4 if entry.definite else 3)
            gram = Gram(entry.kernel, x)
            return (
                gram.sum,
                lambda: gram @ v,
                lambda: gram.quad(v),
                lambda: top_eigenpairs(gram, 3)[0],
            )[kind]

        return Call(f"Gram of {type(entry.kernel).__name__}", prepare)

    return [call(entry) for entry in zoo.ZOO]
