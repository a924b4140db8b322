"""Solvers and learners on the device: ridge regression, eigenpairs, bags, streamed points."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import mercer
from benchmarks.gpu.floor import Rates
from benchmarks.gpu.tools import header, met, normal, row, seconds, timed
from mercer.gram import Gram, ridge_solve, top_eigenpairs
from mercer.gram.bag_sums import Segments, bag_sums
from mercer.kernels import RBF


def solvers() -> None:
    """Conjugate gradients and Lanczos on matrices that are never held."""
    header("Solvers, float32", "what", "n", "seconds", "right to")
    n = 200_000
    x = normal(n, 10)
    y = _truth(x) + 0.1 * normal(n)
    gram, found = Gram(RBF(3.0), x), []
    t = timed(lambda: found.append(ridge_solve(gram, y, 1.0)))
    a, rows = found[-1].double(), slice(0, 1000)
    left = RBF(3.0).pairwise(x[rows].double(), x.double()) @ a + a[rows] - y[rows]
    off = float(left.norm() / y[rows].norm())
    row("ridge_solve, ridge 1, d = 10", f"{n:,}", f"{t:.2f}", f"{off:.0e}")
    few = Gram(RBF(3.0), x[:100_000])
    t = timed(lambda: found.append(top_eigenpairs(few, 10)))
    values, vectors = found[-1]
    off = float((few @ vectors - values * vectors).norm(dim=0).max() / values[0])
    row("top_eigenpairs, ten", "100,000", f"{t:.2f}", f"{off:.0e}")


def bags() -> None:
    """Means of the kernel over pairs of bags."""
    n, number = 1_000_000, 5000
    x, bag = normal(n, 10), Segments(np.arange(0, n + 1, n // number))
    gram = Gram(RBF(3.0), x)
    t = seconds(lambda: bag_sums(gram, bag), 1)
    print(
        f"\n{number:,} bags of {n // number} points, d = 10, all pairs: {t:.2f} s, {n * n / t:.2e} pairs a second."
    )


def streamed() -> None:
    """Points in pinned memory of the host, beside points of the device."""
    n, m = 20_000_000, 10_000
    x = torch.randn(n, 10).pin_memory()
    y, v = torch.randn(m, 10), torch.randn(m, 1)
    far, near = Gram(RBF(3.0), x, y), Gram(RBF(3.0), x.cuda(), y.cuda())
    beside = near @ v.cuda()
    off = float((far @ v - beside.cpu()).norm() / beside.norm())
    t, own = seconds(lambda: far @ v, 1), seconds(lambda: near @ v.cuda(), 1)
    print(
        f"\nK @ v of {n:,} pinned points and {m:,} others, d = 10: {t:.2f} s, {n * m / t:.2e} pairs a second, "
        f"beside {own:.2f} s on the device; {off:.0e} apart.",
        flush=True,
    )


def nystrom(rates: Rates) -> None:
    """Ridge regression of a hundred million points on 10,000 landmarks, 20 iterations."""
    from mercer.learn import KernelRidge, NystromRidge
    from mercer.learn.landmarks.ridge_solvers import ConjugateGradients

    header("Ridge regression, d = 10, float32", "what", "n", "seconds", "passes", "R2", "bar")
    n, m = 100_000_000, 10_000
    x = normal(n, 10)
    y = _truth(x) + 0.1 * torch.randn(n, device="cuda")
    ridge = NystromRidge(
        RBF(3.0),
        100.0,
        landmarks=m,
        solver=ConjugateGradients(iterations=20, tolerance=1e-9),
        random_state=0,
    )
    with mercer.config(memory="24GiB"):
        t = timed(lambda: ridge.fit(x, y))
        fresh = normal(100_000, 10)
        r2 = _explained(ridge.predict(fresh), _truth(fresh))
    pairs = 2 * n * m * ridge.n_passes_
    row(
        f"NystromRidge, {m:,} landmarks",
        f"{n:,}",
        f"{t:.1f}",
        ridge.n_passes_,
        f"{r2:.4f}",
        met(t, 60.0),
    )
    width = 2 * 32 * pairs / t / rates.halves
    print(
        f"\n{pairs / t:.2e} kernel values a second; their dot products alone are {width:.1%} of the rate of "
        "products of halves, and each takes one exponential as well.",
        flush=True,
    )
    few = slice(0, 200_000)
    exact = KernelRidge(RBF(3.0), 0.1)
    t = timed(lambda: exact.fit(x[few], y[few]))
    r2 = _explained(exact.predict(fresh), _truth(fresh))
    print(
        f"\nKernelRidge, n = 200,000, by conjugate gradients: {t:.1f} s, R2 {r2:.4f}.", flush=True
    )


def classifiers() -> None:
    """Support vector machines and logistic regression, beside the CPU of the same machine."""
    from sklearn.datasets import make_classification

    from mercer.learn import SVC, SVR, KernelLogistic, OneClassSVC

    header(
        "Classifiers and machines, d = 20, float32",
        "learner",
        "n",
        "seconds",
        "CPU",
        "right",
        "bar",
    )
    cases = [
        (SVC(), 5_000, None),
        (SVC(), 20_000, None),
        (SVR(), 20_000, None),
        (OneClassSVC(), 20_000, None),
        (KernelLogistic(), 10_000, None),
        (SVC(), 100_000, 5.0),
    ]
    for learner, n, bar in cases:
        x, y = make_classification(
            2 * n, 20, n_informative=10, n_redundant=5, flip_y=0.2, class_sep=0.5, random_state=0
        )
        points, fresh = x[:n].astype(np.float32), x[n:].astype(np.float32)
        target = y[:n].astype(np.float64) if isinstance(learner, SVR) else y[:n]
        tensor = torch.as_tensor(points, device="cuda")
        learner.fit(tensor[:3000], target[:3000])
        t = timed(lambda m=learner, a=tensor, b=target: m.fit(a, b))
        found = np.asarray(learner.predict(torch.as_tensor(fresh, device="cuda")))
        right = f"{np.mean((found > 0.5) == y[n:]):.1%}" if hasattr(learner, "classes_") else ""
        cpu = timed(lambda m=learner, a=points, b=target: m.fit(a, b)) if bar is None else None
        shown = "" if cpu is None else f"{cpu:.2f}"
        name = type(learner).__name__
        row(name, f"{n:,}", f"{t:.2f}", shown, right, "" if bar is None else met(t, bar))


def _truth(x: Any) -> Any:
    return torch.sin(x[:, 0]) + x[:, 1] * x[:, 2] / 2


def _explained(found: Any, wanted: Any) -> float:
    return 1 - float(((found - wanted) ** 2).mean() / wanted.var())
