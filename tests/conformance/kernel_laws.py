"""The laws every kernel obeys; each takes a zoo entry and fails with an AssertionError.

`tests/conformance/test_kernels.py` holds every kernel to them, and shows that wrong kernels fail.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

import mercer.kernels
from mercer.backend import device, namespace
from mercer.kernels import Kernel, SmoothRadial
from tests.support.arrays import LIBRARIES, to_numpy, torch
from tests.support.zoo import Entry

N, M = 14, 9


def samples(entry: Entry, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two samples that share points, one of them with a repeated point."""
    rng = np.random.default_rng(seed)
    x, y = entry.sample(rng, N), entry.sample(rng, M)
    x[5], y[2], y[3] = x[4], x[1], x[0]
    return x, y


def close(actual: Any, expected: Any, entry: Entry, tolerance: float | None = None) -> None:
    """Equal within the tolerance, relative to the largest value."""
    actual, expected = to_numpy(actual), to_numpy(expected)
    assert actual.shape == expected.shape
    limit = entry.tolerance if tolerance is None else max(tolerance, entry.tolerance)
    assert_allclose(actual, expected, rtol=0, atol=limit * max(1e-3, np.abs(expected).max()))


# ---- what a kernel is -----------------------------------------------------------------------


def symmetric(entry: Entry, library: str = "numpy") -> None:
    x, y = map(LIBRARIES[library], samples(entry))
    k = entry.kernel
    close(k.pairwise(x, y), to_numpy(k.pairwise(y, x)).T, entry)
    close(k.paired(x[:M, :], y), k.paired(y, x[:M, :]), entry)


def definite(entry: Entry, library: str = "numpy") -> None:
    """No eigenvalue below zero, with and without repeated and nearly repeated points."""
    for seed in range(3):
        x, y = samples(entry, seed)
        x = np.concatenate([x, y, entry.sample(np.random.default_rng(seed + 9), 20)])
        x = LIBRARIES[library](x)
        values = np.linalg.eigvalsh(to_numpy(entry.kernel.pairwise(x, x)))
        assert values[0] >= -10 * entry.tolerance * max(1.0, values[-1]), values[0]


def diagonal(entry: Entry, library: str = "numpy") -> None:
    x = LIBRARIES[library](samples(entry)[0])
    k, same = entry.kernel, namespace(x).asarray(x, copy=True)
    for other in (x, same):
        close(k.diag(x), k.paired(x, other), entry)
        close(k.diag(x), np.diagonal(to_numpy(k.pairwise(x, other))), entry)
    if entry.definite:
        assert to_numpy(k.diag(x)).min() >= 0


def pairs(entry: Entry, library: str = "numpy") -> None:
    x, y = samples(entry)
    rows, columns = np.repeat(np.arange(N), M), np.tile(np.arange(M), N)
    convert, k = LIBRARIES[library], entry.kernel
    one_by_one = to_numpy(k.paired(convert(x[rows]), convert(y[columns]))).reshape(N, M)
    close(k.pairwise(convert(x), convert(y)), one_by_one, entry)


def slices(entry: Entry, library: str = "numpy") -> None:
    """A value depends on its two points only, not on the sample they come in."""
    x, y = map(LIBRARIES[library], samples(entry))
    k = entry.kernel
    whole, square = to_numpy(k.pairwise(x, y)), to_numpy(k.pairwise(x, x))
    close(k.pairwise(x[:4, :], y), whole[:4], entry)
    close(k.pairwise(x, y[3:5, :]), whole[:, 3:5], entry)
    close(k.pairwise(x[6:7, :], y[1:2, :]), whole[6:7, 1:2], entry)
    close(k.pairwise(x[2:7, :], x), square[2:7], entry)
    close(k.pairwise(x[2:7, :], x[4:, :]), square[2:7, 4:], entry)


def libraries(entry: Entry, library: str) -> None:
    """The numbers of NumPy, in arrays of the library and on the device of the arguments."""
    x, y = samples(entry)
    a, b, k = LIBRARIES[library](x), LIBRARIES[library](y), entry.kernel
    for ours, theirs in (
        (k.pairwise(a, b), k.pairwise(x, y)),
        (k.pairwise(a, a), k.pairwise(x, x)),
        (k.paired(a[:M, :], b), k.paired(x[:M, :], y)),
        (k.diag(a), k.diag(x)),
        (k(a, b), k(x, y)),
    ):
        assert type(ours) is type(a)
        assert device(ours) == device(a)
        assert ours.dtype == a.dtype
        close(ours, theirs, entry, 1e-12)


