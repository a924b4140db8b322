"""The GPUs of the machine, work distributed over them, and points streamed to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Any, TypeVar

from mercer.gram.threads import spans

_SHARE_OF_MEMORY = 1 / 64  # of the free memory of a device for a slice of streamed points

Answer = TypeVar("Answer")


def devices(x: Any) -> list[Any]:
    """All GPUs, the one that has the points first."""
    import torch

    every = [torch.device("cuda", i) for i in range(torch.cuda.device_count())]
    home = x.device if x.is_cuda else None
    return sorted(every, key=lambda device: device != home)


def on_each(
    work: Callable[[Any, Any], Answer], parts: Sequence[Any], on: Sequence[Any]
) -> list[Answer]:
    """work(device, part) for every part, on all devices at the same time; results in the order of parts."""
    import torch

    def run_on(device: Any, item: Any) -> Answer:
        with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
            return work(device, item)

    assigned = [on[i % len(on)] for i in range(len(parts))]
    if len(on) == 1 or on[0].type != "cuda":
        return [run_on(device, item) for device, item in zip(assigned, parts, strict=True)]
    results: list[Any] = [None] * len(parts)

    def share(first: int) -> None:
        for i in range(first, len(parts), len(on)):
            results[i] = run_on(assigned[i], parts[i])

    with ThreadPoolExecutor(len(on)) as pool:
        list(pool.map(share, range(len(on))))
    return results


def room(x: Any, device: Any) -> int:
    """The number of rows of x that are on the device at a time."""
    import torch

    if device.type != "cuda":
        return x.shape[0]
    free = torch.cuda.mem_get_info(device)[0]
    return max(int(_SHARE_OF_MEMORY * free) // (max(x.shape[1], 8) * x.itemsize), 1)


def arriving(x: Any, size: int, device: Any) -> Iterator[tuple[slice, Any]]:
    """Slices of `size` rows on the device; the next one is copied while the caller works on the last."""
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
        arrived = coming.pop()
        arrived.record_stream(main)
        if after is not None:
            coming.append(sent(after))
        yield piece, arrived
