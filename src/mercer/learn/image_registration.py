"""Image registration: the rigid motion under which two images depend on each other most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import to_numpy
from mercer.kernels.bandwidth import median_rbf
from mercer.rkhs import kcca

Measure = Callable[[Any, Any], float]
_RIDGE = 0.02  # of KCCA: small against the variance of a smooth function, large against noise
_COARSE_BLUR, _FINE_BLUR = 2.0, 1.0  # pixels; blurred images have wide basins of attraction
_STARTS = 4  # best points of the grid from which a local maximum is climbed to
_GRID = 5  # values of every parameter
_VISIBLE = 0.75  # share of half the shorter side: a disc that mostly stays inside the other image


@dataclass(frozen=True)
class Registration:
    """A rigid motion of an image: turned by `degrees` around its centre, then shifted (rows, columns).

    Pixel u of the fixed image corresponds to R(u - centre) + centre + shift in the moving one. `dependence` is the
    value of the measure at this motion.
    """

    degrees: float
    shift: tuple[float, float]
    dependence: float

    def places(self, pixels: Any, shape: tuple[int, int]) -> np.ndarray:
        """Coordinates in the moving image (n, 2) of pixels (n, 2) of a fixed image of this shape."""
        points = to_numpy(validate.points(pixels, "pixels")).astype(np.float64)
        if points.shape[1] != 2:
            raise ValueError(f"pixels must have two columns, got {points.shape[1]}")
        motion = np.array([self.degrees, *self.shift])
        return _moved(points.T, motion, (np.array(shape)[:, None] - 1) / 2).T

    def aligned(self, moving: Any) -> np.ndarray:
        """The moving image resampled in the frame of the fixed one."""
        from scipy.ndimage import map_coordinates

        image = _image(moving, "moving")
        grid = np.indices(image.shape).reshape(2, -1)
        places = self.places(grid.T, image.shape).T
        return map_coordinates(image, places, order=1, mode="nearest").reshape(image.shape)


def register_images(
    fixed: Any,
    moving: Any,
    *,
    measure: Measure | None = None,
    degrees: float = 12.0,
    shift: float = 12.0,
    points: int = 400,
    random_state: int = 0,
) -> Registration:
    """Align two images of one scene, whose grey values need not agree, by maximising their dependence.

    The motion theta that maximises I(fixed(u), moving(theta u)) over pixels u (Kybic 2004; Neemuchwala et al. 2007):
    whatever the relation of the grey values, it is strongest where the images are aligned. A bounded kernel gives a
    pixel that is an outlier, in an occluded or damaged region, no more weight than others.

    Grey values become ranks, which changes no dependence and bounds outliers, and medians of 3 x 3 pixels remove single
    ones. Images are then blurred, at first more and later less so; a grid finds the neighbourhood of the maximum, and the simplex
    method of Nelder and Mead the maximum.

    Parameters
    ----------
    fixed, moving : arrays (rows, columns)
        Two images of the same shape.
    measure : callable (x, y) -> number, or None
        Dependence of the grey values (n,) of both images, such as ``mercer.info.mutual_information``. None: the kernel
        canonical correlation `kcca`, with RBF kernels at the median distance of each image.
    degrees, shift : float
        Largest rotation and largest shift in pixels that are looked for. Zero degrees: shifts only.
    points : int
        Pixels at which dependence is measured, in a disc around the centre.
    random_state : int
        Seed of these pixels.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.ndimage import gaussian_filter
    >>> scene = gaussian_filter(np.random.default_rng(0).normal(size=(48, 48)), 3)
    >>> moving = np.roll(scene, (3, -2), axis=(0, 1)) ** 2  # another instrument: signs are lost
    >>> motion = register_images(scene, moving, degrees=0, shift=6, points=300)
    >>> np.round(motion.shift)
    array([ 3., -2.])
    """
    first, second = _image(fixed, "fixed"), _image(moving, "moving")
    _check(first, second, measure, degrees, shift)
    first, second = _smoothed_ranks(first), _smoothed_ranks(second)
    validate.whole("points", points, 4)
    validate.whole("random_state", random_state, 0)
    places = _scattered(first.shape, int(points), int(random_state))
    coarse, fine = (
        _objective(first, second, places, measure, blur) for blur in (_COARSE_BLUR, _FINE_BLUR)
    )
    steps = np.linspace(-1, 1, _GRID)
    scale = np.array([degrees, shift, shift]) if degrees > 0 else np.array([shift, shift])
    grid = [scale * np.array(step) for step in product(steps, repeat=len(scale))]
    tops = sorted(grid, key=coarse, reverse=True)[:_STARTS]
    best = max((_climbed(coarse, top, scale) for top in tops), key=fine)
    best = _climbed(fine, best, scale)
    motion = _full(best)
    return Registration(float(motion[0]), (float(motion[1]), float(motion[2])), fine(best))


# ---- private ------------------------------------------------------------------------------


def _check(
    first: np.ndarray, second: np.ndarray, measure: Any, degrees: float, shift: float
) -> None:
    if first.shape != second.shape:
        raise ValueError(
            f"fixed and moving must have the same shape, got {first.shape} and {second.shape}: crop or pad one"
        )
    validate.positive("shift", shift)
    validate.number("degrees", degrees)
    if not 0 <= degrees <= 180:
        raise ValueError(f"degrees must be from 0 to 180, got {degrees!r}")
    if not (measure is None or callable(measure)):
        raise TypeError(
            "measure must be a function of two variables, such as mercer.info.mutual_information, or None, "
            f"got {measure!r}"
        )


def _image(x: Any, name: str) -> np.ndarray:
    image = to_numpy(validate.points(x, name)).astype(np.float64)
    if min(image.shape) < 8:
        raise ValueError(
            f"{name} must be an image of at least 8 rows and columns, got {image.shape}"
        )
    if image.min() == image.max():
        raise ValueError(f"{name} is constant, so that nothing depends on it")
    return image


def _smoothed_ranks(image: np.ndarray) -> np.ndarray:
    """Ranks of the grey values, from 0 to 1, and their medians over 3 x 3 pixels."""
    from scipy.ndimage import median_filter
    from scipy.stats import rankdata

    return median_filter(rankdata(image).reshape(image.shape) / image.size, 3)


def _scattered(shape: tuple[int, int], number: int, seed: int) -> np.ndarray:
    """Random places in a disc around the centre: (2, n)."""
    rng = np.random.default_rng(seed)
    radius = _VISIBLE * (min(shape) - 1) / 2 * np.sqrt(rng.uniform(size=number))
    angle = rng.uniform(0, 2 * np.pi, number)
    centre = (np.array(shape)[:, None] - 1) / 2
    return centre + radius * np.stack([np.sin(angle), np.cos(angle)])


def _full(motion: np.ndarray) -> np.ndarray:
    """Degrees and shifts, the first of which are zero where only shifts are looked for."""
    return motion if len(motion) == 3 else np.concatenate([[0.0], motion])


def _moved(places: np.ndarray, motion: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Coordinates (2, n) in the moving image of places in the fixed one."""
    angle = np.deg2rad(motion[0])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    return turn @ (places - centre) + centre + motion[1:, None]


