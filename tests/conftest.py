"""What holds for the whole suite."""

from __future__ import annotations

import os

import mercer


def pytest_configure() -> None:
    """tools/matrix.py asks for a number of tile threads; otherwise mercer chooses."""
    if threads := os.environ.get("MERCER_TEST_THREADS"):
        mercer.config(threads=int(threads))
