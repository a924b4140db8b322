"""The report in a real browser: nothing from the data runs, everything is drawn."""

import json
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from mercer.htest import MMD, Permutation
from tests.browser.chromium import browser, dom, screenshot

pd = pytest.importorskip("pandas")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from mercer.report import two_sample_report  # noqa: E402

pytestmark = pytest.mark.browser

TAKEN = "document.documentElement.dataset.taken=1"
EVIL = f"<script>{TAKEN}</script>"
WORSE = f'"><img src=x onerror="{TAKEN}">'
VECTOR = f"</text></svg><svg onload='{TAKEN}'>"
LOOK = """
<script>
const seen = {title: document.title, width: document.documentElement.scrollWidth,
              height: document.documentElement.scrollHeight, figures: [], images: 0};
for (const figure of document.querySelectorAll("figure")) {
  const svg = figure.querySelector("svg"), box = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].filter(t => t.getBoundingClientRect().width > 0);
  seen.figures.push({id: figure.id, x: box.x, y: box.y + scrollY, width: box.width,
                     height: box.height, texts: texts.length});
}
const images = [...document.querySelectorAll("image")].map(i => {
  const copy = new Image(); copy.src = i.getAttribute("xlink:href").replace(/\\s/g, "");
  return copy.decode().then(() => { if (copy.naturalWidth > 20) seen.images += 1; });
});
Promise.allSettled(images).then(() => {
  document.documentElement.dataset.seen = JSON.stringify(seen);
});
</script>
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report on columns, labels and files with the worst of names."""
    browser()
    rng = np.random.default_rng(0)
    x, y = (
        pd.DataFrame(
            {
                EVIL: rng.normal(shift, 1.0, 80),
                WORSE: rng.choice([EVIL, WORSE, VECTOR], 80, p=shares),
                VECTOR: rng.exponential(1.0, 80),
                "plain": rng.normal(0.0, 1.0, 80),
            }
        )
        for shift, shares in ((0.0, [0.6, 0.2, 0.2]), (1.0, [0.2, 0.2, 0.6]))
    )
    result = MMD(null=Permutation(199)).test(x, y, rng=0)
    text = two_sample_report(
        result, names=(EVIL, VECTOR), notes=[WORSE], facts={EVIL: WORSE}, again=EVIL
    )
    file = tmp_path_factory.mktemp("report") / "report.html"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def unguarded(page):
    """The page without its policy and with a script that looks around: escaping alone must hold."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8"))
    assert "Content-Security-Policy" not in text
    file = page.with_name("unguarded.html")
    file.write_text(text.replace("</body>", LOOK + "</body>"), encoding="utf-8")
    return file


def attributes(text: str) -> list[str]:
    """The names of the attributes of all elements."""
    names: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, attrs: names.extend(name for name, _ in attrs)
    parser.feed(text)
    return names


def look(file, folder, width: int = 1200) -> dict:
    for _ in range(4):  # a busy machine may tell what it has before the script has run
        found = re.search(r'data-seen="([^"]*)"', dom(file, folder, width))
        if found is not None:
            break
    assert found is not None
    return json.loads(unescape(found[1]))


def test_nothing_from_the_data_runs(page, unguarded, tmp_path):
    for file in (page, unguarded):
        text = dom(file, tmp_path)
        root = re.search(r"<html[^>]*>", text)
        assert root is not None
        assert "data-taken" not in root[0]
        names = attributes(text)
        assert len(names) > 100
        assert not any(name.startswith("on") for name in names)
    assert "<script" not in dom(page, tmp_path)


def test_the_policy_stops_what_escaping_would_miss(page, tmp_path):
    file = tmp_path / "injected.html"
    file.write_text(page.read_text("utf-8").replace("</h1>", f"</h1>{EVIL}", 1), encoding="utf-8")
    root = re.search(r"<html[^>]*>", dom(file, tmp_path))
    assert root is not None
    assert "data-taken" not in root[0]


@pytest.mark.parametrize("width", [1200, 600])
def test_every_picture_is_drawn(unguarded, tmp_path, width):
    image = pytest.importorskip("PIL.Image")
    seen = look(unguarded, tmp_path, width)
    assert {f["id"] for f in seen["figures"]} >= {"null", "ranking", "along0", "gram", "power"}
    assert seen["images"] >= 1  # the heat map
    assert seen["width"] <= width  # nothing sticks out
    picture = image.open(screenshot(unguarded, tmp_path, width, seen["height"])).convert("RGB")
    for figure in seen["figures"]:
        assert figure["width"] > 250, figure
        assert figure["height"] > 100, figure
        assert figure["texts"] >= 3, figure
        x, y, w, h = (round(figure[k]) for k in ("x", "y", "width", "height"))
        part = np.asarray(picture.crop((x, y, x + w, y + h)))
        drawn = np.any(np.abs(part.astype(int) - part[0, 0].astype(int)) > 40, axis=2)
        assert 0.003 < drawn.mean() < 0.95, figure
        assert len(np.unique(part.reshape(-1, 3), axis=0)) > 20, figure


def test_dark_is_dark(page, tmp_path):
    image = pytest.importorskip("PIL.Image")
    dark = screenshot(page, tmp_path, 800, 600, "--blink-settings=preferredColorScheme=0")
    pixels = np.asarray(image.open(dark).convert("L"))
    assert np.median(pixels) < 60
    assert np.quantile(pixels, 0.995) > 180  # words
