"""Forms of sign columns, summed panel by panel, with panels that the host computes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch")
half_forms: Any = pytest.importorskip("mercer.gram.cuda.half_forms")


@pytest.mark.parametrize("kernels", [1, 2])
def test_panels_count_pairs_beside_the_diagonal_twice(monkeypatch, kernels):
    rng = np.random.default_rng(0)
    values = rng.integers(-8, 9, size=(kernels, 384, 384))
    values = values + values.transpose(0, 2, 1)  # exact in half precision, as are the signs
    signs = rng.choice([-1.0, 1.0], size=(384, 64))
    monkeypatch.setattr(half_forms, "_PANEL_ROWS", 128)
    monkeypatch.setattr(half_forms, "_panel_columns", lambda signs, number: 128)

    def panel(plan, rows, columns, scaling, buffer):
        tile = values[:, rows, columns].astype(np.float16)
        if rows == columns:
            tile[:, np.arange(128), np.arange(128)] = 0
        return torch.as_tensor(tile)

    monkeypatch.setattr(half_forms, "_panel", panel)
    plan = SimpleNamespace(
        formula=SimpleNamespace(values=["v"] * kernels), unit=torch.full((kernels,), 2.0)
    )
    found = half_forms.panel_forms(plan, torch.as_tensor(signs).half(), np.zeros(kernels))
    off_diagonal = values * (1 - np.eye(384))
    expected = 2 * np.einsum("ic,kij,jc->kc", signs, off_diagonal, signs)
    assert_allclose(found.numpy(), expected, rtol=1e-12)
