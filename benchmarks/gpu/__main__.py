"""Check and time everything that runs on a GPU; prints Markdown.

python -m benchmarks.gpu > benchmarks/results/gpu.md
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from mercer.gram import Gram
from mercer.gram.cuda import engine
from mercer.gram.cuda.plan import plan
from mercer.htest import MMD, Permutation
from mercer.kernels import RBF, Exponential, Laplace, Linear, Matern, Polynomial

_KERNELS: tuple[Callable[[int], Any], ...] = (
    lambda d: RBF(d**0.5),
    lambda d: Matern(1.5, d**0.5),
    lambda d: Laplace(float(d)),
    lambda d: Exponential(d**0.5),
    lambda d: RBF(d**0.5) + Linear(),
    lambda d: Polynomial(2) * RBF(d**0.5),
)


def seconds(work: Callable[[], Any], repeats: int = 3) -> float:
    """The best of some runs after a first one that is not counted."""
    work()
    best = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - start)
    return best


def normal(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Standard normal numbers on the device."""
    return torch.randn(*shape, dtype=dtype, device="cuda")


def machine() -> float:
    """What the device can do; returns its rate of products of halves."""
    a = normal(8192, 8192).half()
    rate = 2 * 8192**3 / seconds(lambda: a @ a)
    b = torch.empty(2**30, dtype=torch.float32, device="cuda")
    c = torch.empty_like(b)
    copy = 2 * 4 * 2**30 / seconds(lambda: c.copy_(b))
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    print(f"Products of halves {rate / 1e12:.0f} TFLOP/s, copies {copy / 1e12:.2f} TB/s.\n")
    return rate


def right() -> None:
    """Sizes that are not multiples of anything, against float64."""
    print("## Relative errors of K @ v against float64\n")
    print("| n | m | d | columns | dtype | largest error | kernel | limit |\n|-|-|-|-|-|-|-|-|")
    single, double, every = torch.float32, torch.float64, range(len(_KERNELS))
    cases = [
        (1, 1, 1, 1, single, every),
        (17, 17, 3, 1, single, every),
        (1003, 2049, 10, 5, single, every),
        (777, 500, 65, 1001, single, (0, 5)),
        (301, 300, 1000, 3, single, (0, 5)),
        (1003, 2049, 10, 1, double, (0, 1, 2)),
    ]
    for n, m, d, k, dtype, kinds in cases:
        limit = 2e-5 if dtype == single else 1e-12
        x = normal(n, d, dtype=dtype)
        y = x if n == m else normal(m, d, dtype=dtype)
        v = normal(m, k, dtype=dtype)
        errors = {}
        for kind in kinds:
            kernel = _KERNELS[kind](d)
            exact = kernel.pairwise(x.double(), y.double()) @ v.double()
            got = Gram(kernel, x, None if y is x else y) @ v
            errors[type(kernel).__name__] = float((got.double() - exact).norm() / exact.norm())
        worst = max(errors, key=errors.__getitem__)
        assert errors[worst] < limit, errors
        print(
            f"| {n} | {m} | {d} | {k} | {str(dtype)[6:]} | {errors[worst]:.1e} | {worst} | {limit:g} |",
            flush=True,
        )
    n = 1_000_003
    x, v = normal(n, 3), normal(n, 1)
    rows = torch.randint(0, n, (50,), device="cuda")
    exact = RBF(1.7).pairwise(x[rows].double(), x.double()) @ v.double()
    got = (Gram(RBF(1.7), x) @ v)[rows]
    error = float((got.double() - exact).norm() / exact.norm())
    print(f"| {n} | {n} | 3 | 1 | float32 | {error:.1e} | RBF, 50 rows | 1e-05 |\n", flush=True)
    assert error < 1e-5


