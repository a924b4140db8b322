"""The study of the defaults: problems for both doors, cells that go on, and a page that judges them."""

import numpy as np

from benchmarks.reproductions import default_peers as peers
from benchmarks.reproductions import default_problems as problems
from tests.support.studies import Study

STUDY = Study("default_power", "default_power")
PART = ("--problem", "linear", "null", "--tests", "mercer", "Pearson", "Hotelling")


def test_both_doors_have_the_same_twelve_alternatives_and_a_null():
    assert list(problems.TWO_SAMPLE) == list(problems.INDEPENDENCE)
    assert len(problems.TWO_SAMPLE) == 13
    for name, problem in problems.INDEPENDENCE.items():
        x, y = problem(np.random.default_rng(0))
        assert len(x) == len(y) == problems.N, name


def test_margins_of_dependent_and_independent_pairs_are_the_same():
    rng = np.random.default_rng(0)
    pairs = [problems.TWO_SAMPLE["quadratic"](rng) for _ in range(50)]
    first, second = (np.concatenate([pair[i] for pair in pairs]) for i in range(2))
    assert np.allclose(first.mean(axis=0), second.mean(axis=0), atol=0.05)
    assert np.allclose(first.std(axis=0), second.std(axis=0), atol=0.05)
    squares = [np.corrcoef(sample[:, 0] ** 2, sample[:, 1])[0, 1] for sample in (first, second)]
    assert squares[0] > 0.5 > 0.1 > abs(squares[1])


def test_a_study_goes_on_where_it_ended(tmp_path):
    part = ("--door", "independence", *PART)
    assert STUDY.cells(tmp_path, *part, "--runs", "1")["independence/linear/Pearson"]["runs"] == 1
    cells = STUDY.cells(tmp_path, *part, "--runs", "3")
    assert {entry["runs"] for entry in cells.values()} == {3}
    assert "| linear | 3 |" in STUDY.page(tmp_path)


def test_peers_refuse_what_they_do_not_take():
    x, y = problems.INDEPENDENCE["one of ten columns"](np.random.default_rng(0))
    assert peers.pvalue(peers.INDEPENDENCE["Pearson"], (x, y), 0) is None
