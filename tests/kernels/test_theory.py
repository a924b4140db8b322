"""Facts of combinations: what the theorems give, no more, and without contradiction."""

import numpy as np
import pytest

from mercer.kernels import (
    RBF,
    Binomial,
    Brownian,
    Cauchy,
    Chi2,
    Constant,
    Cosine,
    Delta,
    Energy,
    Exponential,
    ExponentialDot,
    Kernel,
    Laplace,
    Linear,
    Matern,
    Polynomial,
    Radial,
    Sigmoid,
    Sinc,
    Sobolev,
    Tensor,
)
from mercer.kernels.columns_used import reads
from mercer.kernels.facts import Facts, facts
from mercer.kernels.theory import IMPLICATIONS
from tests.support.zoo import IDS, ZOO


def contradictions(found):
    for premises, conclusion in IMPLICATIONS:
        values = [getattr(found, p) for p in premises]
        if all(values) and None not in values and getattr(found, conclusion) is not True:
            yield premises, conclusion


@pytest.mark.parametrize("entry", ZOO, ids=IDS)
def test_facts_follow_from_each_other_without_contradiction(entry):
    assert not list(contradictions(facts(entry.kernel)))


YES = {"characteristic": True, "universal": True, "integrally_strict": True}
NO = {"characteristic": False, "universal": False, "integrally_strict": False}
OPEN = {"characteristic": None, "universal": None, "integrally_strict": None}


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (RBF(1.0) + Linear(), YES | {"bounded": False, "stationary": False, "analytic": True}),
        (RBF(1.0) + Cosine(1.0), YES | {"bounded": True, "stationary": True, "analytic": True}),
        (RBF(1.0) + Laplace(1.0), YES | {"analytic": False}),
        (Laplace(1.0) + Laplace(2.0), YES | {"analytic": None}),
        (Sinc(1.0) + Cosine(3.0), {"characteristic": None, "universal": True}),
        (Energy(1.0) + Linear(), {"characteristic": True, "universal": None}),
        (RBF(1.0) + Sigmoid(), OPEN | {"positive_definite": None, "bounded": True}),
        (RBF(1.0) + RBF(1.0).select(0), YES),
        (RBF(1.0).select(0) + Cosine(1.0), OPEN),
        (RBF(1.0).select((0, 1)) + Laplace(1.0).select(1), YES),
        (RBF(1.0).select("a") + RBF(1.0).select(1), OPEN),
        (RBF(1.0).select(-1) + RBF(1.0).select(2), OPEN),
        (0 * RBF(1.0), NO | {"bounded": True, "stationary": True}),
        (2 * RBF(1.0), YES),
        (RBF(1.0) + 0 * Linear(), YES | {"bounded": True}),
        (Linear() + 1, {"characteristic": False, "universal": None, "bounded": False}),
        (RBF(1.0) * Cosine(1.0), YES | {"stationary": True}),
        (RBF(1.0) * Sinc(1.0), YES),
        ((RBF(1.0).transformed(abs) + 0.5) * RBF(1.0), YES | {"analytic": None}),
        ((Constant(0.5) + RBF(1.0).transformed(abs)) * RBF(1.0), YES | {"analytic": None}),
        (Sinc(1.0) * Cosine(3.0), {"characteristic": None, "universal": True}),
        (RBF(1.0) * Linear(), OPEN | {"bounded": False, "stationary": False}),
        (ExponentialDot(1.0) * RBF(1.0), YES | {"bounded": False}),
        (ExponentialDot(1.0) * Sobolev(1), {"universal": True, "characteristic": None}),
        (RBF(1.0) * Constant(0.0), NO),
        (RBF(1.0) * Linear(((0.0,),)), NO | {"bounded": True}),
        (RBF(1.0) * Sigmoid(), OPEN | {"positive_definite": None}),
        (RBF(1.0).select(0) * Laplace(1.0).select(1), YES),
        (RBF(1.0).select((0, 1)) * Laplace(1.0).select((1, 2)), OPEN),
        (RBF(1.0).select((0, 1)) * Cosine(1.0).select(1), YES),
        (RBF(1.0).select(0) * Energy(1.0).select(1), {"characteristic": None, "universal": False}),
        (RBF(1.0) ** 0, NO),
        (Linear() ** 1, NO | {"separates": True}),
        (Linear() ** 2, {"separates": None, "bounded": False, "stationary": False}),
        (Linear() ** 3, {"separates": True}),
        (Cauchy(1.0) ** 3, YES | {"stationary": True, "analytic": True}),
        (Linear().exp(), YES | {"bounded": False, "stationary": False, "analytic": True}),
        (Linear().exp(0.0), NO | {"bounded": True}),
        (Sinc(1.0).exp(), YES | {"bounded": True}),
        (Sigmoid().exp(), OPEN | {"positive_definite": None}),
        (RBF(1.0).on(Linear()), YES | {"bounded": True, "analytic": True}),
        (RBF(1.0).on(Polynomial(2, 0.0)), NO),
        (Exponential(1.0).on(Energy(1.0)), YES | {"analytic": None}),
        (RBF(1.0).on(Sigmoid()), OPEN | {"positive_definite": None}),
        (ExponentialDot(2.0).normalized(), YES | {"bounded": True, "analytic": True}),
        (Linear().normalized(), OPEN | {"bounded": True, "continuous": None}),
        (Brownian().normalized(), {"universal": True, "characteristic": None}),
        ((3 * RBF(1.0)).normalized(), YES | {"stationary": True}),
        (RBF(1.0).scaled(2.0), YES),
        (RBF(1.0).scaled((2.0, 0.0)), NO | {"bounded": True, "stationary": True}),
        (Linear().scaled(0.0), NO | {"bounded": None}),
        (RBF(1.0).transformed(abs), OPEN | {"bounded": True, "positive_definite": True}),
        (RBF(1.0).weighted(len), OPEN | {"bounded": None, "positive_definite": True}),
        (Tensor(RBF(1.0), Laplace(1.0), Matern(1.5)), YES | {"analytic": False}),
        (Tensor(Energy(1.0), Energy(1.0)), {"characteristic": None, "universal": False}),
        (Tensor(Energy(1.0), Linear()), {"characteristic": False}),
        (Tensor(ExponentialDot(1.0), RBF(1.0)), {"universal": True, "characteristic": None}),
        (Tensor(RBF(1.0), 0 * RBF(1.0)), NO | {"bounded": True}),
        (Sigmoid(), OPEN | {"positive_definite": False, "bounded": True}),
    ],
    ids=lambda v: repr(v).split(" at 0x")[0] if isinstance(v, Kernel) else "",
)
def test_facts_of_combinations(kernel, expected):
    found = facts(kernel)
    assert {name: getattr(found, name) for name in expected} == expected
    assert not list(contradictions(found))


