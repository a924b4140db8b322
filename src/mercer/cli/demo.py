"""`mercer demo`: a two-sample test of data that ship with mercer."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path
from typing import Annotated

import typer

import mercer
from mercer.cli import options
from mercer.cli.common_options import TwoSampleOptions
from mercer.cli.exits import WrongUse, guarded, tell
from mercer.cli.two_sample import compare, write_two_sample
from mercer.datasets.demo import demo_files

_STORY = """\
Orders of a shop in two months (simulated data that ship with mercer). Every numeric column has the
same mean and standard deviation in both months, and every label the same share.
Do the months differ?

  $ mercer two-sample {first} {second}
"""
_NEXT = """
Next: mercer demo --report demo.html writes a report with plots; mercer demo --copy . copies the two
files to this folder; mercer two-sample --help lists all options."""

Copy = Annotated[
    Path | None,
    typer.Option(
        "--copy",
        metavar="FOLDER",
        help="Copy the two files to this folder, which is made if need be.",
    ),
]


@guarded
def demo(report: options.Report = None, copy: Copy = None, seed: options.Seed = 0) -> None:
    """Run a two-sample test on data that ship with mercer."""
    files = demo_files()
    if copy is not None and copy.parent.is_dir() and not copy.exists():
        copy.mkdir()
    copies = [] if copy is None else [copy / file.name for file in files]
    options.check_outputs(report, *copies, inputs=files)
    options.check_report_packages(report)
    for file, target in zip(files, copies, strict=False):
        if target.exists() and not filecmp.cmp(file, target, shallow=False):
            raise WrongUse(f"{target} exists and is not a file of the demo: choose another folder")
    for file, target in zip(files, copies, strict=False):
        shutil.copy(file, target)
    tell(_STORY.format(first=files[0].name, second=files[1].name))
    with mercer.config(progress=options.on_terminal()):
        answer = compare([str(file) for file in files], TwoSampleOptions(seed=seed), 0.05)
        command = f"mercer two-sample {files[0].name} {files[1].name} --seed {seed}"
        write_two_sample(answer, 0.0, None, report, command)
    tell(_NEXT)
