"""The dual problem: every road to its solution ends at the same place, and optimality holds there."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

import mercer
from mercer.kernels import RBF, Laplace, Linear
from mercer.learn.machines import decomposition, matrix_access, smo, svm_base
from mercer.learn.machines.matrix_access import (
    CachedRows,
    DenseKernelRows,
    KernelRows,
    LowRankRows,
    SubmatrixRows,
    TiledRows,
    kernel_rows,
)
from mercer.learn.machines.row_store import RowStore, padded, padded_block
from mercer.learn.machines.smo import Block, Dual
from mercer.learn.machines.svm_base import solve

ROOT = Path(__file__).resolve().parents[3]


def classes(n: int, C: float = 1.0, seed: int = 0) -> tuple[np.ndarray, Dual]:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = np.where(x[:, 0] * x[:, 1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return x, Dual(y, np.where(y > 0, 0.0, -C), np.where(y > 0, C, 0.0))


def numbers(n: int, C: float = 1.0) -> tuple[np.ndarray, Dual]:
    x, dual = classes(n)
    y = np.sin(x[:, 0]) + 0.1 * dual.target
    return x, Dual(y, np.full(n, -C), np.full(n, C), 0.1)


PROBLEMS = {"classes": classes, "numbers": numbers}
each_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))


@each_problem
def test_the_minimum_of_a_general_solver(problem):
    x, dual = problem(25, 2.0)
    K = RBF(1.0)(x)
    found = solve(DenseKernelRows(K), dual, tolerance=1e-10)
    # b = p - q with p, q >= 0 makes |b| smooth
    n = len(x)
    bounds = [(0, u) for u in dual.upper] + [(0, -v) for v in dual.lower]

    def objective(pq):
        b = pq[:n] - pq[n:]
        value = b @ K @ b / 2 - dual.target @ b + dual.width * pq.sum()
        slope = K @ b - dual.target
        return value, np.concatenate([slope + dual.width, -slope + dual.width])

    fixed = {"type": "eq", "fun": lambda pq: pq[:n].sum() - pq[n:].sum()}
    peer = minimize(
        objective,
        np.zeros(2 * n),
        jac=True,
        bounds=bounds,
        constraints=[fixed],
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 500},
    )
    assert_allclose(found.values, K @ found.b, atol=1e-10)
    assert_allclose(dual.objective(found.b, found.values), peer.fun, rtol=1e-7)
    assert_allclose(found.b, peer.x[:n] - peer.x[n:], atol=1e-4)


@each_problem
@pytest.mark.skipif(find_spec("numba") is None, reason="needs the extra compiled")
def test_compiled_steps_are_the_same(problem):
    x, dual = problem(150, 3.0)
    K = RBF(0.7)(x)
    n = len(x)

    def block() -> Block:
        b = np.zeros(n)
        store = RowStore.full(padded_block(K))
        return Block(store, np.ones(n), dual, b, *dual.slopes(b, np.zeros(n)))

    plain, compiled = block(), block()
    plain._numpy(1e-9, 100_000)
    compiled._compiled(1e-9, 100_000)
    values = dual.values(compiled.b, compiled.up, compiled.down)
    assert_allclose(values, K @ compiled.b, atol=1e-9)
    assert_allclose(values, dual.values(plain.b, plain.up, plain.down), atol=1e-7)
    first, second = block(), block()
    assert first._numpy(1e-12, 40) == second._compiled(1e-12, 40) == 40
    assert_allclose(first.b, second.b, atol=1e-12)  # step by step


@each_problem
@pytest.mark.skipif(find_spec("numba") is None, reason="needs the extra compiled")
def test_rows_on_demand_lead_to_the_same_coefficients(problem, monkeypatch):
    """The whole matrix and steps in NumPy; rows computed by the compiled loop, in batches, and copied."""
    x, dual = problem(600, 2.0)
    x, n = np.concatenate([x, 3.0 * x[:, :2]], axis=1), len(x)  # a well-conditioned matrix
    tiled, matrix = TiledRows(RBF(1.0), x), RBF(1.0)(x)
    in_batches = TiledRows(RBF(1.0), x)
    monkeypatch.setattr(in_batches, "_gaussian", lambda: None)
    places = np.random.default_rng(0).permutation(2 * n)[:n]
    larger = np.zeros((2 * n, 2 * n))
    larger[np.ix_(places, places)] = matrix
    copied = SubmatrixRows(DenseKernelRows(larger), places)
    solutions = [solve(rows, dual, tolerance=1e-10) for rows in (tiled, in_batches, copied)]
    monkeypatch.setattr(smo, "has_compiler", lambda: False)
    reference = solve(DenseKernelRows(matrix), dual, tolerance=1e-10)
    in_numpy = solve(in_batches, dual, tolerance=1e-10)
    for found in (*solutions, in_numpy):
        assert found.gap <= 1e-10
        assert_allclose(found.b, reference.b, atol=1e-8)
        assert_allclose(found.offset, reference.offset, atol=1e-8)
    assert tiled.store().stored[0] == 0  # nothing is computed before it is needed


@each_problem
@pytest.mark.skipif(find_spec("numba") is None, reason="needs the extra compiled")
def test_leaving_out_changes_nothing(problem, monkeypatch):
    """The loop that goes on after many steps without those that cannot move."""
    x, dual = problem(300, 100.0)
    rows = DenseKernelRows(RBF(1.0)(x))
    plain = solve(rows, dual, tolerance=1e-7)
    inside = []
    inner = Block._shrunk

    def counted(self, index, *how):
        inside.append(len(index))
        return inner(self, index, *how)

    monkeypatch.setattr(Block, "_shrunk", counted)
    monkeypatch.setattr(smo, "_MIN_STEPS_TO_COMPILE", 100)
    monkeypatch.setattr(smo, "_STEPS_PER_COEFFICIENT", 1)
    shrunk = solve(rows, dual, tolerance=1e-7)
    assert inside
    assert shrunk.gap <= 1e-7
    assert_allclose(shrunk.values, plain.values, atol=1e-5)


@each_problem
def test_solving_for_the_free_ones_lowers_the_objective(problem):
    """From any feasible place; bounds and the sum of the coefficients hold before and after."""
    x, dual = problem(120, 5.0)
    matrix, rng = RBF(1.0)(x), np.random.default_rng(2)
    for _ in range(5):
        b = np.clip(rng.normal(scale=3.0, size=120), dual.lower, dual.upper)
        values = matrix @ b
        store = RowStore.full(padded_block(matrix))
        block = Block(store, np.diag(matrix), dual, b, *dual.slopes(b, values))
        block._newton(120)
        after = matrix @ block.b
        assert dual.objective(block.b, after) < dual.objective(b, values)
        assert np.all((block.b >= dual.lower) & (block.b <= dual.upper))
        assert_allclose(block.b.sum(), b.sum(), atol=1e-10)
        for found, want in zip((block.up, block.down), dual.slopes(block.b, after), strict=True):
            assert_allclose(found, want, atol=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
@each_problem
def test_a_working_set_at_a_time(problem, compiled, monkeypatch):
    """Small sides make the rounds, growth, leaving out and recall of large problems happen."""
    x, dual = problem(400, 1.0)
    whole = solve(DenseKernelRows(RBF(1.0)(x)), dual, tolerance=1e-8)
    monkeypatch.setattr(svm_base, "max_working_set", lambda: 10)
    monkeypatch.setattr(decomposition, "_WORKING_SET", 16)
    monkeypatch.setattr(decomposition, "_ROUNDS_BETWEEN_CHECKS", 3)
    monkeypatch.setattr(decomposition, "_MIN_ROW_REUSE", 1)
    if compiled:
        pytest.importorskip("numba")
        monkeypatch.setattr(smo, "_MIN_STEPS_TO_COMPILE", 0)
    else:
        monkeypatch.setattr(smo, "has_compiler", lambda: False)
    recalled = []
    recall = decomposition.Decomposition.recall
    monkeypatch.setattr(
        decomposition.Decomposition, "recall", lambda self: recalled.append(recall(self))
    )
    parts = solve(TiledRows(RBF(1.0), x), dual, tolerance=1e-8)
    assert recalled
    assert parts.gap <= 1e-8
    assert_allclose(parts.values, whole.values, atol=1e-6)
    assert_allclose(parts.offset, whole.offset, atol=1e-6)


@each_problem
def test_a_matrix_that_is_held_is_not_cut_into_parts(problem, monkeypatch):
    x, dual = problem(400, 1.0)
    monkeypatch.setattr(svm_base, "max_working_set", lambda: 10)
    monkeypatch.setattr(decomposition, "_WORKING_SET", 16)
    parts = solve(TiledRows(RBF(1.0), x), dual, tolerance=1e-8)
    monkeypatch.setattr(svm_base, "Decomposition", None)
    whole = solve(DenseKernelRows(RBF(1.0)(x)), dual, tolerance=1e-8)
    assert_allclose(whole.values, parts.values, atol=1e-6)
    assert_allclose(whole.offset, parts.offset, atol=1e-6)


@each_problem
def test_optimality(problem):
    x, dual = problem(300, 2.0)
    K = RBF(1.0)(x)
    found = solve(DenseKernelRows(K), dual, tolerance=1e-6)
    values = K @ found.b + found.offset
    error = dual.target - values
    w, slack = dual.width, 1e-5
    assert np.all(found.b >= dual.lower)
    assert np.all(found.b <= dual.upper)
    assert abs(found.b.sum()) < 1e-10
    inside = (found.b > dual.lower) & (found.b < dual.upper)
    if w == 0:
        assert_allclose(error[inside], 0, atol=slack)
    else:
        assert_allclose(np.abs(error[inside & (found.b != 0)]), w, atol=slack)
        assert np.all(np.abs(error[found.b == 0]) <= w + slack)
    assert np.all(
        error[found.b == dual.upper]
        >= np.where(dual.upper > 0, w, -np.inf)[found.b == dual.upper] - slack
    )
    up, down = dual.slopes(found.b, K @ found.b)
    assert_allclose(found.gap, max(up.max() - down.min(), 0), atol=1e-12)


def ways(kernel, x) -> list[KernelRows]:
    found: list[KernelRows] = [
        DenseKernelRows(kernel(x)),
        TiledRows(kernel, x),
        CachedRows(kernel, x, 7),
    ]
    return [*found, LowRankRows(x)] if kernel == Linear() else found


@pytest.mark.parametrize("kernel", [RBF(1.0), Linear(), Laplace(1.0), RBF(0.5) + Linear()])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_by_all_ways(kernel, dtype):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 4)).astype(dtype)
    K = kernel(x.astype(np.float64))
    index, weights = rng.choice(90, 20, replace=False), rng.normal(size=20)
    some = np.sort(rng.choice(90, 33, replace=False))
    close = 1e-11 if dtype == np.float64 else 2e-4
    for rows in ways(kernel, x):
        assert len(rows) == 90
        block = rows.block(index)
        assert block.shape == (20, padded(20))
        assert_allclose(block[:, :20], K[np.ix_(index, index)], atol=close)
        assert not block[:, 20:].any()
        for _ in range(2):  # the second time from what was kept
            assert_allclose(rows.times(index, weights), K[:, index] @ weights, atol=close)
        onto = rows.onto(some)
        if onto is not None:
            assert_allclose(
                onto.times(index, weights), K[np.ix_(some, index)] @ weights, atol=close
            )
        assert_allclose(rows.diagonal, np.diag(K), rtol=1e-6)


def test_which_way(monkeypatch):
    x = np.random.default_rng(0).normal(size=(300, 3))
    assert isinstance(kernel_rows(RBF(1.0), x[:50]), DenseKernelRows)
    assert isinstance(kernel_rows(RBF(1.0), x), TiledRows)
    assert isinstance(kernel_rows(Laplace(1.0), x), DenseKernelRows)
    assert isinstance(kernel_rows(Linear(), x), LowRankRows)
    monkeypatch.setattr(matrix_access, "MAX_DENSE_POINTS", 100)
    assert isinstance(kernel_rows(Laplace(1.0), x), CachedRows)
    assert isinstance(kernel_rows(RBF(1.0), np.tile(x, (1, 40))), CachedRows)


def test_little_memory(monkeypatch):
    x, dual = classes(1500, 1.0)
    wide = solve(kernel_rows(RBF(1.0), x), dual, tolerance=1e-6)
    with mercer.config(memory="16MiB"):  # whose eighth holds 512 x 512
        rows = kernel_rows(RBF(1.0), x)
        assert isinstance(rows, TiledRows)
        narrow = solve(rows, dual, tolerance=1e-6)
    assert_allclose(narrow.values, wide.values, atol=1e-4)


_FIT = """
from importlib.util import find_spec
import mercer, numpy as np
from benchmarks.footprint import peak, resident
from mercer.kernels import RBF
from mercer.learn import SVC
from mercer.learn.machines.smo_compiled import compiled_steps
if find_spec("numba") is not None:
    compiled_steps()  # else only many steps are compiled, and the small fit has few
