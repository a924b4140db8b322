"""Entry points that take kernels and numbers, and what their messages call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.gram import (
    Gram,
    PairedWeights,
    PermutedWeights,
    SignWeights,
    ridge_solve,
    top_eigenpairs,
)
from mercer.htest import DHSIC, Bootstrap, Lancaster, ShiftHSIC
from mercer.info import (
    Bregman,
    JensenRenyi,
    JensenShannon,
    JensenTsallis,
    Renyi,
    SharmaMittal,
    SymmetricBregman,
    Tsallis,
)
from mercer.kernels import (
    Composed,
    Stein,
    Sum,
    Tensor,
    bandwidth_grid,
    facts,
    is_positive_definite,
    radial_form,
    sample_frequencies,
    spectral_density,
)
from mercer.rkhs import (
    CosineBasis,
    Function,
    HaarBasis,
    LegendreBasis,
    Quadrature,
    Series,
    cka,
    coco,
    dhsic,
    expand,
    hsic,
    kcca,
    ksd2,
    mercer_expansion,
    mmd2,
    nocco,
    witness,
)
from tests.bad_input.doors import MASS, UNIT, K, W, X, Y

KERNEL_DOORS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "Gram": ("kernel", lambda k: Gram(k, X)),
    "is_positive_definite": ("kernel", lambda k: is_positive_definite(k, X)),
    "facts": ("kernel", facts),
    "radial_form": ("kernel", radial_form),
    "spectral_density": ("kernel", lambda k: spectral_density(k, X)),
    "sample_frequencies": ("kernel", lambda k: sample_frequencies(k, 3, 2)),
    "Sum": ("right", lambda k: Sum(K, k)),
    "on": ("inner", lambda k: K.on(k)),
    "Composed": ("outer", lambda k: Composed(k, K)),
    "Tensor": ("kernels", lambda k: Tensor(K, k)),
    "mmd2": ("kernel", lambda k: mmd2(k, X, Y)),
    "hsic, first": ("kernel_x", lambda k: hsic(k, K, X, Y)),
    "hsic, second": ("kernel_y", lambda k: hsic(K, k, X, Y)),
    "coco": ("kernel_x", lambda k: coco(k, K, X, Y)),
    "kcca": ("kernel_y", lambda k: kcca(K, k, X, Y, ridge=0.1)),
    "nocco": ("kernel_x", lambda k: nocco(k, K, X, Y, ridge=0.1)),
    "cka": ("kernel_y", lambda k: cka(K, k, X, Y)),
    "dhsic": ("kernels", lambda k: dhsic((K, k), (X, Y))),
    "DHSIC": ("kernels", lambda k: DHSIC((K, k))),
    "Lancaster": ("kernels", lambda k: Lancaster((K, K, k))),
    "witness": ("kernel", lambda k: witness(k, X, Y)),
    "ksd2": ("kernel", lambda k: ksd2(k, lambda x: -x, X)),
    "Stein": ("kernel", lambda k: Stein(k, lambda x: -x)),
    "Function": ("kernel", lambda k: Function(k, X, W)),
    "mercer_expansion": ("kernel", lambda k: mercer_expansion(k, X, 2)),
}

F = Series(CosineBasis(), MASS)
NUMBER_DOORS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "bandwidth_grid": ("number", lambda v: bandwidth_grid(X, v)),
    "sample_frequencies, n": ("n", lambda v: sample_frequencies(K, v, 2)),
    "sample_frequencies, dim": ("dim", lambda v: sample_frequencies(K, 2, v)),
    "ridge_solve": ("ridge", lambda v: ridge_solve(Gram(K, X), W, v)),
    "top_eigenpairs": ("k", lambda v: top_eigenpairs(Gram(K, X), v)),
    "PermutedWeights": ("resamples", lambda v: PermutedWeights(MASS, v)),
    "PairedWeights, n": ("n", lambda v: PairedWeights(v, 3)),
    "PairedWeights, resamples": ("resamples", lambda v: PairedWeights(3, v)),
    "SignWeights, n": ("n", lambda v: SignWeights(v, 3)),
    "SignWeights, resamples": ("resamples", lambda v: SignWeights(3, v)),
    "SignWeights, scale": ("scale", lambda v: SignWeights(3, 3, scale=v)),
    "SignWeights, block": ("block", lambda v: SignWeights(3, 3, block=v)),
    "mercer_expansion": ("rank", lambda v: mercer_expansion(K, X, v)),
    "kcca": ("ridge", lambda v: kcca(K, K, X, Y, ridge=v)),
    "nocco": ("ridge", lambda v: nocco(K, K, X, Y, ridge=v)),
    "Bootstrap": ("resamples", Bootstrap),
    "ShiftHSIC": ("head", lambda v: ShiftHSIC(head=v if v is not None else 0)),
    "Renyi": ("alpha", Renyi),
    "Tsallis": ("alpha", Tsallis),
    "SharmaMittal": ("beta", lambda v: SharmaMittal(0.5, v)),
    "Bregman": ("alpha", Bregman),
    "SymmetricBregman": ("alpha", SymmetricBregman),
    "JensenShannon": ("weight", JensenShannon),
    "JensenRenyi": ("alpha", JensenRenyi),
    "JensenTsallis": ("alpha", JensenTsallis),
    "basis": ("n", lambda v: CosineBasis()(UNIT, v)),
    "basis, a": ("a", lambda v: HaarBasis(v, 1e6)),
    "basis, b": ("b", lambda v: LegendreBasis(-1e6, v)),
    "expand": ("n", lambda v: expand(np.sin, CosineBasis(), v)),
    "Series.linear": ("n", F.linear),
    "Series.best": ("n", F.best),
    "Series.sobolev_norm": ("s", F.sobolev_norm),
    "legendre, a": ("a", lambda v: Quadrature.legendre(v, 1e6, 3)),
    "legendre, b": ("b", lambda v: Quadrature.legendre(-1e6, v, 3)),
    "legendre, n": ("n", lambda v: Quadrature.legendre(0, 1, v)),
    "legendre, panels": ("panels", lambda v: Quadrature.legendre(0, 1, 3, panels=v)),
    "hermite, mean": ("mean", lambda v: Quadrature.hermite(v, 1, 3)),
    "hermite, std": ("std", lambda v: Quadrature.hermite(0, v, 3)),
    "hermite, n": ("n", lambda v: Quadrature.hermite(0, 1, v)),
}
