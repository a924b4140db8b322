"""Loops in machine code: compiled by numba when an installation first needs them, then loaded from disk.

Importing numba and compiling take seconds, loading a stored object file with llvmlite a hundredth of one.
Object files are stored beside the bytecode of the module that has the loop, or in the user's cache folder
where that cannot be written to; `NUMBA_CACHE_DIR` names another folder. Their names contain a digest of
the source, of the processor and of the versions of the compilers. Where nothing can be stored, every process
compiles.
"""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

Builder = Callable[[Any], Callable[..., int]]

# Sums keep their order, and infinite values their meaning.
_OPTIONS: dict[str, Any] = {"fastmath": {"nnan", "nsz", "contract"}, "error_model": "numpy"}
_C_TYPES = {"float": ctypes.c_float, "double": ctypes.c_double, "long": ctypes.c_int64}
_FULL_VECTORS = "-prefer-256-bit"  # a feature of processors for LLVM
_ENTRY = "mercer_loop"  # name of the function in every object file
_DIGEST_BYTES = 32  # of SHA-256, in front of the object code: files cut short are not loaded

_loading = Lock()  # LLVM's execution engines are not made by two threads at once


@cache
def has_compiler() -> bool:
    """Whether numba (the extra `compiled`) is installed."""
    return find_spec("numba") is not None


def native_loop(build: Builder, signature: str, uses: tuple[str, ...] = ()) -> Callable[..., int]:
    """The loop that `build(numba)` returns, in machine code; it releases the GIL.

    `signature` lists the types of its arguments, such as ``"double* long double"``. Arrays are passed
    for pointers: C-contiguous, of that type, which is not checked. The loop turns pointers into arrays by
    `numba.carray`, allocates nothing, raises nothing and returns an integer. `build` is a function of a
    module; `uses` are the files of other modules that it takes functions from. Functions that the loop
    calls are made by `helper`.
    """
    with _loading:
        return _loaded(build, signature, uses)


def helper(numba: Any) -> Any:
    """Decorator of functions that a loop calls."""
    return numba.njit(**_OPTIONS)


@cache
def is_quick(build: Builder, signature: str, uses: tuple[str, ...] = ()) -> bool:
    """Whether the loop is stored, or can be: else every process would spend seconds on compiling it."""
    key = _key(build, signature, uses) if has_compiler() else None
    if key is None:
        return False
    folders = _folders(build)
    return any((folder / f"{key}.o").exists() or _is_writable(folder) for folder in folders)


@cache
def _loaded(build: Builder, signature: str, uses: tuple[str, ...]) -> Callable[..., int]:
    key = _key(build, signature, uses)
    folders = [] if key is None else _folders(build)
    code = next(filter(None, (_read(folder / f"{key}.o") for folder in folders)), None)
    if code is not None:
        return _function(code, signature)
    compiled = _compile(build, signature)
    code = _object_code(compiled)
    if code is None:  # it needs functions of numba
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *_c_types(signature))
        function = kind(compiled.address)
        return _with_arrays(lambda *arguments, _owner=compiled: function(*arguments))
    any(_write(folder / f"{key}.o", code) for folder in folders)
    return _function(code, signature)


# ---- compiling ------------------------------------------------------------------------------


def _compile(build: Builder, signature: str) -> Any:
    """The loop as a C callback of numba."""
    import numba
    from numba import types

    kinds = {"float": types.float32, "double": types.float64, "long": types.int64}
    kinds["byte"] = types.uint8  # in arrays only
    arguments = [
        types.CPointer(kinds[word[:-1]]) if word.endswith("*") else kinds[word]
        for word in signature.split()
    ]
    options: dict[str, Any] = {"nopython": True, **_OPTIONS}
    with _full_vectors():
        return numba.cfunc(types.int64(*arguments), **options)(build(numba))


@contextmanager
def _full_vectors() -> Iterator[None]:
    """Let numba use all of the vector units inside a `with` block.

    For processors with vectors of 512 bits LLVM prefers those of 256 bits, with which the exponential took
    almost twice as long on an Intel processor of 2023.
    """
    from numba.core import codegen, registry

    class FullVectors(codegen.JITCPUCodegen):
        def _customize_tm_features(self) -> str:
            return f"{super()._customize_tm_features()},{_FULL_VECTORS}".strip(",")

    context: Any = registry.cpu_target.target_context
    usual = getattr(context, "_internal_codegen", None)
    if usual is None:  # another version of numba
        yield
        return
    context._internal_codegen = FullVectors("mercer")
    try:
        yield
    finally:
        context._internal_codegen = usual


