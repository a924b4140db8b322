"""Fused tiles: traced formulas, and the kernels around them, on a GPU or in Triton's interpreter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from mercer.gram.cuda.trace import traced
from mercer.kernels import RBF, InverseMultiquadric, Matern
from mercer.kernels.base import DotProduct, Radial
from mercer.kernels.stein import Stein
from tests.support.zoo import ZOO

_CHECKS = Path(__file__).with_name("cuda_checks.py")
PARTS = ("products", "matrices", "weights", "tests", "shared", "learnt", "joint")


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


def test_what_is_computed_twice_has_one_name():
    x = np.zeros((2, 3))
    formula = traced(Stein(RBF(1.5), lambda x: -x), x, x)
    assert formula is not None
    assert [each.kind for each in formula.inputs] == ["r2", "dot", "steps"]
    assert sum("exp2" in line for line in formula.lines) == 1  # of f, f' and f''
    code = [line.partition(" = ")[2] for line in formula.lines]
    assert len(set(code)) == len(code)


def test_powers_by_halves_are_roots_and_products():
    x = np.zeros((2, 3))
    formula = traced(Stein(InverseMultiquadric(1.0, 0.5), lambda x: -x), x, x)
    assert formula is not None
    assert sum("sqrt" in line for line in formula.lines) == 1
    assert not any("log" in line or "exp2" in line for line in formula.lines)


_SCALARS = "InterpreterError: TypeError('only 0-dimensional arrays"  # Triton 3.6 with NumPy 2.5


def _timed(part: str) -> object:
    """The interpreter takes a minute for most parts."""
    return (
        part
        if part in ("matrices", "learnt", "joint")
        else pytest.param(part, marks=pytest.mark.slow)
    )


def _checked(device: str, part: str, **environment: str) -> None:
    done = subprocess.run(
        [sys.executable, str(_CHECKS), device, part],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )
    if _SCALARS in done.stderr:
        pytest.skip("the interpreter of this Triton does not go with this NumPy")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found
    assert {name: e for name, (e, limit) in found.items() if not e <= limit} == {}


@pytest.mark.skipif(
    find_spec("triton") is None or find_spec("torch") is None, reason="needs torch and Triton"
)
@pytest.mark.parametrize("part", [_timed(part) for part in PARTS])
def test_fused_kernels_in_the_interpreter(part):
    _checked("cpu", part, TRITON_INTERPRET="1")


@pytest.mark.parametrize("part", PARTS)
def test_fused_kernels_on_the_gpu(part):
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    _checked("cuda", part)
