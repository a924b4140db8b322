"""The satellite's bags, whose file is not at hand: a file of the same layout, and files of others."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from mercer import datasets

savemat = pytest.importorskip("scipy.io").savemat
BAGS, PIXELS = 800, 100


@pytest.fixture
def misr(monkeypatch, tmp_path):
    """Writes the rows of a table as the file of the literature has them."""
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "aerosol").mkdir()
    return lambda table, name="MISR1": savemat(tmp_path / "aerosol/MISR1.mat", {name: table})


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """800 bags of 100 rows, 15 of 815 numbers left out, as in the file: number, 16 columns, label."""
    rng = np.random.default_rng(0)
    numbers = np.sort(rng.choice(np.arange(1, 816), BAGS, replace=False)).astype(np.float64)
    depths = rng.gamma(2.0, 0.08, size=BAGS)
    points = rng.normal(size=(BAGS * PIXELS, 16))
    return np.column_stack([np.repeat(numbers, PIXELS), points, np.repeat(depths, PIXELS)])


def test_bags_are_pixels_and_labels_depths(misr, rows):
    misr(rows)
    found = datasets.fetch_aerosol()
    assert len(found) == BAGS
    assert_array_equal(np.stack(found.bags), rows[:, 1:-1].reshape(BAGS, PIXELS, 16))
    assert_array_equal(found.labels, rows[::PIXELS, -1])
    assert "MISR1" in found.description


def test_rows_may_come_in_any_order(misr, rows):
    rng = np.random.default_rng(1)
    shuffled = rows[rng.permutation(len(rows))]
    misr(shuffled)
    found = datasets.fetch_aerosol()
    for i in (0, 1, BAGS - 1):
        own = shuffled[shuffled[:, 0] == rows[i * PIXELS, 0]]
        assert_array_equal(found.bags[i], own[:, 1:-1])
        assert_array_equal(found.labels[i], own[0, -1])


def test_bags_are_learnt_from(misr, rows):
    from mercer.learn import DistributionRegressor

    misr(rows)
    found = datasets.fetch_aerosol()
    model = DistributionRegressor().fit(found.bags[:10], found.labels[:10])
    assert model.predict(found.bags[10:13]).shape == (3,)


def _other_label(table: np.ndarray) -> np.ndarray:
    changed = table.copy()
    changed[7, -1] += 0.1
    return changed


def _other_bag(table: np.ndarray) -> np.ndarray:
    changed = table.copy()
    changed[7, 0] = changed[-1, 0]
    return changed


def _a_gap(table: np.ndarray) -> np.ndarray:
    changed = table.copy()
    changed[7, 3] = np.nan
    return changed


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda t: t[:-1], r"shape \(79999, 18\)"),
        (lambda t: t[:, :-1], r"shape \(80000, 17\)"),
        (_other_label, "100 to 100 pixels and 801 labels"),
        (_other_bag, "800 bags of 99 to 101 pixels"),
        (_a_gap, "got NaN or infinite values"),
    ],
)
def test_other_files_are_refused(misr, rows, change, told):
    misr(change(rows))
    with pytest.raises(ValueError, match=rf"800 bags of 100 pixels and 18 columns.*{told}"):
        datasets.fetch_aerosol()


def test_a_file_without_the_variable_is_refused(misr, rows):
    misr(rows[:10], name="MODIS")
    with pytest.raises(ValueError, match=r"variable MISR1.*shape \(0, 0\).*download it again"):
        datasets.fetch_aerosol()


def test_a_missing_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"aerosol/MISR1\.mat is not in"):
        datasets.fetch_aerosol()
