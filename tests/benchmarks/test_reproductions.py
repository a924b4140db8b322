"""The published studies can be run in parts, go on where they stopped, and tell what they found."""

import json

import pytest

from tests.support.studies import Study, said

STUDY = Study("two_sample_power", "two_sample_power")


@pytest.mark.parametrize(
    ("name", "part", "row"),
    [
        (
            "two_sample_power",
            ["--problem", "gvd50", "--sizes", "1000", "--tests", "ME optimised", "MMD linear"],
            "| gvd50 | 1,000 | ME optimised |",
        ),
        (
            "independence_power",
            ["--problem", "turn10", "--tests", "NFSIC-rand", "NyHSIC"],
            "| turn10 | 4,000 | NFSIC-rand | 1.00 ± 0.00 | 2 | 1.00 ± 0.00 | 1 | yes |",
        ),
        (
            "goodness_power",
            ["--problem", "variance1", "--tests", "FSSD-rand", "LKS"],
            "| variance1 | FSSD-rand | 1.00 ± 0.00 | 2 | 1.00 ± 0.00 | 1 | yes |",
        ),
    ],
)
def test_runs_go_on_where_they_stopped(name, part, row, tmp_path):
    study = Study(name, name)
    first = study.cells(tmp_path, *part, "--runs", "1")
    assert [cell["runs"] for cell in first.values()] == [1] * 4  # two tests, ours and theirs
    assert study.cells(tmp_path, *part, "--runs", "1") == first
    more = study.cells(tmp_path, *part, "--runs", "2", "--only-mercer")
    assert {key.split("/")[-1]: cell["runs"] for key, cell in more.items()} == {
        "mercer": 2,
        "published": 1,
    }
    assert row in study.page(tmp_path)


def test_the_printed_rates_stand_beside_ours(tmp_path):
    tests = ("MMDAgg, five Gaussians", "MMDAgg, default")
    cells = STUDY.cells(tmp_path, "--problem", "uniform1-1", "--tests", *tests, "--runs", "1")
    assert [cell["rejections"] for cell in cells.values()] == [1] * 3
    text = STUDY.page(tmp_path)
    assert (
        "| uniform1-1 | 500 | MMDAgg, five Gaussians | 1.000 | 0.21 to 1.00 | 1 | 1.000 | 1 |"
        in text
    )
    assert "| MMDAgg, default | 1.000 | 0.21 to 1.00 | 1 |  |  | 1.000 | few runs |" in text
    assert "Not reached: none of those run." in text


def test_what_is_missed_is_told(tmp_path):
    cell = {"runs": 100, "rejections": 10, "seconds": 1.0}
    cells = {"uniform1-2/500/MMDAgg, default/mercer": cell}
    (tmp_path / f"{STUDY.name}.json").write_text(json.dumps({"cells": cells}), encoding="utf-8")
    STUDY.run(tmp_path, "--runs", "0")
    text = STUDY.page(tmp_path)
    assert "Not reached: uniform1-2, 500, MMDAgg, default." in text


def test_the_first_program_drew_points_twice():
    code = (
        "import numpy as np; from mercer.datasets import PerturbedUniform; "
        "from benchmarks.reproductions.shared_stream import shared_stream; "
        "x, y = shared_stream(PerturbedUniform(1, 3), 500, 0); "
        "print(len(x), len(y), len(np.intersect1d(x, y)) > 100)"
    )
    assert said(code) == "500 500 True"


def test_no_time_no_runs(tmp_path):
    cells = STUDY.cells(tmp_path, "--problem", "blobs", "--sizes", "1000", "--seconds", "0")
    assert sum(cell["runs"] for cell in cells.values()) == 1


def test_binomial_error():
    """A rate may lie below another by chance, and by how much depends on the runs."""
    cases = {
        (1.0, 100, 1.0, 500): True,
        (0.9, 100, 1.0, 500): False,
        (0.7, 100, 0.772, 500): True,
        (0.5, 100, 0.772, 500): False,
        (0.0, 3, 0.5, 500): True,  # three runs tell little
    }
    code = "from benchmarks.reproductions.records import reaches; "
    code += f"print([reaches(*case) for case in {list(cases)}])"
    assert said(code) == str(list(cases.values()))
