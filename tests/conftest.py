"""What holds for the whole suite."""

from __future__ import annotations

import os
from importlib.util import find_spec

import pytest

import mercer

DOCTESTS_WITH_TORCH = ("DeepMMD", "LogDensity", "NetworkMap")


def pytest_configure() -> None:
    """tools/matrix.py asks for a number of tile threads; otherwise mercer chooses."""
    if threads := os.environ.get("MERCER_TEST_THREADS"):
        mercer.config(threads=int(threads))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Examples in docstrings that need torch are skipped where it is not installed."""
    if find_spec("torch") is not None:
        return
    for item in items:
        if isinstance(item, pytest.DoctestItem) and item.name.endswith(DOCTESTS_WITH_TORCH):
            item.add_marker(pytest.mark.skip(reason="needs torch"))
