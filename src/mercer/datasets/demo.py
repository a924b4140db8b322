"""Data of `mercer demo`: simulated by the code below, and shipped in two small files.

Orders of a shop in two months. Between them a second warehouse opened: orders now come from near or
from far, so that the hours to delivery have two modes instead of one; and buyers in the north and
south pay by card more often, those in the east and west less often. The mean and the standard
deviation of every column, and the share of every label, are the same in both months, so a comparison
of means or shares, column by column, finds nothing.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np

_SEED = 20_240_403  # the first seed from 20_240_401 on whose sample means are close, too
_ROWS = {"orders_march.csv": 500, "orders_april.csv": 480}
_REGIONS = ("north", "east", "south", "west")
_PAYMENTS = ("card", "transfer", "invoice")


def demo_files() -> tuple[Path, Path]:
    """Paths of the two files of `mercer demo`.

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
    """Text of the two files, simulated again from the seed.

    Returns
    -------
    dict of str
        Texts by file name.
    """
    rng = np.random.default_rng(_SEED)
    return {name: _orders(rng, rows, name == "orders_april.csv") for name, rows in _ROWS.items()}


def _orders(rng: np.random.Generator, n: int, later: bool) -> str:
    size = rng.standard_normal(n)  # of an order: the factor that amount, items and weight share
    amount = np.exp(3.6 + 0.5 * size + 0.3 * rng.standard_normal(n))
    items = np.clip(np.rint(2.5 + 1.2 * size + 0.8 * rng.standard_normal(n)), 1, 9)
    weight = np.exp(0.4 + 0.4 * size + 0.4 * rng.standard_normal(n))
    region = np.floor(4 * rng.random(n)).astype(int)
    hours = 48 + 9 * _standard(rng, n, later)
    shift = np.where(region % 2 == 0, 0.35, -0.35) if later else np.zeros(n)
    draw = rng.random(n)
    card, transfer = 0.5 + shift, 0.3 - 0.6 * shift  # the remaining orders are paid by invoice
    payment = np.where(draw < card, 0, np.where(draw < card + transfer, 1, 2))
    rows = [
        f"{amount[i]:.2f},{items[i]:.0f},{hours[i]:.1f},{weight[i]:.2f},"
        f"{_REGIONS[region[i]]},{_PAYMENTS[payment[i]]}"
        for i in range(n)
    ]
    return "\n".join(["amount,items,hours_to_delivery,weight_kg,region,payment", *rows, ""])


def _standard(rng: np.random.Generator, n: int, two_modes: bool) -> np.ndarray:
    """Draws of mean 0 and variance 1 with one mode, or with two at -0.95 and 0.95."""
    noise, side = rng.standard_normal(n), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    return 0.95 * side + np.sqrt(1 - 0.95**2) * noise if two_modes else noise
