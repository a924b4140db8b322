"""Tables of tests on papers, faces and signals: runs go on, and papers are assigned to one field each."""

import os

import pytest

from tests.support.studies import Study, said

STUDY = Study("applied_tables", "applied_tables")
FACES = ("--problem", "+ against -", "--tests", "ME-grid")


def test_runs_go_on_where_they_stopped(tmp_path):
    (first,) = STUDY.cells(tmp_path, *FACES, "--runs", "1").values()
    (more,) = STUDY.cells(tmp_path, *FACES, "--runs", "2").values()
    assert (first["runs"], more["runs"], more["n"]) == (1, 2, [201])
    page = STUDY.page(tmp_path)
    assert "| + against - | 201 | 201 |" in page
    assert "(printed 0.656)" in page


@pytest.mark.skipif(not os.environ.get("MERCER_DATA"), reason="MERCER_DATA names no folder")
def test_fields_of_papers_do_not_overlap():
    code = """
import numpy as np
from benchmarks.reproductions.applied_samples import corpus, questions, texts_of
known = corpus()
rows = np.concatenate(list(known.rows.values()))
print(len(rows) == len(set(rows.tolist())), min(map(len, known.rows.values())) > 100)
print(known.points.shape[1] == 2000, np.allclose(np.linalg.norm(known.points, axis=1), 1))
(a, b), (c, d) = texts_of(known, "Bayes", "Bayes", np.random.default_rng(0))
print(len(a) == len(b) == len(c) == len(d) == len(known.rows["Bayes"]) // 4)
asked = questions()
print("who" in asked.words, {len(rows) > 500 for rows in asked.rows.values()} == {True})
"""
    assert set(said(code).split()) == {"True"}
