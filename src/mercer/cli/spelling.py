"""Names and labels that differ in capitals or spaces only, and may be meant as one."""

from __future__ import annotations

from collections.abc import Iterable

from mercer.cli.table import in_quotes

_SHOWN = 3  # in a message


def spelt_alike(names: Iterable[str], meant: str = "if they are one, write them alike") -> str:
    """A hint at names that differ in capitals or spaces only; empty where there are none."""
    spelt: dict[str, list[str]] = {}
    for name in names:
        spelt.setdefault(" ".join(name.split()).casefold(), []).append(name)
    several = [" and ".join(map(in_quotes, same)) for same in spelt.values() if len(same) > 1]
    if not several:
        return ""
    more = f" ({len(several) - _SHOWN:,} more such)" if len(several) > _SHOWN else ""
    return f"{', '.join(several[:_SHOWN])}{more} differ in capitals or spaces only: {meant}"
