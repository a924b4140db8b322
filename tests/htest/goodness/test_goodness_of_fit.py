"""The chosen test and what its result tells: how far the model is off, and where."""

from importlib import import_module

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

import mercer
from mercer.gram import Gram
from mercer.htest import FSSD, KSD, KSDAgg, WildBootstrap
from mercer.htest.goodness.goodness_of_fit import family_fit
from mercer.htest.goodness.learn_stein_locations import _ratio
from mercer.htest.goodness.misfit import Discrepancy, SteinColumn
from mercer.htest.goodness.stein_features import stein_features
from mercer.kernels import RBF, InverseMultiquadric
from mercer.kernels.stein import Stein
from mercer.rkhs import Gaussian, Mixture, ksd2
from mercer.rkhs.logdensity import Scores

pd = pytest.importorskip("pandas")

goodness_module = import_module("mercer.htest.goodness.goodness_of_fit")
PLANE = Gaussian([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]])


def island(n: int = 300, rng: int = 0) -> np.ndarray:
    """Draws from PLANE, the first tenth of them far to the right."""
    x = PLANE.sample(n, rng=rng)
    x[: n // 10] = np.random.default_rng(rng).normal([4.0, 0.0], 0.3, size=(n // 10, 2))
    return x


class TestChoice:
    def test_few(self):
        result = mercer.goodness_of_fit(PLANE, island(), rng=0)
        assert isinstance(result.test, KSDAgg)
        assert result.notes[0].startswith("KSDAgg was chosen")
        assert result.pvalue == KSDAgg(PLANE).test(island(), rng=0).pvalue

    def test_more(self, monkeypatch):
        monkeypatch.setattr(goodness_module, "_MAX_FOR_KSDAGG", 100)
        result = mercer.goodness_of_fit(PLANE, island(), rng=0)
        assert isinstance(result.test, KSD)
        assert result.rejects(0.01)

    def test_many(self, monkeypatch):
        monkeypatch.setattr(goodness_module, "_MAX_FOR_KSD", 100)
        monkeypatch.setattr(goodness_module, "_OBSERVATIONS_FOR_LEARNING", 150)
        x = island(600)
        result = mercer.goodness_of_fit(PLANE, x, rng=0)
        assert isinstance(result.test, FSSD)
        assert result.size == 450
        assert result.rejects(0.01)
        rows = result.sample.places
        assert len(np.unique(rows)) == 450
        np.testing.assert_array_equal(result.sample.observations, x[rows])
        assert set(result.points(10).indices) <= set(range(60))  # positions in x, not in the half

    def test_chain(self, monkeypatch):
        steps = np.random.default_rng(0).normal(size=(400, 1))
        for t in range(1, 400):
            steps[t] = 0.8 * steps[t - 1] + 0.6 * steps[t]
        model = Gaussian(0.0, 1.0)
        result = mercer.goodness_of_fit(model, steps, chain=True, rng=0)
        assert result.test.null == WildBootstrap(999, block=None)
        assert not result.independent
        assert "interval" not in result.summary()
        monkeypatch.setattr(goodness_module, "_MAX_FOR_KSD", 150)
        thinned = mercer.goodness_of_fit(model, steps, chain=True, rng=0)
        np.testing.assert_array_equal(thinned.sample.places, np.arange(0, 400, 3))

    def test_scores_that_are_known_at_the_observations(self, monkeypatch):
        x = island()
        scores = Scores(PLANE.score(x))
        result, known = (mercer.goodness_of_fit(m, x, rng=0) for m in (scores, PLANE))
        assert result.pvalue == known.pvalue
        assert not result.everywhere
        monkeypatch.setattr(goodness_module, "_MAX_FOR_KSD", 100)
        assert type(mercer.goodness_of_fit(scores, x, rng=0).test).__name__ == "LinearKSD"

    def test_same_seed_same_answer(self):
        a, b = (mercer.goodness_of_fit(PLANE, island(), rng=5) for _ in range(2))
        assert (a.statistic, a.pvalue) == (b.statistic, b.pvalue)

    def test_categories_are_refused(self):
        frame = pd.DataFrame({"a": np.arange(9.0), "b": list("uvwuvwuvw")})
        with pytest.raises(
            TypeError, match="'b' of x is categorical, but models need numeric columns"
        ):
            mercer.goodness_of_fit(PLANE, frame)

    def test_estimators_say_that_they_must_not_have_seen_the_rows(self):
        x = island(60)
        fitted = GaussianMixture(2, random_state=0).fit(x)
        (note,) = (n for n in mercer.goodness_of_fit(fitted, x, rng=0).notes if "Composite" in n)
        assert "only if this GaussianMixture was not fitted to these rows" in note
        assert "Composite(GaussianMixture(...))" in note
        known = mercer.goodness_of_fit(Gaussian([0.0, 0.0], 1.0), x, rng=0)
        assert not any("Composite" in n for n in known.notes)


class TestUnits:
    """A data frame is compared in standard deviations: as if the user had divided both."""

    UNITS = np.array([1000.0, 0.01])

    @pytest.fixture
    def both(self):
        x = island()
        frame = pd.DataFrame(x * self.UNITS, columns=["far", "near"])
        model = Gaussian(np.zeros(2), np.outer(self.UNITS, self.UNITS) * PLANE.cov)
        deviations = x.std(axis=0)
        plain = Gaussian(np.zeros(2), PLANE.cov / np.outer(deviations, deviations))
        return (
            mercer.goodness_of_fit(model, frame, rng=0),
            mercer.goodness_of_fit(plain, x / deviations, rng=0),
            frame,
        )

    def test_numbers(self, both):
        framed, plain, _ = both
        assert framed.pvalue == plain.pvalue
        assert framed.statistic == pytest.approx(plain.statistic)
        assert framed.effect().relative == pytest.approx(plain.effect().relative)

    def test_places_are_in_the_units_of_the_frame(self, both):
        framed, plain, frame = both
        values = frame.to_numpy()[:50]
        inner = values / np.array(framed.sample.units)
        np.testing.assert_allclose(framed.witness()(frame.iloc[:50]), plain.witness()(inner))
        np.testing.assert_allclose(framed.evidence()(values), plain.evidence()(inner), rtol=1e-6)
        np.testing.assert_allclose(framed.sample.observations, frame.to_numpy(), rtol=1e-12)

    def test_learnt_locations_too(self, monkeypatch):
        monkeypatch.setattr(goodness_module, "_MAX_FOR_KSD", 100)
        monkeypatch.setattr(goodness_module, "_OBSERVATIONS_FOR_LEARNING", 300)
        frame = pd.DataFrame(island(900) * self.UNITS, columns=["far", "near"])
        model = Gaussian(np.zeros(2), np.outer(self.UNITS, self.UNITS) * PLANE.cov)
        result = mercer.goodness_of_fit(model, frame, rng=0)
        assert result.rejects(1e-4)
        best = result.locations()[0]
        assert 2500 < best.coordinates["far"] < 5500
        assert abs(best.coordinates["near"]) < 0.02


class TestEffect:
    def test_two_roads(self):
        x = island(120)
        kernel = InverseMultiquadric(1.3)
        result = KSD(PLANE, kernel).test(x, rng=0)
        misfit = result.effect()
        assert misfit.ksd2 == pytest.approx(ksd2(kernel, PLANE.score, x))
        own = np.diag(Stein(kernel, PLANE.score)(x)).mean()
        assert misfit.relative == pytest.approx(np.sqrt(misfit.ksd2 / own))
        assert misfit.interval.low < misfit.ksd2 < misfit.interval.high

    @pytest.mark.parametrize(("shift", "n"), [(0.0, 60), (0.3, 60), (0.3, 200), (1.0, 100)])
    def test_intervals_hold_the_truth(self, shift, n):
        kernel, runs = Stein(InverseMultiquadric(1.4), lambda x: -x), 100
        rng = np.random.default_rng([n, int(10 * shift)])
        truth = 0.0
        if shift:
            large = rng.normal(shift, 1.0, size=(6000, 1))
            truth = Discrepancy(Gram(kernel, large)).misfit(0.95).relative
        held = 0
        for _ in range(runs):
            gram = Gram(kernel, rng.normal(shift, 1.0, size=(n, 1)))
            low, high = Discrepancy(gram).misfit(0.95).relative_interval
            held += low <= truth <= high
        assert held >= 88  # 4 standard errors below 95

    def test_no_unit(self):
        x = island(100)
        one, other = (
            KSD(Gaussian(np.zeros(2), u**2 * PLANE.cov), RBF(2.0 * u)).test(u * x, rng=0)
            for u in (1.0, 1000.0)
        )
        assert other.effect().relative == pytest.approx(one.effect().relative)
        assert other.effect().ksd2 == pytest.approx(one.effect().ksd2 / 1000**2)


class TestWhere:
    def test_columns_add_up(self):
        x = np.random.default_rng(0).normal(size=(40, 3))
        stein = Stein(RBF(1.5), lambda x: -(x**3))
        parts = [Gram(SteinColumn(stein, j), x).dense() for j in range(3)]
        np.testing.assert_allclose(sum(parts), Gram(stein, x).dense(), atol=1e-12)
        for part in parts:
            assert np.linalg.eigvalsh(part)[0] > -1e-10

    def test_columns_that_are_off(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(600, 4))
        x[:, 1] += 0.3
        x[:, 3] += 0.6 * x[:, 2]  # off together: each given the other
        found = KSD(Gaussian(np.zeros(4), 1.0)).test(x, rng=0).columns()
        off = {c.name for c in found if c.misfit.relative_interval.low > 0}
        assert off == {"column 1", "column 2", "column 3"}

    def test_evidence_is_what_the_search_makes_largest(self):
        x = island(80)
        result = KSD(PLANE, RBF(1.0)).test(x, rng=0)
        places = np.array([[4.0, 0.0], [0.0, 0.5], [-2.0, 2.0]])
        profile, slope, _ = result.sample.kernel.scored.form
        for v, found in zip(places, result.evidence()(places), strict=True):
            features = stein_features(x, PLANE.score(x), v[None, :], profile, slope)
            expected = np.sqrt(80) * _ratio(features.reshape(80, -1))[0]
            assert found == pytest.approx(expected)
        assert np.argmax(result.evidence()(places)) == 0

    def test_locations(self):
        x = island(400)
        result = FSSD.optimized(PLANE, x[::2], locations=2, rng=0).test(x[1::2])
        first, second = result.locations()
        assert first.evidence >= second.evidence
        assert "column 0 = " in str(first)
        with pytest.raises(mercer.NoRule, match="use FSSD"):
            KSD(PLANE).test(x, rng=0).locations()

    def test_thinned_keeps_positions(self):
        x = island()
        result = KSD(PLANE).test(x, rng=0)
        some = result.thinned(100)
        assert (some.size, some.pvalue) == (100, result.pvalue)
        np.testing.assert_array_equal(some.sample.observations, x[some.sample.places])
        assert set(some.points(5).indices) <= set(some.sample.places)


class TestFamily:
    def test_words(self):
        result = family_fit(Gaussian.fit, island(), resamples=39, rng=0)
        assert result.rejects()
        assert "which was fitted to them?" in result.summary()
        assert "fitted to one half and estimated on the other" in result.summary()
        assert isinstance(result.model, Gaussian)

    def test_frames_and_arrays_agree(self):
        x = island(100)
        deviations = x.std(axis=0)
        array = family_fit(Gaussian.fit, x / deviations, resamples=19, rng=0)
        frame = family_fit(Gaussian.fit, pd.DataFrame(x), resamples=19, rng=0)
        assert frame.pvalue == array.pvalue
        np.testing.assert_allclose(frame.model.mean, x.mean(axis=0))

    def test_more_and_many(self, monkeypatch):
        monkeypatch.setattr(goodness_module, "_MAX_FOR_REFITTED_KSDAGG", 50)
        monkeypatch.setattr(goodness_module, "_MAX_FOR_REFITTED_KSD", 200)
        monkeypatch.setattr(goodness_module, "_OBSERVATIONS_FOR_LEARNING", 150)
        x = island(600)
        middle = family_fit(Gaussian.fit, x[:150], resamples=19, rng=0)
        assert isinstance(middle.tested, KSD)
        many = family_fit(Gaussian.fit, x, resamples=19, rng=0)
        assert isinstance(many.tested, FSSD)
        assert many.size == 450
        assert many.rejects()
        assert many.places.shape == (5, 2)
        monkeypatch.setattr(goodness_module, "_MAX_REFITTED", 500)
        drawn = family_fit(Gaussian.fit, x, resamples=19, rng=0)
        assert "random subsample of 500 of 600" in drawn.notes[0]

    @pytest.mark.slow
    def test_level(self):
        """A fit to the same observations keeps its level; one to another half does not, and says so."""
        true = Mixture([Gaussian([0.0, 0.0], 1.0), Gaussian([4.0, 4.0], 1.0)], [0.6, 0.4])
        samples = [true.sample(80, rng=i) for i in range(100)]
        rejected = sum(
            family_fit(lambda x: Mixture.fit(x, 2, rng=0), x, resamples=19, rng=i).rejects()
            for i, x in enumerate(samples)
        )
        assert rejected <= 13  # 5 and 3.7 standard errors
        halves = sum(
            mercer.goodness_of_fit(Mixture.fit(x[:40], 2, rng=0), x[40:], rng=i).rejects()
            for i, x in enumerate(samples)
        )
        assert halves >= 13
