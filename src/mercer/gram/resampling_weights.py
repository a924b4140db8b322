"""Weights of resampled nulls, made by chunk from a seed: permuted weights and random signs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer import validate
from mercer.backend import Array, array_like, is_numpy, is_single, on_gpu, to_numpy
from mercer.gram.threads import in_order, spans
from mercer.linalg import one_blas_thread

GROUP = 64  # columns that share a generator: what a column holds does not depend on the chunks
_SOME = 200_000  # codes below which one thread makes them faster than two
_FEW = 8  # different weights, up to which permutations come from random keys
_HELD, _PER_KEY = (
    2**22,
    12,
)  # bytes of keys that a thread holds, so that they stay in cache; each key's
DECODED = 2**13  # bytes of a column as float32 in the tile of a thread, and of products with it


class WeightColumns(Protocol):
    """Some weight columns, given by rows."""

    @property
    def width(self) -> int:
        """The number of columns."""
        ...

    def rows(self, rows: slice, /) -> Array:
        """The weights of some points: (rows, width)."""
        ...


@dataclass(frozen=True)
class HeldColumns:
    """Weight columns that are held as an array (n, k)."""

    array: Array

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.array.shape[1])

    def rows(self, rows: slice, /) -> Array:
        """The weights of some points: (rows, k)."""
        return self.array[rows, :]


class Resamples(ABC):
    """A matrix (n, B) of weights that is known by its seed; `LazyMatrix.quad` takes it for w.

    A column is a few distinct numbers, `table`, picked by small codes: a million points with a
    thousand resamples would take 8 GB as float64 and are never held at once.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Points and resamples."""

    @property
    @abstractmethod
    def table(self) -> np.ndarray:
        """The distinct weights."""

    @abstractmethod
    def group(self, number: int) -> np.ndarray:
        """Codes of columns 64 number, 64 number + 1, ...: (64, n), one row per column."""

    def chunks(self, budget: int, beside: int = 0) -> Iterator[slice]:
        """Column ranges that fit into `budget` bytes, 64 columns or a multiple of it.

        A column takes its codes, its floats in a tile, and the bytes that a caller holds `beside`
        them.
        """
        n, total = self.shape
        codes = n * np.min_scalar_type(len(self.table) - 1).itemsize
        width = max(budget // (codes + DECODED + beside) // GROUP, 1) * GROUP
        return (slice(a, min(a + width, total)) for a in range(0, total, width))

    def columns(self, chunk: slice, like: Array) -> CodedColumns:
        """The columns of a chunk, still as codes."""
        first, last = chunk.start // GROUP, (chunk.stop - 1) // GROUP + 1
        many = (last - first) * GROUP * self.shape[0] > _SOME
        groups = in_order(self.group, range(first, last), parallel=many, shown=False)
        kind = np.min_scalar_type(len(self.table) - 1)
        codes = np.empty(((last - first) * GROUP, self.shape[0]), kind)
        for rows, group in zip(spans(len(codes), GROUP), groups, strict=True):
            codes[rows] = group
        offset = first * GROUP
        return CodedColumns(codes[chunk.start - offset : chunk.stop - offset], self.table, like)

    def dense(self) -> np.ndarray:
        """The whole matrix (n, B) as float64."""
        n, total = self.shape
        whole = self.columns(slice(0, total), np.empty(0, dtype=np.float64))
        return np.asarray(whole.rows(slice(0, n)))


@dataclass(frozen=True)
class CodedColumns:
    """Some weight columns: codes (k, n) and the numbers they stand for."""

    codes: np.ndarray
    table: np.ndarray
    like: Array

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.codes)

    def rows(self, rows: slice, /) -> Array:
        """The weights of some points: (rows, k)."""
        codes, table = self.codes[:, rows], self.table
        table = table.astype(np.float32) if is_single(self.like) else table
        if len(table) == 2:  # arithmetic is three times faster than a look-up
            weights = codes * (table[1] - table[0])
            weights += table[0]
        else:
            weights = table[codes]
        if is_numpy(self.like):
            return weights.T
        return array_like(np.ascontiguousarray(weights.T), self.like)

    def after_ones(self) -> CodedColumns:
        """The same columns, after one that has the largest value everywhere."""
        top = np.full((1, self.codes.shape[1]), len(self.table) - 1, self.codes.dtype)
        return replace(self, codes=np.concatenate([top, self.codes]))

    def project(self, v: np.ndarray) -> np.ndarray:
        """v'w of every column w, for numbers v (n,) or several rows of them (r, n): (..., k)."""
        low, steps = self.table[0], np.diff(self.table)
        total = np.sum(v, axis=-1) * low
        out = np.repeat(np.asarray(total)[..., None], self.width, axis=-1)
        with one_blas_thread():
            for rows in spans(self.codes.shape[1]):
                codes, part = self.codes[:, rows], np.ascontiguousarray(v[..., rows].T)
                if len(steps) <= 1:
                    above = codes.astype(np.float64) @ part * (steps[0] if len(steps) else 0.0)
                else:
                    above = (self.table - low)[codes] @ part
                out += above.T
        return out