def single(entry: Entry, library: str = "numpy") -> None:
    """float32 stays float32, and is close to float64 on the same points."""
    x, y = (v.astype(np.float32) for v in samples(entry))
    wide, k = [LIBRARIES[library](v.astype(np.float64)) for v in (x, y)], entry.kernel
    x, y = map(LIBRARIES[library], (x, y))
    for narrow, exact in (
        (k.pairwise(x, y), k.pairwise(*wide)),
        (k.pairwise(x, x), k.pairwise(wide[0], wide[0])),
        (k.paired(x[:M, :], y), k.paired(wide[0][:M, :], wide[1])),
        (k.diag(x), k.diag(wide[0])),
    ):
        assert narrow.dtype == x.dtype
        close(narrow, exact, entry, max(1e-5, 1e3 * entry.tolerance))


# ---- far-off data ---------------------------------------------------------------------------


def _gridded(entry: Entry) -> tuple[np.ndarray, np.ndarray]:
    """Points on a grid so coarse that adding 2^20 is exact, with near-duplicates."""
    x, y = (np.round(v * 2**20) / 2**20 for v in samples(entry))
    y[4] = x[6] + 2.0**-20
    y[5] = x[7] + 2.0**-12
    return x, y


def shifted(entry: Entry, library: str = "numpy") -> None:
    """A shift by a million is invisible in the differences, and so in the kernel."""
    (x, y), k, far = _gridded(entry), entry.kernel, 2.0**20
    a, b = (LIBRARIES[library](v + far) for v in (x, y))
    close(k.pairwise(a, b), k.pairwise(x, y), entry, 1e-9)
    close(k.paired(a[:M, :], b), k.paired(x[:M, :], y), entry, 1e-9)


def clustered(entry: Entry, library: str = "numpy") -> None:
    """Two clusters a million apart: distances inside each are as exact as alone."""
    (x, y), k, far = _gridded(entry), entry.kernel, 2.0**20
    a, b = (LIBRARIES[library](np.concatenate([v, v + far])) for v in (x, y))
    both, alone = to_numpy(k.pairwise(a, b)), to_numpy(k.pairwise(x, y))
    close(both[:N, :M], alone, entry, 1e-8)
    close(both[N:, M:], alone, entry, 1e-8)


# ---- algebra --------------------------------------------------------------------------------


def algebra(entry: Entry, library: str = "numpy") -> None:
    x, y = map(LIBRARIES[library], samples(entry))
    k, other = entry.kernel, mercer.kernels.RBF(2.0)
    plain, more = k.pairwise(x, y), other.pairwise(x, y)
    for combined, values in (
        (k + other, plain + more),
        (other + k, plain + more),
        (k * other, plain * more),
        (2 * k + 1, 2 * plain + 1),
        (1.0 + k * 3, 3 * plain + 1),
        (sum([k, k, k]), 3 * plain),
        (k**2, plain * plain),
        (k**0, 0 * plain + 1),
        (0 * k, 0 * plain),
        (k.exp(0.01), namespace(plain).exp(0.01 * plain)),
        (k.select(range(x.shape[1])), plain),
        (k.scaled(1.0), plain),
        (k.transformed(_same), plain),
        (k.weighted(_twos), 4 * plain),
    ):
        close(combined.pairwise(x, y), values, entry)
        close(combined.pairwise(x, x), combined.pairwise(x, x[:, :]), entry)
        close(combined.diag(x), combined.paired(x, x), entry)
    if entry.definite:
        ones = to_numpy(k.normalized().diag(x))
        assert_allclose(ones[to_numpy(k.diag(x)) > 0], 1, rtol=1e-12)
        assert np.abs(to_numpy(k.normalized().pairwise(x, y))).max() <= 1 + 1e-9


def _same(x: Any) -> Any:
    return x


def _twos(x: Any) -> Any:
    xp = namespace(x)
    return xp.full((x.shape[0],), 2.0, dtype=x.dtype, device=device(x))


# ---- derivatives ----------------------------------------------------------------------------


def derivatives(entry: Entry) -> None:
    """slope and curvature are the derivatives of the profile with respect to r2, at 0 too."""
    k = entry.kernel
    assert isinstance(k, SmoothRadial)
    r2 = torch.tensor([0.0, 1e-12, 1e-3, 0.4, 3.0, 50.0], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(k.profile(r2).sum(), r2, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), r2)
    assert_allclose(to_numpy(k.slope(r2)), to_numpy(first), rtol=1e-10)
    assert_allclose(to_numpy(k.curvature(r2)), to_numpy(second), rtol=1e-10)


