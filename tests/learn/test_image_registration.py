"""Registration of images by dependence: motions are found whatever the grey values, and despite outliers."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter, map_coordinates

from mercer.info import KSG, mutual_information
from mercer.learn import Registration, register_images
from mercer.rkhs import hsic

TRUTH = Registration(6.0, (3.0, -4.0), 1.0)
SIDE = 72


def _scene(seed: int) -> np.ndarray:
    image = gaussian_filter(np.random.default_rng(seed).normal(size=(SIDE, SIDE)), 4)
    return image / image.std()


def _pair(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A scene, and the same seen by an instrument that squares grey values, moved by TRUTH."""
    scene = _scene(seed)
    grid = np.indices(scene.shape).reshape(2, -1).astype(float)
    centre = (SIDE - 1) / 2
    angle = np.deg2rad(-TRUTH.degrees)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    back = turn @ (grid - centre - np.array(TRUTH.shift)[:, None]) + centre
    moved = map_coordinates(scene**2, back, order=1, mode="nearest").reshape(scene.shape)
    return scene, moved


def _error(motion: Registration) -> float:
    """Mean distance of pixels from their true places."""
    disc = np.random.default_rng(0).uniform(SIDE / 4, 3 * SIDE / 4, size=(200, 2))
    gap = motion.places(disc, (SIDE, SIDE)) - TRUTH.places(disc, (SIDE, SIDE))
    return float(np.mean(np.hypot(*gap.T)))


def _correlation(x, y):
    return abs(np.corrcoef(x, y)[0, 1])


def test_motion_is_found_where_correlation_sees_nothing():
    fixed, moving = _pair(0)
    search = partial(register_images, fixed, moving, degrees=9.0, shift=6.0, points=200)
    motion = search()
    assert _error(motion) < 0.5
    assert _error(search(measure=_correlation)) > 2
    back = motion.aligned(moving)
    inner = (slice(18, 54), slice(18, 54))
    assert np.corrcoef(back[inner].ravel(), fixed[inner].ravel() ** 2)[0, 1] > 0.95


@pytest.mark.parametrize(
    "measure", [partial(mutual_information, estimator=KSG()), partial(hsic, None, None)]
)
def test_any_measure_of_dependence_registers(measure):
    fixed = _scene(1)
    moving = np.roll(fixed, (2, -1), axis=(0, 1)) ** 2
    motion = register_images(fixed, moving, measure=measure, degrees=0.0, shift=4.0, points=150)
    assert np.allclose(motion.shift, (2, -1), atol=0.5)


def test_a_fifth_of_outliers_and_an_occluded_corner_do_not_move_the_motion():
    fixed, moving = _pair(2)
    rng = np.random.default_rng(3)
    outliers = rng.uniform(size=moving.shape) < 0.2
    damaged = np.where(outliers, 10 * rng.standard_cauchy(size=moving.shape), moving)
    damaged[10:26, 40:60] = moving.max()
    motion = register_images(fixed, damaged, degrees=9.0, shift=6.0, points=250)
    assert _error(motion) < 1.0


def test_images_that_cannot_be_registered():
    fixed, moving = _pair(0)
    with pytest.raises(ValueError, match="same shape"):
        register_images(fixed, moving[:40])
    with pytest.raises(ValueError, match="constant"):
        register_images(fixed, np.ones_like(fixed))
    with pytest.raises(TypeError, match="measure must be"):
        register_images(fixed, moving, measure="kcca")
    with pytest.raises(ValueError, match="degrees must be"):
        register_images(fixed, moving, degrees=-1.0)
    with pytest.raises(ValueError, match="two columns"):
        TRUTH.places(np.zeros((3, 3)), fixed.shape)
