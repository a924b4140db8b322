"""Tests of other libraries for two samples and for two variables: hyppo, dcor, SciPy.

Categories become columns of zeros and ones. Permutation tests have 199 permutations, a number at which
the level 0.05 is attained. A peer that does not take the data gives None.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

PERMUTATIONS = 199
Peer = Callable[[np.ndarray, np.ndarray, int], float | None]


def pvalue(peer: Peer, pair: tuple[Any, Any], seed: int) -> float | None:
    """P-value of a peer for one pair of samples or variables."""
    x, y = _numbers(pair[0]), _numbers(pair[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return peer(x, y, seed)
        except np.linalg.LinAlgError:  # features of categories are linearly dependent
            return None


def _numbers(x: Any) -> np.ndarray:
    if isinstance(x, np.ndarray):
        values = x
    else:
        import pandas as pd

        values = pd.get_dummies(x).to_numpy(float)
    return values[:, None] if values.ndim == 1 else values


# ---- two variables ------------------------------------------------------------------------------


def _hyppo(name: str) -> Peer:
    def peer(x: np.ndarray, y: np.ndarray, seed: int) -> float:
        from hyppo import independence

        test = getattr(independence, name)()
        # the limits that hyppo takes by default are conservative
        exact = {} if name in ("RV", "CCA") else {"auto": False}
        return float(test.test(x, y, reps=PERMUTATIONS, random_state=seed, **exact)[1])

    return peer


def _mgc(x: np.ndarray, y: np.ndarray, seed: int) -> float:
    return float(stats.multiscale_graphcorr(x, y, reps=PERMUTATIONS, random_state=seed).pvalue)


def _dcor(x: np.ndarray, y: np.ndarray, seed: int) -> float:
    import dcor

    return float(
        dcor.independence.distance_covariance_test(
            x, y, num_resamples=PERMUTATIONS, random_state=seed
        ).pvalue
    )


def _pearson(x: np.ndarray, y: np.ndarray, seed: int) -> float | None:
    one_column_each = x.shape[1] == y.shape[1] == 1
    return float(stats.pearsonr(x[:, 0], y[:, 0]).pvalue) if one_column_each else None


# ---- two samples --------------------------------------------------------------------------------


def _as_independence(peer: Peer) -> Peer:
    """The test of independence of the observation and the label of its sample (Panda et al. 2024)."""

    def samples(x: np.ndarray, y: np.ndarray, seed: int) -> float | None:
        labels = np.repeat([0.0, 1.0], [len(x), len(y)])
        return peer(np.concatenate([x, y]), labels[:, None], seed)

    return samples


def _energy(x: np.ndarray, y: np.ndarray, seed: int) -> float:
    import dcor

    test = dcor.homogeneity.energy_test(x, y, num_resamples=PERMUTATIONS, random_state=seed)
    return float(test.pvalue)


def _ks(x: np.ndarray, y: np.ndarray, seed: int) -> float | None:
    return float(stats.ks_2samp(x[:, 0], y[:, 0]).pvalue) if x.shape[1] == 1 else None


def _hotelling(x: np.ndarray, y: np.ndarray, seed: int) -> float:
    """Hotelling's test by statsmodels, the t-test of one column; the last category is left out.

    That of hyppo rejected equal means of one column of variance 3.25 in 27% of 172 runs.
    """
    from statsmodels.stats.multivariate import test_mvmean_2indep

    pooled = np.concatenate([x, y])
    if np.linalg.matrix_rank(pooled - pooled.mean(axis=0)) < pooled.shape[1]:
        x, y = x[:, :-1], y[:, :-1]
    if x.shape[1] == 1:
        return float(stats.ttest_ind(x[:, 0], y[:, 0]).pvalue)
    return float(test_mvmean_2indep(x, y).pvalue)


def _at_locations(name: str) -> Peer:
    def peer(x: np.ndarray, y: np.ndarray, seed: int) -> float:
        from hyppo import ksample

        return float(np.ravel(getattr(ksample, name)().test(x, y, random_state=seed)[1])[0])

    return peer


INDEPENDENCE: dict[str, Peer] = {
    "Pearson": _pearson,
    "dcor": _dcor,
    "MGC": _mgc,
    "HSIC (hyppo)": _hyppo("Hsic"),
    "HHG (hyppo)": _hyppo("HHG"),
    "RV (hyppo)": _hyppo("RV"),
    "CCA (hyppo)": _hyppo("CCA"),
}
TWO_SAMPLE: dict[str, Peer] = {
    "Hotelling": _hotelling,
    "energy (dcor)": _energy,
    "KS": _ks,
    "MGC": _as_independence(_mgc),
    "MMD (hyppo)": _as_independence(_hyppo("Hsic")),
    "ME (hyppo)": _at_locations("MeanEmbeddingTest"),
    "SCF (hyppo)": _at_locations("SmoothCFTest"),
}
