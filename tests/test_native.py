"""Loops in machine code: stored once, loaded without the compiler, and never a reason to fail."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mercer import native, native_exp
from mercer.gram import fast_exp, stein_tiles
from mercer.learn.machines import smo_compiled
from mercer.rkhs import distance_covariance_1d

pytest.importorskip("numba")

SIGNATURE = "double* long double"


def scaled_sum(numba: Any) -> Callable[..., int]:
    carray = numba.carray

    def loop(x, n, factor):  # pragma: no cover
        values, total = carray(x, n), 0.0
        for i in range(n):
            values[i] *= factor
            total += values[i]
        return int(total)

    return loop


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder for object files; what was loaded before is forgotten."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    forget()
    yield tmp_path / "mercer"
    forget()


def forget() -> None:
    native._loaded.cache_clear()
    native.is_quick.cache_clear()


def check() -> None:
    x = np.arange(5.0)
    assert native.native_loop(scaled_sum, SIGNATURE)(x, 5, 3.0) == 30
    np.testing.assert_array_equal(x, 3 * np.arange(5.0))


def test_a_stored_loop_is_loaded_without_the_compiler(folder, monkeypatch):
    assert native.is_quick(scaled_sum, SIGNATURE)
    check()
    (file,) = folder.iterdir()
    forget()
    monkeypatch.setattr(native, "_compile", None)
    check()
    forget()
    monkeypatch.setenv("NUMBA_CPU_NAME", "generic")  # other code, which is not stored
    with pytest.raises(TypeError):
        check()
    assert file.exists()


def test_a_damaged_file_is_replaced(folder):
    check()
    (file,) = folder.iterdir()
    size = file.stat().st_size
    file.write_bytes(file.read_bytes()[:-100])
    forget()
    check()
    assert file.stat().st_size == size


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    forget()
    try:
        assert not native.is_quick(scaled_sum, SIGNATURE)
        check()
    finally:
        forget()


def test_a_loop_that_needs_functions_of_numba(folder, monkeypatch):
    monkeypatch.setattr(native, "_object_code", lambda compiled: None)
    check()
    assert not folder.exists()


LOOPS = {
    "steps": (smo_compiled._double, smo_compiled._signature(np.float64)),
    "steps, float32": (smo_compiled._single, smo_compiled._signature(np.float32)),
    "exponential": (fast_exp._loop_double, "double* long"),
    "sums": (fast_exp._summing_double, "double* double* long* double* long long"),
    "Stein": (stein_tiles._multiquadric, "double* double* double* double* double long"),
    "tree": (distance_covariance_1d._tree, distance_covariance_1d._TREE_ARGUMENTS),
}


@pytest.mark.parametrize(("build", "signature"), LOOPS.values(), ids=list(LOOPS))
def test_every_loop_is_one_function_that_can_be_stored(build, signature):
    """Whatever a loop calls is inlined; else it would be compiled anew in every process."""
    exponentials = build.__module__ in (smo_compiled.__name__, fast_exp.__name__)
    uses = (native_exp.__file__,) if exponentials else ()
    native.native_loop(build, signature, uses)
    key = native._key(build, signature, uses)
    assert any(native._read(path / f"{key}.o") for path in native._folders(build))


def test_vectors_fill_the_units_and_other_code_of_numba_keeps_its_generator():
    """LLVM would use half of the vector units of processors with AVX-512."""
    registry: Any = pytest.importorskip("numba").core.registry
    before = registry.cpu_target.target_context._internal_codegen
    with native._full_vectors():
        features = registry.cpu_target.target_context._internal_codegen._tm_features
        assert features.endswith("-prefer-256-bit")
    assert registry.cpu_target.target_context._internal_codegen is before
