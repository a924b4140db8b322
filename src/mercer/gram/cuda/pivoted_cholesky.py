"""Pivoted Cholesky factors on a GPU: the device implementation of `gram.factor`."""

from __future__ import annotations

from typing import Any

from mercer.gram.cuda.triton_source import pivoted_kernels

_FIRST_CAPACITY = 64  # columns allocated at first; doubled when they are full
# Between two looks at the remaining trace, for which the host waits; columns beyond the last are dropped.
_COLUMNS_PER_LOOK = 32
_PLACES_PER_SEARCH = 1024  # read together by the one program that looks for the next pivot
_ROWS_PER_TILE, _PLACES_PER_ROW = (
    64,
    32,
)  # of the factor: one program's registers hold their products


def pivoted_cholesky(dense: Any, threshold: float, most: int) -> tuple[Any, tuple[int, ...], float]:
    """A' (r, n), its pivots, and the remaining trace, of a dense matrix on the device.

    Takes the column of the largest remaining diagonal entry until the remaining trace is at most
    `threshold` or there are `most` columns. Pivots stay on the device: a step is two launches.
    """
    import torch

    n, device = dense.shape[0], dense.device
    remaining = torch.diagonal(dense).to(torch.float64, copy=True)
    rows = torch.zeros((min(_FIRST_CAPACITY, most), n), dtype=torch.float64, device=device)
    pivots = torch.zeros(most + 1, dtype=torch.int64, device=device)
    roots, traces = torch.zeros((2, most + 1), dtype=torch.float64, device=device)
    search, row = pivoted_kernels()
    search[(1,)](remaining, pivots, roots, traces, n, 0, BN=_PLACES_PER_SEARCH)
    columns, trace = 0, float(traces[0])
    while columns < most and trace > threshold:
        stop = min(columns + _COLUMNS_PER_LOOK, most)
        if stop > rows.shape[0]:
            more = min(max(rows.shape[0], stop - rows.shape[0]), most - rows.shape[0])
            rows = torch.cat([rows, torch.zeros((more, n), dtype=torch.float64, device=device)])
        for k in range(columns, stop):
            row[(-(-n // _PLACES_PER_ROW),)](
                dense, rows, remaining, pivots, roots, n, k, BK=_ROWS_PER_TILE, BN=_PLACES_PER_ROW
            )
            search[(1,)](remaining, pivots, roots, traces, n, k + 1, BN=_PLACES_PER_SEARCH)
        after = traces[columns + 1 : stop + 1].cpu().numpy()
        columns += min(1 + int((after > threshold).cumprod().sum()), stop - columns)
        trace = float(traces[columns])
    return rows[:columns], tuple(int(p) for p in pivots[:columns].cpu()), trace
