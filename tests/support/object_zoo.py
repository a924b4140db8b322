"""One line per kernel on objects: instances of every class, objects they take, and what they promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.kernels import RBF, Kernel, Spectrum
from mercer.kernels.objects import ObjectKernel

ObjectSampler = Callable[[np.random.Generator, int], Any]


def words(letters: str, longest: int) -> ObjectSampler:
    """Strings of random lengths, the first of them empty."""

    def sample(rng: np.random.Generator, n: int) -> list[str]:
        lengths = [0, *rng.integers(0, longest + 1, n - 1)]
        return ["".join(rng.choice(list(letters), size)) for size in lengths]

    return sample


@dataclass(frozen=True)
class ObjectEntry:
    kernel: Kernel
    sample: ObjectSampler
    definite: bool = True  # positive semi-definite, which `facts` says too
    tolerance: float = 1e-12  # relative to the largest value


WORDS = words("abc", 12)

OBJECT_ZOO = [
    ObjectEntry(Spectrum(2), WORDS),
    ObjectEntry(Spectrum(3, up_to=True), words("aßc\U0001f600", 9)),
    ObjectEntry(Spectrum(2, binary=True), WORDS),
    # algebra and wrappers
    ObjectEntry(Spectrum(2) + 0.5 * Spectrum(3).normalized(), WORDS),
    ObjectEntry(RBF(0.7).on(Spectrum(1).normalized()) * Spectrum(1), WORDS, tolerance=1e-9),
]
OBJECT_KERNELS = {type(e.kernel): e for e in OBJECT_ZOO if isinstance(e.kernel, ObjectKernel)}
OBJECT_IDS = [f"{i}-{repr(e.kernel)[:40].replace(' ', '')}" for i, e in enumerate(OBJECT_ZOO)]
