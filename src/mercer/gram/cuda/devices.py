"""Which GPUs there are, work that each of them takes a part of, and points on their way to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, TypeVar

from mercer.gram.threads import spans

_SHARE = 1 / 64  # of the free memory of a device that some points may take, as they come

Answer = TypeVar("Answer")


def devices(x: Any) -> list[Any]:
    """All GPUs, first the one where the points are."""
    import torch

    every = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    home = x.device if x.is_cuda else None
    return sorted(every, key=lambda device: device != home)


def on_each(
    work: Callable[[Any, Any], Answer], parts: Sequence[Any], on: Sequence[Any]
) -> list[Answer]:
    """work(device, part) for every part, the devices at the same time, in the order of the parts."""
    import torch

    def here(device: Any, part: Any) -> Answer:
        with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
            return work(device, part)

    chosen = [on[i % len(on)] for i in range(len(parts))]
    if len(on) == 1 or on[0].type != "cuda":
        return [here(device, part) for device, part in zip(chosen, parts, strict=True)]
    found: list[Any] = [None] * len(parts)

    def turn(first: int) -> None:
        for i in range(first, len(parts), len(on)):
            found[i] = here(chosen[i], parts[i])

    with ThreadPoolExecutor(len(on)) as pool:
        list(pool.map(turn, range(len(on))))
    return found


def room(x: Any, device: Any) -> int:
    """How many rows of x are on the device at a time."""
    import torch

    if device.type != "cuda":
        return x.shape[0]
    free = torch.cuda.mem_get_info(device)[0]
    return max(int(_SHARE * free) // (max(x.shape[1], 8) * x.itemsize), 1)


def arriving(x: Any, size: int, device: Any) -> Iterator[tuple[slice, Any]]:
    """Slices of so many rows, on the device; the next is on its way while one is worked on."""
    import torch

    pieces = spans(x.shape[0], size)
    if device.type != "cuda" or len(pieces) == 1 or x.is_cuda:
        yield from ((piece, x[piece].to(device)) for piece in pieces)
        return
    side, main = torch.cuda.Stream(device), torch.cuda.current_stream(device)

    def sent(piece: slice) -> Any:
        with torch.cuda.stream(side):
            return x[piece].to(device, non_blocking=True)

    coming = [sent(pieces[0])]
    for piece, after in zip(pieces, [*pieces[1:], None], strict=True):
        main.wait_stream(side)
        held = coming.pop()
        held.record_stream(main)
        if after is not None:
            coming.append(sent(after))
        yield piece, held
