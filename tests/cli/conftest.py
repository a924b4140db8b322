"""Folders with files, in which commands run."""

import numpy as np
import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two samples that differ in one column, and a third like the first."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frames = {}
    for name, shift, n in (("a", 0.0, 90), ("b", 1.2, 80), ("c", 0.0, 70)):
        frames[name] = pd.DataFrame(
            {
                "height": rng.normal(shift, 1.0, n),
                "weight": rng.normal(0.0, 5.0, n),
                "city": rng.choice(["Rome", "Oslo", "Lima"], n),
            }
        )
        frames[name].to_csv(tmp_path / f"{name}.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return frames


@pytest.fixture
def put(tmp_path, monkeypatch):
    """Writes a file into the folder the test runs in, and returns its name."""
    monkeypatch.chdir(tmp_path)

    def write(content: str | bytes, name: str = "a.csv") -> str:
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        return name

    return write
