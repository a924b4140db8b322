"""Random Fourier features: cosines and sines of frequencies drawn from the spectrum of a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi, sqrt
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, array_like, count, is_array, is_numpy, namespace
from mercer.errors import NoRule
from mercer.features.feature_map import FeatureMap, Map
from mercer.features.quasi import quasi_frequencies
from mercer.kernels.base import Kernel, Points
from mercer.kernels.smooth import radial_form
from mercer.kernels.spectral_density import sample_frequencies
from mercer.kernels.spectrum_algebra import top
from mercer.kernels.wrappers import Scaled

_LEVEL = 0.95  # of `error_bound_`


@dataclass(frozen=True, eq=False)
class FourierMap(Map):
    """z(x) = sqrt(2 k(0) / D) (cos w_1'x ... cos w_m'x, sin w_1'x ... sin w_m'x).

    Of an odd number D of features the last frequency has one only, cos(w_m'x + shift) with a random
    shift, whose products are right on average.
    """

    frequencies: np.ndarray  # (m, d)
    width: int  # D
    scale: float
    shift: float = 0.0

    def __call__(self, x: Points, /) -> Array:
        m, phase = len(self.frequencies), x @ array_like(self.frequencies.T, x)
        if self.width % 2:
            phase[:, m - 1] += self.shift
        sines = self.width - m
        if not is_numpy(phase):
            xp = namespace(phase)
            return self.scale * xp.concat([xp.cos(phase), xp.sin(phase[:, :sines])], axis=1)
        z = np.empty((len(phase), self.width), dtype=phase.dtype)
        np.cos(phase, out=z[:, :m])
        np.sin(phase[:, :sines], out=z[:, m:])
        z *= phase.dtype.type(self.scale)
        return z


class Fourier(FeatureMap):
    """Features of frequencies: k(x, y) = k(0) E cos(w'(x - y)) for a stationary kernel (Bochner)."""

    error_bound_: float

    def _needs_points(self) -> str | None:
        return "it makes features of the points"

    def _frequencies(
        self, kernel: Kernel, number: int, dim: int, rng: np.random.Generator
    ) -> np.ndarray:
        raise NotImplementedError

    def _map(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> FourierMap:
        if not (is_array(points) and points.ndim == 2):
            raise NoRule(
                f"Fourier features need numbers and a stationary kernel, got {kernel!r}: use "
                "Nystrom, which takes any kernel"
            )
        width, dim = int(self.n_components), int(points.shape[1])
        omega = self._frequencies(kernel, (width + 1) // 2, dim, rng)
        self._top = top(kernel, dim)
        self.error_bound_ = self.error_bound(max(count(points), 2), level=_LEVEL)
        shift = float(rng.uniform(0, 2 * pi)) if width % 2 else 0.0
        return FourierMap(omega, width, sqrt(2 * self._top / width), shift)

    def error_bound(self, n: int, *, level: float = _LEVEL) -> float:
        """With probability `level` no kernel value of n points is off by more than this.

        k(0) sqrt(4 log(n (n - 1) / (1 - level)) / D) with D features: Hoeffding's inequality for the
        mean of D / 2 independent cosines, over all pairs. It falls as 1 / sqrt(D) and does not know
        the dimension.
        """
        validate.whole("n", n, 2)
        validate.between("level", level, 0.0, 1.0)
        pairs = n * (n - 1)  # each of the n (n - 1) / 2 pairs, above and below
        width = self.n_components + self.n_components % 2  # a feature alone varies as two together
        spread = width / self.n_components**2
        return self._top * sqrt(4 * log(pairs / (1 - level)) * spread)


class RandomFourier(Fourier):
    """Random Fourier features of a stationary kernel: <z(x), z(y)> ~ k(x, y).

    Frequencies w are drawn from the spectrum of the kernel, and z has a cosine and a sine of each
    (Rahimi and Recht 2007), which is better than one cosine with a random shift (Sutherland and
    Schneider 2015). Where the spectrum is the same in all directions, frequencies are made
    orthogonal in blocks of d: each of them keeps its distribution, and errors get smaller (Yu et
    al. 2016).

    Parameters
    ----------
    kernel : Kernel or None
        With a known spectrum (`sample_frequencies`). None: RBF at the median distance.
    n_components : int
        How many features; half as many frequencies.
    orthogonal : bool
        Whether frequencies of a block are orthogonal, where the kernel is radial.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    map_ : FourierMap
        `frequencies` (m, d), and the `scale` of the features.
    error_bound_ : float
        With probability 95% no kernel value between the points of `fit` is off by more: see
        `error_bound`. Proved for independent frequencies; those of a block are not, and the errors
        of orthogonal ones are smaller still.
    orthogonal_ : bool
        Whether the frequencies are orthogonal.
    kernel_ : Kernel

    References
    ----------
    A. Rahimi, B. Recht (2007). Random features for large-scale kernel machines. NeurIPS. F. X. Yu et
    al. (2016). Orthogonal random features. NeurIPS. D. J. Sutherland, J. Schneider (2015). On the
    error of random Fourier features. UAI.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> x = np.random.default_rng(0).normal(size=(100, 5))
    >>> features = RandomFourier(RBF(3.0), 2000, random_state=0)
    >>> z = features.fit_transform(x)
    >>> off = np.abs(z @ z.T - RBF(3.0)(x)).max()
    >>> bool(off < 0.05), bool(off < features.error_bound_)
    (True, True)
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        n_components: int = 256,
        *,
        orthogonal: bool = True,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.orthogonal = orthogonal
        self.random_state = random_state

    def _frequencies(
        self, kernel: Kernel, number: int, dim: int, rng: np.random.Generator
    ) -> np.ndarray:
        validate.truth("orthogonal", self.orthogonal)
        inner, factors = (
            (kernel.kernel, kernel.factors) if isinstance(kernel, Scaled) else (kernel, 1.0)
        )
        self.orthogonal_ = bool(self.orthogonal) and dim > 1 and radial_form(inner) is not None
        if not self.orthogonal_:
            return sample_frequencies(kernel, number, dim, rng=rng)
        drawn = sample_frequencies(inner, number, dim, rng=rng)
        lengths = np.linalg.norm(drawn, axis=1, keepdims=True)
        return lengths * directions(number, dim, rng) * np.asarray(factors, dtype=np.float64)


class QuasiMonteCarloFourier(Fourier):
    """Fourier features whose frequencies fill the spectrum evenly: a scrambled Sobol sequence.

    The mean of cosines over frequencies is an integral, and points that leave no gaps estimate it
    better than points drawn at random (Avron et al. 2016): with smooth kernels in few dimensions the
    error falls almost as 1 / m.

    Parameters
    ----------
    kernel : Kernel or None
        With a spectrum that is drawn by transformation (all radial ones, `Laplace`, `Sinc`, the
        periodic ones, and what is made of them). None: RBF at the median distance.
    n_components : int
        How many features; half as many frequencies. Powers of two are best.
    random_state : int, Generator, RandomState or None
        Scrambles the sequence.

    Attributes
    ----------
    map_ : FourierMap
    error_bound_ : float
        That of independent frequencies, which these stay below.
    kernel_ : Kernel

    References
    ----------
    H. Avron, V. Sindhwani, J. Yang, M. W. Mahoney (2016). Quasi-Monte Carlo feature maps for
    shift-invariant kernels. Journal of Machine Learning Research 17(120), 1-38.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import RBF
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> z = QuasiMonteCarloFourier(RBF(2.0), 512, random_state=0).fit_transform(x)
    >>> bool(np.abs(z @ z.T - RBF(2.0)(x)).max() < 0.02)
    True
    """

    def __init__(
        self, kernel: Kernel | None = None, n_components: int = 256, *, random_state: Any = None
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def _frequencies(
        self, kernel: Kernel, number: int, dim: int, rng: np.random.Generator
    ) -> np.ndarray:
        return quasi_frequencies(kernel, number, dim, rng)


def directions(number: int, dim: int, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors, uniform on the sphere, orthogonal to each other in blocks of `dim`: (number, dim)."""
    blocks = []
    for start in range(0, number, dim):
        q, r = linalg.qr(rng.standard_normal((dim, dim)))
        blocks.append((q * np.sign(np.diagonal(r)))[: number - start])  # signs: Haar's measure
    return np.concatenate(blocks)
