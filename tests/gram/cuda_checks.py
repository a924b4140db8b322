"""What fused tiles give, beside float64 on the host: prints {name: [error, limit]} as JSON.

python tests/gram/cuda_checks.py cuda products matrices weights tests shared learnt joint, or with
TRITON_INTERPRET=1 cpu, where tensors of the host play those of a device.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import numpy as np
import torch

import mercer.backend

DEVICE = sys.argv[1]
if DEVICE == "cpu":
    mercer.backend.on_gpu = mercer.backend.is_torch  # before other modules take it

from mercer.gram import Gram, PermutedWeights, SignWeights, cholesky  # noqa: E402
from mercer.gram.bag_sums import Segments, bag_sums  # noqa: E402
from mercer.gram.cuda import device_correlation, fused_matrix, half_forms, multi_gpu  # noqa: E402
from mercer.gram.cuda.engine import times  # noqa: E402
from mercer.gram.cuda.half_forms import panel_forms  # noqa: E402
from mercer.gram.cuda.plan import plan, plans  # noqa: E402
from mercer.gram.cuda.weight_columns import device_columns, device_signs  # noqa: E402
from mercer.gram.shifted_sums import shifted_sums  # noqa: E402
from mercer.htest import (  # noqa: E402
    HSIC,
    KSD,
    ME,
    MMD,
    NFSIC,
    SCF,
    Energy,
    MMDAgg,
    Permutation,
    WildBootstrap,
)
from mercer.htest.dependence.sums.permuted_tensor import LowRankTensor  # noqa: E402
from mercer.kernels import (  # noqa: E402
    RBF,
    Exponential,
    InverseMultiquadric,
    Laplace,
    Linear,
    Matern,
    Polynomial,
)
from mercer.kernels import Energy as EnergyKernel  # noqa: E402
from mercer.kernels.stein import Stein  # noqa: E402
from mercer.rkhs import Gaussian  # noqa: E402

Checks = Iterator[tuple[str, float, float]]
RNG = np.random.default_rng(0)
SINGLE, DOUBLE = torch.float32, torch.float64
HALF = 5e-3  # of the spread of forms whose kernel values are of half precision


def put(x: np.ndarray, dtype: torch.dtype = SINGLE) -> torch.Tensor:
    return torch.as_tensor(x).to(DEVICE, dtype)


def off(got: torch.Tensor, exact: np.ndarray | torch.Tensor) -> float:
    """The relative error."""
    found = got.double().cpu()
    wanted = torch.as_tensor(exact).double().cpu()
    return float((found - wanted).norm() / wanted.norm())


def products() -> Checks:
    """K @ v, sizes that are not multiples of anything."""
    sizes = ((1, 1, 1), (17, 17, 3), (70, 129, 10), (40, 33, 65), (61, 45, 3))
    for (n, m, d), dtype in zip(sizes, (SINGLE, SINGLE, SINGLE, SINGLE, DOUBLE), strict=True):
        x = put(RNG.normal(size=(n, d)), dtype)
        y = x if n == m else put(RNG.normal(size=(m, d)), dtype)
        v, s = put(RNG.normal(size=(m, 6)), dtype), d**0.5
        kernels = (
            RBF(s),
            Matern(1.5, s),
            Laplace(d),
            RBF(s) + Linear(),
            Polynomial(2) * RBF(s),
            Exponential(s),
            RBF(1.0).scaled(1 / s),
            InverseMultiquadric(1.0, 0.7),
            EnergyKernel(1.5),
            Stein(InverseMultiquadric(s), lambda x: -x),
            Stein(RBF(s), lambda x: -x + 0.5),
        )
        for k in kernels if d == 3 else kernels[::4]:
            exact = k.pairwise(x.double(), y.double()) @ v.double()
            for columns in (1, 6) if dtype == SINGLE else (6,):
                here = plan(k, x, y)
                assert here is not None
                got = times(here, v[:, :columns])
                limit = 1e-5 if dtype == SINGLE else 1e-13
                yield f"{n} {m} {d} {columns} {k!r}", off(got, exact[:, :columns]), limit


def matrices() -> Checks:
    """Entrywise products, centred and weighted matrices, and sums over bags."""
    x, z, v = RNG.normal(size=(150, 3)), RNG.normal(size=(150, 2)), RNG.normal(size=(150, 5))
    for dtype, limit in ((SINGLE, 1e-5), (DOUBLE, 1e-12)):
        here = [Gram(RBF(2.0), put(x, dtype)), Gram(Matern(1.5), put(z, dtype))]
        there = [Gram(RBF(2.0), x), Gram(Matern(1.5), z)]
        for name, make in (
            ("Hadamard", lambda a, b: a * b),
            ("centred", lambda a, b: a.centered()),
            ("both", lambda a, b: a.centered() * b.centered()),
        ):
            got, exact = make(*here), make(*there)
            assert got._fused is not None
            yield f"{name} @ {dtype}", off(got @ put(v, dtype), exact @ v), limit
            yield f"{name} quad {dtype}", off(got.quad(put(v, dtype)), exact.quad(v)), limit
        bags = Segments(np.array([0, 1, 70, 71, 150]), RNG.uniform(0.5, 1.5, 150))
        others = Segments(np.array([0, 64, 150]))
        yield (
            f"bags {dtype}",
            off(bag_sums(here[0], bags, others), bag_sums(there[0], bags, others)),
            limit,
        )
        yield f"own bags {dtype}", off(bag_sums(here[0], bags), bag_sums(there[0], bags)), limit


def weights() -> Checks:
    """Resampled weights are those of the host, and so are forms, to half precision."""
    like = put(np.zeros(1))
    labels = PermutedWeights(np.repeat([1.0, -1.0], [60, 41]), 70, rng=3, keep_first=True)
    made = device_columns(labels._codes, labels.table, labels._sequence, True, slice(0, 70), like)
    assert made is not None
    yield (
        "permutations",
        float(np.abs(made.rows(slice(0, 101)).cpu().numpy() - labels.dense()).max()),
        0.0,
    )
    for n, block, b in ((101, 1, 130), (77, 3, 64)):
        drawn = SignWeights(n, b, block=block, rng=3)
        signs = device_signs(n, block, drawn.table, drawn._sequence, slice(0, b), like)
        rows = signs.after_ones().rows(slice(0, n)).cpu().numpy()
        wanted = np.concatenate([np.ones((n, 1)), drawn.dense()], axis=1)
        yield f"signs {n} {block}", float(np.abs(rows - wanted).max()), 0.0
    x, w = RNG.normal(size=(301, 4)), RNG.choice([-1.0, 1.0], size=(301, 192))
    signs = torch.nn.functional.pad(put(w, torch.float16), (0, 0, 0, 83))
    family = [RBF(2.0), Laplace(4.0), 300 * Matern(1.5, 2.0)]
    several, half_forms._PANEL_ROWS = plans(family, put(x)), 128
    assert several is not None
    for kernel, got in zip(family, panel_forms(several, signs, np.full(3, 0.3)), strict=True):
        k = kernel(x) - 0.3
        np.fill_diagonal(k, 0.0)
        exact = np.sum(w * (k @ w), axis=0)
        yield (
            f"forms {kernel!r}",
            float(np.abs(got.cpu().numpy() - exact).max() / exact.std()),
            HALF,
        )
    x = x[:101]
    for table in ((-1.0, 1.0), (0.0, 1.0)):
        values = PermutedWeights(np.repeat(table, [60, 41]), 70, rng=3)
        for diagonal in (True, False):
            exact = Gram(RBF(2.0), x).quad(values, diagonal=diagonal)
            got = Gram(RBF(2.0), put(x)).quad(values, diagonal=diagonal).cpu().numpy()
            yield f"quad {table} {diagonal}", float(np.abs(got - exact).max() / exact.std()), HALF


def tests() -> Checks:
    """The same verdicts as on the host, from the same seed."""
    x, y = RNG.normal(size=(140, 3)), 1.2 * RNG.normal(size=(110, 3))
    pair = 0.3 * x[:, :2] + RNG.normal(size=(140, 2))
    fit = KSD(Gaussian(np.zeros(3), 1.1), InverseMultiquadric(), null=WildBootstrap(99))
    cases = {
        "MMD": (MMD(RBF(2.0), null=Permutation(99)), (x, y)),
        "MMDAgg": (MMDAgg(null=Permutation(99)), (x, y)),
        "Energy": (Energy(null=Permutation(99)), (x, y)),
        "MMD in blocks": (
            MMD(RBF(2.0), null=Permutation(99, blocks=np.arange(250) % 3)),
            (x, y),
        ),
        "KSD": (fit, (x,)),
        "HSIC": (HSIC(RBF(1.0), Laplace(2.0), null=Permutation(199)), (x, pair)),
        "HSIC of factors": (
            HSIC(RBF(2.0), RBF(2.0), null=Permutation(199)),
            (x[:, :1], pair[:, :1]),
        ),
    }
    for name, (test, samples) in cases.items():
        host = test.test(*samples, rng=1)
        for dtype in (SINGLE, DOUBLE):
            found = test.test(*(put(s, dtype) for s in samples), rng=1)
            limit = 1e-5 if dtype == SINGLE else 1e-12
            limit = HALF if name == "MMDAgg" else limit  # a function of its resampled forms
            yield f"{name} {dtype}", abs(found.statistic / host.statistic - 1), limit
            yield f"{name} p {dtype}", abs(found.pvalue - host.pvalue), 2 / len(host.null)
            if name == "MMDAgg":  # draws are ranks
                continue
            worst = np.abs(found.null - host.null).max()
            yield f"{name} null {dtype}", float(worst / host.null.std()), HALF


def shared() -> Checks:
    """Points that two devices share, or that come by in slices."""
    x, y, v = RNG.normal(size=(170, 3)), RNG.normal(size=(131, 3)), RNG.normal(size=(131, 3))
    here = torch.device(DEVICE, 0) if DEVICE == "cuda" else torch.device("cpu")
    bags, others = Segments(np.array([0, 3, 90, 170])), Segments(np.array([0, 64, 131]))
    before = multi_gpu.devices, multi_gpu.room, multi_gpu.MIN_PAIRS_FOR_SEVERAL_GPUS
    multi_gpu.devices = fused_matrix.devices = lambda x: [here, here]
    (
        multi_gpu.room,
        multi_gpu.MIN_PAIRS_FOR_SEVERAL_GPUS,
        fused_matrix.MIN_PAIRS_FOR_SEVERAL_GPUS,
    ) = lambda x, device: 50, 100, 100
    multi_gpu._MIN_COLUMNS_PER_DEVICE = 64
    gram = Gram(RBF(1.0), put(x, DOUBLE), put(y, DOUBLE))
    assert gram._fused.spread is not None
    yield "shared @", off(gram @ put(v, DOUBLE), RBF(1.0)(x, y) @ v), 1e-13
    sums = gram._fused.spread.bag_sums(bags, others, False)
    yield "shared bags", off(sums, bag_sums(Gram(RBF(1.0), x, y), bags, others)), 1e-13
    test = MMD(RBF(1.0), null=Permutation(319))
    host, found = test.test(x, y, rng=0), test.test(put(x), put(y), rng=0)
    yield "shared forms", float(np.abs(host.null - found.null).max() / host.null.std()), HALF
    multi_gpu.devices, multi_gpu.room, multi_gpu.MIN_PAIRS_FOR_SEVERAL_GPUS = before
    if DEVICE == "cuda":
        pinned = Gram(RBF(1.0), torch.as_tensor(x).pin_memory(), torch.as_tensor(y))
        multi_gpu.room = lambda x, device: 50
        yield "streamed @", off(pinned @ torch.as_tensor(v), RBF(1.0)(x, y) @ v), 1e-13
        multi_gpu.room = before[1]


def learnt() -> Checks:
    """Searches for locations, frequencies and pairs of locations end where those on the host do."""
    x, y = RNG.normal(size=(300, 3)), RNG.normal(size=(250, 3))
    y[:, 0] += 0.5
    z = 0.4 * x[:, :1] + RNG.normal(size=(300, 1))
    for kind, samples, number, found in (
        (ME, (x, y), "locations", "locations"),
        (SCF, (x, y), "frequencies", "frequencies"),
        (NFSIC, (x, z), "locations", "locations"),
    ):
        ends = [
            getattr(kind.optimized(*on, **{number: 2}, rng=0), found)
            for on in (samples, [put(s, DOUBLE) for s in samples])
        ]
        host, here = (e if isinstance(e, tuple) else (e,) for e in ends)
        apart = max(float(np.abs(np.asarray(a) - b).max()) for a, b in zip(host, here, strict=True))
        yield kind.__name__, apart, 1e-4


def joint() -> Checks:
    """Sums of products of three shifted matrices and of permuted factors, and pivoted factors."""
    n, points = 70, [RNG.normal(size=(70, d)) for d in (1, 2, 3)]
    shifts = np.stack([RNG.integers(n, size=11), RNG.integers(n, size=11)], axis=1)
    host = [Gram(RBF(1.0), x) for x in points]
    want = shifted_sums(host[0], host[1:], shifts)
    here = [Gram(RBF(1.0), put(x, DOUBLE)) for x in points]
    yield (
        "shifted fused",
        off(torch.as_tensor(shifted_sums(here[0], here[1:], shifts)), want),
        1e-12,
    )
    apart = [matrix.centered() for matrix in here]
    want = shifted_sums(host[0].centered(), [m.centered() for m in host[1:]], shifts)
    yield (
        "shifted centred",
        off(torch.as_tensor(shifted_sums(apart[0], apart[1:], shifts)), want),
        1e-10,
    )
    for most, tolerance in ((None, 1e-12), (None, 1e-3), (9, 1e-9), (64, 1e-12)):
        want, got = (cholesky(g[2], tolerance=tolerance, most=most) for g in (host, here))
        yield f"pivots {most} {tolerance}", float(want.pivots != got.pivots), 0.0
        yield f"factor {most} {tolerance}", off(got.columns, want.columns), 1e-9
        yield f"residual {most} {tolerance}", abs(got.residual - want.residual), 1e-9
    orders = [None, *(np.stack([RNG.permutation(n) for _ in range(7)]) for _ in range(2))]
    want = LowRankTensor(points, points[0]).sums(orders)
    yield (
        "tensor",
        off(torch.as_tensor(LowRankTensor(points, here[0].like).sums(orders)), want),
        1e-12,
    )


def main() -> None:
    # so that diagonals come in many pieces
    device_correlation._ROWS_PER_TILE, device_correlation._MAX_DIAGONALS_IN_MEMORY = 32, 20
    parts = {
        check.__name__: check
        for check in (products, matrices, weights, tests, shared, learnt, joint)
    }
    found = {}
    for part in sys.argv[2:]:
        for name, error, limit in parts[part]():
            found[name] = [error, limit]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
