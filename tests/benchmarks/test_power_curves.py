"""Curves of power: runs go on where they stopped, and every picture of the page has its family."""

from pathlib import Path

from benchmarks.reproductions import power_curves
from tests.support.studies import Study

STUDY = Study("power_curves", "power_curves")


def test_runs_go_on_and_tests_of_a_point_see_the_same_observations(tmp_path):
    arguments = ("--family", "goodness", "--seconds", "0")
    first = STUDY.cells(tmp_path, *arguments, "--runs", "1")
    more = STUDY.cells(tmp_path, *arguments, "--runs", "1")
    assert (len(first), len(more)) == (1, 2)  # one run each, the time being over
    assert "## Goodness of fit: columns, 500 observations" in STUDY.page(tmp_path)


def test_the_page_shows_all_families():
    page = (power_curves.DOCS / "power.md").read_text(encoding="utf-8")
    for family in power_curves.FAMILIES:
        picture = Path("_static") / f"power_curves_{family}.svg"
        assert picture.as_posix() in page
        assert (power_curves.DOCS / picture).exists()
