"""Deep sets: order and number of points, weights, learning beside closed forms, saving, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

import mercer
from mercer.learn import DeepSetsClassifier, DeepSetsRegressor, load, save
from mercer.networks import training
from mercer.networks.deep_sets import Architecture, TrainingSets, _Draws, _network, _outputs
from mercer.rkhs import Bags, Empirical, Gaussian

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
SPREAD = RNG.uniform(0.5, 2.0, size=90)
BAGS = [
    RNG.normal(3.0, s, size=(n, 2)) for s, n in zip(SPREAD, RNG.integers(20, 60, 90), strict=True)
]
FAST = DeepSetsRegressor(networks=2, steps=120, width=16, layers=2, random_state=0)
MODEL = clone(FAST).fit(BAGS[:60], SPREAD[:60])
ASKED = BAGS[60:]


def test_order_and_copies_of_points_make_no_difference():
    expected = MODEL.predict(ASKED)
    assert_allclose(MODEL.predict([bag[::-1] for bag in ASKED]), expected, rtol=1e-9)
    assert_allclose(MODEL.predict([np.tile(bag, (3, 1)) for bag in ASKED]), expected, rtol=1e-9)
    assert_allclose(MODEL.predict(ASKED[:3]), expected[:3], rtol=1e-9)


def test_weights_are_copies():
    bag, counts = ASKED[0], RNG.integers(1, 4, len(ASKED[0]))
    weighted = Empirical(bag, counts / counts.sum())
    assert_allclose(MODEL.predict([weighted]), MODEL.predict([np.repeat(bag, counts, axis=0)]))


def test_spread_is_learnt_from_bags_of_equal_mean():
    error = MODEL.predict(ASKED) - SPREAD[60:]
    assert np.sqrt(np.mean(error**2)) < 0.6 * SPREAD.std()
    labels = np.where(SPREAD > 1.2, "wide", "narrow")
    machine = DeepSetsClassifier(networks=1, steps=120, random_state=0).fit(BAGS[:60], labels[:60])
    assert machine.score(ASKED, labels[60:]) > 0.8
    assert_allclose(machine.predict_proba(ASKED).sum(axis=1), 1.0)
    assert set(machine.predict(ASKED)) == {"wide", "narrow"}


def test_predictions_in_numpy_are_those_of_torch():
    """The layers that are kept, put back into a module of torch."""
    network = MODEL.networks_[0]
    module = _network(2, Architecture(2, 16, 1)).double()
    linear = [m for m in (*module.points, *module.sets) if hasattr(m, "weight")]
    for layer, (matrix, offset) in zip(linear, (*network.points, *network.sets), strict=True):
        layer.weight.data = torch.tensor(matrix.T.copy())
        layer.bias.data = torch.tensor(offset)
    bags = Bags.of(ASKED)
    values = (bags.values - MODEL.center_) / MODEL.scale_
    with torch.no_grad():
        expected = [
            _outputs(module, torch.tensor(values[a:b])[None]).item()
            for a, b in zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
        ]
    assert_allclose(network.outputs(values, bags)[:, 0], expected, rtol=1e-9)


def test_points_are_drawn_by_their_weights():
    points = np.arange(5.0)[:, None]
    shares = np.array([0.0, 1.0, 0.7, 0.0, 0.3])
    sets = TrainingSets(points, np.array([0, 2, 5]), shares, np.zeros((2, 1)))
    sets.targets[1] = 4.0
    drawn = _Draws(sets, torch.empty(0), 2000, np.random.default_rng(0))
    drawn._number = 2000
    values, targets = drawn.of(np.array([1, 0]))
    assert targets[:, 0].tolist() == [4.0, 0.0]
    assert set(values[1].ravel().tolist()) == {1.0}
    assert set(values[0].ravel().tolist()) == {2.0, 4.0}
    # 600 of 2,000, whose standard deviation is 20.5
    assert abs(int((values[0] == 4.0).sum()) - 600) < 4 * 20.5


def test_the_same_seed_gives_the_same_predictions_and_blocks_do_not_matter():
    again = clone(FAST).fit(BAGS[:60], SPREAD[:60])
    expected = MODEL.predict(ASKED)
    assert np.array_equal(again.predict(ASKED), expected)
    many = [*ASKED] * 40  # 25,000 points of 16 units: several blocks of 16 MiB
    with mercer.config(memory="16MiB"):
        assert_allclose(MODEL.predict(many), np.tile(expected, 40), rtol=1e-9)


def test_several_targets_and_kinds_of_distributions():
    both = np.column_stack([SPREAD, -SPREAD])
    model = clone(FAST).set_params(steps=5).fit(BAGS, both)
    assert model.predict(ASKED).shape == (30, 2)
    known = [Gaussian(np.zeros(2), 1.0), BAGS[0], BAGS[1]]
    assert model.fit(known, [1.0, 2.0, 3.0]).predict(known).shape == (3,)
    tensors = [torch.tensor(bag) for bag in BAGS]
    again = clone(FAST).fit(tensors[:60], SPREAD[:60])
    assert_allclose(again.predict(tensors[60:]), MODEL.predict(ASKED), rtol=1e-3)


def test_a_column_that_is_constant_up_to_rounding_keeps_its_unit():
    """The standard deviation of 600 times 0.1 is 1e-15: a unit in which 0.2 would be 1e14 away."""
    bags = [np.column_stack([bag, np.full(len(bag), 0.1)]) for bag in BAGS]
    model = clone(FAST).set_params(steps=20).fit(bags, SPREAD)
    moved = [bag + np.array([0.0, 0.0, 0.1]) for bag in bags]
    assert_allclose(model.predict(moved), model.predict(bags), atol=1.0)


def test_saved_models_predict_without_torch(tmp_path, monkeypatch):
    again = load(save(MODEL, tmp_path / "sets.mercer"))
    monkeypatch.setattr(training, "find_spec", lambda name: None)
    assert np.array_equal(again.predict(ASKED), MODEL.predict(ASKED))
    with pytest.raises(ImportError, match=r"DeepSetsRegressor needs torch: pip install"):
        again.fit(BAGS, SPREAD)


def test_refusals():
    with pytest.raises(ValueError, match="n_samples = 1"):
        clone(FAST).fit(BAGS[:1], SPREAD[:1])
    with pytest.raises(ValueError, match="got one class, 'a'"):
        DeepSetsClassifier().fit(BAGS[:4], ["a"] * 4)
    with pytest.raises(ValueError, match="X has 3 features"):
        MODEL.predict([np.zeros((4, 3))])
    for wrong in ({"width": 0}, {"steps": 0}, {"networks": 0}, {"learning_rate": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            clone(FAST).set_params(**wrong).fit(BAGS, SPREAD)
