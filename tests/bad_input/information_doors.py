"""The doors of entropies, divergences and mutual information."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mercer.info import (
    KSG,
    L2,
    CharacteristicFunction,
    PlugIn,
    Renyi,
    conditional_entropy,
    cross_entropy,
    divergence,
    entropy,
    interaction_information,
    mutual_information,
    transfer_entropy,
)
from tests.bad_input.doors import PAIRS, Door, X, Y, door
from tests.bad_input.variable_doors import CATEGORIES

P = PlugIn()
WAVES, OMEGA = CharacteristicFunction(Y), 0.5 * X
SHIFTED = PAIRS[::-1] + 0.5


def informed(x: Any, y: Any) -> Any:
    return mutual_information(x, y), mutual_information(x, y, estimator=P)


def information_doors() -> Iterator[Door]:
    yield door("info.entropy", "x", X, calls=lambda x: (entropy(x), entropy(x, Renyi(2))))
    yield door("info.entropy", "x", X, calls=lambda x: entropy(x, estimator=P), takes=CATEGORIES)
    yield door(
        "info.divergence info.cross_entropy",
        "x y",
        X,
        Y,
        calls=lambda x, y: (divergence(x, y), divergence(x, y, L2()), cross_entropy(x, y)),
        columns=True,
    )
    two = {"points": True, "tolerance": 1e-6}
    yield door(
        "info.mutual_information", "x y", PAIRS, SHIFTED, calls=informed, takes=CATEGORIES, **two
    )
    yield door(
        "info.mutual_information", "x y", PAIRS, SHIFTED,
        calls=lambda x, y: mutual_information(x, y, estimator=KSG()), also=("KSG",), **two,
    )  # fmt: skip
    yield door(
        "info.conditional_entropy", "x given", PAIRS, SHIFTED,
        calls=lambda x, given: conditional_entropy(x, given), also=("x and given",), **two,
    )  # fmt: skip
    yield door(
        "info.transfer_entropy", "source target", PAIRS, SHIFTED,
        calls=lambda x, y: transfer_entropy(x, y, lags=1), takes=CATEGORIES, **two,
    )  # fmt: skip
    yield door(
        "info.interaction_information", "x y z", PAIRS, SHIFTED, PAIRS**2,
        calls=interaction_information, takes=CATEGORIES, tolerance=1e-6,
    )  # fmt: skip
    yield door(
        "info.CharacteristicFunction", "source", X,
        calls=lambda x: abs(CharacteristicFunction(x)(OMEGA)),
    )  # fmt: skip
    yield door("info.CharacteristicFunction.__call__", "omega", X, calls=lambda w: abs(WAVES(w)))


INFORMATION_DOORS = [*information_doors()]
