"""What notebooks show: public names to complete, tables of results, and why results are not unpacked."""

from __future__ import annotations

import importlib
from types import ModuleType

import numpy as np
import pytest

import mercer
from mercer.htest import HSIC, MMD, pairwise_independence
from mercer.learn import KernelRidge

ROOMS = [name for name in mercer.__all__ if isinstance(getattr(mercer, name), ModuleType)]
X, Y = np.random.default_rng(0).normal(size=(2, 30, 3))


@pytest.mark.parametrize("room", ["", *(f".{name}" for name in ROOMS)])
def test_completion_offers_public_names_only(room):
    module = importlib.import_module(f"mercer{room}")
    assert sorted(dir(module)) == sorted(module.__all__)
    assert not any(name.startswith("_") for name in dir(module) if name != "__version__")


def test_results_are_tables_and_are_not_unpacked():
    for result in (MMD().test(X, Y, rng=0), HSIC().test(X, Y, rng=0)):
        assert f"<caption>{type(result.test).__name__}</caption>" in result._repr_html_()
        with pytest.raises(TypeError, match=r"use result\.statistic, result\.pvalue"):
            _, _ = result


def test_estimators_are_pictures_before_and_after_fitting():
    model = KernelRidge()
    for learner in (model, model.fit(X, Y[:, 0])):
        assert "KernelRidge" in learner._repr_html_()


def test_pandas_reads_all_pairs():
    pd = pytest.importorskip("pandas")
    pairs = pairwise_independence(pd.DataFrame(X, columns=["a", "b", "c"]), rng=0)
    frame = pd.DataFrame(pairs)
    assert list(zip(frame["first"], frame["second"], strict=True)) == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    assert frame["pvalue"].tolist() == [pair.pvalue for pair in pairs]
    assert "<table>" in pairs._repr_html_()
    assert mercer.htest.PairwiseResult is type(pairs)
