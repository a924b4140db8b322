"""Weights of resampled null distributions, generated in chunks from a seed: permuted weights, random signs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from mercer import validate
from mercer.backend import (
    Array,
    array_like,
    astype,
    is_numpy,
    is_single,
    namespace,
    on_gpu,
    to_numpy,
    transposed,
)
from mercer.gram.device_engine import device_engine
from mercer.gram.shuffled_codes import shuffled
from mercer.gram.threads import for_each, spans

GROUP = 64  # columns that share a generator, so that a column does not depend on the chunks
_MIN_CODES_FOR_THREADS = 200_000  # one thread generates fewer codes faster than two
# A column as float32 in the tile of a thread, and its products.
BYTES_PER_DECODED_COLUMN = 2**13


class WeightColumns(Protocol):
    """Weight columns, read by rows."""

    @property
    def width(self) -> int:
        """The number of columns."""
        ...

    def rows(self, rows: slice, /) -> Array:
        """The weights of these points: (rows, width)."""
        ...


@dataclass(frozen=True)
class DenseColumns:
    """Weight columns in an array (n, k)."""

    array: Array

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.array.shape[1])

    def rows(self, rows: slice, /) -> Array:
        """The weights of these points: (rows, k)."""
        return self.array[rows, :]


class Resamples(ABC):
    """A matrix (n, B) of weights generated from a seed; `LazyMatrix.quad` takes it for w.

    A column has few distinct values, `table`, and is stored as small codes: a million points with a
    thousand resamples would take 8 GB as float64 and are never in memory at once.
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

        A column takes its codes, its floats in a tile, and the bytes `beside` that the caller needs
        for it.
        """
        n, total = self.shape
        codes = n * np.min_scalar_type(len(self.table) - 1).itemsize
        width = max(budget // (codes + BYTES_PER_DECODED_COLUMN + beside) // GROUP, 1) * GROUP
        return (slice(a, min(a + width, total)) for a in range(0, total, width))

    def columns(self, chunk: slice, like: Array) -> CodedColumns:
        """The columns of a chunk, as codes."""
        first, last = chunk.start // GROUP, (chunk.stop - 1) // GROUP + 1
        parallel = (last - first) * GROUP * self.shape[0] > _MIN_CODES_FOR_THREADS
        shape, kind = (
            ((last - first) * GROUP, self.shape[0]),
            np.min_scalar_type(len(self.table) - 1),
        )
        codes = np.empty(shape, kind)

        def write(k: int) -> None:
            codes[GROUP * (k - first) : GROUP * (k + 1 - first)] = self.group(k)

        for_each(write, range(first, last), parallel)
        offset = first * GROUP
        codes = codes[chunk.start - offset : chunk.stop - offset]
        return CodedColumns(codes, self.table, like, (self, chunk))

    def dense(self) -> np.ndarray:
        """The matrix (n, B) as float64."""
        n, total = self.shape
        coded = self.columns(slice(0, total), np.empty(0, dtype=np.float64))
        return np.asarray(coded.rows(slice(0, n)))


@dataclass(frozen=True)
class CodedColumns:
    """Weight columns as codes (k, n) and the table of their values.

    Another process gets the seed and the chunk that `drawn` names, and draws the codes again.
    """

    codes: np.ndarray
    table: np.ndarray
    like: Array
    drawn: tuple[Resamples, slice] | None = None

    def __reduce__(self) -> Any:
        if self.drawn is None:
            return CodedColumns, (self.codes, self.table, self.like)
        return _drawn_again, (*self.drawn, self.table, self.like)

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.codes)

    def rows(self, rows: slice, /) -> Array:
        """The weights of these points: (rows, k)."""
        codes, table = self.codes[:, rows], self.table
        if not is_numpy(self.like):
            return self._decoded_on_device(np.ascontiguousarray(codes))
        table = table.astype(np.float32) if is_single(self.like) else table
        if len(table) == 2:  # arithmetic is three times faster than indexing
            weights = codes * (table[1] - table[0])
            weights += table[0]
        else:
            weights = table[codes]
        return weights.T

    def _decoded_on_device(self, codes: np.ndarray) -> Array:
        """The weights (rows, k) of codes (k, rows): a code takes a fraction of the bytes of a weight."""
        xp = namespace(self.like)
        kind = xp.uint8 if codes.itemsize == 1 else xp.int64
        flat = xp.reshape(astype(array_like(codes, self.like, kind), xp.int64), (-1,))
        weights = xp.take(array_like(self.table, self.like), flat, axis=0)
        return transposed(xp.reshape(weights, codes.shape))

    def after_ones(self) -> CodedColumns:
        """These columns, preceded by one with the largest value everywhere."""
        top = np.full((1, self.codes.shape[1]), len(self.table) - 1, self.codes.dtype)
        return replace(self, codes=np.concatenate([top, self.codes]), drawn=None)

    def project(self, v: np.ndarray) -> np.ndarray:
        """v'w of every column w, for v (n,) or several rows (r, n): (..., k)."""
        low, steps = self.table[0], np.diff(self.table)
        out = np.repeat(np.asarray(np.sum(v, axis=-1) * low)[..., None], self.width, axis=-1)

        def add(columns: slice) -> None:
            for rows in spans(self.codes.shape[1]):
                codes, v_rows = self.codes[columns, rows], np.ascontiguousarray(v[..., rows].T)
                if len(steps) <= 1:
                    above = codes.astype(np.float64) @ v_rows * (steps[0] if len(steps) else 0.0)
                else:
                    above = (self.table - low)[codes] @ v_rows
                out[..., columns] += above.T

        parallel = self.codes.size > _MIN_CODES_FOR_THREADS
        step = GROUP // 2 if parallel else max(self.width, 1)
        for_each(add, spans(self.width, step), parallel)
        return out