class PermutedWeights(Resamples):
    """Random permutations of a weight vector, B of them.

    Parameters
    ----------
    weights : array (n,)
        For the two-sample statistic: 1/n on the first sample and -1/m on the second.
    resamples : int
    rng : int, Generator or None
    blocks : array (n,) or None
        Permute within equal labels only.
    keep_first : bool
        Leave column 0 as it is, so that what was observed goes through the same arithmetic.
    """

    def __init__(
        self,
        weights: Any,
        resamples: int,
        *,
        rng: Any = None,
        blocks: Any = None,
        keep_first: bool = False,
    ) -> None:
        held = to_numpy(validate.vector(weights, "weights")).astype(np.float64)
        validate.whole("resamples", resamples)
        self._table, codes = np.unique(held, return_inverse=True)
        self._codes = codes.astype(np.min_scalar_type(len(self._table) - 1))
        self._resamples, self._keep_first = resamples, keep_first
        self._blocks = None if blocks is None else _members(blocks, len(codes))
        self._seed = _seed(rng)

    @property
    def shape(self) -> tuple[int, int]:
        """Points and resamples."""
        return len(self._codes), self._resamples

    @property
    def table(self) -> np.ndarray:
        """The distinct weights."""
        return self._table

    def columns(self, chunk: slice, like: Array) -> Any:
        """The columns of a chunk, still as codes; on a GPU, signs that were made there."""
        if on_gpu(like) and self._blocks is None:
            from mercer.gram.cuda.weight_columns import device_columns

            made = device_columns(
                self._codes, self._table, self._sequence, self._keep_first, chunk, like
            )
            if made is not None:
                return made
        return super().columns(chunk, like)

    def _sequence(self, number: int) -> np.random.SeedSequence:
        return _sequence(self._seed, number)

    def group(self, number: int) -> np.ndarray:
        """Codes of 64 permuted columns."""
        rng = _generator(self._seed, number)
        if self._blocks is None:
            codes = _shuffled(self._codes, rng)
        else:
            codes = np.empty((GROUP, len(self._codes)), self._codes.dtype)
            for members in self._blocks:
                codes[:, members] = _shuffled(self._codes[members], rng)
        if self._keep_first and number == 0:
            codes[0] = self._codes
        return codes


class PairedWeights(Resamples):
    """Signs +1 on the first of n pairs and -1 on the second, swapped within random pairs.

    Rows are the first members of all pairs, then the second ones: (2n, B).
    """

    def __init__(
        self, n: int, resamples: int, *, rng: Any = None, keep_first: bool = False
    ) -> None:
        validate.whole("n", n)
        self._signs = SignWeights(n, resamples, rng=rng)
        self._keep_first = keep_first

    @property
    def shape(self) -> tuple[int, int]:
        """Points and resamples."""
        n, resamples = self._signs.shape
        return 2 * n, resamples

    @property
    def table(self) -> np.ndarray:
        """-1 and 1."""
        return self._signs.table

    def group(self, number: int) -> np.ndarray:
        """Codes of 64 columns."""
        first = self._signs.group(number)
        if self._keep_first and number == 0:
            first[0] = 1
        return np.concatenate([first, 1 - first], axis=1)


