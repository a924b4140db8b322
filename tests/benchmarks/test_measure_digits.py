"""Virtual digits are what they are said to be; the study of them runs in parts and tells what it found."""

import json
import os

import pytest

from tests.support.studies import Study, said

STUDY = Study("measure_digits", "virtual_digits")
needs_data = pytest.mark.skipif(
    not os.environ.get("MERCER_DATA"), reason="MERCER_DATA names no folder with the USPS digits"
)


def test_pictures_are_moved_turned_and_scaled():
    code = """
import numpy as np
from benchmarks.reproductions import virtual_digits as v
rng = np.random.default_rng(0)
image = np.zeros((16, 16))
image[5:11, 4:13] = rng.random((6, 9))
def made(matrix, shift):
    v.KINDS["told"] = lambda n, rng: (np.array([matrix] * n, float), np.array([shift] * n, float))
    found = v.virtual_examples(image[None], "told", 2, rng)
    assert found.shape == (1, 2, 256) and found.min() >= 0 and found.max() <= 1
    return found[0, 0].reshape(16, 16)
shift = np.roll(image, (2, -3), axis=(0, 1))
print(np.allclose(made(np.eye(2), [2, -3]), shift))
quarter = made([[0, -1], [1, 0]], [0, 0])
print(np.allclose(quarter, np.rot90(image)) or np.allclose(quarter, np.rot90(image, -1)))
large = made(np.diag([1.2, 1.1]), [0, 0])
print(abs(large.sum() / image.sum() - 1.2 * 1.1) < 0.05)
"""
    assert said(code).split() == ["True"] * 3


def test_parameters_have_the_laws_of_the_paper():
    """Within four standard errors; E cos of an angle N(0, s^2) is exp(-s^2 / 2)."""
    code = """
import numpy as np
from benchmarks.reproductions.virtual_digits import KINDS
n, rng = 40_000, np.random.default_rng(0)
def near(values, wanted):
    return abs(np.mean(values) - wanted) < 4 * np.std(values) / len(values) ** 0.5
matrices, shifts = KINDS["translation"](n, rng)
print(np.all(matrices == np.eye(2)), near(shifts[:, 0], 0), near(shifts[:, 1] ** 2, 5))
matrices, shifts = KINDS["scaling"](n, rng)
factors = matrices[:, [0, 1], [0, 1]]
print(np.all(shifts == 0), factors.min() > 0.1)
print(abs(factors.mean() - 1) < 0.01, abs(factors.var() - 0.1) < 0.003)
matrices, _ = KINDS["rotation"](n, rng)
print(np.allclose(np.linalg.det(matrices), 1), near(matrices[:, 0, 0], np.exp(-np.pi / 2)))
matrices, _ = KINDS["rotation in degrees"](n, rng)
print(near(np.rad2deg(np.arcsin(matrices[:, 1, 0])) ** 2, np.pi))
"""
    assert set(said(code).split()) == {"True"}


@needs_data
def test_runs_go_on_where_they_stopped(tmp_path):
    part = ("--task", "3-4", "--kind", "scaling", "--numbers", "10")
    (first,) = STUDY.cells(tmp_path, *part, "--runs", "1").values()
    assert STUDY.cells(tmp_path, *part, "--runs", "1") == {"3-4/scaling/10": first}
    (more,) = STUDY.cells(tmp_path, *part, "--runs", "2").values()
    assert more["runs"] == 2
    for name, values in first.items():
        if isinstance(values, list):
            assert more[name][:1] == values
    assert more["svm pictures"][0] > 0.9
    assert min(more["smm bags"] + more["asvm vote"]) > 0.9  # threes and fours
    page = STUDY.page(tmp_path)
    assert "| 3-4 | 10 |" in page
    assert "| ASVM | 10 |" in page


@needs_data
def test_splits_keep_pictures_apart():
    code = """
import numpy as np
from benchmarks.reproductions.virtual_digits import splits
train, test = splits((3, 8), "rotation", 2, 0)
other = splits((3, 8), "scaling", 2, 0)[0]
print(train.virtual.shape, test.virtual.shape, np.bincount(test.labels))
print(np.array_equal(train.images, other.images), np.array_equal(train.virtual, other.virtual))
same = (train.images[:, None] == test.images[None]).all(axis=(2, 3))
print(same.sum())
"""
    lines = said(code).splitlines()
    assert lines == ["(134, 2, 256) (66, 2, 256) [33 33]", "True False", "0"]


def test_better_and_worse_are_paired(tmp_path):
    names = ("svm pictures", "svm each", "svm vote", "asvm each", "asvm vote", "asvm pictures")
    scores = {name: [0.90, 0.92, 0.91] for name in names}
    scores |= {"smm bags": [0.93, 0.95, 0.945], "smm pictures": [0.9, 0.9, 0.9]}
    scores |= {"svm pictures": [0.99, 0.99, 0.99], "svm vote": [0.95, 0.93, 0.945]}
    steps = ("search", "fit", "predict")
    scores |= {f"smm {step} seconds": [1.0, 1.0, 1.0] for step in steps}
    scores |= {f"asvm {step} seconds": [5.0, 5.0, 5.0] for step in steps}
    cells = {"3-8/rotation/10": {"runs": 3, "seconds": 1.0, **scores}}
    file = tmp_path / "virtual_digits.json"
    file.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    STUDY.run(tmp_path, "--runs", "0")
    page = STUDY.page(tmp_path)
    assert "| rotation | SVM, pictures | 1 | 0 | 1 | 0 | -4.8 ± 0.6 |" in page
    assert "| rotation | SVM, vote | 1 | 0 | 0 | 1 | +0.0 ± 1.2 |" in page
    assert "| rotation | ASVM, vote | 1 | 1 | 0 | 0 | +3.2 ± 0.2 |" in page
    assert "| 10 | -4.8 ± 0.6 |" in page
    assert "| ASVM | 10 | 5.000 | 5.000 | 5.000 | 15.00 | 5.0 | 5.0 |" in page
