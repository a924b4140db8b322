"""Damaged files through the command: counts tracebacks, crashes, hangs and rows lost in silence.

    python -m tests.fuzz_files --files 2000 --seed 1

Every file is made from its seed and its number alone. A worker process runs the command on one file
after another, so that a crash or a hang ends the worker and is put down to the file it had in hand.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.damaged_files import DAMAGES, ORIGINALS, ROWS, as_npy, as_text, table_of

PATIENCE = 60.0  # seconds for one file, on a busy machine; most take a twentieth of one
KINDS = (*ORIGINALS, "gz")
FAILURES = ("traceback", "crash", "hang", "row loss")
SAID = "rows may be missing"  # the note of a stream without an end mark


# ---- one file -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A damaged file, what was done to it, and how it is asked about."""

    kind: str
    damage: str
    data: bytes
    inner: bytes  # what an archive held
    command: list[str]


def case(seed: int, number: int) -> Case:
    """The case of this number; `{}` in its command stands for the file."""
    rng = np.random.default_rng([seed, number])
    kind = KINDS[number % len(KINDS)]
    inside = str(rng.choice(list(ORIGINALS))) if kind == "gz" else kind
    makers = ORIGINALS[inside]
    whole = makers[int(rng.integers(len(makers)))](table_of(rng))
    damage = DAMAGES[int(rng.integers(len(DAMAGES)))]
    inner = data = whole
    if kind == "gz" and rng.random() < 0.5:
        data = damage(gzip.compress(whole, mtime=0), rng)
    elif kind == "gz":
        inner = damage(whole, rng)
        data = gzip.compress(inner, mtime=0)
    else:
        inner = data = damage(whole, rng)
    commands = [
        ["independence", "{}"],
        ["independence", "{}", "--missing", "drop"],
        ["two-sample", "reference.npy" if inside == "NPY" else "reference.csv", "{}"],
        ["drift", "{}", "{}", "--missing", "impute"],
        ["goodness", "{}", *(() if inside == "NPY" else ("--columns", "height,count"))],
    ]
    command = commands[int(rng.integers(len(commands)))]
    return Case(kind, damage.__name__, data, inner, [*command, "--resamples", "19", "--json", "-"])


