"""Hypothesis tests: times beside their floors, and verdicts beside those of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from benchmarks.gpu.floor import Rates
from benchmarks.gpu.tools import header, judged, met, normal, row, seconds, timed
from mercer.gram.cuda.half_forms import panel_forms
from mercer.gram.cuda.plan import plan
from mercer.htest import HSIC, KSD, ME, MMD, MMDAgg, Permutation, WildBootstrap
from mercer.kernels import RBF, InverseMultiquadric
from mercer.rkhs import Gaussian


def two_sample(rates: Rates) -> None:
    """The quadratic two-sample test with 1,000 permutations."""
    test = MMD(RBF(3.0), null=Permutation(1000))
    header("MMD, 1,000 permutations, d = 10, float32", "n + m", "seconds", "floor", "ratio", "bar")
    for n, bar in ((50_000, 0.06), (500_000, 2.4)):
        x, y = normal(n, 10), normal(n, 10)
        t, _ = judged(test, x, y)
        floor = (2 * n) ** 2 * 1001 / rates.halves
        row(f"{2 * n:,}", f"{t:.3f}", f"{floor:.3f}", f"{t / floor:.2f}", met(t, bar))
    p: Any = plan(RBF(3.0), x, x)
    w = (torch.randint(0, 2, (n + -n % 128, 1024), device="cuda") * 2 - 1).half()
    t = seconds(lambda: panel_forms(p, w, np.full(1, 0.1)), 1)
    print(f"\nQuadratic forms alone: {n**2 * 1024 / t / 1e12:.0f} TFLOP/s.")
    small = MMD(RBF(3.0), null=Permutation(199))
    rejected = np.mean(
        [small.test(normal(500, 10), normal(500, 10), rng=i).rejects() for i in range(400)]
    )
    print(f"Level 0.05 in 400 null runs at n + m = 1,000: {rejected:.4f}.")
    assert 0.0175 <= rejected <= 0.09


def aggregated(rates: Rates) -> None:
    """MMDAgg over kernels and bandwidths; the floor is that of the products of halves alone."""
    header(
        "MMDAgg, its own 20 kernels, 999 permutations, d = 10, float32",
        *("n + m", "seconds", "floor", "ratio", "bar"),
    )
    test = MMDAgg(null=Permutation(999))
    for n, bar in ((50_000, 1.0), (500_000, 15.0)):
        x, y = normal(n, 10), normal(n, 10)
        test.test(x[:5000], y[:5000], rng=0)  # compiles
        t = timed(lambda x=x, y=y: test.test(x, y, rng=0))
        floor = 20 * (2 * n) ** 2 * 1000 / rates.halves
        row(f"{2 * n:,}", f"{t:.2f}", f"{floor:.2f}", f"{t / floor:.2f}", met(t, bar))


def independence(rates: Rates) -> None:
    """Exact permutation HSIC.

    The floor of d = 10 is that of the entries of both matrices, half of them each, and of moving
    them and their transforms through memory; that of d = 1, where factors are short, is not known.
    """
    header(
        "HSIC, 1,000 permutations, float64",
        *("n", "d", "seconds", "p", "floor", "ratio", "bar"),
    )
    for n, d in ((100_000, 10), (100_000, 1)):
        x, y = normal(n, d), normal(n, d)
        test = HSIC(RBF(d**0.5), RBF(d**0.5), null=Permutation(1000))
        t, found = judged(test, x, y)
        floor = n**2 * (rates.distance(d) + 4 * 8 / rates.copied)
        shown = ("", "") if d == 1 else (f"{floor:.2f}", f"{t / floor:.1f}")
        row(f"{n:,}", d, f"{t:.2f}", found.pvalue, *shown, met(t, 10.0))


def goodness(rates: Rates) -> None:
    """KSD with 1,000 bootstraps.

    The floor is that of the forms in half precision and of one pass of exact sums.
    """
    header(
        "KSD, 1,000 bootstraps, d = 10",
        *("n", "kernel", "dtype", "seconds", "p", "floor", "ratio", "bar"),
    )
    n = 500_000
    for kernel, dtype in (
        (InverseMultiquadric(3.0), torch.float32),
        (RBF(3.0), torch.float32),
        (InverseMultiquadric(3.0), torch.float64),
    ):
        x = normal(n, 10, dtype=dtype)
        test = KSD(Gaussian(np.zeros(10), 1.0), kernel, null=WildBootstrap(1000))
        t, found = judged(test, x)
        floor = n**2 * (1001 / rates.halves + rates.stein(10))
        shown = (f"{floor:.2f}", f"{t / floor:.1f}", met(t, 5.0))
        shown = shown if dtype == torch.float32 else ("", "", "")
        row(f"{n:,}", type(kernel).__name__, str(dtype)[6:], f"{t:.2f}", found.pvalue, *shown)


def learnt() -> None:
    """Locations of ME, learnt from points of the device."""
    x, y = normal(500_000, 10), normal(500_000, 10)
    y[:, 0] += 0.02
    t = timed(lambda: ME.optimized(x, y, locations=3, rng=0))
    print(f"\nME.optimized, three locations, n = m = 500,000, d = 10: {t:.2f} s.")


def agreement() -> None:
    """The same seed gives the same verdict as on the CPU."""
    header(
        "CPU and GPU, the same seed",
        *("test", "dtype", "statistics apart", "p, CPU", "p, GPU", "draws apart, in deviations"),
    )
    rng = np.random.default_rng(0)
    n = 10_000
    x, y, z = rng.normal(size=(n, 10)), 1.004 * rng.normal(size=(n, 10)), rng.normal(size=(n, 2))
    z[:, 0] += 0.01 * x[:, 0]
    fit = KSD(Gaussian(np.zeros(10), 1.0), InverseMultiquadric(3.0), null=WildBootstrap(1000))
    for test, samples in (
        (MMD(RBF(3.0), null=Permutation(1000)), (x, y)),
        (HSIC(RBF(3.0), RBF(1.0), null=Permutation(1000)), (x[:4000], z[:4000])),
        (fit, (y[:4000],)),
    ):
        cpu = test.test(*samples, rng=0)
        for dtype in (torch.float32, torch.float64):
            on_device = (torch.as_tensor(s).to("cuda", dtype) for s in samples)
            gpu = test.test(*on_device, rng=0)
            apart = abs(gpu.statistic / cpu.statistic - 1)
            draws = float(np.abs(cpu.null - gpu.null).max() / cpu.null.std())
            cells = f"{apart:.1e}", f"{cpu.pvalue:.4f}", f"{gpu.pvalue:.4f}", f"{draws:.1e}"
            row(type(test).__name__, str(dtype)[6:], *cells)
            assert apart < (1e-5 if dtype == torch.float32 else 1e-12), apart
            assert abs(cpu.pvalue - gpu.pvalue) <= 2 / 1000
