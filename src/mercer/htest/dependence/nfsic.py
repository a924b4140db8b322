"""The finite set independence criterion: two variables compared at a few pairs of locations, in linear time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import array_like, count
from mercer.htest.dependence.dependence_result import IndependenceResult, independence_result
from mercer.htest.dependence.fourier_features import afford
from mercer.htest.dependence.fsic import FSICEvidence
from mercer.htest.dependence.learn_location_pairs import best_pairs
from mercer.htest.dependence.observed_variables import Variable, check_kernels, variables
from mercer.htest.feature_tests import (
    ENOUGH,
    SEED,
    WithArrays,
    asymptotic_or_permuted,
    different,
    features,
    frozen,
    given_points,
    is_number,
    is_real,
)
from mercer.htest.nulls import Chi2, Null, Permutation
from mercer.htest.weighted_chi2 import WeightedChi2
from mercer.kernels.base import Kernel, Points
from mercer.kernels.prepare import read
from mercer.rkhs.sample_rows import taken

_COPIES = 4  # of the features, at the same time
_NEAR = 20  # observations near each location, from which the chi-square holds
_PER_FEATURE = 100  # observations for each feature, from which the chi-square holds


@dataclass(frozen=True, eq=False, repr=False)
class NFSIC(WithArrays):
    """Do two variables depend on each other? By covariances of kernel values at a few locations.

    With u_j the covariance of k(x, v_j) and l(y, w_j) over the observations and S the covariance
    of the products they are means of, the statistic is n u' (S + ridge I)^-1 u (Jitkrittum et al.
    2017). It costs O(nJ) kernel values. For analytic and characteristic kernels such as RBF and
    locations drawn from a distribution with a density the test is consistent, with probability
    one. Random locations may sit where nothing is to be seen: `NFSIC.optimized` learns them, and
    they tell where the dependence is.

    Parameters
    ----------
    kernel_x, kernel_y : Kernel or None
        None: RBF at the median distance of the variable itself; for data frames `default_kernel`.
    locations : int or pair of points (J, dx), (J, dy)
        A number: so many pairs of a point of x and one of y, drawn independently of each other
        with the rng of `test`, and in `statistic` always with seed 0. The result's
        `test.locations` are those that were used.
    ridge : float
        Added to the variances. 0: directions that do not vary are left out instead.
    null : Chi2, WeightedChi2, Permutation or None
        The chi-square holds from 500 observations on (more than 5 locations: 100 for each), if some
        of them are near every location: about twenty, for narrow kernels, such as learnt ones, see
        few pairs at all. With a ridge a weighted sum of chi-squares has its place; the paper's
        chi-square then rejects too rarely. None: what holds there, 999 permutations elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 2))
    >>> y = x[:, 0] ** 2 + rng.normal(size=1000)
    >>> result = NFSIC(locations=3).test(x, y, rng=0)
    >>> result.rejects(), result.test.locations[0].shape, result.test.locations[1].shape
    (True, (3, 2), (3, 1))
    """

    kernel_x: Kernel | None = None
    kernel_y: Kernel | None = None
    locations: Any = field(default=5, kw_only=True)
    ridge: float = field(default=0.0, kw_only=True)
    null: Null | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_kernels(kernel_x=self.kernel_x, kernel_y=self.kernel_y)
        validate.non_negative("ridge", self.ridge)
        self._check_null()
        object.__setattr__(self, "locations", _number_or_pair(self.locations))

    @classmethod
    def optimized(
        cls,
        x: Any,
        y: Any,
        *,
        kernel_x: Kernel | None = None,
        kernel_y: Kernel | None = None,
        locations: int = 5,
        rng: Any = None,
    ) -> NFSIC:
        """A test whose locations and bandwidths make a proxy of its power largest for these observations.

        n u' M^-1 u, which is the statistic but for M: a mean of S and of what S is under independence,
        the product of the variances of both features. The paper has S alone (Jitkrittum et al.
        2017), of which few observations let the search go where by chance none of them is.
        Hand the new test other observations than these, or its p-values are too small: half of the
        data for this, half for the test.

        Parameters
        ----------
        x, y : variables
            Arrays, tensors or data frames of numbers.
        kernel_x, kernel_y : Kernel or None
            Smooth radial kernels, whose widths are learnt too. None: RBF.
        locations : int
        rng : int, Generator or None
            Draws where the search begins.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(1200, 3))
        >>> y = np.sin(4 * x[:, 0]) + 0.5 * rng.normal(size=1200)
        >>> test = NFSIC.optimized(x[:600], y[:600], locations=1, rng=0)
        >>> test.test(x[600:], y[600:]).rejects(0.01)
        True
        """
        check_kernels(kernel_x=kernel_x, kernel_y=kernel_y)
        learnt_x, learnt_y, v, w = best_pairs((kernel_x, kernel_y), x, y, locations, rng)
        return cls(learnt_x, learnt_y, locations=(v, w))

    def statistic(self, x: Any, y: Any) -> float:
        """The statistic; locations that are left open are drawn with seed 0."""
        return self._evidence(x, y, validate.generator(SEED))[0].observed

    def test(self, x: Any, y: Any, *, rng: Any = None) -> IndependenceResult:
        """The statistic and its p-value; `result.test` is this test with what was drawn."""
        rng = validate.generator(rng)
        evidence, both, used = self._evidence(x, y, rng)
        null, notes = self._chosen(evidence)
        judgement = null.judge(evidence, rng)
        return independence_result(used, both, evidence.observed, judgement, notes)

    def _chosen(self, evidence: FSICEvidence) -> tuple[Null, tuple[str, ...]]:
        """The null that holds for these observations and locations, and what to say about it."""
        asymptotic = WeightedChi2() if self.ridge > 0 else Chi2()
        null, notes = asymptotic_or_permuted(
            self.null, asymptotic, evidence.n, evidence.degrees, _PER_FEATURE, ""
        )
        many = evidence.n >= max(ENOUGH, _PER_FEATURE * evidence.degrees)
        if isinstance(null, Permutation) or not many or evidence.near >= _NEAR:
            return null, notes
        few = f"only about {evidence.near:.1g} observations are near some of the locations"
        if self.null is None:
            return Permutation(999), (f"Null: 999 permutations, for {few}.",)
        warnings.warn(
            f"{type(null).__name__}() does not hold here, for {few}: use null=Permutation(999)",
            UserWarning,
            stacklevel=3,
        )
        return null, notes

    def _evidence(
        self, x: Any, y: Any, rng: np.random.Generator
    ) -> tuple[FSICEvidence, tuple[Variable, ...], NFSIC]:
        """What the nulls ask, the variables, and this test with everything fixed.

        Features are those of the points as they came: moved ones may have others.
        """
        both = variables((self.kernel_x, self.kernel_y), (x, y))
        points = tuple(v.unmoved for v in both)
        if isinstance(self.locations, int):
            chosen = _drawn(points, self.locations, rng)
            shown = tuple(frozen(v) if is_real(v) else v for v in chosen)
        else:
            shown = self.locations
            chosen = tuple(_read(*each) for each in zip(both, points, shown, (0, 1), strict=True))
        afford(count(points[0]), 2 * count(chosen[0]), "locations", _COPIES)
        k, l = (  # noqa: E741
            features(v.kernel, p, c) for v, p, c in zip(both, points, chosen, strict=True)
        )
        used = replace(
            self,
            kernel_x=self.kernel_x or both[0].kernel,
            kernel_y=self.kernel_y or both[1].kernel,
            locations=shown,
        )
        return FSICEvidence(k, l, float(self.ridge)), both, used


def _number_or_pair(value: Any) -> Any:
    """How many pairs of locations, or which: numbers become read-only arrays."""
    if is_number(value):
        validate.whole("locations", value)
        return int(value)
    needed = "locations must be a whole number or a pair of points, (J, dx) and (J, dy)"
    if not (isinstance(value, list | tuple) and len(value) == 2):
        raise TypeError(f"{needed}, got {type(value).__name__}")
    pair = tuple(given_points(f"locations[{i}]", part, needed) for i, part in enumerate(value))
    sizes = [count(part) for part in pair]
    if sizes[0] != sizes[1]:
        raise ValueError(
            f"locations must be pairs: as many in x as in y, got {sizes[0]} and {sizes[1]}"
        )
    return pair


def _drawn(points: tuple[Points, ...], number: int, rng: np.random.Generator) -> tuple[Any, ...]:
    """Pairs of a point of x and a point of y, all different where there are enough.

    Whether the two were observed together does not matter, so that permutations change nothing.
    """
    x, y = points
    rows, columns = different(x), different(y)
    size = len(rows) * len(columns)
    cells = np.sort(rng.choice(size, min(number, size), replace=False, shuffle=False))
    return taken(x, rows[cells // len(columns)]), taken(y, columns[cells % len(columns)])


def _read(variable: Variable, points: Points, given: Any, place: int) -> Points:
    """Locations as points of the variable's kernel."""
    name = f"locations[{place}]"
    chosen, _ = read(variable.kernel, given, variable.columns, name)
    if is_real(points) and is_real(chosen):
        validate.same_width(points, chosen, (variable.name, name))
        chosen = array_like(chosen, points)
    return chosen