x = np.random.default_rng(0).normal(size=(12_000, 5))
y = x[:, 0] * x[:, 1] > 0
with mercer.config(memory="32MiB"):
    SVC(RBF(1.0)).fit(x[:3000], y[:3000])  # imports and compiles
    before = resident()
    machine = SVC(RBF(1.0)).fit(x, y)
print(peak() - before, machine.gap_)
"""


@pytest.mark.memory
def test_a_large_problem_stays_inside_the_budget():
    pytest.importorskip("psutil")
    done = subprocess.run(
        [sys.executable, "-c", _FIT], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    growth, gap = (float(v) for v in done.stdout.split())
    assert gap <= 1e-3
    assert growth < (32 + 64) * 2**20 < 8 * 12_000**2 / 10  # with what threads need


def test_warm_starts_need_fewer_steps():
    x, dual = classes(300, 1.0)
    rows = DenseKernelRows(RBF(1.0)(x))
    first = solve(rows, dual, tolerance=1e-6)
    again = solve(rows, dual, start=first.b, tolerance=1e-6)
    assert again.steps == 0
    assert_allclose(again.values, first.values)


def test_steps_can_run_out():
    x, dual = classes(300, 10.0)
    found = solve(DenseKernelRows(RBF(1.0)(x)), dual, tolerance=1e-9, max_steps=20)
    assert found.steps == 20
    assert found.gap > 1e-3
