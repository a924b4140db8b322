"""Pivoted Cholesky factors on a GPU: the device implementation of `gram.factor`."""

from __future__ import annotations

from typing import Any

_FIRST_CAPACITY = 64  # columns allocated at first; doubled when they are full
# Between two looks at the remaining trace, for which the host waits; columns beyond the last are dropped.
_COLUMNS_PER_LOOK = 32


def pivoted_cholesky(dense: Any, threshold: float, most: int) -> tuple[Any, tuple[int, ...], float]:
    """A' (r, n), its pivots, and the remaining trace, of a dense matrix on the device.

    Takes the column of the largest remaining diagonal entry until the remaining trace is at most
    `threshold` or there are `most` columns. Pivots stay on the device: a step is a few launches.
    """
    import torch

    n, double = dense.shape[0], {"dtype": torch.float64, "device": dense.device}
    remaining = torch.diagonal(dense).to(torch.float64, copy=True)
    rows = torch.zeros((min(_FIRST_CAPACITY, most), n), **double)
    pivots = torch.zeros(most, dtype=torch.int64, device=dense.device)
    traces = torch.zeros(most + 1, **double)
    traces[0] = remaining.sum()
    columns, trace = 0, float(traces[0])
    while columns < most and trace > threshold:
        stop = min(columns + _COLUMNS_PER_LOOK, most)
        if stop > rows.shape[0]:
            more = min(max(rows.shape[0], stop - rows.shape[0]), most - rows.shape[0])
            rows = torch.cat([rows, torch.zeros((more, n), **double)])
        for k in range(columns, stop):
            _step(dense, rows, remaining, pivots, k)
            torch.sum(remaining, dim=0, out=traces[k + 1])
        after = traces[columns + 1 : stop + 1].cpu().numpy()
        columns += min(1 + int((after > threshold).cumprod().sum()), stop - columns)
        trace = float(traces[columns])
    return rows[:columns], tuple(int(p) for p in pivots[:columns].cpu()), trace


def _step(dense: Any, rows: Any, remaining: Any, pivots: Any, k: int) -> None:
    """Write row k of A' and its pivot, and update the remaining diagonal."""
    pivot = remaining.argmax(dim=0, keepdim=True)
    pivots[k : k + 1] = pivot
    row = rows[k]
    row.copy_(dense.index_select(0, pivot)[0])
    if k:
        row.addmv_(rows[:k].mT, rows[:k].index_select(1, pivot)[:, 0], alpha=-1)
    row.div_(remaining.index_select(0, pivot).sqrt())
    remaining.addcmul_(row, row, value=-1).clamp_(min=0)
    remaining.index_fill_(0, pivot, 0.0)
