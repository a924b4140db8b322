"""Characteristic functions of samples and distributions, and the MMD as a distance of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.gram.threads import in_order, spans
from mercer.info.closed_forms import is_distribution
from mercer.info.sample import Sample, read_sample
from mercer.kernels.base import Kernel
from mercer.kernels.rules import Rule
from mercer.kernels.spectral_density import sample_frequencies
from mercer.rkhs.gaussian import Gaussian
from mercer.rkhs.mixture import Mixture
from mercer.rkhs.uniform import Dirac, Uniform

_STRIPE_ENTRIES = 2**19  # frequencies times observations at a time: 8 MiB of complex numbers
values_rule = Rule(
    "closed form of the characteristic function",
    "take a sample instead, such as CharacteristicFunction(p.sample(10_000, rng=0))",
)


@dataclass(frozen=True, eq=False)
class CharacteristicFunction:
    """Characteristic function phi(w) = E exp(i w'X) of a distribution, or of a sample.

    A sample, also an `Empirical` with weights, gives the mean of exp(i w'x_j); `Gaussian`, `Uniform`, `Dirac` and
    mixtures of these the closed form, such as exp(i w'm - w'Cw / 2). Distributions with equal characteristic
    functions are equal, and a shift-invariant kernel weights their difference by its spectral density p:
    MMD^2 = int |phi_P(w) - phi_Q(w)|^2 p(w) dw (Sriperumbudur et al. 2010, corollary 4).

    Parameters
    ----------
    source : array (n, d), data frame of numbers, `Empirical`, or distribution

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> from mercer.rkhs import Gaussian
    >>> phi, psi = (CharacteristicFunction(Gaussian(m, 1.0)) for m in (0.0, 1.0))
    >>> phi([0.0, 1.0])  # exp(-1/2) at 1
    array([1.    +0.j, 0.6065...+0.j])
    >>> round(phi.mmd2(psi, RBF(1.0), rng=0), 2)  # 2 (1 - exp(-1/6)) / sqrt(3) = 0.18
    0.18
    """

    source: Any

    def __post_init__(self) -> None:
        if is_distribution(self.source):
            values_rule.find(self.source)  # raises where there is none
        else:
            object.__setattr__(self, "source", _numbers(read_sample(self.source, "source")))

    @property
    def dimension(self) -> int:
        """The d of R^d."""
        return int(self.source.dimension)

    def __call__(self, omega: Any) -> np.ndarray:
        """phi(w) at frequencies (m, d), or (m,) on the line: complex numbers (m,)."""
        points = to_numpy(validate.points(omega, "omega")).astype(np.float64)
        if points.shape[1] != self.dimension:
            raise ValueError(
                f"omega must have {self.dimension} columns, as many as the source, got {points.shape[1]}"
            )
        return values_rule.apply(self.source, points)

    def mmd2(
        self,
        other: CharacteristicFunction,
        kernel: Kernel,
        *,
        frequencies: int = 10_000,
        rng: Any = None,
    ) -> float:
        """MMD^2 = k(0) E |phi(w) - psi(w)|^2 of a shift-invariant kernel, over random frequencies of its spectrum.

        The relative error is about 1 / sqrt(frequencies). For two samples this is the biased MMD^2.
        """
        validate.instance(
            "other", other, CharacteristicFunction, "a CharacteristicFunction, as this is"
        )
        if other.dimension != self.dimension:
            raise ValueError(
                f"both sources must have the same dimension, got {self.dimension} and {other.dimension}"
            )
        omega = sample_frequencies(kernel, frequencies, self.dimension, rng=rng)
        at_zero = float(kernel.diag(np.zeros((1, self.dimension)))[0])
        return at_zero * float(np.mean(np.abs(self(omega) - other(omega)) ** 2))


def _numbers(sample: Sample) -> Sample:
    """The sample in the memory of the host; an error where it has categories."""
    values = replace(sample, weights=None).host("CharacteristicFunction")
    return replace(sample, values=values, source=None)


@values_rule(Sample)
def _(sample: Sample, omega: np.ndarray) -> np.ndarray:
    n = len(sample)
    shares = np.full(n, 1 / n) if sample.weights is None else sample.weights
    work = partial(_mean_waves, omega, to_numpy(sample.values), shares)
    parts = spans(len(omega), max(_STRIPE_ENTRIES // n, 1))
    return np.concatenate([*in_order(work, parts, parallel=True, what="averaging waves")])


def _mean_waves(
    omega: np.ndarray, values: np.ndarray, shares: np.ndarray, rows: slice
) -> np.ndarray:
    """Weighted means of exp(i w'x) for some of the frequencies."""
    phases = omega[rows] @ values.T  # (rows, n)
    return np.cos(phases) @ shares + 1j * (np.sin(phases) @ shares)


@values_rule(Gaussian)
def _(p: Gaussian, omega: np.ndarray) -> np.ndarray:
    cov = p.cov if p.cov.ndim == 2 else np.diag(p.cov)
    return np.exp(1j * (omega @ p.mean) - np.sum((omega @ cov) * omega, axis=1) / 2)


@values_rule(Uniform)
def _(p: Uniform, omega: np.ndarray) -> np.ndarray:
    half, centre = (p.upper - p.lower) / 2, (p.upper + p.lower) / 2
    return np.exp(1j * (omega @ centre)) * np.prod(np.sinc(omega * half / np.pi), axis=1)


@values_rule(Dirac)
def _(p: Dirac, omega: np.ndarray) -> np.ndarray:
    return np.exp(1j * (omega @ to_numpy(p.point)))


@values_rule(Mixture)
def _(p: Mixture, omega: np.ndarray) -> np.ndarray:
    values = [values_rule.apply(part, omega) for part in p.parts]
    return np.tensordot(p.weights, values, axes=1)
