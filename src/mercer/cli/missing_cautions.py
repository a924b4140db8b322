"""Cautions of missing values in one file: columns that miss them together, and many rows left out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.cli.table import File, quoted

_LEVEL = 0.001  # of the test of two columns, over the number of their pairs
_MIN_SHARE = 0.05  # of rows with both missing: fewer hardly move a measure of dependence
_DROPPED_SHARE = 0.5  # of rows: with more left out, the rest is a minority
_ROWS_AT_ONCE = 4096  # as floats

Pair = tuple[str, str]


def missing_together(file: File, against: Sequence[str] = ()) -> tuple[Pair, int] | None:
    """The two columns that lack values in the same rows most clearly, and in how many rows; None if chance explains it.

    `against`: columns that are compared with the others, and not with each other; none: every pair is compared.
    The number of rows where both are missing is hypergeometric where one column has its gaps regardless of the other's.
    """
    from scipy.stats import hypergeom

    n, gaps = file.rows, {name: c.missing() for name, c in file.columns.items()}
    gaps = {name: lacking for name, lacking in gaps.items() if _MIN_SHARE * n <= lacking.sum() < n}
    if len(gaps) < 2:
        return None
    names, both = list(gaps), _together(list(gaps.values()))
    counts = both.diagonal()
    expected = np.outer(counts, counts) / n
    deviation = np.sqrt(expected * np.outer(1 - counts / n, 1 - counts / n))
    compared = ~np.eye(len(names), dtype=bool)
    if against:
        inside = np.isin(names, list(against))
        compared = inside[:, None] != inside
    candidates = compared & (both >= _MIN_SHARE * n)
    scores = np.where(candidates, (both - expected) / deviation, -np.inf)
    i, j = map(int, np.unravel_index(scores.argmax(), scores.shape))
    pvalue = hypergeom.sf(both[i, j] - 1, n, int(counts[i]), int(counts[j]))
    if not candidates.any() or pvalue * compared.sum() / 2 >= _LEVEL:
        return None
    return (names[i], names[j]), int(both[i, j])


def _together(gaps: Sequence[np.ndarray]) -> np.ndarray:
    """In how many rows each two of the columns lack values: (d, d)."""
    both = np.zeros((len(gaps), len(gaps)), dtype=np.float64)
    for start in range(0, len(gaps[0]), _ROWS_AT_ONCE):
        some = np.stack(
            [lacking[start : start + _ROWS_AT_ONCE] for lacking in gaps], dtype=np.float64
        )
        both += some @ some.T
    return both


def _imputed_cautions(file: File, against: Sequence[str]) -> list[str]:
    """A caution, where columns to be filled in lack values in the same rows."""
    found = missing_together(file, against)
    if found is None:
        return []
    names, rows = found
    return [
        f"Caution: {quoted(names)} are missing together in {rows:,} of {file.rows:,} rows, more often than by chance, "
        "and values filled in together make columns dependent that are not. Use --missing drop, with the "
        "columns of the question only."
    ]


def _dropped_cautions(file: File, dropped: int, against: Sequence[str]) -> list[str]:
    """A caution, where more than half of the rows are left out, and other columns would have kept some of them."""
    if dropped <= _DROPPED_SHARE * file.rows or len(file.columns) < 2:
        return []
    remedies = [
        *(["select fewer columns"] if len(file.columns) > 2 else []),
        *([] if missing_together(file, against) else ["use --missing impute"]),
    ]
    advice = f": {', or '.join(remedies)}" if remedies else ""
    return [
        f"Caution: {dropped:,} of {file.rows:,} rows have a missing value in some column and were left out, so that the "
        f"answer holds for the other {file.rows - dropped:,} only{advice}."
    ]


def completion_cautions(
    files: Sequence[File],
    dropped: Sequence[int],
    imputed: Sequence[int],
    against: Sequence[str] = (),
) -> list[str]:
    """Cautions of what was done about missing values of the only file; `files` still have them.

    Of several files none: values are filled in alike in all, so that samples of one distribution stay exchangeable.
    """
    if len(files) > 1:
        return []
    ((file,), (d,), (i,)) = files, dropped, imputed
    return [
        *(_imputed_cautions(file, against) if i else ()),
        *(_dropped_cautions(file, d, against) if d else ()),
    ]