class SignWeights(Resamples):
    """Random signs +-scale, B columns; runs of `block` consecutive points share a sign.

    Parameters
    ----------
    n, resamples : int
    scale : float
        For a V-statistic: 1/n.
    block : int
        1 for independent points; longer for time series.
    rng : int, Generator or None
    """

    def __init__(
        self, n: int, resamples: int, *, scale: float = 1.0, block: int = 1, rng: Any = None
    ) -> None:
        validate.whole("n", n)
        validate.whole("resamples", resamples)
        validate.whole("block", block)
        validate.positive("scale", scale)
        self._n, self._resamples, self._block, self._scale = n, resamples, block, float(scale)
        self._seed = _seed(rng)

    @property
    def shape(self) -> tuple[int, int]:
        """Points and resamples."""
        return self._n, self._resamples

    @property
    def table(self) -> np.ndarray:
        """The two weights."""
        return np.array([-self._scale, self._scale], dtype=np.float64)

    def columns(self, chunk: slice, like: Array) -> Any:
        """The columns of a chunk, still as codes; on a GPU, signs that were made there."""
        if not on_gpu(like):
            return super().columns(chunk, like)
        from mercer.gram.cuda.weight_columns import device_signs

        return device_signs(self._n, self._block, self.table, self._sequence, chunk, like)

    def _sequence(self, number: int) -> np.random.SeedSequence:
        return _sequence(self._seed, number)

    def group(self, number: int) -> np.ndarray:
        """Codes of 64 columns of signs."""
        blocks = -(-self._n // self._block)
        rng = _generator(self._seed, number)
        bits = np.unpackbits(rng.integers(0, 256, (GROUP, -(-blocks // 8)), dtype=np.uint8), axis=1)
        return np.repeat(bits[:, :blocks], self._block, axis=1)[:, : self._n]


def _shuffled(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """64 random permutations of a vector of codes: (64, n).

    Of few different codes, each takes the points with the smallest random keys that are left:
    two to three times faster than a shuffle. Rows with equal keys at a border are drawn again.
    """
    counts = np.bincount(codes)
    counts = counts[np.flatnonzero(counts)]
    if len(counts) > _FEW:
        return rng.permuted(np.repeat(codes[None, :], GROUP, axis=0), axis=1)
    found, borders = np.unique(codes), np.cumsum(counts)[:-1]
    out = np.full((GROUP, len(codes)), found[0], codes.dtype)
    rows = np.arange(GROUP) if len(borders) else np.empty(0, dtype=np.int64)
    step = max(_HELD // (_PER_KEY * len(codes)), 1)
    while len(rows):
        parts = np.split(rows, range(step, len(rows), step))
        rows = np.concatenate([part[~_dealt(out, part, found, borders, rng)] for part in parts])
    return out


def _dealt(
    out: np.ndarray,
    rows: np.ndarray,
    found: np.ndarray,
    borders: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Write codes into some rows by random keys; which rows have no equal keys at a border."""
    keys = rng.integers(0, 2**32, (len(rows), out.shape[1]), dtype=np.uint32)
    limits = np.partition(keys, borders - 1, axis=1)[:, borders - 1]
    clean = np.ones(len(rows), dtype=bool)
    drawn = np.full(keys.shape, found[0], out.dtype)
    for j, border in enumerate(borders):
        beyond = keys > limits[:, j, None]
        clean &= np.count_nonzero(beyond, axis=1) == out.shape[1] - border
        drawn += (found[j + 1] - found[j]) * beyond
    out[rows] = drawn
    return clean


def _members(blocks: Any, n: int) -> list[np.ndarray]:
    """The positions of every block."""
    labels = validate.labels("blocks", blocks)
    if len(labels) != n:
        raise ValueError(f"blocks must have one label per point, {n} in all, got {len(labels)}")
    known: dict[Any, int] = {}
    number = np.array([known.setdefault(label, len(known)) for label in labels])
    order = np.argsort(number, kind="stable")
    return np.split(order, np.cumsum(np.bincount(number))[:-1])


def _seed(rng: Any) -> int:
    return int(validate.generator(rng).integers(2**63))


def _generator(seed: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(_sequence(seed, number)))


def _sequence(seed: int, number: int) -> np.random.SeedSequence:
    return np.random.SeedSequence((seed, number))
