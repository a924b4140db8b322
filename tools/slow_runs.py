"""Run the tests marked slow, file by file, and record what passed and how long it took.

    python tools/slow_runs.py                               # every file that has such tests
    python tools/slow_runs.py tests/htest/test_monitor.py   # only these; the record keeps the others

The tests run by the Python that runs this program, on one thread. The record is benchmarks/results/slow_runs.json,
and slow_runs.md beside it is the same as a page.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from matrix import RESULTS, ROOT, commit, counted, versions
from processors import THREADS

LOGS = ROOT / "build/slow"
HEAD = [
    "# Tests marked slow",
    "",
    "`python tools/slow_runs.py` runs every test marked `slow`, file by file, and writes this page. Times are those of the"
    " processor, with all processes that tests start.",
    "",
    "| File | Passed | Failed | Skipped | Minutes | Commit |",
    "|---|--:|--:|--:|--:|---|",
]


def collected() -> list[str]:
    """Files that have slow tests."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "slow", "--collect-only"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return sorted({line.split("::")[0] for line in done.stdout.splitlines() if "::" in line})


def run(file: str) -> dict:
    """Run the slow tests of a file; its record."""
    name = file.replace("/", ".").removesuffix(".py")
    report = LOGS / f"{name}.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-m", "slow"]
    command += [f"--junitxml={report}", file]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(report.with_suffix(".log"), "w") as log:
        environment = os.environ | dict.fromkeys((*THREADS, "MERCER_TEST_THREADS"), "1")
        subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=log, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        **counted(report),
        "seconds": round(seconds),
        "versions": versions(Path(sys.executable)),
        "commit": commit(),
    }


def page(records: dict[str, dict]) -> str:
    """The record as Markdown: a table, tests that failed, versions."""
    lines = [*HEAD]
    for file, record in sorted(records.items()):
        counts = " | ".join(f"{record[key]:,}" for key in ("passed", "failed", "skipped"))
        minutes = f"{record['seconds'] / 60:.1f}"
        lines.append(f"| `{file}` | {counts} | {minutes} | {record['commit']} |")
    failing = [f"* `{test}`" for record in records.values() for test in record["failing"]]
    lines += ["", "## Failing tests", "", *(failing or ["None."]), "", "## Versions", ""]
    told = {
        ", ".join(f"{library} {version}" for library, version in record["versions"].items())
        for record in records.values()
    }
    return "\n".join([*lines, *(f"* {one}" for one in sorted(told)), ""])


def main() -> int:
    """Run what the command line asks for; 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE", help="files of tests; default: all")
    files = parser.parse_args().files or collected()
    LOGS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / "slow_runs.json"
    failed = 0
    for file in files:
        record = run(file)
        print(f"{file}: {record['passed']} passed, {record['failed']} failed", flush=True)
        records = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        records[file] = record
        path.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
        path.with_suffix(".md").write_text(page(records), encoding="utf-8")
        failed += record["failed"] > 0
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
