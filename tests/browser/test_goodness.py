"""The report of a goodness-of-fit test in a real browser: nothing from the data runs, all is drawn."""

import re

import numpy as np
import pytest

from mercer.htest import FSSD
from mercer.rkhs import Gaussian
from tests.browser.chromium import browser, dom, screenshot
from tests.browser.test_report import EVIL, LOOK, VECTOR, WORSE, attributes, look

pd = pytest.importorskip("pandas")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from mercer.report import goodness_report  # noqa: E402

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory):
    """A page on columns and a model with the worst of names, without its policy, and a look at it."""
    browser()
    model = Gaussian([0.0, 0.0], 1.0)
    x = model.sample(200, rng=0)
    x[:80] += [3.0, 0.0]
    frame = pd.DataFrame(x, columns=[EVIL, VECTOR])
    result = FSSD.optimized(model, frame.iloc[::2], locations=2, rng=0).test(frame.iloc[1::2])
    text = goodness_report(result, model=WORSE, notes=[EVIL], facts={VECTOR: WORSE}, again=EVIL)
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    file = tmp_path_factory.mktemp("report") / "goodness.html"
    file.write_text(text.replace("</body>", LOOK + "</body>"), encoding="utf-8")
    return file


def test_nothing_from_the_data_runs(unguarded, tmp_path):
    text = dom(unguarded, tmp_path)
    root = re.search(r"<html[^>]*>", text)
    assert root is not None
    assert "data-taken" not in root[0]
    assert not any(name.startswith("on") for name in attributes(text))


@pytest.mark.parametrize("width", [1200, 600])
def test_every_picture_is_drawn(unguarded, tmp_path, width):
    image = pytest.importorskip("PIL.Image")
    seen = look(unguarded, tmp_path, width)
    assert {f["id"] for f in seen["figures"]} == {"null", "witness", "evidence", "columns"}
    assert seen["images"] >= 2  # both maps
    assert seen["width"] <= width  # nothing sticks out
    picture = image.open(screenshot(unguarded, tmp_path, width, seen["height"])).convert("RGB")
    for figure in seen["figures"]:
        assert figure["width"] > 250, figure
        assert figure["texts"] >= 3, figure
        x, y, w, h = (round(figure[k]) for k in ("x", "y", "width", "height"))
        part = np.asarray(picture.crop((x, y, x + w, y + h)))
        assert len(np.unique(part.reshape(-1, 3), axis=0)) > 20, figure
