"""Ten data sets, and what LIBSVM says of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn import datasets, svm
from sklearn.preprocessing import scale


@dataclass(frozen=True)
class Set:
    x: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None
    options: dict[str, Any] = field(default_factory=dict)


def blobs(n: int = 300, share: float = 0.5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    return rng.normal(size=(n, 3)) + y[:, None], y


def _duplicated() -> Set:
    x, y = blobs(100)
    twice = np.concatenate([x, x, x[:10]])
    return Set(twice, np.concatenate([y, y, 1 - y[:10]]))  # ten of them contradict each other


def _real(load: Any, n: int | None = None) -> Set:
    x, y = load(return_X_y=True)
    return Set(scale(x[:n]), y[:n])


def sets() -> dict[str, Set]:
    x, y = blobs()
    weights = np.random.default_rng(1).exponential(size=len(x))
    return {
        "overlapping": Set(x, y),
        "circles": Set(*datasets.make_circles(200, noise=0.1, factor=0.5, random_state=0)),
        "cancer": _real(datasets.load_breast_cancer),
        "iris": _real(datasets.load_iris),
        "wine": _real(datasets.load_wine),
        "digits": _real(datasets.load_digits, 400),
        "unbalanced": Set(*blobs(share=0.05)),
        "balanced": Set(*blobs(share=0.1, seed=2), None, {"class_weight": "balanced"}),
        "weighted": Set(x, y, weights),
        "texts, some dear": Set(
            x, np.where(y > 0, "yes", "no"), None, {"class_weight": {"yes": 3.0}}
        ),
        "duplicated": _duplicated(),
    }


def libsvm(data: Set, C: float, **kernel: Any) -> np.ndarray:
    """Decision values of LIBSVM for every two classes, positive for the second: (n, P)."""
    x = kernel.pop("matrix", data.x)
    machine = svm.SVC(
        C=C, tol=1e-10, decision_function_shape="ovo", cache_size=500, **kernel, **data.options
    )
    values = machine.fit(x, data.y, data.weights).decision_function(x)
    return values[:, None] if values.ndim == 1 else -values
