"""The same numbers as other packages, where they estimate the same thing and are right.

KSG is compared on standardized columns, to which mercer brings all data and infomeasure none. Tolerances are those of
rounding, but scikit-learn adds noise of 1e-10 to the data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from mercer.info import (
    KNN,
    KSG,
    MillerMadow,
    MixedKSG,
    PlugIn,
    Renyi,
    Tsallis,
    entropy,
    interaction_information,
    kolmogorov,
    mutual_information,
    sliced_wasserstein,
    transfer_entropy,
    wasserstein,
)

Case = Callable[[Any], tuple[Any, Any]]  # the module of the peer -> its value, ours

_rng = np.random.default_rng(0)
X = _rng.standard_normal((400, 2))
Y = 0.6 * X + 0.8 * _rng.standard_normal((400, 2))
X, Y = ((v - v.mean(axis=0)) / v.std(axis=0) for v in (X, Y))
# Two series that end where they began: past and present of the second have the same mean and spread.
SOURCE, TARGET = (np.append(v, v[0]) for v in (Y[:, 1], X[:, 0] + np.roll(Y[:, 1], 1)))
TARGET = (TARGET - TARGET[1:].mean()) / TARGET[1:].std()
A = _rng.integers(0, 4, 500)
B = (A + _rng.integers(0, 2, 500)) % 4
C = (A + B + _rng.integers(0, 2, 500)) % 3
XY1 = np.column_stack([X[:, 1], Y[:, 1]])
LABEL = np.digitize(X[:, 0] + Y[:, 1], [-1.0, 0.5])
PLUG_IN, KSG4, LINES = PlugIn(), KSG(4), np.eye(2)


def _joint(dit: Any) -> Any:
    rows, counts = np.unique(np.column_stack([A, B, C]), axis=0, return_counts=True)
    return dit.Distribution([tuple(map(int, row)) for row in rows], counts / counts.sum())


CASES: dict[tuple[str, str], Case] = {
    ("infomeasure", "kNN entropy"): lambda m: (
        m.entropy(X, approach="metric", k=4, minkowski_p=2, noise_level=0),
        entropy(X, estimator=KNN(4)),
    ),
    ("infomeasure", "kNN Renyi entropy, order 2"): lambda m: (
        m.entropy(X, approach="renyi", alpha=2.0, k=4),
        entropy(X, Renyi(2.0), estimator=KNN(4)),
    ),
    ("infomeasure", "kNN Tsallis entropy, order 2"): lambda m: (
        m.entropy(X, approach="tsallis", q=2.0, k=4),
        entropy(X, Tsallis(2.0), estimator=KNN(4)),
    ),
    ("infomeasure", "KSG, 2 + 2 columns"): lambda m: (
        m.mutual_information(X, Y, approach="metric", k=4, noise_level=0),
        mutual_information(X, Y, estimator=KSG4),
    ),
    ("infomeasure", "conditional KSG, 1 + 1 columns given 2"): lambda m: (
        m.cmi(X[:, 0], Y[:, 0], cond=XY1, approach="metric", k=4, noise_level=0),
        mutual_information(X[:, 0], Y[:, 0], given=XY1, estimator=KSG4),
    ),
    ("infomeasure", "KSG transfer entropy"): lambda m: (
        m.te(SOURCE, TARGET, approach="metric", k=4, noise_level=0),
        transfer_entropy(SOURCE, TARGET, lags=1, estimator=KSG4),
    ),
    ("infomeasure", "entropy of categories, Miller-Madow"): lambda m: (
        m.entropy(A, approach="miller_madow"),
        entropy(A, estimator=PlugIn(MillerMadow())),
    ),
    ("infomeasure", "conditional information of categories"): lambda m: (
        m.cmi(A, B, cond=C, approach="discrete"),
        mutual_information(A, B, given=C, estimator=PLUG_IN),
    ),
    ("dit", "mutual information"): lambda m: (
        m.shannon.mutual_information(_joint(m), [0], [1]) * np.log(2),
        mutual_information(A, B, estimator=PLUG_IN),
    ),
    ("dit", "total correlation"): lambda m: (
        m.multivariate.total_correlation(_joint(m)) * np.log(2),
        mutual_information(A, B, C, estimator=PLUG_IN),
    ),
    ("dit", "interaction information, the co-information with its sign changed"): lambda m: (
        -m.multivariate.coinformation(_joint(m)) * np.log(2),
        interaction_information(A, B, C, estimator=PLUG_IN),
    ),
    ("dit", "Renyi entropy, order 2"): lambda m: (
        m.other.renyi_entropy(_joint(m), 2, [0]) * np.log(2),
        entropy(A, Renyi(2.0), estimator=PLUG_IN),
    ),
    ("sklearn.feature_selection", "KSG, 1 + 1 columns"): lambda m: (
        m.mutual_info_regression(X[:, :1], Y[:, 0], n_neighbors=4, random_state=0)[0],
        mutual_information(X[:, 0], Y[:, 0], estimator=KSG4),
    ),
    ("sklearn.feature_selection", "information of a category and a number"): lambda m: (
        m.mutual_info_classif(X[:, :1], LABEL, n_neighbors=3, random_state=0)[0],
        mutual_information(pd.Series(LABEL.astype(str)), X[:, 0], estimator=MixedKSG(3)),
    ),
    ("sklearn.metrics", "mutual information of categories"): lambda m: (
        m.mutual_info_score(A, B),
        mutual_information(A, B, estimator=PLUG_IN),
    ),
    ("ot", "Wasserstein distance, p = 1"): lambda m: (
        m.emd2([], [], m.dist(X, Y, "euclidean")),
        float(wasserstein(X, Y)),
    ),
    ("ot", "Wasserstein distance, p = 2"): lambda m: (
        m.emd2([], [], m.dist(X, Y)) ** 0.5,
        float(wasserstein(X, Y, 2)),
    ),
    ("ot", "sliced Wasserstein distance"): lambda m: (
        m.sliced_wasserstein_distance(X, Y, projections=LINES),
        float(sliced_wasserstein(X, Y, projections=LINES)),
    ),
    ("scipy.stats", "Wasserstein distance on the line"): lambda m: (
        m.wasserstein_distance(X[:, 0], Y[:, 1]),
        float(wasserstein(X[:, 0], Y[:, 1])),
    ),
    ("scipy.stats", "Kolmogorov distance"): lambda m: (
        m.ks_2samp(X[:, 0], Y[:, 1]).statistic,
        float(kolmogorov(X[:, 0], Y[:, 1])),
    ),
}


@pytest.mark.parametrize(("peer", "quantity"), CASES, ids=[" ".join(case) for case in CASES])
def test_peers_agree(peer, quantity):
    theirs, ours = CASES[peer, quantity](pytest.importorskip(peer))
    assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