def _object_code(compiled: Any) -> bytes | None:
    """Object code of the loop, without the wrapper that needs numba at run time; None if impossible.

    The loop is the function that the wrapper calls. Its first two arguments are where to write the
    result, and where to write an exception.
    """
    from llvmlite import binding

    name = compiled.native_name.removeprefix("cfunc.")
    # Old versions of numba call the square root of the C library, which object code here cannot reach.
    text = compiled.inspect_llvm().replace("@sqrt(double", "@llvm.sqrt.f64(double")
    defined = re.finditer(r"^define [^@]*@([\w.$]+)\(.*?^}$", text, flags=re.MULTILINE | re.DOTALL)
    bodies = {match[1]: match[0] for match in defined}
    needed, waiting = set(), [name]
    while waiting:
        function = waiting.pop()
        needed.add(function)
        called = set(re.findall(r"call [^@\n]*@([\w.$]+)\(", bodies[function])) - needed
        if any(other not in bodies and not other.startswith("llvm.") for other in called):
            return None
        waiting += [other for other in called if other in bodies]
    for function in bodies.keys() - needed:
        text = text.replace(bodies[function], "")
    try:
        module = binding.parse_assembly(text.replace(f"@{name}(", f"@{_ENTRY}("))
        module.verify()
    except RuntimeError:
        return None
    cpu, features = _processor()
    machine = binding.Target.from_triple(module.triple).create_target_machine(
        cpu=cpu, features=features, opt=3, reloc="static", codemodel="jitdefault", jit=True
    )
    return machine.emit_object(module)


def _processor() -> tuple[str, str]:
    """Name and features of the processor to compile for, by the variables that numba reads."""
    from llvmlite import binding

    name = os.environ.get("NUMBA_CPU_NAME")
    features = os.environ.get("NUMBA_CPU_FEATURES")
    if features is None:
        features = "" if name else binding.get_host_cpu_features().flatten()
    return name or binding.get_host_cpu_name(), f"{features},{_FULL_VECTORS}".strip(",")


# ---- loading --------------------------------------------------------------------------------


def _function(code: bytes, signature: str) -> Callable[..., int]:
    """The function in an object file, as a function of arrays and numbers."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    pointers = ctypes.c_void_p, ctypes.c_void_p
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, *pointers, *_c_types(signature))
    function = kind(engine.get_function_address(_ENTRY))

    def call(*arguments: Any, _engine: Any = engine) -> int:  # the engine owns the code
        result = ctypes.c_int64()
        function(ctypes.addressof(result), None, *arguments)
        return result.value

    return _with_arrays(call)


def _c_types(signature: str) -> list[Any]:
    """Types of the arguments for ctypes."""
    return [ctypes.c_void_p if w.endswith("*") else _C_TYPES[w] for w in signature.split()]


def _with_arrays(function: Callable[..., int]) -> Callable[..., int]:
    """A function of pointers that takes arrays."""

    def call(*arguments: Any) -> int:
        return function(
            *(
                a.__array_interface__["data"][0] if isinstance(a, np.ndarray) else a
                for a in arguments
            )
        )

    return call


# ---- storing --------------------------------------------------------------------------------


def _key(build: Builder, signature: str, uses: tuple[str, ...]) -> str | None:
    """Name of the object file of a loop, with a digest of all it depends on; None without a source file."""
    from llvmlite import binding

    try:
        files = (build.__code__.co_filename, __file__, *uses)
        source = b"".join(Path(file).read_bytes() for file in files)
        versions = [version("numba"), version("llvmlite")]
    except (OSError, PackageNotFoundError):
        return None
    parts = [build.__qualname__, signature, *versions, *_processor(), binding.get_default_triple()]
    digest = sha256(source + "\0".join(parts).encode()).hexdigest()
    return f"{build.__module__.rpartition('.')[2]}.{build.__name__.strip('_')}.{digest[:24]}"


def _folders(build: Builder) -> list[Path]:
    """Folders for object files, the preferred one first."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return [Path(chosen) / "mercer"]
    folders = [Path(cache_from_source(build.__code__.co_filename)).parent]
    variable = "LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME"
    user = os.environ.get(variable) or os.path.expanduser("~/.cache")
    return [*folders, Path(user) / "mercer"] if os.path.isabs(user) else folders


def _is_writable(folder: Path) -> bool:
    """Whether files can be created in a folder, which need not exist yet."""
    existing = next((f for f in (folder, *folder.parents) if f.exists()), None)
    return existing is not None and os.access(existing, os.W_OK)


def _read(path: Path) -> bytes | None:
    """Object code of a file; None where it is missing, unreadable or damaged."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    code = content[_DIGEST_BYTES:]
    return code if code and sha256(code).digest() == content[:_DIGEST_BYTES] else None


def _write(path: Path, code: bytes) -> bool:
    """Store object code, at once for processes that read it; False where that is not possible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        with os.fdopen(handle, "wb") as file:
            file.write(sha256(code).digest() + code)
        os.chmod(name, 0o644)  # other users of the installation read it
        os.replace(name, path)
    except OSError:
        return False
    return True
