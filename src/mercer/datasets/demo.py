"""The data of `mercer demo`: made up, by the code below, and shipped in two small files.

Orders of a shop in two months. Between them a second warehouse opened: orders are delivered from
near or from far, so that the hours to delivery have two peaks where they had one; and buyers in
the north and south now pay by card more often, those in the east and west less often. The mean and
the standard deviation of every column, and the share of every label, are the same in both months:
a comparison column by column, of means or of shares, has nothing to find.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np

_SEED = 20_240_403  # of those from 20_240_401 on the first for which also the means drawn are close
_ROWS = {"orders_march.csv": 500, "orders_april.csv": 480}
_REGIONS = ("north", "east", "south", "west")
_PAYMENTS = ("card", "transfer", "invoice")


def demo_files() -> tuple[Path, Path]:
    """Where the two files of `mercer demo` are.

    Returns
    -------
    tuple of two Path
        Orders before and after the change; `demo_tables` makes them.

    Examples
    --------
    >>> march, april = demo_files()
    >>> march.read_text().splitlines()[0]
    'amount,items,hours_to_delivery,weight_kg,region,payment'
    """
    folder = files("mercer.datasets") / "demo_data"
    first, second = (Path(str(folder / name)) for name in _ROWS)
    return first, second


def demo_tables() -> dict[str, str]:
    """The text of the two files, made anew from the seed.

    Returns
    -------
    dict of str
        By file name.
    """
    rng = np.random.default_rng(_SEED)
    return {name: _orders(rng, rows, name == "orders_april.csv") for name, rows in _ROWS.items()}


def _orders(rng: np.random.Generator, n: int, later: bool) -> str:
    size = rng.standard_normal(n)  # of an order: what its amount, items and weight share
    amount = np.exp(3.6 + 0.5 * size + 0.3 * rng.standard_normal(n))
    items = np.clip(np.rint(2.5 + 1.2 * size + 0.8 * rng.standard_normal(n)), 1, 9)
    weight = np.exp(0.4 + 0.4 * size + 0.4 * rng.standard_normal(n))
    region = np.floor(4 * rng.random(n)).astype(int)
    hours = 48 + 9 * _standard(rng, n, later)
    along = np.where(region % 2 == 0, 0.35, -0.35) if later else np.zeros(n)
    draw = rng.random(n)
    card, transfer = 0.5 + along, 0.3 - 0.6 * along  # and what is left, by invoice
    payment = np.where(draw < card, 0, np.where(draw < card + transfer, 1, 2))
    rows = [
        f"{amount[i]:.2f},{items[i]:.0f},{hours[i]:.1f},{weight[i]:.2f},"
        f"{_REGIONS[region[i]]},{_PAYMENTS[payment[i]]}"
        for i in range(n)
    ]
    return "\n".join(["amount,items,hours_to_delivery,weight_kg,region,payment", *rows, ""])


def _standard(rng: np.random.Generator, n: int, two_peaks: bool) -> np.ndarray:
    """Draws of mean 0 and variance 1: with one peak, or with two at -0.95 and 0.95."""
    noise, side = rng.standard_normal(n), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return 0.95 * side + np.sqrt(1 - 0.95**2) * noise if two_peaks else noise
