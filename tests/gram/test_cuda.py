"""Fused tiles: traced formulas, and the kernels around them, on a GPU or in Triton's interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from zoo import ZOO

from mercer.gram.cuda.trace import traced
from mercer.kernels import RBF, Matern
from mercer.kernels.base import DotProduct, Radial

_CHECK = """
import json, sys
import numpy as np, torch
from mercer.gram.cuda.engine import quadratic, times
from mercer.gram.cuda.plan import plan
from mercer.gram.cuda.weights import two_valued
from mercer.gram.weights import PermutedWeights
from mercer.kernels import RBF, Exponential, Laplace, Linear, Matern, Polynomial

device, found = sys.argv[1], {}
draw = torch.Generator().manual_seed(0)
def normal(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=draw, dtype=dtype).to(device)
for n, m, d, dtype in ((1, 1, 1, torch.float32), (17, 17, 3, torch.float32), (70, 129, 10, torch.float32),
                       (40, 33, 65, torch.float32), (61, 45, 3, torch.float64)):
    x = normal(n, d, dtype=dtype)
    y = x if n == m else normal(m, d, dtype=dtype)
    v = normal(m, 6, dtype=dtype)
    s = d**0.5
    for k in (RBF(s), Matern(1.5, s), Laplace(d), RBF(s) + Linear(), Polynomial(2) * RBF(s), Exponential(s),
              RBF(1.0).scaled(1 / s)):
        for columns in (1, 6):
            got = times(plan(k, x, y), v[:, :columns])
            exact = k.pairwise(x.double(), y.double()) @ v[:, :columns].double()
            name = f"{n} {m} {d} {dtype} {columns} {k!r}"
            found[name] = [float((got - exact).norm() / exact.norm()), 1e-5 if dtype == torch.float32 else 1e-13]
weights = PermutedWeights(np.repeat([1.0, -1.0], [60, 41]), 128, rng=3, keep_first=True)
seeds = [weights._sequence(number) for number in range(2)]
signs = two_valued(weights._codes, seeds, True, device)
found["permutations"] = [float(np.abs(signs[:101].cpu().numpy() - weights.dense()).max()), 0.0]
x = normal(101, 4)
k = RBF(2.0)(x.double().cpu()) - 0.3
k.fill_diagonal_(0)
w = signs[:101].double().cpu()
exact = ((k @ w) * w).sum(dim=0)
got = quadratic(plan(RBF(2.0), x, x), signs, 0.3).cpu()
found["forms"] = [float((got - exact).abs().max() / exact.std()), 5e-3]
print(json.dumps(found))
"""


def _has_formula(kernel: object) -> bool:
    bessel = isinstance(kernel, Matern) and kernel.nu - 0.5 not in range(11)
    return isinstance(kernel, Radial | DotProduct) and not bessel


FORMULAS = [e for e in ZOO if _has_formula(e.kernel)]


@pytest.mark.parametrize("entry", FORMULAS, ids=[repr(e.kernel) for e in FORMULAS])
def test_radial_and_dot_product_kernels_have_a_formula(entry):
    x = entry.sample(np.random.default_rng(0), 4)
    assert traced(entry.kernel, x, x) is not None


def test_kernels_of_other_bandwidths_share_their_code():
    x = np.zeros((2, 3))
    one, other = traced(RBF(1.0), x, x), traced(RBF(2.5), x, x)
    assert one is not None
    assert other is not None
    assert one.lines == other.lines
    assert one.parameters != other.parameters


def _checked(device: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _CHECK, device],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert {name: e for name, (e, limit) in found.items() if not e <= limit} == {}


@pytest.mark.skipif(
    find_spec("triton") is None or find_spec("torch") is None, reason="needs torch and Triton"
)
def test_fused_kernels_in_the_interpreter():
    _checked("cpu", TRITON_INTERPRET="1")


def test_fused_kernels_on_the_gpu():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    _checked("cuda")
