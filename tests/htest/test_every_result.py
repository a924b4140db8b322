"""What every result of every door can do: print, notebooks, dictionaries, data frames, pictures and reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mercer
from mercer import causal, htest, info
from mercer.htest import DHSIC, HSIC, MMD, Permutation, WildBootstrap
from mercer.rkhs import Gaussian

pd = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(0.5, 1, size=(40, 2))
TABLE = pd.DataFrame({"a": X[:, 0], "b": X[:, 0] + Y[:, 0], "c": Y[:, 1]})
P = Permutation(99)
MODEL = Gaussian(np.zeros(2), 1.0)
RESULTS: dict[str, Callable[[], Any]] = {
    "two_sample": lambda: mercer.two_sample(X, Y, resamples=99, rng=0),
    "two_sample, frames": lambda: mercer.two_sample(TABLE, TABLE + 1, resamples=99, rng=0),
    "two_sample, series": lambda: mercer.two_sample(X, Y, series=True, rng=0),
    "two_sample, unbiased": lambda: MMD(unbiased=True, null=P).test(X, Y, rng=0),
    "independence": lambda: mercer.independence(X, Y, resamples=99, rng=0),
    "independence, given": lambda: mercer.independence(X[:, 0], Y[:, 0], given=X[:, 1], rng=0),
    "independence, series": lambda: HSIC(null=WildBootstrap(99, block=None)).test(X, Y, rng=0),
    "three variables": lambda: DHSIC(null=P).test(X[:, 0], X[:, 1], Y[:, 0], rng=0),
    "interaction": lambda: htest.Lancaster().test(X[:, 0], X[:, 1], Y[:, 0], rng=0),
    "goodness": lambda: mercer.goodness_of_fit(MODEL, X, resamples=99, rng=0),
    "k samples": lambda: htest.KSample(null=P).test(X, Y, X + Y, rng=0),
    "serial": lambda: htest.SerialHSIC(null=P).test(X, rng=0),
    "pairs": lambda: htest.pairwise_independence(TABLE, rng=0),
    "columns": lambda: htest.feature_differences(X, Y, resamples=99, rng=0),
    "drift": lambda: htest.drift(X, {"May": Y, "June": X}, resamples=99, rng=0),
    "power": lambda: htest.power(MMD(null=P), X, Y, runs=9, n=[10, 20], rng=0),
    "sample size": lambda: htest.sample_size(MMD(null=P), X, Y + 2, runs=9, rng=0),
    "monitor": lambda: htest.Monitor(level=0.05).update(X, Y),
    "post-selection": lambda: htest.post_selection(np.vstack([X, Y]), np.hstack([Y[:, 0], X[:, 0]]), k=1, block=4, rng=0),
    "graph": lambda: causal.PC(htest.PartialCorrelation()).fit(TABLE),
    "direction": lambda: causal.causal_direction(X[:, 0], X[:, 0] ** 3 + Y[:, 0], method=causal.RegressionError()),
    "information": lambda: info.estimate(info.mutual_information, *RNG.normal(size=(2, 200))),
}  # fmt: skip


@pytest.fixture(scope="module", params=RESULTS, ids=str)
def result(request):
    return RESULTS[request.param]()


def test_what_it_prints_is_the_summary(result):
    assert str(result) == result.summary()
    assert not str(result).startswith(f"{type(result).__name__}(")


def test_notebooks_show_it(result):
    page = result._repr_html_()
    assert page.startswith("<")
    assert str(result).split("\n")[-1].split(": ")[-1][:20].replace("<", "&lt;") in page


def test_numbers_are_ready_for_json_and_pandas(result):
    json.dumps(result.to_dict(), allow_nan=False)
    frame = result.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) >= 1 or type(result).__name__ == "CausalGraph"  # a graph may have no edges
    if hasattr(result, "__len__"):
        assert len(pd.DataFrame(result)) == len(result) == len(frame)


def test_a_frame_without_pandas_says_what_to_install(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[frames\]'"):
        result.to_frame()


def test_picture_and_report(result, tmp_path):
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    if hasattr(result, "plot"):
        axes = Figure().add_subplot()
        drawn = result.plot(ax=axes)
        assert drawn is axes
        assert isinstance(drawn, Axes)
        assert axes.has_data() or axes.texts or axes.images
    if hasattr(result, "report"):
        page = result.report(tmp_path / "r.html").read_text(encoding="utf-8")
        assert page.lstrip().lower().startswith("<!doctype html")


def test_completion_has_public_names(result):
    public = [name for name in dir(result) if not name.startswith("_")]
    assert {"summary", "to_dict", "to_frame"} <= set(public)
