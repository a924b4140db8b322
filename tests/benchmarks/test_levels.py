"""The study of levels can be run in parts, goes on where it stopped, and tells what is outside."""

from scipy.stats import binom

from benchmarks.reproductions import calibration_page, levels
from tests.support.htest_levels import Cell, band
from tests.support.studies import Study

STUDY = Study("two_sample_level", "two_sample_calibration")


def test_runs_go_on_where_they_stopped(tmp_path):
    cell = "Hotelling(); counts"
    first = STUDY.cells(tmp_path, "--only", cell, "--runs", "20")
    more = STUDY.cells(tmp_path, "--only", cell, "--runs", "40")
    whole = STUDY.cells(tmp_path / "whole", "--only", cell, "--runs", "40")
    (name,) = first
    assert (first[name]["runs"], more[name]["runs"]) == (20, 40)
    assert more[name]["rejections"] == whole[name]["rejections"]
    assert "| Hotelling() | counts | 60/40 |" in STUDY.page(tmp_path)


def test_a_rate_outside_after_400_runs_is_run_on_to_2000():
    """The first rate is kept, and stays what it was."""
    cells = [Cell("test", name, (30,), lambda seed: False) for name in ("inside", "outside", "new")]
    inside, outside, new = (cell.name for cell in cells)
    store = {
        "cells": {
            inside: {"runs": 400, "seconds": 0.0, "rejections": 20},
            outside: {"runs": 400, "seconds": 0.0, "rejections": 60},
        }
    }
    assert levels.wanted_runs(cells, store) == {inside: 400, outside: 2000, new: 400}
    store["cells"][outside] |= {"runs": 900, "rejections": 70}
    assert levels.wanted_runs(cells, store)[outside] == 2000
    assert store["cells"][outside]["first"] == 0.15
    assert levels.wanted_runs(cells, store, 100) == dict.fromkeys((inside, outside, new), 100)


def test_rates_of_few_runs_are_judged_by_the_band_of_so_many():
    """None of 16 runs, or three of them, is no evidence against a level of 5%; none of 400, or half of them, is."""
    cell = Cell("test", "problem", (30,), lambda seed: False)
    assert cell.holds(0.0, 16)
    assert cell.holds(3 / 16, 16)
    assert not cell.holds(8 / 16, 16)
    assert not cell.holds(0.0, 400)
    for runs in (20, 100, 399):
        least, most = band(runs)
        assert binom.cdf(least * runs - 1, runs, 0.05) <= 1e-4
        assert binom.sf(most * runs, runs, 0.05) <= 1e-4


def test_bounds_have_no_lower_end_and_intervals_a_table_of_their_own(tmp_path):
    done = STUDY.run(tmp_path, "--only", "Bound()); normal, d = 1", "--runs", "5")
    assert done.code == 0
    assert "| 0.00% | 5 | yes, at most |" in done.text
    text = STUDY.run(tmp_path, "--only", "coverage; d = 1; none; 30/30", "--runs", "5").text
    assert "| 1 | none | 30/30 |" in text


def test_the_page_of_the_site_shows_what_is_on_record():
    docs = calibration_page.DOCS
    assert (docs / "calibration.md").read_text(encoding="utf-8") == calibration_page.page()
    assert all(family.picture.exists() for family in calibration_page.FAMILIES)
    assert "\ncalibration\n" in (docs / "index.md").read_text(encoding="utf-8")
