"""DeepMMD: halves and their p-values, results, seeds, networks of the user, and refusals."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mercer
from mercer.errors import MemoryBudgetError
from mercer.htest import HSIC, MMD, DeepMMD, Permutation
from mercer.htest.samples import deep_mmd
from mercer.htest.samples.pooled_sample import KeptRows
from mercer.networks import training
from mercer.rkhs import Empirical

torch = pytest.importorskip("torch")
nn = torch.nn

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 2)), RNG.normal(0.8, 1.0, size=(30, 2))
P = Permutation(99)
FAST = DeepMMD(steps=5, null=P)


def test_p_is_twice_the_smaller_of_two_halves():
    both = FAST.test(X, Y, rng=3)
    first = DeepMMD(steps=5, null=P, cross_fit=False).test(X, Y, rng=3)
    shares = [float(word) for word in both.notes[1].rstrip(".").split() if word[0].isdigit()]
    assert_allclose(shares[0], first.pvalue, atol=0.006)
    assert_allclose(both.pvalue, 2 * min(first.pvalue, shares[1]), atol=0.012)
    assert len(first.notes) == 1


def test_so_few_resamples_that_nothing_can_be_found_are_told():
    few = DeepMMD(steps=5, null=Permutation(19)).test(X, Y, rng=3)
    assert "With 19 resamples it cannot be below 0.1, however clear" in few.notes[1]
    assert "use 39 or more, or cross_fit=False" in few.notes[1]
    enough = DeepMMD(steps=5, null=Permutation(39)).test(X, Y, rng=3)
    assert "cannot" not in enough.notes[1]


def test_the_statistic_is_mmd_of_the_rows_that_were_held_out():
    result = DeepMMD(steps=5, null=P, cross_fit=False).test(X, Y, rng=0)
    rows = result.pooled.rows
    assert rows is not None
    assert (len(rows.first), len(rows.second), rows.sizes) == (20, 15, (40, 30))
    by_mmd = MMD(result.kernel, null=P).statistic(X[rows.first], Y[rows.second])
    assert_allclose(result.statistic, by_mmd, rtol=1e-9)
    assert result.sizes == (40, 30)
    assert_allclose(result.effect().mmd2, by_mmd, rtol=1e-9)


def test_halves_cover_all_rows_and_keep_partners():
    rng = np.random.default_rng(0)
    for paired in (False, True):
        one, other = deep_mmd._halves(21, 21, paired, rng)
        for k in range(2):
            assert sorted([*one[k], *other[k]]) == list(range(21))
        assert np.array_equal(*one) == paired


def test_level_is_exact_whatever_is_learnt(monkeypatch):
    """A kernel that overfits its own half: p-values of the other half are uniform, by enumeration of their ranks."""
    monkeypatch.setattr(deep_mmd, "learnt_kernel", _learnt_by_heart)
    test = DeepMMD(null=Permutation(19), cross_fit=False)
    pvalues = []
    for run in range(150):
        rng = np.random.default_rng(run)
        x, y = rng.normal(size=(2, 12, 1))
        pvalues.append(test.test(x, y, rng=rng).pvalue)
    # P(p <= 0.2) = 0.2: 30 of 150, and 4.9 is the standard deviation
    assert 30 - 3.3 * 4.9 < np.count_nonzero(np.array(pvalues) <= 0.2 + 1e-9) < 30 + 3.3 * 4.9


def _learnt_by_heart(samples, *_):
    """Features say to which sample the nearest row belongs."""
    from mercer.networks.deep_kernel import Numbers
    from mercer.networks.learn_deep_kernel import LearntKernel

    class Nearest(nn.Module):
        def forward(self, rows):
            distances = [
                torch.cdist(rows, torch.tensor(s, dtype=rows.dtype)) for s in (samples.x, samples.y)
            ]
            return torch.stack([d.min(dim=1).values for d in distances], dim=1)

    return LearntKernel(Nearest(), Numbers(0.2, 2.0, 0.1), 1.0)


def test_pairs_and_blocks():
    """Partners that are alike: only swaps within pairs see the difference."""
    rng = np.random.default_rng(2)
    before = 4.0 * rng.normal(size=(60, 1))
    after = before + rng.normal(0.5, 0.2, size=(60, 1))
    paired = Permutation(99, paired=True)
    assert DeepMMD(steps=5, null=paired).test(before, after, rng=0).rejects()
    assert not DeepMMD(steps=5, null=P).test(before, after, rng=0).rejects()
    centre = (*range(60), *range(60))
    assert KeptRows(np.array([0, 3]), np.array([3]), (60, 60)).blocks(centre) == (0, 3, 3)
    with pytest.raises(ValueError, match="must have the same size where they are paired"):
        DeepMMD(steps=1, null=paired).test(X, Y, rng=0)


def test_the_same_seed_gives_the_same_result():
    state = torch.random.get_rng_state()
    results = [FAST.test(X, Y, rng=1) for _ in range(2)]
    assert results[0].statistic == results[1].statistic
    assert results[0].kernel == results[1].kernel
    assert FAST.test(X, Y, rng=2).statistic != results[0].statistic
    assert torch.equal(torch.random.get_rng_state(), state)
    assert FAST.statistic(X, Y) == FAST.statistic(X, Y)


def test_networks_of_the_user_are_copied_and_see_raw_rows():
    seen = []

    class Spy(nn.Linear):
        def forward(self, rows):
            seen.append(rows.detach().clone())
            return super().forward(rows)

    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = Spy(2, 3)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    result = DeepMMD(network, steps=30, null=P).test(X + 100.0, Y + 100.0, rng=0)
    assert all(torch.equal(v, before[name]) for name, v in network.state_dict().items())
    assert network.training
    assert all(float(rows.min()) > 90 for rows in seen)
    assert all(rows.dtype == torch.float32 for rows in seen)
    trained = result.kernel.left.left.kernel.function.module
    assert not torch.equal(trained.weight, before["weight"])


def test_pictures():
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 24, 16))
    network = nn.Sequential(nn.Unflatten(1, (1, 4, 4)), nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten())
    assert 0 < DeepMMD(network, steps=3, null=P).test(x, y, rng=0).pvalue <= 1


def test_tensors_and_precisions_agree():
    """Learning is in float32 either way; rounding of the rows moves the statistic a little."""
    numpy = FAST.test(X, Y, rng=0)
    tensors = FAST.test(torch.tensor(X), torch.tensor(Y), rng=0)
    assert_allclose(tensors.statistic, numpy.statistic, rtol=1e-3)


def test_data_frames_and_the_door():
    """Columns in different units; rows are those of the frames that were handed in."""
    frames = [pd.DataFrame({"a": z[:, 0], "b": 1e4 * z[:, 1]}) for z in (X, Y)]
    result = mercer.two_sample(*frames, test=FAST, rng=0)
    direct = FAST.test(*frames, rng=0)
    assert result.pvalue == direct.pvalue
    assert result.statistic == direct.statistic
    for each in (result, direct):
        shown = each.points(2).first.rows
        assert list(shown.columns) == ["a", "b"]
        assert shown.isin(frames[0]).all(axis=None)
    assert mercer.two_sample(X, Y, test=FAST, resamples=19, rng=0).test.null.resamples == 19
    assert "40 and 30 observations of 2 columns" in result.summary()
    assert [f.name for f in result.features(resamples=19, rng=0)]


def test_results_travel():
    result = DeepMMD(nn.Linear(2, 3), steps=2, null=P).test(X, Y, rng=0)
    json.dumps(result.to_dict())
    again = pickle.loads(pickle.dumps(result))
    assert_allclose(again.witness()(X), result.witness()(X))


def test_learnt_kernels_serve_other_tests():
    test = FAST.learn(X[:20], Y[:15], rng=0)
    assert isinstance(test, MMD)
    assert test.null == P
    assert test.test(X[20:], Y[15:] + 3.0, rng=0).rejects()
    assert 0 < HSIC(test.kernel).test(X, X[:, :1], rng=0).pvalue <= 1


def test_ctrl_c_leaves_torch_as_it_was():
    class Interrupted(nn.Linear):
        calls = 0

        def forward(self, rows):
            Interrupted.calls += 1
            if Interrupted.calls > 10:
                raise KeyboardInterrupt
            return super().forward(rows)

    test = DeepMMD(Interrupted(2, 3), null=P)
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    with pytest.raises(KeyboardInterrupt):
        test.test(X, Y, rng=0)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_refusals(monkeypatch):
    with pytest.raises(ValueError, match=r"x must have at least 10 points .* use MMDAgg"):
        FAST.test(X[:9], Y, rng=0)
    with pytest.raises(TypeError, match="DeepMMD takes no weighted samples"):
        FAST.test(Empirical(X, np.full(40, 1 / 40)), Y, rng=0)
    with pytest.raises(TypeError, match="categor"):
        FAST.test(pd.DataFrame({"a": ["u", "v"] * 10}), pd.DataFrame({"a": ["u"] * 20}), rng=0)
    with pytest.raises(TypeError, match=r"network must be a torch.nn.Module or None, got function"):
        DeepMMD(lambda x: x)  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="null must be a Permutation"):
        DeepMMD(null=mercer.htest.Gamma())  # pyright: ignore[reportArgumentType]
    big = RNG.normal(size=(4000, 1))
    with (
        mercer.config(memory="16MiB"),
        pytest.raises(MemoryBudgetError, match="choose a smaller batch"),
    ):
        DeepMMD(batch=4000).test(big, big, rng=0)
    monkeypatch.setattr(training, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"DeepMMD needs torch: pip install 'mercer\[torch\]'"):
        FAST.test(X, Y, rng=0)
