"""Make numerical libraries compute as on another processor of this architecture."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Processor:
    """How numerical libraries are made to compute as on another processor of this architecture."""

    openblas: str
    llvm: str
    kernels: tuple[str, ...]  # of OpenBLAS, whose newer versions have none of their own for Zen
    avx2: bool = True
    avx512: bool = False

    def environment(self, dispatched: Sequence[str]) -> dict[str, str]:
        """Environment variables, given what NumPy dispatches on at run time."""
        missing = [name for name in dispatched if not self._has(name)]
        torch = "avx512" if self.avx512 else "avx2" if self.avx2 else "default"
        mkl = "AVX512" if self.avx512 else "AVX2" if self.avx2 else "SSE4_2"
        return {
            "OPENBLAS_CORETYPE": self.openblas,
            "NUMBA_CPU_NAME": self.llvm,
            "NPY_DISABLE_CPU_FEATURES": " ".join(missing),
            "ATEN_CPU_CAPABILITY": torch,
            "MKL_ENABLE_INSTRUCTIONS": mkl,
        }

    def _has(self, feature: str) -> bool:
        if feature.startswith("AVX512") or feature == "X86_V4":
            return self.avx512
        if feature in ("AVX2", "FMA3", "F16C", "X86_V3"):
            return self.avx2
        return True


PROCESSORS = {
    "Sandybridge": Processor("Sandybridge", "sandybridge", ("Sandybridge",), avx2=False),
    "Haswell": Processor("Haswell", "haswell", ("Haswell",)),
    "Zen": Processor("Zen", "znver1", ("Zen", "Haswell")),
    "SkylakeX": Processor("SkylakeX", "skylake-avx512", ("SkylakeX",), avx512=True),
}


def imitation(processor: str, python: Path, threads: str = "1") -> dict[str, str]:
    """Environment variables for a process of this Python that imitates the processor."""
    code = "import numpy as n; print(*n._core._multiarray_umath.__cpu_dispatch__)"
    dispatched = subprocess.run(
        [str(python), "-c", code], capture_output=True, text=True, check=True
    )
    return {
        **os.environ,
        **PROCESSORS[processor].environment(dispatched.stdout.split()),
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
    }
