"""Doors as their users write them: test, kernel, resamples and level; results that print, tabulate and refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import mercer
from mercer.htest import (
    HSIC,
    KCI,
    KSD,
    MMD,
    Energy,
    Hotelling,
    KernelGCM,
    Permutation,
    WildBootstrap,
    pairwise_independence,
)
from mercer.kernels import RBF

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(0.8, 1.0, size=(35, 2))
U, V = RNG.normal(size=50), RNG.normal(size=50)


def test_doors_run_the_test_that_is_asked_for():
    direct = MMD(RBF(1.0), null=Permutation(99)).test(X, Y, rng=0)
    asked = mercer.two_sample(X, Y, kernel=RBF(1.0), resamples=99, level=0.01, rng=0)
    assert (asked.statistic, asked.pvalue, asked.test) == (
        direct.statistic,
        direct.pvalue,
        direct.test,
    )
    assert mercer.two_sample(X, Y, test=Energy(), rng=0).pvalue == Energy().test(X, Y, rng=0).pvalue
    asked = mercer.independence(U, V, kernel=RBF(1.0), resamples=99, rng=0)
    assert asked.test == HSIC(RBF(1.0), RBF(1.0), null=Permutation(99))
    assert mercer.independence(U, V, given=X[0, 0] * U, test=KCI(), rng=0).test == KCI()
    asked = mercer.goodness_of_fit(norm(0, 1), U, test=KSD, resamples=99, rng=0)
    direct = KSD(norm(0, 1), null=WildBootstrap(99)).test(U, rng=0)
    assert (asked.statistic, asked.pvalue) == (direct.statistic, direct.pvalue)
    assert len(mercer.two_sample(X, Y, resamples=49, rng=0).null) == 49


def test_the_level_of_a_door_is_that_of_its_verdicts():
    result = mercer.two_sample(Y[:17], Y[17:], kernel=RBF(1.0), resamples=99, rng=0)
    assert 0.01 < result.pvalue < 0.9
    for level in (0.9, 0.01):
        judged = mercer.two_sample(
            Y[:17], Y[17:], kernel=RBF(1.0), resamples=99, level=level, rng=0
        )
        assert judged.rejects() == result.rejects(level) == (level == 0.9)
        assert f"level {level:g}" in judged.summary()


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: mercer.two_sample(X, Y, test="mmd"), TypeError, "such as MMD"),
        (lambda: mercer.two_sample(X, Y, kernel="rbf"), TypeError, "such as RBF"),
        (lambda: mercer.two_sample(X, Y, test=MMD(), kernel=RBF(1.0)), ValueError, "to the test"),
        (lambda: mercer.two_sample(X, X, test=HSIC()), TypeError, "a two-sample test"),
        (lambda: mercer.two_sample(X, Y, test=Hotelling(), resamples=9), ValueError, "resamples"),
        (lambda: mercer.two_sample(X, Y, test=MMD(), series=True), ValueError, "null distribution"),
        (lambda: mercer.two_sample(X, Y, level=2.0), ValueError, "level"),
        (lambda: mercer.independence(U, V, kernel=RBF(1.0), given=U), ValueError, "test=KCI"),
        (lambda: mercer.independence(U, V, given=V, resamples=9), ValueError, "KernelGCM"),
        (
            lambda: mercer.goodness_of_fit(norm(0, 1), U, test=KSD(norm(0, 1))),
            TypeError,
            "needs the model",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()


RESULTS = {
    "two samples": lambda: mercer.two_sample(X, Y, kernel=RBF(1.0), resamples=99, rng=0),
    "two variables": lambda: mercer.independence(U, V, kernel=RBF(1.0), resamples=99, rng=0),
    "a model": lambda: mercer.goodness_of_fit(norm(0, 1), U, test=KSD, resamples=99, rng=0),
    "given": lambda: KernelGCM().test(U, V, X[0, 0] + U),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_print_and_tabulate_and_cannot_be_unpacked(name):
    pytest.importorskip("pandas")
    result = RESULTS[name]()
    assert str(result) == result.summary()
    html = result._repr_html_()
    assert "<script" not in html
    assert "Verdict" in html
    frame = result.to_frame()
    assert len(frame) == 1
    assert frame.pvalue[0] == result.pvalue
    with pytest.raises(TypeError, match="result.statistic, result.pvalue"):
        _statistic, _pvalue = result


def test_reports_are_written_where_they_are_asked_for(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    page = RESULTS["two variables"]().report(tmp_path / "page.html")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_pairs_and_columns_are_data_frames():
    pd = pytest.importorskip("pandas")
    found = pairwise_independence(pd.DataFrame({"a": U, "b": V, "c": U + V}), rng=0)
    frame = pd.DataFrame(found)
    assert frame.equals(found.to_frame())
    assert list(frame.columns) == ["first", "second", "pvalue", "effect"]
    assert len(frame) == 3
    assert str(found) == found.summary()
    columns = RESULTS["two samples"]().features(rng=0)
    assert set(columns.to_frame().name) == {"column 0", "column 1"}
    assert "column 0" in columns._repr_html_()