def finite_gradients(entry: Entry) -> None:
    """No NaN where points coincide, whichever of the formulas is differentiated."""
    x, y = (torch.tensor(v, requires_grad=True) for v in samples(entry))
    k = entry.kernel
    for value in (
        k.pairwise(x, y),
        k.pairwise(x, x),
        k.paired(x[:M, :], y),
        k.paired(x, x),
        k.diag(x),
    ):
        if not value.requires_grad:  # k(x, x) may be a constant
            continue
        grads = torch.autograd.grad(value.sum(), (x, y), allow_unused=True)
        assert any(g is not None for g in grads)
        assert all(torch.isfinite(g).all() for g in grads if g is not None)


def right_gradients(entry: Entry) -> None:
    """torch's gradient of a weighted sum of values is the one of central differences in NumPy."""
    rng = np.random.default_rng(3)
    x, y, k, h = entry.sample(rng, 6) + 0.1, entry.sample(rng, 5), entry.kernel, 1e-6
    x = x if _accepts(k, x + h) and _accepts(k, x - h) else (x - 0.1) * 0.9 + 0.01
    weights = rng.standard_normal((6, 5))
    t = torch.tensor(x, requires_grad=True)
    (k.pairwise(t, torch.tensor(y)) * torch.tensor(weights)).sum().backward()
    numeric = np.empty_like(x)
    for i in np.ndindex(*x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        numeric[i] = (weights * (k.pairwise(up, y) - k.pairwise(down, y))).sum() / (2 * h)
    assert_allclose(t.grad.numpy(), numeric, rtol=1e-5, atol=1e-6 * np.abs(numeric).max())


def _accepts(kernel: Kernel, x: np.ndarray) -> bool:
    try:
        kernel.accept(x)
    except ValueError:
        return False
    return True


# ---- objects --------------------------------------------------------------------------------


def readable(entry: Entry) -> None:
    k = entry.kernel
    assert eval(repr(k), dict(vars(mercer.kernels))) == k


def value_object(entry: Entry) -> None:
    """Equal, with an equal hash, to its copies and to itself rebuilt with the same parameters."""
    k = entry.kernel
    twins = [copy.copy(k), copy.deepcopy(k), k.with_params(), k.map_parts(lambda part: part)]
    twins += [pickle.loads(pickle.dumps(k))]
    twins += [k.with_params(**{f.name: getattr(k, f.name)}) for f in fields(k)]
    for twin in twins:
        assert type(twin) is type(k)
        assert twin == k
        assert hash(twin) == hash(k)
    assert len({k, *twins}) == 1
    for name, part in k.parts().items():
        assert k.with_params(**{name: part}) == k
        assert k.with_params(**{name: mercer.kernels.Cauchy(9.5)}) != k


def frozen(entry: Entry) -> None:
    for field in fields(entry.kernel):
        try:
            setattr(entry.kernel, field.name, 1.0)
        except AttributeError:
            continue
        raise AssertionError(f"{field.name} can be written")


def arguments_kept(entry: Entry, library: str = "numpy") -> None:
    """Arguments are not written into; memory that cannot be written is no obstacle."""
    x, y = samples(entry)
    a, b, k = LIBRARIES[library](x.copy()), LIBRARIES[library](y.copy()), entry.kernel
    if library == "numpy":
        a.flags.writeable = b.flags.writeable = False
    for _ in (k.pairwise(a, b), k.pairwise(a, a), k.paired(a[:M, :], b), k.diag(a), k(a), k(a, b)):
        assert_array_equal(to_numpy(a), x)
        assert_array_equal(to_numpy(b), y)


def door(entry: Entry) -> None:
    """Calling checks and computes: lists, integers where they fit, NaN refused by name."""
    x, y = samples(entry)
    k = entry.kernel
    close(k(x, y), k.pairwise(x, y), entry)
    close(k(x), k.pairwise(x, x), entry)
    close(k(x.tolist(), y.tolist()), k.pairwise(x, y), entry)
    broken = x.copy()
    broken[3, 0] = np.nan
    for bad in ((broken,), (x, broken)):
        name = "x" if len(bad) == 1 else "y"
        try:
            k(*bad)
        except ValueError as error:
            assert name in str(error)
            assert "NaN" in str(error)
        else:
            raise AssertionError("NaN was accepted")


EVERYWHERE = [
    symmetric, definite, diagonal, pairs, slices, libraries, single, algebra, arguments_kept,
]  # fmt: skip
FAR = [shifted, clustered]
OBJECTS = [value_object, frozen, door]
