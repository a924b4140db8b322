"""Libraries of others that results are compared with; a test that needs a missing one is skipped."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest


class _Dcor:
    """dcor in plain Python: with numba it compiles all its functions for a minute when it is imported."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("_", "pytest")):  # pytest looks at every name of a module it collects
            raise AttributeError(name)
        return getattr(_dcor(), name)


@cache
def _dcor() -> Any:
    numba = pytest.importorskip("numba")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numba.config, "DISABLE_JIT", True)
        patch.setattr(numba, "guvectorize", lambda *signature, **options: lambda f: f)
        return pytest.importorskip("dcor")


dcor: Any = _Dcor()
