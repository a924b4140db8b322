"""Tensor sketches: features of polynomial kernels by fast Fourier transforms."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from mercer.backend import Array, array_like, astype, namespace, ones
from mercer.errors import NoRule
from mercer.features.feature_map import FeatureMap, Map
from mercer.kernels.base import Kernel, Points
from mercer.kernels.dot import Polynomial


@dataclass(frozen=True, eq=False)
class SketchMap(Map):
    """Circular convolution of `degree` count sketches of (x, sqrt(offset)).

    The t-th sketch adds column j, with the sign `signs[t, j]`, to the entry `places[t, j]`; the sketch
    of a tensor product is the circular convolution of the sketches of its factors.
    """

    places: np.ndarray  # (degree, d + 1)
    signs: np.ndarray  # (degree, d + 1)
    offset: float
    width: int

    def __call__(self, x: Points, /) -> Array:
        xp = namespace(x)
        offset = sqrt(self.offset) * ones((x.shape[0], 1), x)
        extended = xp.concat([x, offset], axis=1)
        product = None
        for places, signs in zip(self.places, self.signs, strict=True):
            table = np.zeros((len(places), self.width), dtype=np.float64)
            table[np.arange(len(places)), places] = signs
            spectrum = xp.fft.rfft(extended @ array_like(table, x), axis=1)
            product = spectrum if product is None else product * spectrum
        return astype(xp.fft.irfft(product, n=self.width, axis=1), x.dtype)


class TensorSketch(FeatureMap):
    """Features of a polynomial kernel: E <z(x), z(y)> = (<x, y> + c)^p.

    Convolved count sketches of p copies of x (Pham and Pagh 2013) take n (p d + p D log D) operations,
    whereas there are d^p monomials. The variance of a dot product is at most 3^p |x|^2p |y|^2p / D,
    where x and y have sqrt(c) as an additional coordinate.

    Parameters
    ----------
    kernel : Polynomial or None
        None: ``Polynomial()``, with degree 3 and offset 1.
    n_components : int
        Number of features D.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    map_ : SketchMap
    kernel_ : Kernel

    References
    ----------
    N. Pham, R. Pagh (2013). Fast and scalable polynomial kernels via explicit feature maps. KDD.

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.kernels import Polynomial
    >>> x = np.random.default_rng(0).normal(size=(50, 10)) / 4
    >>> z = TensorSketch(Polynomial(2), 4000, random_state=0).fit_transform(x)
    >>> bool(np.abs(z @ z.T - Polynomial(2)(x)).max() < 0.3)
    True
    """

    def __init__(
        self, kernel: Polynomial | None = None, n_components: int = 256, *, random_state: Any = None
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.random_state = random_state

    def _needs_points(self) -> str | None:
        return "it computes features of the points"

    def _default_kernel(self, x: Any) -> Kernel:
        return Polynomial()

    def _map(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> SketchMap:
        if not isinstance(kernel, Polynomial):
            raise NoRule(f"no tensor sketch of {kernel!r}: use a Polynomial kernel, or Nystrom")
        shape = (kernel.degree, int(points.shape[1]) + 1)
        places = rng.integers(0, self.n_components, shape)
        signs = rng.choice([-1.0, 1.0], shape)
        return SketchMap(places, signs, kernel.offset, self.n_components)
