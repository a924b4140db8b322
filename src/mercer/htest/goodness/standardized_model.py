"""Observations whose columns have units of their own, and a model of them in standard deviations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like
from mercer.frames import Table
from mercer.htest.goodness.against_draws import drawn
from mercer.htest.goodness.score_models import Model, model_of
from mercer.kernels.default import varying


@dataclass(frozen=True, eq=False, repr=False)
class InUnits:
    """The distribution of Z = X / u, where X has that of `of_units`: its score at z is u s(u z).

    Stein discrepancies see distances; columns of different units, or one that varies a thousand
    times as much as the others, are compared in units u of their own.
    """

    of_units: Any
    units: tuple[float, ...]

    def __repr__(self) -> str:
        return repr(self.of_units)

    @property
    def dimension(self) -> int | None:
        """As of the model itself."""
        return self._model.dimension

    def score(self, z: Array) -> Array:
        """u s(u z_i): (n, d)."""
        u = array_like(np.array(self.units, dtype=np.float64), z)
        return u * self._model.score(z * u)

    def sample(self, n: int, *, rng: Any = None) -> np.ndarray:
        """`n` draws, where the model can be drawn from: (n, d)."""
        return drawn(self.of_units, n, validate.generator(rng)) / np.array(self.units)

    def as_model(self) -> Model:
        """What tests compare with: the score, and coordinates where there are borders."""
        return self._model.divided(self.units)

    @property
    def _model(self) -> Model:
        return model_of(self.of_units)


@dataclass(frozen=True, eq=False, repr=False)
class FitInUnits:
    """A fit of observations as they came, on observations z = x / u: `InUnits` of fit(u z)."""

    fit: Callable[[np.ndarray], Any]
    units: tuple[float, ...]

    def __repr__(self) -> str:
        return repr(self.fit)

    def __call__(self, z: np.ndarray) -> InUnits:
        """The fitted model in these units."""
        return InUnits(self.fit(z * np.array(self.units)), self.units)


def as_given(model: Any) -> Any:
    """The model that stands behind another one, or itself."""
    return model.of_units if isinstance(model, InUnits) else model


def units_of(table: Table) -> tuple[float, ...]:
    """The standard deviations of the columns of a table; 1 for columns that do not vary."""
    found = varying(table)
    known = {} if found is None else dict(zip(found.names, found.factors, strict=True))
    return tuple(1 / known.get(name, 1.0) for name in table.columns.names)


def divided(table: Table, units: tuple[float, ...]) -> Table:
    """The table with its columns divided by their units."""
    return replace(table, values=table.values / np.array(units, dtype=np.float64))
