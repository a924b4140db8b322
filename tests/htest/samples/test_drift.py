"""Batches against a reference: the same tests as `two_sample`, corrected for their number."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer.htest import MMD, BenjaminiHochberg, drift, two_sample

RNG = np.random.default_rng(0)
REFERENCE = RNG.normal(size=(60, 2))
BATCHES = {"calm": RNG.normal(size=(40, 2)), "moved": RNG.normal(1.0, 1.0, size=(50, 2))}


@pytest.fixture(scope="module")
def result():
    return drift(REFERENCE, BATCHES, name="January", resamples=199, rng=0)


def test_each_batch_is_tested_as_by_two_sample(result):
    rng = np.random.default_rng(0)
    expected = [two_sample(REFERENCE, b, resamples=199, rng=rng).pvalue for b in BATCHES.values()]
    assert [batch.result.pvalue for batch in result] == expected
    corrected = BenjaminiHochberg().adjusted(expected)
    assert_allclose([batch.corrected for batch in result], corrected)


def test_what_it_says(result):
    assert [batch.name for batch in result.drifted()] == ["moved"]
    assert result.drifted(1e-9) == ()
    text = str(result)
    assert "1 of 2 batches differs from January (false-discovery rate 0.05)." in text
    assert "moved: a classifier" in text or "moved:" in text
    assert "calm:" not in text
    assert result.to_dict()["drifted"] == ["moved"]
    assert len(result.to_frame()) == len(result) == 2


def test_notes_of_some_batches_have_their_names(result):
    of_all = set(result.batches[0].result.notes) & set(result.batches[1].result.notes)
    for name, batch in zip(BATCHES, result, strict=True):
        own = [note for note in batch.result.notes if note not in of_all]
        assert all(f"{name}: {note}" in result.notes for note in own)
        assert own or name == "calm"  # how many kernels reject
    assert all(note in result.notes for note in of_all)


def test_batches_of_a_list_have_numbers_and_enough_resamples():
    result = drift(REFERENCE, [REFERENCE + 0.0] * 15, test=MMD(), resamples=99, rng=0)
    assert [batch.name for batch in result][:2] == ["batch 1", "batch 2"]
    assert "batches" in result.cautions(0.05)[0]  # 99 permutations cannot tell 15 batches
    assert drift(REFERENCE, [REFERENCE], rng=0).cautions() == ()


def test_what_is_refused():
    with pytest.raises(TypeError, match="for a single batch use two_sample"):
        drift(REFERENCE, REFERENCE)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one sample"):
        drift(REFERENCE, [])
    with pytest.raises(ValueError, match="level"):
        drift(REFERENCE, BATCHES, level=2.0)


def test_messages_on_batches_say_which_one():
    rng = np.random.default_rng(0)
    batches = {"May": rng.normal(size=(30, 2)), "June": rng.normal(size=(30, 2))}
    batches["June"][3, 1] = np.nan
    with pytest.raises(ValueError, match="y has NaN") as refused:
        drift(rng.normal(size=(40, 2)), batches, rng=0)
    assert refused.value.__notes__ == ["x is the reference here, and y the batch 'June'"]
