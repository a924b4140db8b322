"""The report of an independence test: small, escaped, with words for every picture."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mercer.htest import HSIC, KernelGCM, Permutation, pairwise_independence
from mercer.kernels import RBF
from mercer.report import independence_report

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")


def test_page_says_what_was_found():
    x = np.random.default_rng(0).normal(size=120)
    result = HSIC().test(x, x**2, rng=0)
    page = independence_report(result, again="code that runs it", facts={"seed": "0"})
    assert "x and y depend on each other" in page
    assert "Where is the dependence?" in page
    assert "code that runs it" in page
    assert f"{result.effect().correlation:.4g}" in page


def test_everything_is_escaped_and_pictures_have_words():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    first = pd.DataFrame({"<script>alert(1)</script>": rng.normal(size=80)})
    second = pd.DataFrame({"a & b": rng.normal(size=80), "c": rng.choice(["<b>", "d"], 80)})
    result = HSIC().test(first, second, rng=0)
    pairs = pairwise_independence(pd.concat([first, second], axis=1), rng=0)
    page = independence_report(result, pairs=pairs, samples=[first, second])
    assert "<script" not in page
    assert "<b>" not in page
    assert "Which columns depend on each other?" in page
    for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        assert re.search(r"<title[^>]*>[^<]{20,}</title>|aria-label=\"[^\"]{20,}\"", picture)


def test_pairs_that_depend_are_in_the_headline():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    x = pd.DataFrame(rng.normal(size=(60, 40))).add_prefix("x")
    y = pd.DataFrame(rng.normal(size=(60, 40))).add_prefix("y")
    y["y7"] = x["x5"] + 0.3 * y["y7"]
    result = HSIC(RBF(0.5), RBF(0.5), null=Permutation(99)).test(x, y, rng=0)
    assert not result.rejects()
    pairs = pairwise_independence(pd.concat([x, y], axis=1), rng=0)
    assert [(p.first, p.second) for p in pairs.dependent_across(x.columns)] == [("x5", "y7")]
    page = independence_report(result, pairs=pairs)
    assert "all columns together, but 1 of their pairs is dependent" in page
    assert "only that the test found no dependence" not in page
    assert '<header class="same">' not in page


def test_no_figure_where_there_is_no_null_distribution():
    """There was an empty picture, with a caption about an area beyond a line."""
    page = independence_report(KernelGCM().test(*np.random.default_rng(0).normal(size=(3, 60))))
    assert 'id="null"' not in page
    assert "Could this be chance?" not in page
    assert "its limiting null distribution" in page


def test_large_samples_stay_small(monkeypatch):
    monkeypatch.setattr("mercer.report.independence.MAX_ROWS_FOR_ALL_PAIRS", 1_000)
    rng = np.random.default_rng(0)
    x = rng.normal(size=1_200)
    page = independence_report(HSIC().test(x, x + rng.normal(size=1_200), rng=0))
    assert len(page) < 1_000_000
    assert "computed from 1,000 rows" in page


def test_only_results_have_reports():
    with pytest.raises(TypeError, match="result"):
        independence_report("nothing")  # type: ignore[arg-type]
