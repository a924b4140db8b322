"""Dependence in real data: captions in two languages, proteins in single cells."""

from __future__ import annotations

import os
import re

import numpy as np
import pandas as pd
import pytest

from mercer.datasets import fetch_multi30k, fetch_sachs
from mercer.htest import HSIC, KCI, NystromHSIC, Permutation, RCoT
from mercer.kernels import Linear

pytestmark = pytest.mark.skipif(
    not os.environ.get("MERCER_DATA"), reason="MERCER_DATA names no folder"
)

# ---- captions -------------------------------------------------------------------------------


def bags(lines: list[str]) -> np.ndarray:
    """Bags of words of length one, rare words counting more: (lines, words)."""
    found = [re.findall(r"\w+", line.lower()) for line in lines]
    place = {word: j for j, word in enumerate(sorted({w for bag in found for w in bag}))}
    counts = np.zeros((len(found), len(place)))
    for row, bag in zip(counts, found, strict=True):
        np.add.at(row, [place[word] for word in bag], 1)
    counts *= np.log(len(found) / (counts > 0).sum(axis=0) + 1)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", [HSIC, NystromHSIC])
def test_captions_depend_on_those_of_the_same_picture(kind):
    """Paired: the smallest p-value there is. Shuffled: 9 or more of 60 at 0.05 in one of 400 cases."""
    captions = fetch_multi30k(validation=True)
    x, y = bags(list(captions.english[:200])), bags(list(captions.french[:200]))
    test = kind(Linear(), Linear(), null=Permutation(199))
    assert test.test(x, y, rng=0).pvalue == 1 / 200
    rng = np.random.default_rng(2)
    shuffled = [test.test(x, y[rng.permutation(200)], rng=rng) for _ in range(60)]
    assert sum(result.rejects(0.05) for result in shuffled) < 9


# ---- proteins -------------------------------------------------------------------------------

SIZES = (853, 902, 911, 723, 810, 799, 848, 913, 707)  # of the nine conditions, in their order


def cells(each: int, seed: int) -> pd.DataFrame:
    """Logarithms of the amounts of eleven proteins in some cells of every condition."""
    data, conditions = fetch_sachs(), "abcdefghi"
    frame = pd.DataFrame(np.log(data.numbers()), columns=list(data.names))
    frame["condition"] = np.repeat(list(conditions), SIZES)
    rng = np.random.default_rng(seed)
    rows = [rng.choice(np.flatnonzero(frame["condition"] == c), each, False) for c in conditions]
    return frame.iloc[np.sort(np.concatenate(rows))]


@pytest.mark.parametrize("test", [KCI(), RCoT()], ids=["KCI", "RCoT"])
@pytest.mark.parametrize("edge", [("praf", "pmek"), ("PKC", "P38"), ("PIP2", "PIP3")], ids="-".join)
def test_strong_edges_stay_when_the_condition_is_known(test, edge):
    """Accepted edges of the publication, whose proteins act on each other within every condition."""
    found = cells(40, seed=1)
    a, b = edge
    assert test.test(found[[a]], found[[b]], found[["condition"]], rng=0).pvalue < 1e-4


def test_mek_explains_what_raf_and_erk_share():
    """Raf acts on Erk by Mek: dependent, and independent once Mek and the condition are known."""
    found = cells(40, seed=1)
    raf, erk = found[["praf"]], found[["p44/42"]]
    assert HSIC().test(raf, erk, rng=0).pvalue == 0.001
    for test in (KCI(), RCoT()):
        assert test.test(raf, erk, found[["condition", "pmek"]], rng=0).pvalue > 0.05
