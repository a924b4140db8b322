"""Run the test suite under many configurations and record what passed.

    python tools/matrix.py             # every configuration that this machine has a Python for
    python tools/matrix.py oldest zen  # only these; the record keeps the others
    python tools/matrix.py --list
    python tools/matrix.py verdicts    # whether a p-value of the zoo of tests depends on the processor
    python tools/matrix.py zen --here  # by this Python and its libraries, where no other can be installed
    python tools/matrix.py zen -- -k kmeans   # try a configuration on a few tests; nothing is recorded
    python tools/matrix.py zen --failed       # only the tests that failed; the record says at which commit

Each configuration has a virtual environment under build/matrix, made when it is first needed and kept. The
record is benchmarks/results/matrix.json, and matrix.md beside it is the same as a page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from xml.etree import ElementTree

import verdicts
from processors import PROCESSORS, imitation

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build/matrix"
RESULTS = ROOT / "benchmarks/results"
TORCH = "torch==2.13.0"
VERDICTS = "verdicts"
BURNERS = 3  # processes that keep a busy machine busy


@dataclass(frozen=True)
class Configuration:
    """One run of the whole suite."""

    name: str
    python: str
    processor: str
    threads: int | None = 1  # of BLAS and OpenMP; None: as many as they choose
    torch: bool = False  # its wheel exists for Python 3.11
    numba: bool = True
    oldest: bool = False  # the lower bounds of pyproject.toml
    busy: bool = False
    order: int | None = None  # seed of a random order of tests

    @property
    def environment(self) -> str:
        """Name of the folder of the virtual environment."""
        parts = [f"py{self.python}"]
        parts += ["oldest"] * self.oldest + ["without-numba"] * (not self.numba)
        return "-".join(parts + ["torch"] * self.torch)

    def told(self) -> str:
        """Everything that the name does not say, as a cell of the table."""
        threads = f"{self.threads or 'default'} thread{'s' * (self.threads != 1)}"
        parts = [f"Python {self.python}", self.processor, threads]
        parts += ["with torch" if self.torch else "without torch"]
        parts += ["without numba"] * (not self.numba)
        parts += ["oldest supported versions"] * self.oldest
        parts += [f"{BURNERS} other processes"] * self.busy
        parts += [f"random order (seed {self.order})"] * (self.order is not None)
        return ", ".join(parts)


CONFIGURATIONS = {  # together they have every level of every factor at least once
    found.name: found
    for found in (
        Configuration("haswell", "3.11", "Haswell", torch=True),
        Configuration("skylakex", "3.11", "SkylakeX", threads=4, torch=True),
        Configuration("sandybridge", "3.12", "Sandybridge", threads=4),
        Configuration("zen", "3.13", "Zen", busy=True),
        Configuration("oldest", "3.11", "Haswell", torch=True, oldest=True),
        Configuration("plain", "3.11", "Zen", threads=4, numba=False),
        Configuration("shuffled", "3.11", "SkylakeX", torch=True, order=20_250_711),
        Configuration("threaded", "3.11", "Haswell", threads=None, torch=True),
        Configuration("newest", "3.14", "Haswell"),
    )
}


# ---- environments ---------------------------------------------------------------------------


def interpreter(version: str) -> str | None:
    """An interpreter of this version: on the path, or among those of pyenv."""
    if found := shutil.which(f"python{version}"):
        done = subprocess.run([found, "-c", ""], capture_output=True, check=False)
        if done.returncode == 0:  # a shim of pyenv may be there without its interpreter
            return found
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(pyenv.glob(f"{version}*/bin/python{version}"))
    return str(found[-1]) if found else None


def lower_bounds() -> list[str]:
    """Every lower bound of a run-time dependency in pyproject.toml, pinned."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    needed = project["dependencies"] + extras["learn"] + extras["compiled"]
    pairs = (re.match(r"([\w-]+)[^>]*>=([\d.]+)", one) for one in needed)
    free = {"matplotlib", "jinja2"}  # an old matplotlib warns about today's pyparsing
    pinned = [f"{pair[1]}=={pair[2]}" for pair in pairs if pair and pair[1] not in free]
    return [*pinned, "click==8.2.0"]  # of the time of this typer, which newer ones warn about


