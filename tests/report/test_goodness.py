"""The report of a goodness-of-fit test: small, escaped, with words for every picture."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mercer.htest import FSSD, KSD, Composite
from mercer.htest.goodness.goodness_of_fit import family_fit
from mercer.report import goodness_report
from mercer.rkhs import Gaussian
from mercer.rkhs.logdensity import Scores

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
pd = pytest.importorskip("pandas")

LINE, PLANE = Gaussian(0.0, 1.0), Gaussian([0.0, 0.0], 1.0)


def figures(page: str) -> set[str]:
    return set(re.findall(r'<figure id="(\w+)"', page))


def test_page_says_what_was_found():
    result = KSD(LINE).test(LINE.sample(100, rng=0) + 1.0, rng=0)
    page = goodness_report(result, again="code that runs it", facts={"seed": "0"})
    assert "The observations do not come from Gaussian(0, 1)" in page
    assert "Where does the model not fit?" in page
    assert "code that runs it" in page
    assert f"{result.effect().relative:.2g}" in page
    assert figures(page) == {"null", "witness"}


def test_a_model_that_fits():
    page = goodness_report(KSD(LINE).test(LINE.sample(100, rng=0), rng=0), model="my model")
    assert "No misfit was found between the observations and my model" in page
    assert "This does not prove that the model is right" in page


def test_maps_and_locations():
    x = PLANE.sample(200, rng=0)
    x[:20] += [4.0, 0.0]
    result = FSSD.optimized(PLANE, x[::2], locations=2, rng=0).test(x[1::2])
    page = goodness_report(result)
    assert figures(page) == {"null", "witness", "evidence", "columns"}
    assert "Locations of the test" in page
    assert len(page) < 1_000_000


def test_rows_are_those_of_the_data():
    x = np.round(PLANE.sample(120, rng=0), 3)
    x[7] = [9.125, -8.25]
    frame = pd.DataFrame(x, columns=["left", "right"])
    result = KSD(PLANE).test(frame, rng=0)
    for data in (None, frame):
        page = goodness_report(result, data=data)
        assert re.search(
            r'<td class="number">8</td><td class="number">[^<]+</td><td>9.125</td><td>-8.25</td>',
            page,
        )
    assert '<td class="number">8</td>' not in goodness_report(result, numbered=False)


def test_everything_is_escaped_and_pictures_have_words():
    names = ["<script>alert(1)</script>", "a & b", "c"]
    x = pd.DataFrame(np.random.default_rng(0).normal(1.0, 1.0, size=(80, 3)), columns=names)
    page = goodness_report(
        KSD(Gaussian(np.zeros(3), 1.0)).test(x, rng=0), model="<b>mine</b>", notes=["<i>"], data=x
    )
    assert "<script" not in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert figures(page) == {"null", "columns"}
    for picture in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        assert re.search(r"aria-label=\"[^\"]{20,}\"", picture)


def test_a_fitted_family():
    x = np.random.default_rng(0).exponential(size=(80, 1))
    result = family_fit(Gaussian.fit, x, resamples=39, rng=0)
    page = goodness_report(result, model="a Gaussian")
    assert "do not come from a Gaussian, whatever its parameters" in page
    assert "The model was fitted to these observations" in page
    own = Composite(Gaussian.fit, KSD, resamples=19).test(x, rng=0)
    assert "whatever its parameters" in goodness_report(own)


def test_scores_that_are_known_at_the_observations():
    x = PLANE.sample(60, rng=0)
    page = goodness_report(KSD(Scores(PLANE.score(x))).test(x, rng=0))
    assert figures(page) == {"null", "evidence", "columns"}


def test_large_samples_stay_small(monkeypatch):
    monkeypatch.setattr("mercer.report.goodness.MAX_ROWS_FOR_ALL_PAIRS", 1_000)
    x = PLANE.sample(1_200, rng=0)
    page = goodness_report(FSSD(PLANE).test(x, rng=0))
    assert len(page) < 1_000_000
    assert "computed from 1,000 observations" in page


def test_only_results_have_reports():
    with pytest.raises(TypeError, match="result"):
        goodness_report("nothing")  # type: ignore[arg-type]