def _drawn_again(
    resamples: Resamples, chunk: slice, table: np.ndarray, like: Array
) -> CodedColumns:
    """Columns of a chunk with another table of values; in another process."""
    return replace(resamples.columns(chunk, like), table=table)


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
        Keep column 0 unpermuted, so that the observed statistic goes through the same arithmetic.
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
        values = to_numpy(validate.vector(weights, "weights")).astype(np.float64)
        validate.whole("resamples", resamples)
        self._table, codes = np.unique(values, return_inverse=True)
        self._codes = codes.astype(np.min_scalar_type(len(self._table) - 1))
        self._resamples, self._keep_first = resamples, keep_first
        self._blocks = None if blocks is None else _members(blocks, len(codes))
        self._seed = resampling_seed(rng)

    @property
    def shape(self) -> tuple[int, int]:
        """Points and resamples."""
        return len(self._codes), self._resamples

    @property
    def table(self) -> np.ndarray:
        """The distinct weights."""
        return self._table

    def columns(self, chunk: slice, like: Array) -> Any:
        """The columns of a chunk, as codes; on a GPU, signs, generated there unless there are blocks."""
        if not on_gpu(like):
            return super().columns(chunk, like)
        if self._blocks is not None:
            return _uploaded(super().columns(chunk, like), self._sequence)
        columns = device_engine().permuted_columns(
            self._codes, self._table, self._sequence, self._keep_first, chunk, like
        )
        return super().columns(chunk, like) if columns is None else columns

    def _sequence(self, number: int) -> np.random.SeedSequence:
        return _sequence(self._seed, number)

    def group(self, number: int) -> np.ndarray:
        """Codes of 64 permuted columns."""
        rng = _generator(self._seed, number)
        if self._blocks is None:
            codes = shuffled(self._codes, GROUP, rng)
        else:
            codes = np.empty((GROUP, len(self._codes)), self._codes.dtype)
            for members in self._blocks:
                codes[:, members] = shuffled(self._codes[members], GROUP, rng)
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

    def columns(self, chunk: slice, like: Array) -> Any:
        """The columns of a chunk, as codes; on a GPU, as signs there."""
        coded = super().columns(chunk, like)
        return _uploaded(coded, self._signs._sequence) if on_gpu(like) else coded

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
        self._seed = resampling_seed(rng)

    @property
    def shape(self) -> tuple[int, int]:
        """Points and resamples."""
        return self._n, self._resamples

    @property
    def table(self) -> np.ndarray:
        """The two weights."""
        return np.array([-self._scale, self._scale], dtype=np.float64)

    def columns(self, chunk: slice, like: Array) -> Any:
        """The columns of a chunk, as codes; on a GPU, signs generated there."""
        if not on_gpu(like):
            return super().columns(chunk, like)
        signs = device_engine().sign_columns
        return signs(self._n, self._block, self.table, self._sequence, chunk, like)

    def _sequence(self, number: int) -> np.random.SeedSequence:
        return _sequence(self._seed, number)

    def group(self, number: int) -> np.ndarray:
        """Codes of 64 columns of signs."""
        blocks = -(-self._n // self._block)
        rng = _generator(self._seed, number)
        bits = np.unpackbits(rng.integers(0, 256, (GROUP, -(-blocks // 8)), dtype=np.uint8), axis=1)
        return np.repeat(bits[:, :blocks], self._block, axis=1)[:, : self._n]


def _uploaded(coded: CodedColumns, seeds: Callable[[int], np.random.SeedSequence]) -> Any:
    """The columns as signs on the device of `like`; as they are where they have more than two values."""
    columns = device_engine().uploaded_columns(coded.codes, coded.table, seeds, coded.like)
    return coded if columns is None else columns


def _members(blocks: Any, n: int) -> list[np.ndarray]:
    """The positions of the members of every block."""
    labels = validate.labels("blocks", blocks)
    if len(labels) != n:
        raise ValueError(f"blocks must have one label per point, {n} in all, got {len(labels)}")
    known: dict[Any, int] = {}
    number = np.array([known.setdefault(label, len(known)) for label in labels])
    order = np.argsort(number, kind="stable")
    return np.split(order, np.cumsum(np.bincount(number))[:-1])


def resampling_seed(rng: Any) -> int:
    """Seed of all resamples of a call, drawn from an int, a generator or None."""
    return int(validate.generator(rng).integers(2**63))


def _generator(seed: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(_sequence(seed, number)))


def _sequence(seed: int, number: int) -> np.random.SeedSequence:
    return np.random.SeedSequence((seed, number))
