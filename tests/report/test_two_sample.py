"""The report says what the result says, escapes what it is given, and stays small."""

import re
from functools import cache
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pytest

from mercer.htest import MMD, Permutation
from mercer.kernels import RBF

pd = pytest.importorskip("pandas")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from mercer.report import two_sample_report  # noqa: E402

EVIL = '<script>document.title="taken"</script>'
WORSE = '"><img src=x onerror="document.title=1">'


class Page(HTMLParser):
    """Elements and texts of a page; complains about what is left open."""

    VOID = frozenset({"meta", "link", "img", "br", "hr", "wbr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.elements: list[tuple[str, dict]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.stack == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.stack, tag
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def named(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def frames(n: int = 60, shift: float = 1.0, names=("height", "city")):
    rng = np.random.default_rng(0)
    return tuple(
        pd.DataFrame({names[0]: rng.normal(s, 1.0, n), names[1]: rng.choice(["Rome", "Oslo"], n)})
        for s in (0.0, shift)
    )


def report(x, y, **more) -> str:
    return two_sample_report(MMD(null=Permutation(99)).test(x, y, rng=0), **more)


@cache
def usual() -> str:
    """A page that several tests look at."""
    return report(*frames())


def test_the_page_says_what_the_result_says():
    x, y = frames()
    result = MMD(null=Permutation(99)).test(x, y, rng=0)
    page = Page(two_sample_report(result, names=("March", "April"), again="mercer two-sample a b"))
    effect = result.effect()
    for expected in (
        "March and April differ",
        f"{result.pvalue:.4g}",
        f"{effect.standardized:.4g}",
        f"{effect.mmd2:.4g}",
        "60 + 60",
        "1 of 2 columns differs on its own",
        "mercer two-sample a b",
        "MMD: two-sample test by the squared maximum mean discrepancy",
        "99 resamples",
    ):
        assert expected in page.text
    assert {"null", "ranking", "along0", "along1", "gram", "power"} <= {
        a.get("id") for a in page.named("figure")
    }


def test_no_difference_is_no_proof():
    x, y = frames(shift=0.0)
    page = Page(report(x, y))
    assert "No difference was found between" in page.text
    assert "This does not prove that they are the same" in page.text


def test_an_area_below_one_half_is_a_guess_as_in_the_terminal():
    """The card said 41% beside the interval "50% to 59%"; the terminal said 50%."""
    rng = np.random.default_rng(1)
    results = (
        MMD(null=Permutation(19)).test(*rng.normal(size=(2, 40, 2)), rng=0) for _ in range(9)
    )
    result = next(r for r in results if r.effect().auc < 0.49)
    (told,) = re.findall(r"told apart by a classifier</dt><dd>(\d+)%", two_sample_report(result))
    assert told == "50"
    assert "tells them apart 50% of the time" in result.summary()


def test_a_column_that_differs_alone_is_in_the_headline():
    """The page said that no difference was found, in green, above the column that differs by three deviations."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 40, 300))
    y[:, 17] += 3.0
    result = MMD(RBF(0.1), null=Permutation(99)).test(x, y, rng=0)
    assert not result.rejects()
    page = two_sample_report(result, names=("a", "b"))
    headline = re.sub(r"\s+", " ", re.sub("<[^>]+>", "", page.split("<h1>")[1].split("</h1>")[0]))
    alone = "1 of 300 columns differs on its own"
    assert (
        headline == f"No difference was found between a and b in all columns together, but {alone}"
    )
    assert "only that the test found no difference" not in page
    assert '<header class="same">' not in page


def test_every_picture_has_a_text():
    page = Page(usual())
    pictures = page.named("svg")
    assert len(pictures) >= 6
    assert all(len(p["aria-label"]) > 30 and p["role"] == "img" for p in pictures)
    assert page.named("html")[0]["lang"] == "en"
    assert len(page.named("h1")) == 1


def test_ids_are_the_page_s_own():
    ids = [a["id"] for _, a in Page(usual()).elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_it_opens_without_a_network_and_runs_nothing():
    text = usual()
    page = Page(text)
    assert page.named("script") == []
    assert page.named("link") == []
    policy = next(a["content"] for a in page.named("meta") if "http-equiv" in a)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    for _, attributes in page.elements:
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith(("#", "data:image/png;base64,"))
    assert set(re.findall(r"https?://[^\s\"'<)]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_every_string_is_escaped():
    x, y = frames(names=(EVIL, WORSE))
    x[WORSE] = x[WORSE].replace("Rome", EVIL)
    text = report(
        x, y, names=(EVIL, WORSE), notes=[EVIL], again=WORSE, facts={EVIL: WORSE}, level=0.05
    )
    page = Page(text)
    assert page.named("script") == []
    assert page.named("img") == []
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert EVIL not in text
    assert EVIL in unescape(text)


def test_odd_names_are_drawn():
    x, y = frames(names=("cost in $ per $\\frac{", "名前 \x01\x1b[2J"))
    page = report(x, y, names=("a" * 5000, "b\n\tb"))
    assert "\x1b" not in page
    assert "\x01" not in page
    Page(page)


@pytest.mark.parametrize(("n", "d"), [(1500, 3), (60, 120), (2, 1), (4, 2)])
def test_the_page_stays_small(n, d):
    rng = np.random.default_rng(1)
    columns = [
        f"a rather long name of column number {j}, to see what becomes of it" for j in range(d)
    ]
    x, y = (pd.DataFrame(rng.normal(s, 1.0, size=(n, d)), columns=columns) for s in (0.0, 0.3))
    page = report(x, y)
    assert len(page.encode()) < 700_000
    Page(page)


def test_arrays_and_one_column():
    rng = np.random.default_rng(0)
    for shape in ((50,), (50, 2), (50, 5)):
        Page(report(rng.normal(size=shape), rng.normal(1.0, 1.0, size=shape)))


def test_samples_of_objects():
    from mercer.kernels import Delta

    labels = np.array(["u", "v", "w"])
    rng = np.random.default_rng(0)
    x, y = (list(labels[rng.choice(3, 60, p=p)]) for p in ([0.6, 0.2, 0.2], [0.2, 0.2, 0.6]))
    Page(two_sample_report(MMD(Delta(), null=Permutation(99)).test(x, y, rng=0)))


def test_the_same_result_gives_the_same_page():
    assert report(*frames()) == usual()


def test_only_two_sample_results():
    with pytest.raises(TypeError, match="the result of a two-sample test"):
        two_sample_report(0.5)  # type: ignore[arg-type]


def test_weighted_samples():
    from mercer.rkhs.distributions import Empirical

    rng = np.random.default_rng(0)
    weights = rng.random(60)
    x = Empirical(rng.normal(size=(60, 2)), weights / weights.sum())
    Page(
        two_sample_report(
            MMD(RBF(1.0), null=Permutation(99)).test(x, rng.normal(size=(50, 2)), rng=0)
        )
    )


def test_the_rows_listed_are_those_around_which_a_sample_outweighs_the_other():
    rng = np.random.default_rng(3)
    narrow, wide = rng.normal(0, 1, (200, 1)), rng.normal(0, 4, (200, 1))
    result = MMD().test(narrow, wide, rng=0)
    page = Page(two_sample_report(result)).text
    points = result.points(5)
    for side, sample, other in ((points.first, narrow, wide), (points.second, wide, narrow)):
        for row in side.rows:  # a mean of kernel values is large where many rows are near
            near = [np.exp(-np.abs(s - row)).mean() for s in (sample, other)]
            assert near[0] > near[1]
    assert np.abs(result.points(5).first.rows).max() < 1  # in the middle of both samples
    assert "Rows where the samples differ most" in page
    assert "fewest similar rows" not in page
    assert "row (from 1)" in page
    assert f" {result.points(1).first.indices[0] + 1} " in page
