"""Batches of `mercer drift`: files, folders of files, and patterns, in natural order."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from typing import Any

from mercer.cli.answer import display_names
from mercer.cli.byte_source import PIPE, label, matching, natural
from mercer.cli.exits import Refused
from mercer.cli.table import short

_TABLES = (
    ".csv", ".tsv", ".tab", ".txt", ".dat", ".parquet", ".pq", ".arrow", ".feather", ".ipc", ".npy",
)  # fmt: skip
_PACKED = (".gz", ".bz2", ".xz", ".zip")
_NAMED = 8  # files that a message names


@dataclass(frozen=True)
class BatchFiles:
    """Files to read as batches, and those of folders and patterns that are left out, with the reason."""

    read: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    found: bool  # whether any came from a folder or a pattern

    def to_dict(self) -> dict[str, Any]:
        """Entry of the JSON document: what was not read."""
        return {"not_read": [{"file": path, "reason": reason} for path, reason in self.left_out]}

    def notes(self) -> tuple[str, ...]:
        """What was read of folders and patterns, and what was not."""
        if not self.found:
            return ()
        files = "file" if len(self.read) == 1 else "files"
        listed = f"{len(self.read):,} {files} read as batches, in this order: {_listed(display_names(self.read))}"
        if not self.left_out:
            return (listed,)
        paths = display_names([path for path, _ in self.left_out])
        names = [f"{name} ({why})" for name, (_, why) in zip(paths, self.left_out, strict=True)]
        return (listed, f"not read: {_listed(names)}")


def batch_files(paths: Sequence[str], reference: str) -> BatchFiles:
    """The files of each path: itself, the tables in a folder, or what matches a pattern, sorted by name."""
    read: list[str] = []
    left_out: list[tuple[str, str]] = []
    found, references = False, _identities(reference)
    for path in paths:
        folder = path != PIPE and Path(path).is_dir()
        if not folder and (path == PIPE or not has_magic(path) or Path(path).exists()):
            read.append(path)
            continue
        found = True
        names = [str(p) for p in Path(path).iterdir()] if folder else matching(path)
        before = len(read)
        for name in sorted(names, key=natural):
            reason = _reason(name, references, folder)
            if reason is None:
                read.append(name)
            else:
                left_out.append((name, reason))
        if len(read) == before:
            _refuse_empty(path, folder, left_out)
    absolute = [os.path.abspath(path) for path in read if path != PIPE]
    twice = [path for path in read if path != PIPE and absolute.count(os.path.abspath(path)) > 1]
    if found and twice:
        raise Refused(f"{label(twice[0])} is named twice among the batches: name it once")
    return BatchFiles(tuple(read), tuple(left_out), found)


def _identities(reference: str) -> frozenset[tuple[int, int]]:
    """Device and number of the file of the reference, or of all files of its pattern."""
    if reference == PIPE:
        return frozenset()
    files = [Path(reference)]
    if has_magic(reference) and not files[0].exists():
        files = [Path(file) for file in matching(reference)]
    return frozenset(_identity(file) for file in files if file.exists())


def _identity(file: Path) -> tuple[int, int]:
    stored = file.stat()
    return stored.st_dev, stored.st_ino


def _reason(path: str, references: frozenset[tuple[int, int]], folder: bool) -> str | None:
    """Why a file that was found is no batch; None: it is one."""
    name = Path(path).name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    if Path(path).is_dir():
        return "a folder"
    if not Path(path).exists():
        return "a link to no file"
    if _identity(Path(path)) in references:
        return "the reference"
    if folder and (name.startswith(".") or not name.endswith(_TABLES)):
        return "not a table by its name"
    return None


def _refuse_empty(path: str, folder: bool, left_out: Sequence[tuple[str, str]]) -> None:
    if not folder:
        raise Refused(f"{label(path)}: no file matches this pattern")
    others = f"; it has {_listed([Path(p).name for p, _ in left_out])}" if left_out else ""
    raise Refused(
        f"{label(path)}: no table in this folder{others}: name the files, or give a pattern such as "
        f"'{label(str(Path(path) / '*.csv'))}'"
    )


def _listed(names: Sequence[str]) -> str:
    shown = [short(name, 48) for name in names[:_NAMED]]
    hidden = len(names) - _NAMED
    return ", ".join(shown) + (f" and {hidden:,} more" if hidden > 0 else "")
