"""Cautions of missing values: columns that lack them in the same rows, and most rows left out."""

import numpy as np
import pytest

from mercer.cli.match import Missing, matched
from mercer.cli.missing_cautions import missing_together
from mercer.cli.table import File, NumericColumn
from tests.support.cli_runs import run

pd = pytest.importorskip("pandas")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def file_of(values):
    names = [f"c{j}" for j in range(values.shape[1])]
    columns = [(name, NumericColumn(v)) for name, v in zip(names, values.T, strict=True)]
    return File("data.csv", dict(columns))


def with_gaps(shape, share, rng, together=()):
    """Independent columns with independent gaps, except that those named have them in the same rows."""
    values, gaps = rng.normal(size=shape), rng.random(shape) < share
    for j in together[1:]:
        gaps[:, j] = gaps[:, together[0]]
    return np.where(gaps, np.nan, values)


def cautions(values, missing):
    notes = []
    matched([file_of(values)], missing, notes)
    return [note for note in notes if note.startswith("Caution:")]


def test_values_filled_in_together_get_a_caution(rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = with_gaps((500, 4), 0.3, rng, together=(1, 3))
    pd.DataFrame(values, columns=[*"abcd"]).to_csv("survey.csv", index=False)
    out = run("independence", "survey.csv", "--missing", "impute")
    first = " ".join(out.stdout.split("\n\n")[0].split())
    both = int(np.isnan(values[:, [1, 3]]).all(axis=1).sum())
    assert f"Caution: 'b', 'd' are missing together in {both} of 500 rows" in first
    assert "Use --missing drop" in first


def test_columns_of_one_variable_may_miss_values_together(rng):
    file = file_of(with_gaps((500, 4), 0.3, rng, together=(1, 3)))
    both = int(file.columns["c1"].missing().sum())
    assert missing_together(file) == (("c1", "c3"), both)
    assert missing_together(file, against=("c1", "c3")) is None
    assert missing_together(file, against=("c1",)) == (("c1", "c3"), both)


def test_independent_gaps_get_none_at_the_level_over_all_pairs(rng):
    # 200 files of 45 pairs at 0.001 in all: one false caution in five such runs
    found = [missing_together(file_of(with_gaps((200, 10), 0.3, rng))) for _ in range(200)]
    assert sum(pair is not None for pair in found) <= 3


def test_few_common_gaps_get_none(rng):
    values = rng.normal(size=(500, 3))
    values[:20] = np.nan  # 4% of the rows
    assert cautions(values, Missing.IMPUTE) == []


def test_most_rows_left_out_get_a_caution_with_the_count(rng):
    values = with_gaps((700, 20), 0.07, rng)
    lacking = int(np.isnan(values).any(axis=1).sum())
    (said,) = cautions(values, Missing.DROP)
    assert f"{lacking} of 700 rows" in said
    assert f"the other {700 - lacking} only" in said
    assert said.endswith("only: select fewer columns, or use --missing impute.")
    assert cautions(values[:, :4], Missing.DROP) == []


def test_imputing_is_not_advised_where_it_would_get_a_caution(rng):
    (said,) = cautions(with_gaps((500, 3), 0.6, rng, together=(0, 1, 2)), Missing.DROP)
    assert "impute" not in said
    assert cautions(with_gaps((500, 1), 0.6, rng), Missing.DROP) == []  # no columns to leave out
