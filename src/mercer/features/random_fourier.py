"""Random Fourier features: cosines and sines at frequencies drawn from the spectrum of a kernel."""

from __future__ import annotations

from abc import abstractmethod
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

_ERROR_BOUND_LEVEL = 0.95  # probability with which `error_bound_` holds, the usual one


@dataclass(frozen=True, eq=False)
class FourierMap(Map):
    """Feature map z(x) = sqrt(2 k(0) / D) (cos w_1'x ... cos w_m'x, sin w_1'x ... sin w_m'x).

    If D is odd, the last frequency has a single feature cos(w_m'x + shift) with a random shift, whose
    products are unbiased.
    """

    frequencies: np.ndarray  # (m, d)
    width: int  # D
    scale: float
    shift: float = 0.0

    def __call__(self, x: Points, /) -> Array:
        m, phase = len(self.frequencies), x @ array_like(self.frequencies.T, x)
        if self.width % 2:
            phase = phase + array_like((np.arange(m) == m - 1) * self.shift, phase)
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
    """Fourier features of a stationary kernel, k(x, y) = k(0) E cos(w'(x - y)) by Bochner's theorem."""

    error_bound_: float

    def _needs_points(self) -> str | None:
        return "it computes features of the points"

    @abstractmethod
    def _frequencies(
        self, kernel: Kernel, number: int, dim: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Frequencies from the spectrum of the kernel: (number, dim)."""

    def _map(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> FourierMap:
        if not (is_array(points) and points.ndim == 2):
            raise NoRule(
                f"Fourier features need numeric points and a stationary kernel, got {kernel!r}: use "
                "Nystrom, which takes any kernel"
            )
        width, dim = int(self.n_components), int(points.shape[1])
        omega = self._frequencies(kernel, (width + 1) // 2, dim, rng)
        self._top = top(kernel, dim)
        self.error_bound_ = self.error_bound(max(count(points), 2), level=_ERROR_BOUND_LEVEL)
        shift = float(rng.uniform(0, 2 * pi)) if width % 2 else 0.0
        return FourierMap(omega, width, sqrt(2 * self._top / width), shift)

    def error_bound(self, n: int, *, level: float = _ERROR_BOUND_LEVEL) -> float:
        """Bound on the error of all kernel values of n points, which holds with probability `level`.

        k(0) sqrt(4 log(n (n - 1) / (1 - level)) / D) with D features: Hoeffding's inequality for the
        mean of D / 2 independent cosines and a union bound over all pairs. It decreases as 1 / sqrt(D)
        and does not depend on the dimension.
        """
        validate.whole("n", n, 2)
        validate.between("level", level, 0.0, 1.0)
        deviations = n * (n - 1)  # each of the n (n - 1) / 2 pairs, upwards and downwards
        width = self.n_components + self.n_components % 2  # a single feature has the range of two
        variance = width / self.n_components**2
        return self._top * sqrt(4 * log(deviations / (1 - level)) * variance)


class RandomFourier(Fourier):
    """Random Fourier features of a stationary kernel: <z(x), z(y)> ~ k(x, y).

    Frequencies w are drawn from the spectrum of the kernel, and z has a cosine and a sine of each
    (Rahimi and Recht 2007), which has a smaller variance than one cosine with a random shift
    (Sutherland and Schneider 2015). For isotropic kernels, frequencies are made orthogonal in blocks
    of d, which keeps the distribution of each and reduces the error (Yu et al. 2016).

    Parameters
    ----------
    kernel : Kernel or None
        A kernel with a known spectrum (`sample_frequencies`). None: RBF at the median distance.
    n_components : int
        Number of features; there are half as many frequencies.
    orthogonal : bool
        Whether to make the frequencies orthogonal in blocks, if the kernel is radial.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    map_ : FourierMap
        `frequencies` (m, d), and the `scale` of the features.
    error_bound_ : float
        Bound on the error of all kernel values between the points of `fit`, which holds with
        probability 95%; see `error_bound`. It is proved for independent frequencies; orthogonal
        frequencies have smaller errors.
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
        independent = sample_frequencies(inner, number, dim, rng=rng)
        lengths = np.linalg.norm(independent, axis=1, keepdims=True)
        return lengths * directions(number, dim, rng) * np.asarray(factors, dtype=np.float64)


class QuasiMonteCarloFourier(Fourier):
    """Fourier features with quasi-Monte Carlo frequencies from a scrambled Sobol sequence.

    The mean of cosines over frequencies estimates an integral, and evenly spread points estimate it
    better than random ones (Avron et al. 2016): for smooth kernels in low dimension the error
    decreases almost as 1 / m.

    Parameters
    ----------
    kernel : Kernel or None
        A kernel whose spectrum is sampled by transformation: all radial kernels, `Laplace`, `Sinc`,
        the periodic kernels, and combinations of them. None: RBF at the median distance.
    n_components : int
        Number of features; there are half as many frequencies. Powers of two are best.
    random_state : int, Generator, RandomState or None
        Source of the scrambling.

    Attributes
    ----------
    map_ : FourierMap
    error_bound_ : float
        The bound for independent frequencies, whose errors are larger.
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
    """Unit vectors, uniform on the sphere and orthogonal in blocks of `dim`: (number, dim)."""
    blocks = -(-number // dim)
    q, r = linalg.qr(rng.standard_normal((blocks, dim, dim)))
    signs = np.sign(np.diagonal(r, axis1=1, axis2=2))  # they make it Haar distributed
    return (q * signs[:, None, :]).reshape(-1, dim)[:number]