def _objective(
    fixed: np.ndarray, moving: np.ndarray, places: np.ndarray, measure: Measure | None, blur: float
) -> Callable[[np.ndarray], float]:
    """Dependence as a function of the motion."""
    from scipy.ndimage import gaussian_filter, map_coordinates

    reference = map_coordinates(gaussian_filter(fixed, blur), places, order=1)
    blurred = gaussian_filter(moving, blur)
    dependence = _canonical(reference, blurred) if measure is None else measure
    centre = (np.array(fixed.shape)[:, None] - 1) / 2

    def value(motion: np.ndarray) -> float:
        there = _moved(places, _full(motion), centre)
        grey = map_coordinates(blurred, there, order=1, mode="nearest")
        result = dependence(reference, grey)
        validate.number("the value of measure", result)
        return float(result)

    return value


def _canonical(reference: np.ndarray, blurred: np.ndarray) -> Measure:
    """KCCA with kernels that stay the same for all motions."""
    kernels = median_rbf(reference[:, None]), median_rbf(blurred[::4, ::4].reshape(-1, 1))
    return lambda x, y: kcca(*kernels, x, y, ridge=_RIDGE)


def _climbed(
    value: Callable[[np.ndarray], float], start: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """The local maximum that the simplex method reaches from a starting point."""
    from scipy.optimize import minimize

    simplex = start + np.concatenate([np.zeros((1, len(start))), np.diag(scale / 6)])
    options: Any = {"initial_simplex": simplex, "xatol": 0.02, "fatol": 1e-6}
    return minimize(lambda v: -value(v), start, method="Nelder-Mead", options=options).x
