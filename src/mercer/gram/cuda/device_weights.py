"""Permuted labels and random signs generated on the device, equal to those of the host with the same seed.

NumPy's PCG64 is a linear congruential generator of 128 bits: any of its states follows from the first
one by a few multiplications, so that every thread can jump to its place in the stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import ceil
from typing import Any

import numpy as np

from mercer.gram.cuda.operands import ROWS_PER_TILE
from mercer.gram.cuda.triton_source import compiled

_MULTIPLIER = 2549297995355413924 * 2**64 + 4865540595714422341  # of PCG64 (O'Neill 2014)
_BITS = 36  # a stream has up to 2^36 outputs
_MASK = 2**128 - 1
_LANES, _STEPS = 256, 32  # lanes of a program, and outputs that each lane generates in sequence
_BYTES_OF_KEYS = 2**30  # keys in device memory at once

_CODE = '''import triton
import triton.language as tl


@triton.jit
def stepped(high, low, factor_high, factor_low, add_high, add_low):
    """state * factor + add, modulo 2^128, in two halves."""
    new_low = low * factor_low
    new_high = tl.umulhi(low, factor_low) + high * factor_low + low * factor_high
    sum_low = new_low + add_low
    carry = (sum_low < new_low).to(tl.uint64)
    return new_high + add_high + carry, sum_low


@triton.jit(do_not_specialize=["begin", "count"])
def keys(out, state, jumps, begin, count, LANES: tl.constexpr, STEPS: tl.constexpr, BITS: tl.constexpr, LEAP: tl.constexpr):
    """out[2i], out[2i + 1] = low and high half of the output number begin + i of the generator."""
    first = tl.program_id(0).to(tl.int64) * LANES * STEPS
    place = first + tl.arange(0, LANES).to(tl.int64)
    zero = tl.zeros((LANES,), tl.uint64)
    high = tl.load(state).to(tl.uint64, bitcast=True) + zero
    low = tl.load(state + 1).to(tl.uint64, bitcast=True) + zero
    for b in range(BITS):
        f_high = tl.load(jumps + 4 * b).to(tl.uint64, bitcast=True)
        f_low = tl.load(jumps + 4 * b + 1).to(tl.uint64, bitcast=True)
        a_high = tl.load(jumps + 4 * b + 2).to(tl.uint64, bitcast=True)
        a_low = tl.load(jumps + 4 * b + 3).to(tl.uint64, bitcast=True)
        h, l = stepped(high, low, f_high, f_low, a_high, a_low)
        jump = (((begin + place + 1) >> b) & 1) == 1
        high = tl.where(jump, h, high)
        low = tl.where(jump, l, low)
    f_high = tl.load(jumps + 4 * LEAP).to(tl.uint64, bitcast=True)
    f_low = tl.load(jumps + 4 * LEAP + 1).to(tl.uint64, bitcast=True)
    a_high = tl.load(jumps + 4 * LEAP + 2).to(tl.uint64, bitcast=True)
    a_low = tl.load(jumps + 4 * LEAP + 3).to(tl.uint64, bitcast=True)
    for step in range(STEPS):
        mixed = high ^ low
        turn = high >> 58
        value = (mixed >> turn) | (mixed << ((64 - turn) & 63))
        at = place + step * LANES
        half = (value & 4294967295).to(tl.uint32)
        rest = (value >> 32).to(tl.uint32)
        tl.store(out + 2 * at, half.to(tl.int32, bitcast=True), mask=2 * at < count)
        tl.store(out + 2 * at + 1, rest.to(tl.int32, bitcast=True), mask=2 * at + 1 < count)
        high, low = stepped(high, low, f_high, f_low, a_high, a_low)


@triton.jit(do_not_specialize=["n"])
def at_most(out, keys, limits, n, BLOCK: tl.constexpr):
    """out[r] += how many of the keys (rows, n), as unsigned numbers, are at most limits[r]."""
    row = tl.program_id(1)
    limit = tl.load(limits + row).to(tl.uint32, bitcast=True)
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    found = tl.load(keys + row.to(tl.int64) * n + places, mask=inside, other=0).to(tl.uint32, bitcast=True)
    tl.atomic_add(out + row, tl.sum(((found <= limit) & inside).to(tl.int32), 0))


@triton.jit(do_not_specialize=["n"])
def signs(out, keys, limits, n, width, offset, BP: tl.constexpr, BC: tl.constexpr):
    """out[j, offset + r] = 1 where key (r, j) is beyond limits[r], else -1."""
    places = tl.program_id(0) * BP + tl.arange(0, BP)
    columns = tl.program_id(1) * BC + tl.arange(0, BC)
    inside = places < n
    limit = tl.load(limits + columns).to(tl.uint32, bitcast=True)
    at = columns[None, :].to(tl.int64) * n + places[:, None]
    found = tl.load(keys + at, mask=inside[:, None], other=0).to(tl.uint32, bitcast=True)
    value = tl.where(found > limit[None, :], 1.0, -1.0).to(tl.float16)
    tl.store(out + places[:, None].to(tl.int64) * width + offset + columns[None, :], value, mask=inside[:, None])


@triton.jit(do_not_specialize=["n", "bytes", "block"])
def unpacked(out, keys, n, bytes, block, width, offset, BP: tl.constexpr, BC: tl.constexpr):
    """out[j, offset + c] = 1 where bit j // block of row c of the keys (64, bytes) is set, else -1."""
    places = tl.program_id(0) * BP + tl.arange(0, BP)
    columns = tl.arange(0, BC)
    inside = places < n
    bit = places // block
    at = columns[None, :].to(tl.int64) * bytes + (bit // 8)[:, None]
    found = tl.load(keys + at // 4, mask=inside[:, None], other=0)
    shift = (8 * (at % 4)).to(tl.int32) + (7 - bit % 8)[:, None]
    value = (2 * ((found >> shift) & 1) - 1).to(tl.float16)
    tl.store(out + places[:, None].to(tl.int64) * width + offset + columns[None, :], value, mask=inside[:, None])
'''


def two_valued(codes: np.ndarray, seeds: list[Any], keep_first: bool, device: Any) -> Any:
    """Permutations of a vector of codes 0 and 1, as signs of half precision: (N, 64 groups).

    Each group of 64 columns has its own seed, in `seeds`; the rows are points, N their number rounded up
    to a multiple of `ROWS_PER_TILE` with zeros below. With `keep_first` column 0 is the vector itself.
    """
    import torch

    n, positive = len(codes), int(codes.sum())
    width = 64 * len(seeds)
    out = torch.zeros((n + -n % ROWS_PER_TILE, width), dtype=torch.float16, device=device)
    batch = max(_BYTES_OF_KEYS // (256 * n), 1)  # groups whose keys are in memory at once
    key_buffer = torch.empty((64 * min(batch, len(seeds)), n), dtype=torch.int32, device=device)
    for start in range(0, len(seeds), batch):
        batch_seeds = seeds[start : start + batch]
        states = [np.random.PCG64(seed).state["state"] for seed in batch_seeds]
        for number, state in enumerate(states):
            _draw(state, 0, key_buffer[64 * number : 64 * (number + 1)])
        keys = key_buffer[: 64 * len(batch_seeds)]
        limits = _limits(keys, n - positive)
        _redrawn(keys, limits, states, n - positive)
        _functions()["signs"][(-(-n // 64), len(batch_seeds))](
            out, keys, limits, n, width, 64 * start, BP=64, BC=64
        )
    if keep_first:
        out[:n, 0] = torch.as_tensor(2.0 * codes - 1.0, dtype=torch.float16).to(device)
    return out


def random_signs(n: int, block: int, seeds: list[Any], device: Any) -> Any:
    """Random signs of half precision, equal in runs of `block` points: (N, 64 groups), as `two_valued`."""
    import torch

    width, size = 64 * len(seeds), ceil(ceil(n / block) / 8)  # bytes of a column
    out = torch.zeros((n + -n % ROWS_PER_TILE, width), dtype=torch.float16, device=device)
    key_buffer = torch.empty(16 * size, dtype=torch.int32, device=device)
    for number, seed in enumerate(seeds):
        _draw(np.random.PCG64(seed).state["state"], 0, key_buffer)
        _functions()["unpacked"][(-(-n // 64),)](
            out, key_buffer, n, size, block, width, 64 * number, BP=64, BC=64
        )
    return out


def _redrawn(keys: Any, limits: Any, states: Sequence[Any], below: int) -> None:
    """Draw rows with equal keys at the border again, continuing the stream of their generator."""
    import torch

    n = keys.shape[1]
    tied = torch.nonzero(_at_most(keys, limits) != below)[:, 0].tolist()
    for number, state in enumerate(states):
        rows = [row for row in tied if row // 64 == number]
        used = 64 * n
        while rows and 0 < below < n:
            new = torch.empty((len(rows) * n + used % 2,), dtype=torch.int32, device=keys.device)
            _draw(state, used // 2, new)
            used += len(rows) * n
            fresh = new[-len(rows) * n :].view(len(rows), n)
            fresh_limits = _limits(fresh, below)
            keys[rows], limits[rows] = fresh, fresh_limits
            again = (_at_most(fresh, fresh_limits) != below).tolist()
            rows = [row for row, wrong in zip(rows, again, strict=True) if wrong]


def _draw(state: Any, begin: int, out: Any) -> None:
    """Fill an array with the 32-bit halves of the outputs of a generator, starting at output `begin`."""
    import torch

    count = out.numel()
    start = torch.tensor(
        [_signed(state["state"] >> 64), _signed(state["state"])], dtype=torch.int64
    ).to(out.device)
    programs = -(-count // (2 * _LANES * _STEPS))
    leap = (_LANES - 1).bit_length()
    jumps = torch.tensor(_jumps(state["inc"]), dtype=torch.int64).to(out.device)
    _functions()["keys"][(programs,)](
        out, start, jumps, begin, count, LANES=_LANES, STEPS=_STEPS, BITS=_BITS, LEAP=leap
    )


def _limits(keys: Any, below: int) -> Any:
    """The `below`-th smallest key of every row."""
    import torch

    rows, n = keys.shape
    device = keys.device
    if below in (0, n):
        limit = -1 if below == n else 0
        return torch.full((rows,), limit, dtype=torch.int32, device=device)
    spread = 2**32 * 4 / n**0.5  # eight standard deviations of the wanted order statistic
    first = max(int(2**32 * below / n - spread), 0)
    last = min(int(2**32 * below / n + spread), 2**32 - 1)
    low = torch.full((rows,), first, dtype=torch.int64, device=device)
    high = torch.full((rows,), last, dtype=torch.int64, device=device)
    for _ in range((last - first).bit_length()):
        middle = (low + high) // 2
        reached = _at_most(keys, middle) >= below
        high, low = torch.where(reached, middle, high), torch.where(reached, low, middle + 1)
    return high.to(torch.int32)


def _at_most(keys: Any, limits: Any) -> Any:
    """The number of keys of every row that are at most its limit: (rows,)."""
    import torch

    rows, n = keys.shape
    counts = torch.zeros(rows, dtype=torch.int32, device=keys.device)
    _functions()["at_most"][(-(-n // 4096), rows)](
        counts, keys, limits.to(torch.int32), n, BLOCK=4096
    )
    return counts.long()


@cache
def _functions() -> dict[str, Any]:
    return compiled(_CODE)


@cache
def _jumps(increment: int) -> list[int]:
    """Factor and addend of 1, 2, 4, ... steps, each in two halves."""
    factor, addend, steps = _MULTIPLIER, increment, []
    for _ in range(_BITS):
        steps += [_signed(factor >> 64), _signed(factor), _signed(addend >> 64), _signed(addend)]
        addend = (addend * factor + addend) & _MASK
        factor = factor * factor & _MASK
    return steps


def _signed(value: int) -> int:
    """The lower 64 bits as a signed integer."""
    value &= 2**64 - 1
    return value - 2**64 if value >= 2**63 else value