@pytest.mark.parametrize(
    ("kernel", "domain"),
    [
        (RBF(1.0), "R^d"),
        (Sobolev(1), "[0, 1]^d"),
        (RBF(1.0) + Sobolev(1), "[0, 1]^d"),
        (Sobolev(1) * RBF(1.0), "[0, 1]^d"),
        (Sobolev(1) + Binomial(1.0), "[0, 1]^d and the open unit ball"),
        (Sobolev(1).scaled(0.5), "[0, 1]^d, scaled"),
        (Tensor(RBF(1.0), Delta()), "R^d x discrete sets"),
        (RBF(1.0).on(Chi2(1.0)), "[0, inf)^d"),
        (RBF(1.0).transformed(abs) + RBF(1.0), None),
    ],
    ids=lambda v: repr(v)[:30],
)
def test_domains(kernel, domain):
    assert facts(kernel).domain == domain


def test_what_fails_on_a_domain_is_not_said_of_a_part_of_it():
    assert facts(Linear()).bounded is False
    assert facts(Linear() + Sobolev(1)).bounded is None  # on [0, 1]^d it is bounded


def test_nothing_is_said_of_kernels_mercer_does_not_know():
    class Strange(Kernel):
        def pairwise(self, x, y, /): ...
        def paired(self, x, y, /): ...

    class Round(Radial):
        def profile(self, r2, /): ...

    assert facts(Strange()) == Facts(domain=None)
    assert facts(Round()) == Facts(bounded=True, stationary=True)


def test_sums_are_seen_by_the_matrix_too():
    """The facts of a product of Gaussians: its matrix on distinct points has full rank."""
    kernel = RBF(1.0) * Cosine(2.0) + Linear()
    x = np.random.default_rng(0).normal(size=(6, 2))
    assert np.linalg.eigvalsh(kernel(x))[0] > 1e-8


@pytest.mark.parametrize(
    ("kernel", "columns"),
    [
        (RBF(), None),
        (Constant(1.0), frozenset()),
        (RBF().select((0, 2)), {0, 2}),
        (RBF().select((0, 2)).select((5, 6, 7)), {5, 7}),
        (RBF().select("a") * (1 + Delta()).select("b"), {"a", "b"}),
        (RBF().select("a").exp() + 2, {"a"}),
        (RBF() + RBF().select(0), None),
        (Tensor(RBF(), RBF()), None),
        (Tensor(RBF().select(0), RBF()), {...}),
        (RBF().select("a").select((0, 1)), {...}),
    ],
    ids=lambda v: repr(v)[:50] if isinstance(v, Kernel) else "",  # sets have no order
)
def test_columns_a_kernel_reads(kernel, columns):
    assert reads(kernel) == columns