def made(configuration: Configuration) -> Path:
    """The Python of the virtual environment, which is made if it is not there yet."""
    folder = BUILD / configuration.environment
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if (folder / "made").exists():
        return python
    base = interpreter(configuration.python)
    if base is None:
        raise SystemExit(f"{configuration.name}: no Python {configuration.python} here")
    print(f"{configuration.name}: making {folder.relative_to(ROOT)}", flush=True)
    subprocess.run([base, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # wheels only, so that nothing is built for an hour
    pip += ["--only-binary", "numpy,scipy,scikit-learn,numba,llvmlite,pandas,pyarrow,polars"]
    if configuration.torch:
        subprocess.run([*pip, TORCH], check=True)
    pinned = lower_bounds() if configuration.oldest else []
    if configuration.processor in ("Haswell", "Zen") and not configuration.oldest:
        # numpy.linalg.qr of NumPy 2.5 crashes where its OpenBLAS is told to be one of these
        pinned.append("numpy<2.5")
    subprocess.run([*pip, "-e", ".[test]", "pytest-randomly>=3.16", *pinned], cwd=ROOT, check=True)
    if not configuration.numba:  # dcor needs it: the tests that compare with dcor are skipped
        gone = ["numba", "llvmlite", "dcor"]
        subprocess.run([str(python), "-m", "pip", "uninstall", "--quiet", "-y", *gone], check=True)
    (folder / "made").touch()
    return python


def as_here(configuration: Configuration) -> Configuration:
    """The configuration by the Python that runs this program, with the libraries it has."""
    libraries = versions(Path(sys.executable))
    python = ".".join(libraries["python"].split(".")[:2])
    BUILD.mkdir(parents=True, exist_ok=True)
    return replace(
        configuration, python=python, torch="torch" in libraries, numba="numba" in libraries
    )


def variables(configuration: Configuration, python: Path) -> dict[str, str]:
    """The environment variables of a run."""
    threads = configuration.threads
    imitated = imitation(configuration.processor, python, threads)
    return imitated if threads is None else {**imitated, "MERCER_TEST_THREADS": str(threads)}


@contextmanager
def burners(number: int) -> Iterator[None]:
    """Processes that compute for nothing, as long as the block lasts."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


# ---- runs -----------------------------------------------------------------------------------


def run(
    configuration: Configuration, python: Path, workers: int, more: Sequence[str]
) -> dict | None:
    """Run the suite by this Python; its record, or None where only some tests were asked for."""
    report = BUILD / f"{configuration.name}.xml"
    command = [str(python), "-m", "pytest", "-q", "-n", str(workers)]
    command += ["--dist", "worksteal", f"--junitxml={report}"]
    command += ["-o", f"cache_dir={BUILD / 'cache' / configuration.name}"]
    if configuration.order is None:
        command += ["-p", "no:randomly"]
    else:
        command += ["-p", "randomly", f"--randomly-seed={configuration.order}"]
    start = time.perf_counter()
    with burners(BURNERS * configuration.busy), open(report.with_suffix(".log"), "w") as log:
        subprocess.run(
            [*command, *more],
            cwd=ROOT,
            env=variables(configuration, python),
            stdout=log,
            stderr=subprocess.STDOUT,
            check=False,
        )
    record = {
        **asdict(configuration),
        **counted(report),
        "seconds": round(time.perf_counter() - start),
        "versions": versions(python),
        "cores": os.cpu_count(),
        "commit": commit(),
    }
    print(f"{configuration.name}: {_told(record)}, {record['seconds']} s", flush=True)
    for name in record["failing"]:
        print(f"  {name}", flush=True)
    return None if more else record


def run_failed(configuration: Configuration, python: Path, workers: int, record: dict) -> dict:
    """Run the failing tests of a record again; the record with those that pass now."""
    run(configuration, python, workers, [address(name) for name in record["failing"]])
    passing = passed(BUILD / f"{configuration.name}.xml")
    failing = [name for name in record["failing"] if name not in passing]
    mended = record["failed"] - len(failing)
    counts = {"passed": record["passed"] + mended, "failed": len(failing), "failing": failing}
    return {**record, **counts, "again": commit()}


def address(name: str) -> str:
    """A test of a report as pytest takes it: file, classes and name."""
    place, test = name.split("::", 1)
    parts = place.split(".")
    for end in range(len(parts), 0, -1):
        file = Path(*parts[:end]).with_suffix(".py")
        if (ROOT / file).is_file():
            return "::".join([file.as_posix(), *parts[end:], test])
    return name


def passed(report: Path) -> set[str]:
    """Names of the tests that passed."""
    return {
        f"{case.get('classname')}::{case.get('name')}"
        for case in ElementTree.parse(report).iter("testcase")
        if all(case.find(tag) is None for tag in ("failure", "error", "skipped"))
    }


def counted(report: Path) -> dict:
    """Numbers of tests that passed, failed and were skipped, and the names of those that failed."""
    cases = list(ElementTree.parse(report).iter("testcase"))
    failing, skipped = [], 0
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None:
            failing.append(f"{case.get('classname')}::{case.get('name')}")
        skipped += case.find("skipped") is not None
    passed = len(cases) - len(failing) - skipped
    failing = sorted(set(failing))
    return {"passed": passed, "failed": len(failing), "skipped": skipped, "failing": failing}


def versions(python: Path) -> dict[str, str]:
    """Versions of the libraries that compute, in the environment."""
    code = (
        "import json, platform; from importlib import metadata as m\n"
        "names = ['numpy', 'scipy', 'scikit-learn', 'numba', 'torch']\n"
        "have = {d.metadata['Name'].lower() for d in m.distributions()}\n"
        "out = {'python': platform.python_version()}\n"
        "print(json.dumps(out | {n: m.version(n) for n in names if n in have}))"
    )
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def commit() -> str:
    """Short name of the commit that is checked out."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()


# ---- the record -----------------------------------------------------------------------------


def page(records: dict[str, dict]) -> str:
    """The record as Markdown: a table, versions, tests that failed, verdicts that differ."""
    runs = {name: records[name] for name in CONFIGURATIONS if name in records}
    lines = [
        "# The suite on many configurations",
        "",
        "`make matrix` runs the whole suite in each of these configurations and writes this page.",
        "A processor is imitated by what its numerical libraries are told to use"
        " (`OPENBLAS_CORETYPE`, `NPY_DISABLE_CPU_FEATURES`, `NUMBA_CPU_NAME`).",
        "",
        "| Name | Configuration | Passed | Failed | Skipped | Minutes | Commit |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for name, configuration in CONFIGURATIONS.items():
        if record := runs.get(name):
            counts = " | ".join(f"{record[key]:,}" for key in ("passed", "failed", "skipped"))
            ended = f"{record['seconds'] / 60:.1f} | {record['commit']}"
            ended += f", failed ones again {record['again']}" if "again" in record else ""
            configuration = Configuration(**{f.name: record[f.name] for f in fields(Configuration)})
            lines.append(f"| {name} | {configuration.told()} | {counts} | {ended} |")
        else:
            lines.append(f"| {name} | {configuration.told()} | not run | | | | |")
    lines += ["", "## Versions", ""]
    for name, record in runs.items():
        told = ", ".join(f"{library} {version}" for library, version in record["versions"].items())
        lines.append(f"* {name}: {told}; {record.get('cores', 2)} cores")
    lines += ["", "## Failing tests", ""]
    failing = [f"* {name}: `{test}`" for name, r in runs.items() for test in r["failing"]]
    lines += failing or ["None."]
    if VERDICTS in records:
        lines += verdicts.section(records[VERDICTS])
    return "\n".join([*lines, ""])


def write(records: dict[str, dict]) -> None:
    """Keep the record, as data and as a page."""
    (RESULTS / "matrix.json").write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "matrix.md").write_text(page(records), encoding="utf-8")


def read() -> dict[str, dict]:
    """What is on record, by the name of the configuration."""
    path = RESULTS / "matrix.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _told(record: dict) -> str:
    return ", ".join(f"{record[key]:,} {key}" for key in ("passed", "failed", "skipped"))


def main() -> int:
    """Run what the command line asks for; 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="configurations; default: all")
    parser.add_argument("--list", action="store_true", help="show the configurations and stop")
    parser.add_argument("--make", action="store_true", help="make the environments and stop")
    parser.add_argument(
        "--here", action="store_true", help="by the Python that runs this, whatever its version"
    )
    parser.add_argument("--failed", action="store_true", help="only tests that failed on record")
    parser.add_argument("--workers", type=int, default=2, help="processes of pytest (default: 2)")
    own, more = sys.argv[1:], []
    if "--" in own:
        own, more = own[: own.index("--")], own[own.index("--") + 1 :]
    asked = parser.parse_args(own)
    if unknown := set(asked.names) - {*CONFIGURATIONS, VERDICTS}:
        parser.error(
            f"unknown configuration {sorted(unknown)[0]!r}; there are {', '.join(CONFIGURATIONS)}"
        )
    found = [one for name, one in CONFIGURATIONS.items() if name in (asked.names or CONFIGURATIONS)]
    if not asked.names and not asked.here:
        found = [one for one in found if interpreter(one.python)]
    if asked.failed:
        found = [one for one in found if read().get(one.name, {}).get("failing")]
    if asked.list:
        for one in found:
            print(f"{one.name:12} {one.told()}")
        return 0
    failed = 0
    for one in found:
        if asked.make:
            made(one)
            continue
        if asked.here:
            one, python = as_here(one), Path(sys.executable)
        else:
            python = made(one)
        if asked.failed:
            record = run_failed(one, python, asked.workers, read()[one.name])
        else:
            record = run(one, python, asked.workers, more)
        if record:
            write(read() | {one.name: record})
            failed += record["failed"] > 0 or record["passed"] == 0
    if not (asked.make or asked.failed or more) and (not asked.names or VERDICTS in asked.names):
        python = made(CONFIGURATIONS["haswell"])
        record = verdicts.compared({name: verdicts.under(name, python) for name in PROCESSORS})
        write(read() | {VERDICTS: record})
        print("\n".join(verdicts.section(record)), flush=True)
        failed += bool(record["changed"])
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
