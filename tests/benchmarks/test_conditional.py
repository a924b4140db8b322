"""The studies of conditional tests can be run in parts, and go on where they stopped."""

from tests.support.studies import Study


def test_levels(tmp_path):
    cell = ("--only", "RCoT(); mean, d = 5; 200")
    study = Study("conditional_level", "conditional_calibration")
    first = study.cells(tmp_path, *cell, "--runs", "3")
    more = study.cells(tmp_path, *cell, "--runs", "6")
    assert [entry["runs"] for entry in (*first.values(), *more.values())] == [3, 6]
    assert "| RCoT() | mean, d = 5 | 200 |" in study.page(tmp_path)


def test_power(tmp_path):
    study = Study("conditional_power", "conditional_power")
    part = ("--sizes", "60", "--only", "RCoT")
    first = study.cells(tmp_path, *part, "--runs", "2")
    more = study.cells(tmp_path, *part, "--runs", "4")
    assert {entry["runs"] for entry in first.values()} == {2}
    assert {entry["runs"] for entry in more.values()} == {4}
    key = "60/sums/5/0.5/RCoT()"
    assert first[key]["rejections"] <= more[key]["rejections"]
    assert "y depends on x, 0.5" in study.page(tmp_path)
