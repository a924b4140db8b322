"""Make numerical libraries compute as on another processor of this architecture.

python tools/processors.py Haswell -m benchmarks scoreboard    # as if there were no AVX-512
"""

from __future__ import annotations

import os
import subprocess
import sys
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


THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def imitation(processor: str, python: Path, threads: int | None = 1) -> dict[str, str]:
    """Environment variables for a process of this Python that imitates the processor.

    Without a number of threads libraries choose it themselves.
    """
    code = "import numpy as n; print(*n._core._multiarray_umath.__cpu_dispatch__)"
    dispatched = subprocess.run(
        [str(python), "-c", code], capture_output=True, text=True, check=True
    )
    inherited = {name: value for name, value in os.environ.items() if name not in THREADS}
    imitated = PROCESSORS[processor].environment(dispatched.stdout.split())
    return inherited | imitated | ({} if threads is None else dict.fromkeys(THREADS, str(threads)))


def main() -> int:
    """Run a command of this Python as on another processor."""
    if len(sys.argv) < 3 or sys.argv[1] not in PROCESSORS:
        sys.exit(f"usage: python tools/processors.py {{{','.join(PROCESSORS)}}} ARGUMENT ...")
    python = Path(sys.executable)
    environment = imitation(sys.argv[1], python, None)
    return subprocess.run([str(python), *sys.argv[2:]], env=environment, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())
