"""The doors of mean embeddings, conditional ones, and what stands for a distribution."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mercer.gram import Gram
from mercer.info import (
    DensityProduct,
    EntropyKernel,
    ExponentiatedDivergence,
    InverseGeneralizedVariance,
    JensenTsallisKernel,
)
from mercer.rkhs import (
    Bags,
    ConditionalEmbedding,
    CovarianceOperator,
    Dirac,
    Gaussian,
    JensenShannon,
    Uniform,
    mean_embedding,
)
from tests.bad_input.doors import Door, K, N, X, Y, door

NUMBER = frozenset({"number", "NumPy number"})
ROUNDED = ("float16", "pandas, float16", "torch, float16", "torch, bfloat16")
SAMPLES = frozenset({"ragged arrays", "ragged tensors", "3-d"})  # of few points, with a covariance
SHARES = np.abs(X) / np.abs(X).sum(axis=1, keepdims=True)


def conditional(x: Any, y: Any) -> Any:
    law = ConditionalEmbedding.fit(x, y, kernel_x=K, kernel_y=K, ridge=0.1)
    return law.weights(x), law(x).weights, law.expectation(lambda y: y, x)


def embedding_doors() -> Iterator[Door]:
    normal = mean_embedding(K, Gaussian(np.zeros(3), 1.0))
    yield door("rkhs.mean_embedding", "p", X, calls=lambda x: mean_embedding(K, x).norm())
    yield door("rkhs.Embedding.__call__", "x", X, calls=normal, also=("y",))
    yield door(
        "rkhs.Bags", "values", X, calls=lambda x: Bags(x, [0, 2, N]).means(), also=("offsets",)
    )
    yield door("rkhs.Dirac", "point", X[0], calls=lambda x: Dirac(x).point, accepts=NUMBER)
    box = Uniform(-np.ones(3), np.ones(3))
    yield door("rkhs.Uniform.log_density", "x", X, calls=lambda x: np.isfinite(box.log_density(x)))
    yield door(
        "rkhs.ConditionalEmbedding.fit rkhs.ConditionalEmbedding.weights "
        "rkhs.ConditionalEmbedding.__call__ rkhs.ConditionalEmbedding.expectation",
        "x y",
        X,
        Y,
        calls=conditional,
        points=True,
    )
    yield door(
        "rkhs.CovarianceOperator.of",
        "x y",
        X,
        Y,
        calls=lambda x, y: CovarianceOperator.of(x, y, kernel_x=K, kernel_y=K).norm(),
        points=True,
    )
    yield door(
        "rkhs.JensenShannon",
        "x",
        SHARES,
        refuses=dict.fromkeys(ROUNDED, "rounded numbers do not add up to one"),
        calls=lambda x: Gram(JensenShannon(), x).dense(),
    )
    yield from histogram_doors()


def histogram_doors() -> Iterator[Door]:
    for kernel in (
        ExponentiatedDivergence(),
        JensenTsallisKernel(1.5),
        EntropyKernel(),
        DensityProduct(),
        InverseGeneralizedVariance(0.1),
    ):
        yield door(
            f"info.{type(kernel).__name__}",
            "x",
            SHARES,
            refuses=dict.fromkeys(ROUNDED, "rounded numbers do not add up to one"),
            accepts=SAMPLES if isinstance(kernel, InverseGeneralizedVariance) else frozenset(),
            calls=lambda x, kernel=kernel: Gram(kernel, x).dense(),
        )


EMBEDDING_DOORS = list(embedding_doors())
