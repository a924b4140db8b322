"""Drift: one batch after another tested against a reference, with the false-discovery rate controlled."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil, isfinite
from typing import Any, ClassVar

from mercer import validate
from mercer.htest.asked_test import at_level
from mercer.htest.corrections import BenjaminiHochberg, resolution_caution
from mercer.htest.foreign_keywords import in_our_words
from mercer.htest.hypothesis_test import HypothesisTest
from mercer.htest.reportable import Reportable
from mercer.htest.result_rows import ResultRows
from mercer.htest.row_order import order_cautions
from mercer.htest.samples.attribution import Features
from mercer.htest.samples.effect import Effect
from mercer.htest.samples.two_sample import two_sample
from mercer.htest.samples.two_sample_result import TwoSampleResult
from mercer.kernels.base import Kernel
from mercer.rkhs.paired_samples import listed

SCHEMA = "mercer/drift/1"
_MAX_ROWS_FOR_EFFECT = 10_000  # of each sample: all pairs are compared
_FEWEST_RESAMPLES = 999
_RESAMPLES_PER_BATCH = 4  # over the level: the smallest corrected p-value is a quarter of the level


@dataclass(frozen=True)
class Batch:
    """A batch compared with the reference: its test, its corrected p-value, how much and where it differs."""

    name: str
    result: TwoSampleResult = field(repr=False, compare=False)
    corrected: float
    effect: Effect = field(repr=False, compare=False)
    features: Features | None = field(repr=False, compare=False)  # None: one column

    @property
    def size(self) -> int:
        """Number of observations."""
        return self.result.sizes[1]

    def differing(self, level: float) -> tuple[str, ...]:
        """Names of the columns that differ on their own, the largest difference first."""
        return (
            () if self.features is None else tuple(f.name for f in self.features.differing(level))
        )

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        auc = self.effect.auc
        return {
            "name": self.name,
            "size": self.size,
            "pvalue": self.result.pvalue,
            "corrected": self.corrected,
            "auc": auc if isfinite(auc) else None,
            "auc_interval": list(self.effect.auc_interval),
            "word": self.effect.word,
        }


@dataclass(frozen=True)
class DriftResult(ResultRows, Reportable):
    """Batches in the order in which they came, each compared with the reference.

    `corrected` p-values are those of Benjamini and Hochberg: of the batches called different, a share
    of at most `level` is expected not to be.
    """

    _report: ClassVar[str] = "drift_report"

    reference: str
    batches: tuple[Batch, ...]
    level: float
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Batch]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)

    def drifted(self, level: float | None = None) -> tuple[Batch, ...]:
        """Batches that differ from the reference; None: at the level of the result."""
        level = self._level_or(level)
        return tuple(batch for batch in self.batches if batch.corrected <= level)

    def summary(self, level: float | None = None) -> str:
        """How many batches differ, and a line for each of them, in plain words."""
        level = self._level_or(level)
        drifted = self.drifted(level)
        differ = "differs" if 1 in (len(drifted), len(self)) else "differ"
        noun = "batch" if len(self) == 1 else "batches"
        lines = [
            f"{len(drifted)} of {len(self)} {noun} {differ} from {self.reference} "
            f"(false-discovery rate {level:g}).",
            *(f"{b.name}: {b.effect.sentence()}, p = {b.corrected:.3g}" for b in drifted),
        ]
        return "\n".join([*self.cautions(level), *lines])

    def __str__(self) -> str:
        return self.summary()

    def cautions(self, level: float | None = None) -> tuple[str, ...]:
        """Reasons not to trust p-values: too few resamples, or rows that depend on those before them."""
        fewest = min(len(batch.result.null) for batch in self.batches)
        rule = BenjaminiHochberg()
        level = self._level_or(level)
        few = resolution_caution(rule, len(self), fewest, level, "batches", fixed=True)
        return (*few, *(note for note in self.notes if note.startswith("Caution:")))

    def to_dict(self) -> dict[str, Any]:
        """Numbers and texts only, ready for JSON."""
        return {
            "schema": SCHEMA,
            "reference": self.reference,
            "level": self.level,
            "batches": [batch.to_dict() for batch in self.batches],
            "drifted": [batch.name for batch in self.drifted()],
            "notes": list(self.notes),
        }

    def plot(self, ax: Any = None, *, level: float | None = None) -> Any:
        """Draw the timeline: how well each batch is told from the reference; returns the Axes."""
        plot = importlib.import_module("mercer.plot")
        return plot.plot_drift(self, ax=ax, level=self._level_or(level))

    def plot_columns(self, ax: Any = None, *, level: float | None = None) -> Any:
        """Draw which columns differ in which batches, and how much; returns the Axes."""
        plot = importlib.import_module("mercer.plot")
        return plot.plot_drift_columns(self, ax=ax, level=self._level_or(level))

    def _level_or(self, level: float | None) -> float:
        level = self.level if level is None else level
        validate.between("level", level, 0.0, 1.0)
        return level

    def _report_defaults(self) -> dict[str, Any]:
        return {"level": self.level}


@in_our_words
def drift(
    reference: Any,
    batches: Mapping[str, Any] | Sequence[Any],
    *,
    name: str = "reference",
    test: HypothesisTest | None = None,
    kernel: Kernel | None = None,
    resamples: int | None = None,
    level: float = 0.05,
    series: bool = False,
    difference: bool = False,
    rng: Any = None,
) -> DriftResult:
    """Test each batch against a reference sample; controls the false-discovery rate.

    Each batch is compared by `two_sample`; p-values are corrected for the number of batches by the method of
    Benjamini and Hochberg. For two streams that are watched without an end use `Monitor`.

    Parameters
    ----------
    reference : array, tensor or data frame
    batches : mapping of str to samples, or sequence of samples
        In the order of time; those of a sequence are called batch 1, batch 2, ...
    name : str
        Name of the reference.
    test, kernel, series, difference
        As in `two_sample`.
    resamples : int, optional
        Number of permutations; None: 999, or more if that many batches need them.
    level : float
        False-discovery rate: the expected share of false alarms among the alarms.
    rng : int, Generator or None

    Returns
    -------
    DriftResult

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> months = {m: rng.normal(s, 1.0, size=(80, 2)) for m, s in [("May", 0), ("June", 0), ("July", 1)]}
    >>> result = drift(rng.normal(size=(100, 2)), months, rng=0)
    >>> [batch.name for batch in result.drifted()]
    ['July']
    """
    validate.between("level", level, 0.0, 1.0)
    named = dict(_named(batches))
    if resamples is None and test is None:
        resamples = max(_FEWEST_RESAMPLES, ceil(_RESAMPLES_PER_BATCH * len(named) / level) - 1)
    options = {"test": test, "kernel": kernel, "resamples": resamples, "series": series}
    options["difference"] = difference
    compare = partial(two_sample, reference, level=level, rng=validate.generator(rng), **options)
    results = {str(label): _compared(compare, sample, label) for label, sample in named.items()}
    return drift_result(
        str(name), [(label, r, *_measured(r)) for label, r in results.items()], level
    )


def _compared(
    compare: Callable[[Any], TwoSampleResult], sample: Any, label: Any
) -> TwoSampleResult:
    """The comparison of a batch; messages, which speak of x and y, say which batch that is."""
    try:
        return compare(sample)
    except (TypeError, ValueError) as problem:
        problem.add_note(f"x is the reference here, and y the batch {str(label)!r}")
        raise


def drift_result(
    reference: str,
    comparisons: Sequence[tuple[str, TwoSampleResult, Effect, Features | None]],
    level: float,
    notes: Sequence[str] | None = None,
) -> DriftResult:
    """Batches that were compared already, with corrected p-values; `notes` default to those of the tests."""
    adjusted = BenjaminiHochberg().adjusted([result.pvalue for _, result, _, _ in comparisons])
    batches = tuple(
        Batch(label, at_level(result, level), float(p), effect, features)
        for (label, result, effect, features), p in zip(comparisons, adjusted, strict=True)
    )
    if notes is None:
        notes = [*_order_cautions(reference, batches), *_named_notes(batches)]
    return DriftResult(reference, batches, float(level), tuple(notes))


def _named_notes(batches: Sequence[Batch]) -> Iterator[str]:
    """The notes of all batches once, and those of some of them with their names."""
    every = dict.fromkeys(note for batch in batches for note in batch.result.notes)
    for note in every:
        names = [batch.name for batch in batches if note in batch.result.notes]
        yield note if len(names) == len(batches) else f"{listed(names)}: {note}"


def _order_cautions(reference: str, batches: Sequence[Batch]) -> tuple[str, ...]:
    """A caution where a column numbers the rows, or rows depend on those before them, and tests ignore that."""
    named: dict[str, Any] = {}
    for batch in batches:
        named |= zip((reference, batch.name), batch.result.taken_for_independent, strict=False)
    return order_cautions([*named.items()], remedy="use drift(..., series=True)")


def _named(batches: Mapping[str, Any] | Sequence[Any]) -> Iterator[tuple[str, Any]]:
    """Names and samples of the batches."""
    if isinstance(batches, Mapping):
        pairs = list(batches.items())
    elif isinstance(batches, list | tuple):
        pairs = [(f"batch {i}", sample) for i, sample in enumerate(batches, 1)]
    else:
        raise TypeError(
            "batches must be a list of samples, or a dict of names and samples, got "
            f"{type(batches).__name__}; for a single batch use two_sample(reference, batch)"
        )
    if not pairs:
        raise ValueError("batches must hold at least one sample, got none")
    yield from pairs


def _measured(result: TwoSampleResult) -> tuple[Effect, Features | None]:
    """How much a batch differs, and its columns one by one."""
    effect = result.thinned(_MAX_ROWS_FOR_EFFECT).effect()
    return effect, result.features(rng=0) if result.has_features else None