def row_counts(inner: bytes) -> set[int]:
    """The numbers of rows that may be read: those of the whole file, or of text as it now is."""
    if inner.startswith(b"\x93NUMPY"):
        return {ROWS, *npy_rows(inner)}
    if inner.startswith((b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")):
        return {ROWS}
    return set(text_rows(inner))


def npy_rows(data: bytes) -> Iterator[int]:
    """The rows that NumPy reads, where no byte is left over: a changed header that is a valid one."""
    file = io.BytesIO(data)
    try:
        values = np.load(file, allow_pickle=False)
    except Exception:
        return
    if file.read() == b"" and values.ndim:
        yield len(values)


def text_rows(data: bytes) -> Iterator[int]:
    """Rows of a CSV text: its records without the header, and without blank ones if it has columns."""
    found = records(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    filled = [i for i, record in enumerate(found) if record.strip()]
    if filled:
        first = found[filled[0]]
        several = any(separator in first for separator in ",;\t")
        count = len(filled) if several else filled[-1] - filled[0] + 1
        yield count - 1
        if re.fullmatch(r"[-+.\deE,;\t \"]+", first):  # numbers in the first line: no header
            yield count


def records(text: str) -> list[str]:
    """The records of a CSV text, by a machine that knows quotes; these begin where a cell begins."""
    found, record, quoted = [], "", False
    for letter in text.replace("\r\n", "\n"):
        if letter in "\r\n" and not quoted:
            found.append(record)
            record = ""
            continue
        if letter == '"':
            quoted = not quoted if quoted else record.rstrip(" ")[-1:] in ("", ",", ";", "\t", '"')
        record += letter
    return [*found, record] if record else found


# ---- the worker, and the verdict ------------------------------------------------------------------


def work() -> None:
    """Run commands from standard input, one line of JSON for each; answer with one line each."""
    from typer.testing import CliRunner

    import mercer.cli

    answers = os.fdopen(os.dup(1), "w")
    sys.stdout = sys.stderr
    for line in sys.stdin:
        done = CliRunner().invoke(mercer.cli.app, json.loads(line))
        stray = None if isinstance(done.exception, SystemExit | None) else repr(done.exception)
        answer = [done.exit_code, done.stdout, done.stderr, stray, largest_memory()]
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def largest_memory() -> int:
    """The largest memory of this process so far, in KiB; 0 where the system does not say."""
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // 1024 if sys.platform == "darwin" else peak


class Worker:
    """A process that runs the command on one file after another; a new one after a crash."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._process = folder, None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def run(self, command: list[str]) -> list[Any] | str:
        """What the command did, or `crash` or `hang`."""
        process = self._process or self._start()
        process.stdin.write(json.dumps(command) + "\n")
        process.stdin.flush()
        try:
            line = self._answers.get(timeout=PATIENCE)
        except queue.Empty:
            self._stop()
            return "hang"
        if not line:
            self._stop()
            return "crash"
        return json.loads(line)

    def _start(self) -> Any:
        paths = [str(Path(path).resolve()) for path in sys.path]
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, cwd=self._folder, env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
        self._answers: queue.Queue[str] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, args=(self._process.stdout,))
        self._listener.start()
        return self._process

    def _listen(self, lines: Any) -> None:
        answers = self._answers
        for line in lines:
            answers.put(line)
        answers.put("")

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._listener.join()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def verdict(made: Case, answer: list[Any] | str) -> str:
    """`read`, `refused` in one line, or one of the failures."""
    if isinstance(answer, str):
        return answer
    code, out, err, stray, _ = answer
    if stray is not None or code == 5 or "Traceback" in err:
        return "traceback"
    if code:
        one_line = err.startswith("mercer: ") and err.count("\n") == 1
        return "refused" if one_line and not out else "traceback"
    found = json.loads(out)
    files = found["files"] if "files" in found else [found["file"]] if "file" in found else []
    counts = [file["rows"] + file["dropped"] for file in files]
    if "batches" in found:
        counts = [file["rows"] + file["dropped"] for file in found["batches"][0]["files"]]
    told = SAID in json.dumps(found) + err
    return "read" if counts and (told or counts[-1] in row_counts(made.inner)) else "row loss"


def fuzz(files: int, seed: int, keep: Path | None = None) -> tuple[dict[str, Counter[str]], float]:
    """Verdicts for each kind of file, and the largest memory of the worker in MiB."""
    found: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    peak = 0.0
    with tempfile.TemporaryDirectory() as folder, Worker(Path(folder)) as worker:
        columns = table_of(np.random.default_rng(seed))
        Path(folder, "reference.csv").write_bytes(as_text(columns))
        Path(folder, "reference.npy").write_bytes(as_npy(columns))
        for number in range(files):
            made = case(seed, number)
            Path(folder, "damaged").write_bytes(made.data)
            answer = worker.run([word.replace("{}", "damaged") for word in made.command])
            said = verdict(made, answer)
            found[made.kind][said] += 1
            peak = max(peak, 0.0 if isinstance(answer, str) else answer[-1] / 1024)
            if said in FAILURES:
                print(f"{number}: {said} ({made.kind}, {made.damage}): {made.command}", answer)
                if keep is not None:
                    (keep / f"{seed}_{number}").write_bytes(made.data)
    return found, peak


def report(found: dict[str, Counter[str]]) -> str:
    """A table in Markdown."""
    heads = ("read", "refused", "tracebacks", "crashes", "hangs", "silent row losses")
    lines = [f"| kind | files | {' | '.join(heads)} |", "|---|" + "--:|" * (len(heads) + 1)]
    total: Counter[str] = sum(found.values(), Counter())
    for kind, counts in [*found.items(), ("all", total)]:
        cells = [counts.total(), *(counts[word] for word in ("read", "refused", *FAILURES))]
        lines.append(f"| {kind} | {' | '.join(f'{cell:,}' for cell in cells)} |")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--files", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--keep", type=Path, help="a folder for the files that failed")
    options.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.worker:
        return work()
    found, peak = fuzz(given.files, given.seed, given.keep)
    print(report(found))
    print(f"\nLargest memory of the worker: {peak:.0f} MiB.")
    raise SystemExit(any(counts[word] for counts in found.values() for word in FAILURES))


if __name__ == "__main__":
    main()
