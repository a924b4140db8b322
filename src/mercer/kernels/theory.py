"""Inference of facts about kernels: by theorems, and through the algebra of kernels."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import cache, reduce

from mercer import validate
from mercer.kernels.algebra import Constant, Exp, Multiple, Power, Product, Sum
from mercer.kernels.base import Kernel
from mercer.kernels.columns_used import comparable, reads, within
from mercer.kernels.compose import Composed, Tensor
from mercer.kernels.dot import Binomial, ExponentialDot, Linear
from mercer.kernels.rules import Rule
from mercer.kernels.sobolev import Sobolev
from mercer.kernels.wrappers import Normalized, Scaled, Select, Transformed, Weighted

Known = bool | None  # None: no theorem here says yes or no


@dataclass(frozen=True)
class Facts:
    """Known properties of a kernel on its domain: True, False, or None where no theorem applies.

    True holds for every number of columns, False means that it fails for some number; for a kernel on
    selected columns only these count.

    Attributes
    ----------
    bounded : bool or None
        k(x, x) is bounded. Then every distribution has an embedding.
    stationary : bool or None
        k(x, y) depends on x - y only.
    characteristic : bool or None
        Different distributions have different embeddings (of those that have one): MMD = 0 only
        if they are equal. Stronger than strict positive definiteness, which concerns points.
    universal : bool or None
        On every compact subset of the domain the functions of the RKHS are uniformly dense in the
        continuous ones. On all of R^d it neither implies nor follows from characteristic.
    analytic : bool or None
        The functions k(., y) are real analytic, as tests with random locations require.
    positive_definite : bool or None
        The function is a kernel.
    continuous : bool or None
    separates : bool or None
        Different points have different features.
    strictly_positive_definite : bool or None
        Matrices k(x_i, x_j) of different points are positive definite, not only semi-definite.
    integrally_strict : bool or None
        The double integral of k against a finite signed measure that is not 0 is positive:
        "integrally strictly positive definite". Implies characteristic.
    domain : str or None
        The domain to which the properties refer. "R^d": for every d.
    """

    bounded: Known = None
    stationary: Known = None
    characteristic: Known = None
    universal: Known = None
    analytic: Known = None
    positive_definite: Known = None
    continuous: Known = None
    separates: Known = None
    integrally_strict: Known = None
    strictly_positive_definite: Known = None
    domain: str | None = "R^d"


def facts(kernel: Kernel) -> Facts:
    """Known properties of a kernel, including sums, products and other combinations.

    Nothing is guessed: a property is None where none of the theorems applies, and all are None for
    kernels that mercer does not know. The theorems: Steinwart (2001) on Taylor kernels; Micchelli, Xu & Zhang (2006);
    Sriperumbudur et al. (2010, 2011) on stationary and on integrally strictly positive definite kernels; Christmann &
    Steinwart (2010), Ziegel, Ginsbourger & Dumbgen (2024) on kernels of kernels; Szabo & Sriperumbudur (2018) on tensors.

    Examples
    --------
    >>> from mercer.kernels.radial import RBF
    >>> from mercer.kernels.shift_invariant import Cosine, Sinc
    >>> facts(RBF(1.0)).characteristic, facts(Sinc(1.0)).characteristic
    (True, False)
    >>> facts(RBF(1.0) * Cosine(2.0)).characteristic
    True
    >>> facts(Sinc(1.0) + Cosine(2.0)).characteristic is None
    True
    """
    validate.instance("kernel", kernel, Kernel, "a kernel, such as RBF(1.0)")
    return completed(facts_rule.apply(kernel))


facts_rule = Rule("facts", "nothing is known")  # never raises NoRule: there is a case for Kernel

# Premises and conclusion. Where the conclusion fails and all premises but one hold, the last one fails.
IMPLICATIONS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("stationary",), "bounded"),  # k(x, x) = k(0, 0)
    (("analytic",), "continuous"),
    (("characteristic",), "separates"),  # two point masses
    (("universal",), "strictly_positive_definite"),  # finite sets are compact
    (("strictly_positive_definite",), "separates"),
    (("integrally_strict",), "strictly_positive_definite"),  # sums of point masses
    (("integrally_strict",), "characteristic"),  # Sriperumbudur et al. 2010, theorem 7
    # by Hahn-Banach: no measure on a compact set annihilates the functions (2011, section 3)
    (("integrally_strict", "continuous"), "universal"),
)


@cache
def completed(known_facts: Facts) -> Facts:
    """The facts, completed by all implications."""
    known = asdict(known_facts)
    before = None
    while before != known:
        before = dict(known)
        for premises, conclusion in IMPLICATIONS:
            clause = dict.fromkeys(premises, False) | {conclusion: True}  # one of these holds
            unknown = [name for name in clause if known[name] is None]
            if len(unknown) == 1 and not any(known[n] is value for n, value in clause.items()):
                known[unknown[0]] = clause[unknown[0]]
    return Facts(**known)


# ---- combinations of one kernel -----------------------------------------------------------------------------


@facts_rule(Constant)
def _constant(kernel: Constant) -> Facts:
    return Facts(stationary=True, analytic=True, separates=False, positive_definite=True)


@facts_rule(Multiple)
def _multiple(kernel: Multiple) -> Facts:
    return facts(Constant(0.0)) if _is_zero(kernel) else facts(kernel.kernel)


@facts_rule(Power)
def _power(kernel: Power) -> Facts:
    n, base = kernel.exponent, facts(kernel.kernel)
    if n < 2:
        return base if n else facts(Constant(1.0))
    result, odd = reduce(_product_of, [base] * n), n % 2 == 1  # an odd power can be undone
    return replace(
        result,
        bounded=base.bounded,
        stationary=base.stationary if odd else result.stationary,
        separates=base.separates if odd or base.separates is False else result.separates,
    )


@facts_rule(Exp)
def _exp(kernel: Exp) -> Facts:
    """exp(k) = w(x) w(y) RBF.on(k), with w = exp(k(x, x) / 2); and the logarithm undoes it."""
    if kernel.scale == 0:
        return facts(Constant(1.0))
    base = facts(kernel.kernel)
    return replace(
        base,
        characteristic=(base.positive_definite and base.characteristic) or None,
        universal=(base.positive_definite and base.universal) or None,
        positive_definite=base.positive_definite or None,
        integrally_strict=True if _injective(base) else None,
        strictly_positive_definite=None,
    )


@facts_rule(Composed)
def _composed(kernel: Composed) -> Facts:
    """A radial kernel that is positive definite for every d mixes Gaussians (Schoenberg 1938).

    With a continuous injection into a Hilbert space in between, a Gaussian stays universal on
    compact sets (Christmann & Steinwart 2010, theorem 2.2), and integrally strictly positive
    definite (Ziegel et al. 2024).
    """
    outer, inner = facts(kernel.outer), facts(kernel.inner)
    if not (outer.characteristic and outer.positive_definite and inner.positive_definite):
        return Facts(domain=inner.domain)
    return Facts(
        bounded=True,
        stationary=inner.stationary or None,
        analytic=(outer.analytic and inner.analytic) or None,
        positive_definite=True,
        continuous=inner.continuous or None,
        separates=inner.separates,
        integrally_strict=True if _injective(inner) else None,
        domain=inner.domain,
    )


@facts_rule(Normalized)
def _normalized(kernel: Normalized) -> Facts:
    """A function of the space times a continuous positive one, 1 / sqrt(k(x, x))."""
    base = facts(kernel.kernel)
    if base.stationary:  # a multiple
        return facts(kernel.kernel)
    if not base.positive_definite:
        return Facts(domain=base.domain)
    away = isinstance(kernel.kernel, ExponentialDot | Exp | Binomial | Sobolev)  # k(x, x) >= 1
    return Facts(
        bounded=True,
        universal=base.universal or None,  # Steinwart 2001
        analytic=(base.universal and base.analytic) or None,
        positive_definite=True,
        continuous=(base.universal and base.continuous) or None,
        integrally_strict=(away and base.integrally_strict) or None,
        domain=base.domain,
    )


@facts_rule(Scaled)
def _scaled(kernel: Scaled) -> Facts:
    base, factors = facts(kernel.kernel), kernel.factors
    if base.domain not in ("R^d", "discrete sets"):
        base = replace(base, domain=f"{base.domain}, scaled")
    if all(factors if isinstance(factors, tuple) else (factors,)):
        return base
    return replace(_restricted(base), **_BLIND)  # columns times 0 have no influence


@facts_rule(Select)
def _select(kernel: Select) -> Facts:
    return facts(kernel.kernel)


@facts_rule(Transformed)
def _transformed(kernel: Transformed) -> Facts:
    base = facts(kernel.kernel)
    return Facts(
        bounded=base.bounded or None, positive_definite=base.positive_definite or None, domain=None
    )


@facts_rule(Weighted)
def _weighted(kernel: Weighted) -> Facts:
    return Facts(positive_definite=facts(kernel.kernel).positive_definite or None, domain=None)


# ---- combinations of several kernels ------------------------------------------------------------------------

_SIGHT = (
    "characteristic", "universal", "separates", "integrally_strict", "strictly_positive_definite"
)  # fmt: skip
_BLIND = dict.fromkeys(_SIGHT, False)


@facts_rule(Sum)
def _sum(kernel: Sum) -> Facts:
    """MMD^2 of a sum is the sum of the MMD^2, and its space the sum of the spaces."""
    for term, other in ((kernel.left, kernel.right), (kernel.right, kernel.left)):
        if _is_zero(other):
            return facts(term)
        if isinstance(other, Constant):  # separates nothing, but adds constants to the space
            result = facts(term)
            names = ("integrally_strict", "strictly_positive_definite", "universal")
            return replace(result, **{name: getattr(result, name) or None for name in names})
    a, b = reads(kernel.left), reads(kernel.right)
    left, right = _side_by_side(kernel.left, kernel.right)
    result = _sum_of(left, right)
    if not comparable(a, b) or within(a, b) or within(b, a):
        return result
    only_marginals = _BLIND | {"separates": None}  # couplings all look the same
    return replace(result, **only_marginals)


@facts_rule(Product)
def _product(kernel: Product) -> Facts:
    if _is_zero(kernel):
        return facts(Constant(0.0))
    for factor, other in ((kernel.left, kernel.right), (kernel.right, kernel.left)):
        if isinstance(other, Constant):
            return facts(factor)
        if (rest := _besides_constant(other)) is not None:
            return facts(Sum(factor, Product(rest, factor)))  # up to positive multiples
    a, b = reads(kernel.left), reads(kernel.right)
    if a is not None and b is not None and comparable(a, b) and not a & b:
        return _tensor_of([facts(kernel.left), facts(kernel.right)])
    return _product_of(*_side_by_side(kernel.left, kernel.right))


def _besides_constant(kernel: Kernel) -> Kernel | None:
    """What a sum with a positive constant has besides it; None: this is no such sum."""
    both = isinstance(kernel, Sum)
    terms = ((kernel.left, kernel.right), (kernel.right, kernel.left)) if both else ()
    return next((a for a, b in terms if isinstance(b, Constant) and not _is_zero(b)), None)


@facts_rule(Tensor)
def _tensor(kernel: Tensor) -> Facts:
    if _is_zero(kernel):
        return facts(Constant(0.0))
    return _tensor_of([facts(factor) for factor in kernel.kernels])


def _sum_of(left: Facts, right: Facts) -> Facts:
    """The sum separates what one term separates; a defect of one term alone (not smooth) remains."""
    kernels = left.positive_definite and right.positive_definite
    known: dict[str, Known] = {
        name: (kernels and (getattr(left, name) or getattr(right, name))) or None for name in _SIGHT
    }
    for name in ("stationary", "analytic", "continuous"):
        values = getattr(left, name), getattr(right, name)
        known[name] = None if None in values or values == (False, False) else all(values)
    bounded = _and(left.bounded, right.bounded)
    known["bounded"] = bounded if kernels else bounded or None
    return Facts(**known, positive_definite=kernels or None, domain=left.domain)


def _product_of(left: Facts, right: Facts) -> Facts:
    """Facts of a product of two kernels that are not 0, on the same columns.

    A product of functions of the two spaces is in the space of the product (Aronszajn 1950). If
    one factor is the Fourier transform of a measure, a measure m whose integral against k is 0
    has the integral of e^(iwx) m against the other factor equal to 0, for some w.
    """
    kernels = (left.positive_definite and right.positive_definite) or None
    known: dict[str, Known] = {
        name: (getattr(left, name) and getattr(right, name)) or None
        for name in ("bounded", "stationary", "analytic", "continuous", "universal")
    }
    for factor, other in ((left, right), (right, left)):
        if factor.bounded is False and other.stationary:  # whose k(x, x) is a positive constant
            known["bounded"] = False
        if kernels and other.stationary and other.continuous:
            known["universal"] = known["universal"] or factor.universal or None
            known["integrally_strict"] = (
                known.get("integrally_strict") or factor.integrally_strict or None
            )
    known["universal"] = (kernels and known["universal"]) or None
    return Facts(**known, positive_definite=kernels, domain=left.domain)


def _tensor_of(parts: list[Facts]) -> Facts:
    """Facts of a product of kernels that are not 0, on different columns (Szabo & Sriperumbudur 2018).

    A product of two characteristic factors (of more if they are stationary) characterises
    independence, but need not be characteristic: two kernels min(x, y) on [0, inf) vanish where one
    coordinate is 0. Products of bounded, integrally strict factors are.
    """
    known = {name: _and(*(getattr(p, name) for p in parts)) for name in _KNOWN}
    for name in ("characteristic", "separates"):
        known[name] = None if known[name] is not False else False
    if not known["bounded"]:
        known["integrally_strict"] = None if known["integrally_strict"] is not False else False
    domains = [p.domain for p in parts]
    domain = None if None in domains else " x ".join(dict.fromkeys(d for d in domains if d))
    return Facts(**known, domain=domain)


_KNOWN = tuple(f.name for f in fields(Facts) if f.name != "domain")


def _and(*values: Known) -> Known:
    return False if False in values else None if None in values else True


def _injective(base: Facts) -> bool:
    """Whether the feature map is continuous and injective."""
    return bool(base.positive_definite and base.continuous and base.separates)


def _restricted(base: Facts) -> Facts:
    """The facts that stay true on every subset of the domain."""
    return replace(base, **{name: getattr(base, name) or None for name in _KNOWN})


def _side_by_side(left: Kernel, right: Kernel) -> tuple[Facts, Facts]:
    """The facts of both kernels on their common domain and on all columns that one of them depends on."""
    a, b = facts(left), facts(right)
    domain = _meet(a.domain, b.domain)
    a = a if a.domain == domain else replace(_restricted(a), domain=domain)
    b = b if b.domain == domain else replace(_restricted(b), domain=domain)
    left_columns, right_columns = reads(left), reads(right)
    known = comparable(left_columns, right_columns)
    blank = dict.fromkeys(_SIGHT)
    a = a if known and within(right_columns, left_columns) else replace(a, **blank)
    b = b if known and within(left_columns, right_columns) else replace(b, **blank)
    return a, b


def _meet(a: str | None, b: str | None) -> str | None:
    if a == b or b == "R^d":
        return a
    if a == "R^d":
        return b
    return None if a is None or b is None else f"{a} and {b}"


def _is_zero(kernel: Kernel) -> bool:
    if isinstance(kernel, Constant):
        return kernel.value == 0
    if isinstance(kernel, Linear):
        return kernel.metric is not None and not any(map(any, kernel.metric))
    if isinstance(kernel, Multiple) and kernel.factor == 0:
        return True
    zero = [_is_zero(inner) for inner in kernel.parts().values()]
    if isinstance(kernel, Product | Tensor):
        return any(zero)
    if isinstance(kernel, Sum | Multiple | Normalized | Scaled | Select | Weighted | Transformed):
        return all(zero)
    return isinstance(kernel, Power) and kernel.exponent > 0 and all(zero)
