"""Reports of all pairs, of power and of drift: they say what the result says, and nothing loud where nothing was found."""

from __future__ import annotations

import re

import numpy as np
import pytest

from mercer.htest import MMD, drift, pairwise_independence, power, sample_size
from mercer.kernels import RBF, Delta
from mercer.report import drift_report, goodness_report, pairwise_report, power_report
from mercer.report.in_words import described_test, kernel_in_words
from mercer.report.page import breakable
from mercer.report.pairwise_page import matrix_size

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
EVIL = "<script>alert(1)</script>"


def figures(page: str) -> list[str]:
    return re.findall(r'<figure id="(\w+)"', page)


def test_pairs():
    a, b = RNG.normal(size=(2, 80))
    frame = pd.DataFrame({EVIL: a, "b": b, "c": a + 0.1 * b})
    result = pairwise_independence(frame, rng=0)
    page = pairwise_report(result, name="three.csv", again="mercer independence three.csv")
    number = len(result.dependent())
    are = "is" if number == 1 else "are"
    assert f"{number} of 3 pairs of columns of three.csv {are} dependent" in page
    assert figures(page) == ["matrix"]
    assert "<script" not in page
    assert "mercer independence three.csv" in page


def test_one_column_against_all_others():
    a, b = RNG.normal(size=(2, 80))
    frame = pd.DataFrame({EVIL: a, "b": b, "c": a + 0.1 * b})
    page = pairwise_report(pairwise_independence(frame, against=EVIL, rng=0), name="three.csv")
    assert "1 of 2 columns of three.csv depends on " in page
    assert "corrected for all 2 columns" in page
    assert figures(page) == ["matrix"]
    assert "<script" not in page
    assert ">other column<" not in page
    none = pairwise_report(pairwise_independence(frame, against="b", rng=0), name="three.csv")
    assert "No column of three.csv was found to depend on b" in none


def test_no_pairs_no_picture(tmp_path):
    result = pairwise_independence(RNG.normal(size=(60, 4)), rng=1)
    assert result.dependent() == ()
    page = result.report(tmp_path / "pairs.html", name="noise.csv").read_text("utf-8")
    assert "No dependence was found between the columns of noise.csv" in page
    assert figures(page) == []


def test_the_matrix_of_31_columns_has_room_for_its_names():
    names = [f"mean fractal dimension {i}" for i in range(31)]
    width, height = matrix_size(names)
    assert (width - 8 * 28) / 31 >= 16  # pixels for a name of 13
    assert height > width


def test_power(tmp_path):
    x, y = RNG.normal(size=(100, 2)), RNG.normal(0.5, 1.0, size=(100, 2))
    needed = sample_size(MMD(), x, y, asymptotic=True)
    page = needed.report(tmp_path / "power.html", names=("before.csv", EVIL)).read_text("utf-8")
    assert f"About {needed.n:,} rows of each are needed" in page
    assert "before.csv" in page
    assert "<script" not in page
    curve = power(MMD(), x, y, n=[20, 40], asymptotic=True)
    page = power_report(curve, notes=["Caution: the pilot shows no difference."])
    assert page.index("the pilot shows no difference") < page.index("Power by sample size")
    for share in curve.power:
        assert f"{100 * share:.0f}%" in page
    with pytest.raises(TypeError, match="sample_size or power"):
        power_report("nothing")  # type: ignore[arg-type]


def test_drift(tmp_path):
    batches = {"May": RNG.normal(size=(40, 2)), EVIL: RNG.normal(2.0, 1.0, size=(40, 2))}
    result = drift(RNG.normal(size=(50, 2)), batches, name="April.csv", resamples=199, rng=0)
    page = result.report(tmp_path / "drift.html").read_text("utf-8")
    assert "1 of 2 batches differs from April.csv" in page
    assert figures(page) == ["timeline", "columns"]
    assert "<script" not in page
    calm = drift_report(result, level=1e-6)
    assert "No batch differs from April.csv" in calm
    assert figures(calm) == ["timeline"]
    assert "When did it change?" in page
    assert "red diamonds" in page
    assert "When did it change?" not in calm
    assert "red diamonds" not in calm
    with pytest.raises(TypeError, match="drift"):
        drift_report("nothing")  # type: ignore[arg-type]


def test_names_are_those_of_the_field():
    assert described_test(MMD()) == "MMD: two-sample test by the squared maximum mean discrepancy"
    kernel = RBF(1 / 3).scaled((2.0, 5.0)).select(("a", "b")) * (0.5 + 0.25 * Delta())
    words = kernel_in_words(kernel)
    assert words.startswith("Gaussian (bandwidth 0.333)")
    assert "equality of categories" in words


def test_a_model_is_compared_with_a_file_by_name():
    from mercer.htest import KSD
    from mercer.rkhs import Gaussian

    model = Gaussian(0.0, 1.0)
    result = KSD(model).test(model.sample(60, rng=0) + 2.0, rng=0)
    page = goodness_report(result, name="waiting.csv")
    assert "waiting.csv does not come from Gaussian(0, 1)" in page
    assert "If waiting.csv came from the model" in page


def test_names_break_between_their_words():
    assert breakable("hours_to_delivery") == "hours_<wbr>to_<wbr>delivery"
    assert breakable("orders_april.csv") == "orders_<wbr>april.csv"
    assert breakable("a <b>") == "a &lt;b&gt;"
    assert breakable("_x") == "_x"