def products() -> None:
    """K @ v at a million points, and plain torch in blocks."""
    n = 1_000_000
    x = normal(n, 10)
    gram = Gram(RBF(3.0), x)
    print(
        "## K @ v, n = 1,000,000, d = 10, float32\n\n| columns | seconds | pairs a second |\n|-|-|-|"
    )
    for k in (1, 4, 16, 100):
        v = normal(n, k)
        t = seconds(lambda v=v: gram @ v, 2)
        print(f"| {k} | {t:.3f} | {n * n / t:.2e} |", flush=True)
    v = normal(n, 1)

    def blocked() -> None:
        norms = (x * x).sum(1)
        for i in range(0, 65_536, 8192):
            r2 = (
                norms[i : i + 8192, None]
                + norms[None, :65_536]
                - 2 * x[i : i + 8192] @ x[:65_536].T
            )
            torch.exp(r2.clamp_(min=0).mul_(-1 / 18)) @ v[:65_536]

    t = seconds(blocked)
    print(f"| 1, torch in blocks | {t * n * n / 65_536**2:.3f} | {65_536**2 / t:.2e} |")
    wide = Gram(RBF(3.0), x[:100_000].double())
    t = seconds(lambda: wide @ v[:100_000].double(), 2)
    print(f"| 1, float64 (n = 100,000) | {t:.3f} | {1e10 / t:.2e} |\n", flush=True)


def two_sample(rate: float) -> None:
    """The quadratic two-sample test with 1,000 permutations."""
    test = MMD(RBF(3.0), null=Permutation(1000))
    print(
        "## MMD, 1,000 permutations, d = 10, float32\n\n| n + m | seconds | floor | ratio |\n|-|-|-|-|"
    )
    for n in (50_000, 500_000):
        x, y = normal(n, 10), normal(n, 10)
        t = seconds(lambda x=x, y=y: test.test(x, y, rng=0))
        floor = (2 * n) ** 2 * 1001 / rate
        print(f"| {2 * n:,} | {t:.3f} | {floor:.3f} | {t / floor:.2f} |", flush=True)
    p = plan(RBF(3.0), x, x)
    assert p is not None
    w = (torch.randint(0, 2, (n + -n % 128, 1024), device="cuda") * 2 - 1).half()
    t = seconds(lambda: engine.quadratic(p, w, 0.1), 1)
    print(f"\nQuadratic forms alone: {n**2 * 1024 / t / 1e12:.0f} TFLOP/s.")
    pvalues = [test.test(normal(n, 10), normal(n, 10), rng=i).pvalue for i in range(5)]
    print(f"P-values of five pairs of equal distributions, n = m = {n:,}: {pvalues}.", flush=True)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(10_000, 10)), 1.02 * rng.normal(size=(10_000, 10))
    cpu = test.test(x, y, rng=0)
    for dtype in (torch.float32, torch.float64):
        gpu = test.test(*(torch.as_tensor(s, dtype=dtype, device="cuda") for s in (x, y)), rng=0)
        print(
            f"CPU and {str(dtype)[6:]} on the GPU, n + m = 20,000, the same seed: statistics "
            f"{abs(gpu.statistic / cpu.statistic - 1):.1e} apart, p = {cpu.pvalue:.4f} and {gpu.pvalue:.4f}, "
            f"draws {np.abs(cpu.null - gpu.null).max() / cpu.null.std():.1e} standard deviations apart."
        )
        assert abs(cpu.pvalue - gpu.pvalue) <= 2 / 1000
    small = MMD(RBF(3.0), null=Permutation(199))
    rejected = np.mean(
        [small.test(normal(500, 10), normal(500, 10), rng=i).rejects() for i in range(400)]
    )
    print(f"Level 0.05 in 400 null runs at n + m = 1,000: {rejected:.4f}.")
    assert 0.0175 <= rejected <= 0.09


def main() -> None:
    torch.manual_seed(0)
    rate = machine()
    two_sample(rate)
    products()
    right()


if __name__ == "__main__":
    main()
